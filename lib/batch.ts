import type { AmalgmMeta, ChatUpdate } from "./acp.js";
import { lazyNative } from "./native-message.js";
import { type NativeBatch, type NativePiece, type NativePlace, PieceForm } from "./native.js";

const NO_BYTES = Buffer.alloc(0);
/** How much of its reasoning an agent shows, by form. */
export const REASONING = {
  [PieceForm.FullReasoning]: "full",
  [PieceForm.ReasoningSummary]: "summary",
  [PieceForm.RedactedReasoning]: "redacted",
  [PieceForm.PlanReasoning]: "plan",
} as const;

/**
 * The updates of one batch, made one at a time. An object literal costs the event loop a fraction of what the parser needs for
 * the same object, so updates that are nothing but a piece of text come as their parts. What is made of them is, member by
 * member and in the same order, what the update's text says.
 */
export class Batch {
  static readonly EMPTY = new Batch({ text: "[]", natives: NO_BYTES, source: "" }, "", "");

  readonly #items: ReadonlyArray<ChatUpdate | NativePiece>;
  readonly #natives: Buffer;
  readonly #source: string;
  readonly #conversationId: string;
  readonly #turnId: string;
  #next = 0;

  constructor(batch: NativeBatch, conversationId: string, turnId: string) {
    this.#items = JSON.parse(batch.text) as Array<ChatUpdate | NativePiece>;
    this.#natives = batch.natives;
    this.#source = batch.source;
    this.#conversationId = conversationId;
    this.#turnId = turnId;
  }

  get isEmpty(): boolean {
    return this.#next === this.#items.length;
  }

  /** The next update; the batch must not be empty. */
  take(): ChatUpdate {
    const item = this.#items[this.#next++]!;
    return Array.isArray(item) ? this.#assemble(item) : this.#complete(item);
  }

  #complete(update: ChatUpdate): ChatUpdate {
    const { amalgm } = update._meta;
    if (amalgm.native !== undefined && "message" in amalgm.native) {
      amalgm.native = lazyNative(amalgm.native.source, this.#natives, amalgm.native.message as NativePlace);
    }
    return update;
  }

  #assemble([form, text, id, at, sequence, start, end]: NativePiece): ChatUpdate {
    // The members stand in the order of the update's text.
    const amalgm: AmalgmMeta = { at, conversationId: this.#conversationId, turnId: this.#turnId, sequence };
    if (form === PieceForm.ToolOutput) amalgm.delta = { output: text };
    else if (form !== PieceForm.Text) amalgm.reasoning = REASONING[form];
    if (start !== undefined && end !== undefined) amalgm.native = lazyNative(this.#source, this.#natives, [start, end]);

    if (form === PieceForm.ToolOutput) return { sessionUpdate: "tool_call_update", toolCallId: id, _meta: { amalgm } };
    const sessionUpdate = form === PieceForm.Text ? "agent_message_chunk" : "agent_thought_chunk";
    return { sessionUpdate, content: { type: "text", text }, messageId: id, _meta: { amalgm } };
  }
}
