// What our stream adds to ACP. The official SDK, which is published as an ES module only, joins this entry point when the
// package is built: `scripts/entry-points.mjs` re-exports it for `import` and bundles it for `require`.
import type {
  CreateElicitationRequest, CreateElicitationResponse, PermissionOption,
  RequestPermissionOutcome, SessionUpdate, ToolCallUpdate,
} from "./sdk.js";
import type { UsageStep } from "./usage.js";
import type { FailureClass } from "./sessions.js";

/** What every update of a turn carries under `_meta.amalgm`. */
export interface AmalgmMeta {
  /** When the native message was read: milliseconds since 1970, clock of the host. */
  at: number;
  conversationId: string;
  turnId: string;
  /** 1, 2, 3 … within the turn, without gaps. The cursor of a reconnect. */
  sequence: number;
  /** The agent's own message that caused this update, untouched. Where one native message causes several
   *  updates, the first of them carries it. Absent where the update has no native cause. */
  native?: { source: string; message: unknown } | { source: string; truncated: { bytes: number } };
  /** Where several model sessions write into one turn: the subagent's tool call that this update belongs to. */
  parentToolCallId?: string;
  /** Reasoning only: what the agent exposed. */
  reasoning?: "full" | "summary" | "redacted" | "plan";
  /** Tool updates of an MCP tool. */
  mcp?: { server: string; tool: string };
  /** Tool updates: which part of the call is new, so that a UI can append instead of replacing. */
  delta?: { input?: unknown; output?: string };
  /** `compaction_update`: the numbers that ACP has no field for. */
  compaction?: { phase: "started" | "finished"; trigger: "auto" | "manual" | null;
    preTokens: number | null; postTokens: number | null; durationMs: number | null };
  /** `session_info_update` at the start of a native session. */
  init?: { providerSessionId: string | null; cwd: string | null; model: string | null; tools: string[]; mcpServers: Array<{ name: string; status: string }> };
  /** `notice` of a retry. */
  retry?: { attempt: number; limit: number | null; delayMs: number | null };
  /** `usage_update`: the step behind it. */
  usage?: UsageStep;
  /** Output that was streamed and is too long to repeat: its whole length. The deltas hold all of it. */
  truncated?: { bytes: number };
  /** `notice` of severity error: what failed. */
  error?: { class: FailureClass; reason: string; retryable: boolean };
}

export type WithMeta<T> = T & { _meta: { amalgm: AmalgmMeta; [key: string]: unknown } };

/** ACP sends permission requests as a request of the agent; in a stream that can be replayed they are updates. */
export interface PermissionRequestUpdate {
  sessionUpdate: "permission_request";
  /** Ours; unique in the conversation (agents count theirs from 0). */
  requestId: string;
  toolCallId: string | null;
  /** What the agent wants to do, in the canonical tool names, and with what. */
  action: string;
  args: unknown;
  severity: "low" | "medium" | "high";
  toolCall: ToolCallUpdate;
  options: PermissionOption[];
}
export interface PermissionResponseUpdate {
  sessionUpdate: "permission_response";
  requestId: string;
  toolCallId: string | null;
  /** `_meta.amalgm.updatedInput`: what the host put in the place of the tool's input. */
  outcome: RequestPermissionOutcome;
  approved: boolean;
  reason?: string;
  /** Who decided: a person or host code, the `full_access` mode, or the end of the turn. */
  by: "host" | "full_access" | "turn_end";
}
/** A question of the agent to the user, whichever way the agent asks it (ACP form elicitation). */
export interface ElicitationRequestUpdate {
  sessionUpdate: "elicitation_request";
  requestId: string;
  toolCallId?: string;
  request: CreateElicitationRequest;
}
export interface ElicitationResponseUpdate {
  sessionUpdate: "elicitation_response";
  requestId: string;
  response: CreateElicitationResponse;
}
/** One finished model invocation. ACP's own `usage_update` speaks of the context window and is no ledger. */
export interface UsageStepUpdate {
  sessionUpdate: "usage_step";
  step: UsageStep;
}

export type ChatExtensionUpdate =
  | PermissionRequestUpdate | PermissionResponseUpdate
  | ElicitationRequestUpdate | ElicitationResponseUpdate
  | UsageStepUpdate;

/** What a turn streams: assignable to the official type, so hosts that render ACP compile unchanged. At run time the
 *  stream also carries our extension variants; a host that wants them asks `extensionOf`. */
export type ChatUpdate = WithMeta<SessionUpdate>;

const EXTENSIONS: ReadonlySet<string> = new Set<ChatExtensionUpdate["sessionUpdate"]>([
  "permission_request",
  "permission_response",
  "elicitation_request",
  "elicitation_response",
  "usage_step",
]);

/** The update as one of our variants, or null where it is an official one. */
export function extensionOf(update: ChatUpdate): WithMeta<ChatExtensionUpdate> | null {
  return EXTENSIONS.has(update.sessionUpdate) ? (update as unknown as WithMeta<ChatExtensionUpdate>) : null;
}
