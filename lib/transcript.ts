import type { ChatUpdate } from "./acp.js";
import { checkRecord, invalidOption, toJson } from "./checks.js";
import type { MessagePart } from "./conversations.js";
import { lifted } from "./errors.js";
import { Hidden } from "./hidden.js";
import { binding, type NativeTranscript } from "./native.js";

const transcripts = new Hidden<Transcript, { native: NativeTranscript; parts: MessagePart[] | null }>();

/**
 * Updates to message parts: the same reduction as the stored assistant message. Updates may be added in pieces and again
 * (an update whose sequence was seen already changes nothing), so a client can keep one across reconnects.
 */
export class Transcript {
  constructor() {
    const { NativeTranscript } = binding();
    transcripts.set(this, { native: lifted(() => new NativeTranscript()), parts: null });
  }

  /**
   * Takes the next update of the turn.
   *
   * @throws {@link ChatOptionsError} INVALID_OPTIONS where it is no update
   */
  add(update: ChatUpdate): void {
    const json = toJson(checkRecord(update, "update"), "update", invalidOption);
    const state = transcripts.get(this);
    lifted(() => {
      state.native.add(json);
    });
    state.parts = null;
  }

  /** What the updates so far amount to. */
  get parts(): MessagePart[] {
    const state = transcripts.get(this);
    return (state.parts ??= JSON.parse(lifted(() => state.native.parts())) as MessagePart[]);
  }

  /** The highest sequence that was added; 0 before the first. Where to reconnect from. */
  get lastSequence(): number {
    const { native } = transcripts.get(this);
    return lifted(() => native.lastSequence());
  }
}

/** The parts that a whole stream of updates amounts to. */
export function reduceTranscript(updates: Iterable<ChatUpdate>): MessagePart[] {
  const transcript = new Transcript();
  for (const update of updates) transcript.add(update);
  return transcript.parts;
}
