import type { TurnRecord } from "./conversations.js";
import type { ExecutionErrorCode } from "./execution.js";
import type { SessionErrorCode, TurnFailure } from "./sessions.js";

/** A contract or a handle that cannot be used: {@link ExecutionErrorCode} says why. */
export class ExecutionError extends Error {
  readonly code: ExecutionErrorCode;
  /** JSON path of the field at fault, such as `model.settings[0].value`; null where no single field is. */
  readonly path: string | null;

  /** @internal */
  constructor(code: ExecutionErrorCode, message: string, path: string | null, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.path = path;
  }
}

/** A prompt that is malformed (`INVALID_PROMPT`) or that the agent cannot take whole (`UNSUPPORTED_PROMPT_PART`). */
export class PromptError extends Error {
  readonly code: "INVALID_PROMPT" | "UNSUPPORTED_PROMPT_PART";
  /** Index of the block at fault; null where the prompt as a whole is. */
  readonly part: number | null;

  /** @internal */
  constructor(code: PromptError["code"], message: string, part: number | null, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.part = part;
  }
}

/** What a conversation, a turn, a subscriber or the store refused. */
export class ChatSessionError extends Error {
  readonly code: SessionErrorCode;

  /** @internal */
  constructor(code: SessionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Thrown by a stream after the last update of a turn that ended `failed` or `interrupted`. */
export class TurnStreamError extends Error {
  readonly code: TurnFailure["code"];
  /** The sealed turn; `turn.error` holds class, reason and what the agent said. */
  readonly turn: TurnRecord;

  /** @internal */
  constructor(code: TurnFailure["code"], message: string, turn: TurnRecord, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.turn = turn;
  }
}

/** A failure of the core that no other class describes. Please report it: `cause` holds what the core said. */
export class ChatRuntimeError extends Error {
  readonly code = "RUNTIME_ERROR" as const;
}

/** An argument or option of the wrong type or with an unknown name, found before anything was done. */
export class ChatOptionsError extends Error {
  readonly code = "INVALID_OPTIONS" as const;
  /** The field at fault, such as `native.idleLimitMs`. */
  readonly path: string;

  /** @internal */
  constructor(path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.path = path;
  }
}

for (const constructor of [ExecutionError, PromptError, ChatSessionError, TurnStreamError, ChatRuntimeError, ChatOptionsError]) {
  // On the prototype, as the language's own errors have it: an own property would be printed with every error.
  Object.defineProperty(constructor.prototype, "name", { value: constructor.name, configurable: true, writable: true });
}

const EXECUTION_CODES: ReadonlySet<string> = new Set<ExecutionErrorCode>([
  "INVALID_EXECUTION_CONTRACT",
  "EXECUTION_NOT_PREPARED",
  "EXECUTION_REVISION_MISMATCH",
  "UNSUPPORTED_EXECUTION_INPUT",
]);
const PROMPT_CODES: ReadonlySet<string> = new Set<PromptError["code"]>(["INVALID_PROMPT", "UNSUPPORTED_PROMPT_PART"]);
const SESSION_CODES: ReadonlySet<string> = new Set<SessionErrorCode>([
  "SESSION_NOT_FOUND",
  "SESSION_ALREADY_EXISTS",
  "SESSION_BUSY",
  "SESSION_AGENT_MISMATCH",
  "SUBSCRIBER_BACKPRESSURE",
  "INTERRUPT_UNSUPPORTED",
  "TURN_NOT_FOUND",
  "TURN_ALREADY_SEALED",
  "REQUEST_NOT_PENDING",
  "CHAT_CLOSED",
  "STORE_ERROR",
]);

interface WireError {
  code: string;
  message: string;
  details: { path?: unknown; part?: unknown; turn?: unknown };
}

function readWireError(text: string): WireError | null {
  if (!text.startsWith("{")) return null;
  let value: { code?: unknown; message?: unknown; details?: unknown } | null;
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    return null;
  }
  if (typeof value?.code !== "string" || typeof value.message !== "string") return null;
  return { code: value.code, message: value.message, details: typeof value.details === "object" && value.details !== null ? value.details : {} };
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

/**
 * The error that a caller sees for one that native code threw or rejected with. To be called in the `catch` of the
 * facade's method: there the caller's frames are still on the (asynchronous) stack.
 */
export function lift(error: unknown): Error {
  if (!(error instanceof Error)) return new ChatRuntimeError(String(error), { cause: error });
  const wire = readWireError(error.message);
  if (wire === null) return new ChatRuntimeError(error.message, { cause: error });

  const { code, message, details } = wire;
  const options = { cause: error };
  if (typeof details.turn === "object" && details.turn !== null) {
    return new TurnStreamError(code as TurnFailure["code"], message, details.turn as TurnRecord, options);
  }
  if (EXECUTION_CODES.has(code)) return new ExecutionError(code as ExecutionErrorCode, message, textOrNull(details.path), options);
  if (PROMPT_CODES.has(code)) {
    return new PromptError(code as PromptError["code"], message, typeof details.part === "number" ? details.part : null, options);
  }
  if (SESSION_CODES.has(code)) return new ChatSessionError(code as SessionErrorCode, message, options);
  if (code === "INVALID_OPTIONS") return new ChatOptionsError(textOrNull(details.path) ?? "", message, options);
  return new ChatRuntimeError(message, options);
}

/** The error of a turn that did not end well, as its streams throw it. */
export function turnStreamError(turn: TurnRecord): TurnStreamError {
  const failure = turn.error;
  if (failure !== null) return new TurnStreamError(failure.code, failure.message, turn);
  return new TurnStreamError(turn.status === "interrupted" ? "TURN_INTERRUPTED" : "RUNTIME_ERROR", `turn ${turn.id} ended ${turn.status}`, turn);
}

/** Waits for native code; what it rejects with is lifted where the caller's frames can be seen. */
export async function settle<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw lift(error);
  }
}

/** {@link settle} for an answer that is JSON text. */
export async function settleJson<T>(run: () => Promise<string>): Promise<T> {
  return JSON.parse(await settle(run)) as T;
}

/** {@link settle} for native code that answers at once. */
export function lifted<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw lift(error);
  }
}
