import type { ChatExtensionUpdate } from "./acp.js";
import { REASONING } from "./batch.js";
import { type NativeUpdateParts, PieceForm, WHOLE_UPDATE } from "./native.js";
import type { SessionUpdate } from "./sdk.js";

type AnyUpdate = SessionUpdate | ChatExtensionUpdate;

const NUMBERS_AN_UPDATE = 5;

/** Makes the updates: those that are a piece of text without a parser, member by member in the order of their JSON text. */
export function updatesOf({ items, ids, blocks, whole }: NativeUpdateParts): AnyUpdate[] {
  const parsed = JSON.parse(whole) as AnyUpdate[];
  const updates = new Array<AnyUpdate>(items.length / NUMBERS_AN_UPDATE);
  let next = 0;
  for (let index = 0, at = 0; at < items.length; index += 1, at += NUMBERS_AN_UPDATE) {
    const form = items[at]!;
    updates[index] = form === WHOLE_UPDATE ? parsed[next++]! : piece(form, ids[items[at + 1]!]!, blocks[items[at + 2]!]!.slice(items[at + 3], items[at + 4]));
  }
  return updates;
}

function piece(form: PieceForm, id: string, text: string): AnyUpdate {
  switch (form) {
    case PieceForm.Text:
      return { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, messageId: id };
    case PieceForm.ToolOutput:
      return { sessionUpdate: "tool_call_update", toolCallId: id, _meta: { amalgm: { delta: { output: text } } } };
    default:
      return { sessionUpdate: "agent_thought_chunk", content: { type: "text", text }, messageId: id, _meta: { amalgm: { reasoning: REASONING[form] } } };
  }
}
