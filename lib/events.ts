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
export interface ToolStarted extends ToolFields { type: "tool.started"; toolName: string; title: string; kind: string; input: unknown }
export interface ToolUpdated extends ToolFields { type: "tool.updated"; inputDelta?: unknown; outputDelta?: string; output?: unknown; status?: "pending" | "in_progress" }
export interface ToolCompleted extends ToolFields { type: "tool.completed"; input?: unknown; output: unknown; result: string; isError: boolean; error?: string; timing?: { elapsedMs: number } }
export interface PlanEvent extends Base { type: "plan"; entries: PlanEntry[] }
export interface PermissionRequested extends Base { type: "permission.requested"; requestId: string; toolCallId: string | null; title: string; input: unknown; options: Array<{ optionId: string; name: string; kind: string }> }
export interface PermissionResolved extends Base { type: "permission.resolved"; requestId: string; approved: boolean; reason?: string }
export interface QuestionAsked extends Base { type: "question.asked"; requestId: string; toolCallId: string | null; message: string; schema: unknown }
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
export interface Warning extends Base { type: "warning"; message: string; detail?: string }
export interface Done extends Base { type: "done"; stopReason: string; nativeStopReason?: string | null }
/** A message that no rule knows. It is counted and recorded, never thrown away in silence and never fatal. */
export interface Unmapped extends Base { type: "unmapped"; kind: string }

