import { isUint8Array } from "node:util/types";
import type { ChatExtensionUpdate } from "./acp.js";
import { checkMembers, checkRecord, checkString, expected, invalidOption } from "./checks.js";
import { lifted } from "./errors.js";
import type { ChatEvent } from "./events.js";
import { Hidden } from "./hidden.js";
import { messageText } from "./message-text.js";
import { binding, type NativeNormalizer } from "./native.js";
import { updatesOf } from "./update-parts.js";
import type { SessionUpdate } from "./sdk.js";

export * from "./codex-items.js";

/** The agents whose own messages this package understands. */
export type Harness = "claude_code" | "codex" | "cursor" | "opencode" | "pi" | "acp";

const REASONS: readonly unknown[] = ["end", "cancelled", "error"];

const normalizers = new Hidden<Normalizer, NativeNormalizer>();

/**
 * Stateful, one per native session. Takes the messages of both sides in order, as values or as JSON text: an answer of the
 * host (a denied permission, a request id) decides what later messages of the agent mean. `from` is "agent" where it is left
 * out. What is no message of the agent's is an `unmapped` event, never an error.
 */
export class Normalizer {
  /** @throws {@link ChatOptionsError} INVALID_OPTIONS for an unknown agent or option */
  constructor(harness: Harness, options: { providerSessionId?: string | null; cwd?: string | null } = {}) {
    const name = checkString(harness, "harness");
    const given = checkRecord(options, "options");
    checkMembers(given, "options", ["providerSessionId", "cwd"]);
    const session = textOrNull(given.providerSessionId, "options.providerSessionId");
    const cwd = textOrNull(given.cwd, "options.cwd");
    const { NativeNormalizer } = binding();
    normalizers.set(this, lifted(() => new NativeNormalizer(name, session, cwd)));
  }

  /** What one message means: a value, or its JSON text. */
  push(message: unknown, from?: "agent" | "host"): ChatEvent[] {
    const native = normalizers.get(this);
    const fromHost = isHost(from);
    const line = typeof message === "string" ? message.toWellFormed() : messageText(message);
    return events(() => native.push(line, fromHost, null));
  }

  /** What one line of the native stream means; invalid UTF-8 is replaced. */
  pushLine(line: string | Uint8Array, from?: "agent" | "host"): ChatEvent[] {
    const native = normalizers.get(this);
    const fromHost = isHost(from);
    if (isUint8Array(line)) return events(() => native.pushBytes(line, fromHost));
    if (typeof line !== "string") throw invalidOption("line", expected("a string or a Uint8Array", line));
    return events(() => native.push(line.toWellFormed(), fromHost, null));
  }

  /** What is still open when the native stream ends (tool calls left running, half-written tool input). */
  finish(reason: "end" | "cancelled" | "error" = "end"): ChatEvent[] {
    const native = normalizers.get(this);
    if (!REASONS.includes(reason)) throw invalidOption("reason", `must be one of ${REASONS.join(", ")}`);
    return events(() => native.finish(reason));
  }

  /** Messages that no rule knew, by kind. */
  get unmapped(): Record<string, number> {
    const native = normalizers.get(this);
    return JSON.parse(lifted(() => native.unmapped())) as Record<string, number>;
  }
}

/**
 * A whole recording at once (ndjson, as the recorder writes it), to ACP. The updates have no place in a turn; what the
 * recording leaves open is closed.
 *
 * @throws {@link ChatOptionsError} INVALID_OPTIONS for an unknown agent, or where `ndjson` is no text
 */
export function normalizeRecording(harness: Harness, ndjson: string | Uint8Array): Array<SessionUpdate | ChatExtensionUpdate> {
  const name = checkString(harness, "harness");
  const bytes = typeof ndjson === "string" ? Buffer.from(ndjson) : ndjson;
  if (!isUint8Array(bytes)) throw invalidOption("ndjson", expected("a string or a Uint8Array", ndjson));
  const native = binding();
  return updatesOf(lifted(() => native.normalizeRecording(name, bytes)));
}

type PerMessage = (message: unknown, providerSessionId: string | null, state?: object) => ChatEvent[];

/** The form that existing hosts call: what is remembered of a session is kept for as long as the `state` object lives. */
function perMessage(harness: Harness): PerMessage {
  const states = new WeakMap<object, NativeNormalizer>();
  return (message, providerSessionId, state) => {
    const session = textOrNull(providerSessionId, "providerSessionId");
    if (state !== undefined && (typeof state !== "object" || (state as object | null) === null)) {
      throw invalidOption("state", expected("an object", state));
    }
    let native = state && states.get(state);
    if (native === undefined) {
      const { NativeNormalizer } = binding();
      native = lifted(() => NativeNormalizer.perMessage(harness, state === undefined));
      if (state !== undefined) states.set(state, native);
    }
    const normalizer = native;
    const line = typeof message === "string" ? message.toWellFormed() : messageText(message);
    return events(() => normalizer.push(line, false, session));
  };
}

/** One message of Claude Code's stream-json. */
export const normalizeClaudeMessage: PerMessage = perMessage("claude_code");

/**
 * One notification of `codex app-server`, of today's or an older form. An error that the agent retries after gives no event.
 * Without `state` the end of a tool call is told without its start, which another call has told.
 */
export const normalizeCodexNotification: PerMessage = perMessage("codex");

/** One event of `opencode serve`. */
export const normalizeOpenCodeEvent: PerMessage = perMessage("opencode");

/** One message of Cursor's agent. */
export const normalizeCursorUpdate: PerMessage = perMessage("cursor");

/** One line of `pi --mode rpc`. */
export const normalizePiEvent: PerMessage = perMessage("pi");

/** One message of an agent that speaks ACP. */
export const normalizeAcpUpdate: PerMessage = perMessage("acp");

function textOrNull(value: unknown, path: string): string | null {
  return value === undefined || value === null ? null : checkString(value, path);
}

function isHost(from: unknown): boolean {
  if (from !== undefined && from !== "agent" && from !== "host") throw invalidOption("from", 'must be "agent" or "host"');
  return from === "host";
}

const events = (read: () => string): ChatEvent[] => JSON.parse(lifted(read)) as ChatEvent[];
