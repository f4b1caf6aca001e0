import type { ConversationRecord, ConversationStorePort, TurnRecord } from "./conversations.js";
import type { ExecutionHandle } from "./execution.js";
import type { ChatRuntime } from "./host.js";
import type { PromptInput } from "./input.js";

export { Chat } from "./chat.js";
export { ChatOptionsError, ChatRuntimeError, ChatSessionError, TurnStreamError } from "./errors.js";
export { ChatSession } from "./session.js";
export { ChatTurnStream } from "./stream.js";

export interface Clock {
  now(): Date;
}

/** When to commit. Content deltas may wait for a batch; every other update commits at once, with what waits before it. */
export interface JournalBatchPolicy {
  /** Updates a transaction. */
  maxUpdates: number;
  /** Bytes of update text a transaction. */
  maxBytes: number;
  /** The longest that a delta may wait, in milliseconds. */
  maxDelayMs: number;
}

export interface ChatOptions {
  ownerUserId: string;
  /** In this version a `SqliteConversationStore`. */
  conversations: ConversationStorePort;
  runtime: ChatRuntime;
  /** Times of records and updates. Default: the system's. */
  clock?: Clock;
  journal?: JournalBatchPolicy;
  /** Called when a turn begins and when it is sealed, also for turns that the agent begins by itself. */
  onTurn?: (turn: TurnRecord) => void;
  /**
   * How far one subscriber may fall behind the live tail before it is disconnected with SUBSCRIBER_BACKPRESSURE (a
   * ChatSessionError). Counted only after it has reached the tail once: replay is read from the journal and never
   * overflows. Default 200 000 updates or 256 MiB (of lag, not of memory: what lies between the in-memory tail and the
   * reader is read from the journal).
   */
  subscriberBuffer?: { maxUpdates: number; maxBytes: number };
}

export interface StartSessionOptions {
  execution: ExecutionHandle;
  sessionId?: string;
  title?: string | null;
}

export interface ResumeSessionOptions {
  sessionId: string;
  execution: ExecutionHandle;
}

export interface SendOptions {
  execution: ExecutionHandle;
  prompt: PromptInput;
  /** An id of the caller's. Sending again with the id of a known turn of this session attaches to that turn and starts nothing. */
  turnId?: string;
}

export interface ReconnectOptions {
  afterSequence?: number;
}

export interface SessionInspection {
  conversation: ConversationRecord;
  activeTurn: TurnRecord | null;
  latestTurn: TurnRecord | null;
  /** Requests of the agent that wait for an answer. */
  pendingRequests: Array<{ requestId: string; kind: "permission" | "elicitation"; turnId: string; sequence: number }>;
}

/** Three different things to do for a user: log in again; wait or choose another model; look at the machine. */
export type FailureClass = "auth" | "model" | "transport" | "runtime";

export interface TurnFailure {
  code: "AUTH_ERROR" | "MODEL_ERROR" | "TRANSPORT_ERROR" | "RUNTIME_ERROR" | "TURN_INTERRUPTED";
  class: FailureClass;
  /**
   * Such as rate_limited, overloaded, context_overflow, quota_exceeded, billing, login_required, invalid_key,
   * model_not_found, refused, agent_exited, agent_missing, agent_silent, stream_cut, protocol, replay_exhausted; of
   * TURN_INTERRUPTED (class runtime): host_closed, host_died.
   */
  reason: string;
  message: string;
  retryable: boolean;
  /** What the agent said, untouched; the end of its stderr where it died. */
  native?: unknown;
}

export type SessionErrorCode =
  | "SESSION_NOT_FOUND"
  | "SESSION_ALREADY_EXISTS"
  | "SESSION_BUSY"
  | "SESSION_AGENT_MISMATCH"
  | "SUBSCRIBER_BACKPRESSURE"
  | "INTERRUPT_UNSUPPORTED"
  | "TURN_NOT_FOUND"
  | "TURN_ALREADY_SEALED"
  | "REQUEST_NOT_PENDING"
  | "CHAT_CLOSED"
  | "STORE_ERROR";
