import { checkRecord, checkString, invalidOption, isRecord, toJson } from "./checks.js";
import type { ChatExtensionUpdate } from "./acp.js";
import { lifted } from "./errors.js";
import { binding } from "./native.js";
import type { ContentBlock, PlanEntry, SessionConfigOption, SessionUpdate, ToolCallContent, ToolCallLocation } from "./sdk.js";
import type { FailureClass } from "./sessions.js";
import type { UsageRecord } from "./usage.js";

/** The grammar between an agent's own messages and ACP: what every normalizer emits. */
export type ChatEvent =
  | TextDelta | ReasoningDelta | ContentEvent | ToolStarted | ToolUpdated | ToolCompleted | PlanEvent
  | PermissionRequested | PermissionResolved | QuestionAsked | QuestionAnswered
  | UsageFinal | CompactionStarted | CompactionFinished | SessionInit | TitleGenerated | ModeChanged | CommandsAvailable | ConfigChanged
  | ErrorEvent | Warning | Done | Unmapped;

interface Base {
  providerSessionId?: string | null;
  parentToolCallId?: string | null;
  raw?: { source: string; method?: string; payload: unknown };
  /** The agent's own ACP update, where it sent one: emitted instead of one made from this event. */
  update?: SessionUpdate;
}
export interface TextDelta extends Base { type: "text.delta"; text: string; messageId?: string | null }
export interface ReasoningDelta extends Base { type: "reasoning.delta"; text: string; messageId?: string | null; visibility: "full" | "summary" | "redacted" | "plan"; streamKind?: "plan" }
export interface ContentEvent extends Base { type: "content"; block: ContentBlock; messageId?: string | null }
interface ToolFields extends Base {
  toolCallId: string; toolName?: string; title?: string; kind?: string; detail?: string;
  /** The agent's item, as existing hosts read it. `kind` accepts the older words (bash, file_edit …) as well as ACP's. */
  data?: unknown;
  content?: ToolCallContent[]; locations?: ToolCallLocation[];
  metadata?: { mcp?: { server: string; tool: string }; subagent?: boolean; durationMs?: number; [key: string]: unknown };
}
export interface ToolStarted extends ToolFields {
  type: "tool.started"; toolName: string; title: string; kind: string; input: unknown;
  /** `pending` while the agent still writes the input or waits for leave. */
  status?: "pending" | "in_progress";
}
export interface ToolUpdated extends ToolFields { type: "tool.updated"; input?: unknown; inputDelta?: unknown; outputDelta?: string; output?: unknown; status?: "pending" | "in_progress" }
export interface ToolCompleted extends ToolFields { type: "tool.completed"; input?: unknown; output: unknown; result: string; isError: boolean; error?: string; timing?: { elapsedMs: number } }
export interface PlanEvent extends Base { type: "plan"; entries: PlanEntry[] }
export interface PermissionRequested extends Base { type: "permission.requested"; requestId: string; toolCallId: string | null; title: string; action?: string; kind?: string; input: unknown; options: Array<{ optionId: string; name: string; kind: string }> }
export interface PermissionResolved extends Base { type: "permission.resolved"; requestId: string; toolCallId?: string | null; optionId?: string | null; approved: boolean; reason?: string; updatedInput?: Record<string, unknown>; by?: "host" | "full_access" | "turn_end" }
export interface QuestionAsked extends Base { type: "question.asked"; requestId: string; toolCallId: string | null; message: string; schema: unknown; url?: { url: string; elicitationId: string } }
export interface QuestionAnswered extends Base { type: "question.answered"; requestId: string; action: "accept" | "decline" | "cancel"; content?: unknown }
export interface UsageFinal extends Base { type: "usage.final"; usage: UsageRecord }
export interface CompactionStarted extends Base { type: "compaction.started"; compactionId: string; trigger: "auto" | "manual" | null; preTokens?: number | null }
export interface CompactionFinished extends Base { type: "compaction.finished"; compactionId: string; trigger: "auto" | "manual" | null; preTokens?: number | null; postTokens?: number | null; durationMs?: number | null; summary?: string | null; failed?: boolean }
export interface SessionInit extends Base { type: "session.init"; cwd?: string | null; model?: string | null; tools?: string[]; mcpServers?: Array<{ name: string; status: string }> }
export interface TitleGenerated extends Base { type: "title"; title: string }
export interface ModeChanged extends Base { type: "mode"; modeId: string }
export interface CommandsAvailable extends Base { type: "commands"; commands: Array<{ name: string; description: string }> }
export interface ConfigChanged extends Base { type: "config"; configOptions: SessionConfigOption[] }
export interface ErrorEvent extends Base { type: "error"; message: string; class: FailureClass; reason: string; retryable: boolean }
export interface Warning extends Base { type: "warning"; message: string; detail?: string; severity?: "debug"; retry?: { attempt: number; limit: number | null; delayMs: number | null } }
export interface Done extends Base { type: "done"; stopReason: string; nativeStopReason?: string | null }
/** A message that no rule knows. It is counted and recorded, never thrown away in silence and never fatal. */
export interface Unmapped extends Base { type: "unmapped"; kind: string }


/** What a constructor's caller may add; the members that the constructor sets itself are not among them. */
function extended<Event extends ChatEvent>(event: Event, extra: Partial<Event> | undefined, fixed: Partial<Event>): Event {
  const added = extra === undefined ? {} : checkRecord(extra, "extra");
  const given = Object.fromEntries(Object.entries(added).filter(([, value]) => value !== undefined));
  return { ...event, ...given, ...fixed };
}

/** A piece of the agent's answer. */
export function textDelta(text: string, extra?: Partial<TextDelta>): TextDelta {
  const event: TextDelta = { type: "text.delta", text: checkString(text, "text") };
  return extended(event, extra, event);
}

/** A piece of the agent's reasoning; of visibility `plan` where `streamKind` says so, else `full`. */
export function reasoningDelta(text: string, extra?: Partial<ReasoningDelta>): ReasoningDelta {
  const visibility = extra?.streamKind === "plan" ? "plan" : "full";
  const fixed = { type: "reasoning.delta", text: checkString(text, "text") } as const;
  return extended({ ...fixed, visibility }, extra, fixed);
}

/** The start of a tool call: of kind `other` and with an empty input where `extra` does not say more. */
export function toolStarted(toolCallId: string, extra?: Partial<ToolStarted>): ToolStarted {
  const fixed = { type: "tool.started", toolCallId: checkString(toolCallId, "toolCallId") } as const;
  const toolName = extra?.toolName ?? extra?.title ?? "Tool";
  return extended({ ...fixed, toolName, title: extra?.title ?? toolName, kind: "other", input: {} }, extra, fixed);
}

/** News of a tool call. */
export function toolUpdated(toolCallId: string, extra?: Partial<ToolUpdated>): ToolUpdated {
  const event: ToolUpdated = { type: "tool.updated", toolCallId: checkString(toolCallId, "toolCallId") };
  return extended(event, extra, event);
}

/** The end of a tool call; failed where `extra` has an error. Its `result` is the output as a text. */
export function toolCompleted(toolCallId: string, extra?: Partial<ToolCompleted>): ToolCompleted {
  const fixed = { type: "tool.completed", toolCallId: checkString(toolCallId, "toolCallId") } as const;
  const output = extra?.output ?? extra?.result ?? null;
  return extended({ ...fixed, output, result: resultText(output), isError: extra?.error !== undefined }, extra, fixed);
}

function resultText(output: unknown): string {
  if (output === null) return "";
  if (typeof output === "string") return output;
  const said = isRecord(output) ? output.output ?? output.stdout : undefined;
  return typeof said === "string" ? said : toJson(output, "extra.output", invalidOption);
}

/** The token counts of one model call. */
export function usageFinal(usage: UsageRecord, extra?: Partial<UsageFinal>): UsageFinal {
  checkRecord(usage, "usage");
  const event: UsageFinal = { type: "usage.final", usage };
  return extended(event, extra, event);
}

/** The start of a compaction. */
export function compactionStarted(extra?: Partial<CompactionStarted>): CompactionStarted {
  const fixed = { type: "compaction.started" } as const;
  return extended({ ...fixed, compactionId: "compaction", trigger: null }, extra, fixed);
}

/** The end of a compaction. */
export function compactionFinished(extra?: Partial<CompactionFinished>): CompactionFinished {
  const fixed = { type: "compaction.finished" } as const;
  return extended({ ...fixed, compactionId: "compaction", trigger: null }, extra, fixed);
}

/** A failure; of class `runtime` and not to be retried where `extra` does not say more. */
export function errorEvent(message: string, extra?: Partial<ErrorEvent>): ErrorEvent {
  const fixed = { type: "error", message: checkString(message, "message") } as const;
  return extended({ ...fixed, class: "runtime", reason: "agent_error", retryable: false }, extra, fixed);
}

/** Something that the user should know and that ends nothing. */
export function warning(message: string, extra?: Partial<Warning>): Warning {
  const event: Warning = { type: "warning", message: checkString(message, "message") };
  return extended(event, extra, event);
}

/** The end of a turn; `end_turn` where `extra` does not say more. */
export function done(extra?: Partial<Done>): Done {
  const fixed = { type: "done" } as const;
  return extended({ ...fixed, stopReason: "end_turn" }, extra, fixed);
}

/**
 * ACP for one event; `[]` for those that only end or annotate a turn (`done`, `unmapped`). Where the event has the agent's own
 * `update`, that one. `_meta.amalgm` holds what the event says and ACP has no field for, but no place in a turn: `turnId`
 * of a usage step is empty.
 *
 * @throws {@link ChatOptionsError} INVALID_OPTIONS with the path of the member that is not as the event's type asks
 */
export function toSessionUpdates(event: ChatEvent): Array<SessionUpdate | ChatExtensionUpdate> {
  // Not written to JSON with the rest: it may be large, and no update holds it.
  const { raw: _, ...told } = checkRecord(event, "event");
  const json = toJson(told, "event", invalidOption);
  const native = binding();
  return JSON.parse(lifted(() => native.toSessionUpdates(json))) as Array<SessionUpdate | ChatExtensionUpdate>;
}
