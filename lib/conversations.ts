import type { ContentBlock, PlanEntry, RequestPermissionOutcome, StopReason, ToolCallContent, ToolCallStatus, ToolKind } from "./sdk.js";
import type { ExecutionContract, ExecutionHandle } from "./execution.js";
import type { PromptInput } from "./input.js";
import type { TurnUsage, UsageStep } from "./usage.js";
import type { ChatUpdate } from "./acp.js";
import type { TurnFailure } from "./sessions.js";

/** Records are as stored: times are ISO 8601 in UTC, and an id of another owner does not exist. */
export interface ConversationRecord {
  id: string;
  ownerUserId: string;
  title: string | null;
  agent: ExecutionContract["agent"];
  /** The execution of the newest turn (at first: of the start), kept whole so that a restart can resume without a new handle. */
  execution: ExecutionHandle & { contract: ExecutionContract };
  createdAt: string;
  updatedAt: string;
  archivedAt: string | null;
  /** A turn ended since the owner last looked. */
  newMessages: boolean;
}

export type TurnStatus = "running" | "completed" | "failed" | "cancelled" | "interrupted";

export interface TurnRecord {
  id: string;
  conversationId: string;
  /** 1, 2, 3 … within the conversation. */
  ordinal: number;
  status: TurnStatus;
  /** `agent`: the agent began by itself (a background task that ended, a late result); `prompt.parts` is empty. */
  origin: "host" | "agent";
  stopReason: StopReason | null;
  /** The agent's own word for it. */
  nativeStopReason: string | null;
  error: TurnFailure | null;
  execution: ExecutionHandle & { contract: ExecutionContract };
  prompt: PromptInput;
  startedAt: string;
  endedAt: string | null;
  /** Highest committed sequence; 0 before the first update. */
  lastSequence: number;
  usage: TurnUsage | null;
}

export type MessagePart =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string; visibility: "full" | "summary" | "redacted" | "plan" }
  | { type: "content"; block: ContentBlock }
  | { type: "tool"; toolCallId: string; name: string | null; title: string; kind: ToolKind; status: ToolCallStatus;
      input: unknown; output: unknown; content: ToolCallContent[]; mcp: { server: string; tool: string } | null;
      parentToolCallId: string | null; permission: RequestPermissionOutcome | null;
      startedAt: string | null; finishedAt: string | null; durationMs: number | null }
  | { type: "plan"; entries: PlanEntry[] }
  | { type: "compaction"; compactionId: string; phase: "started" | "finished"; trigger: "auto" | "manual" | null;
      preTokens: number | null; postTokens: number | null; startedAt: string | null; finishedAt: string | null; durationMs: number | null; summary: string | null }
  | { type: "notice"; severity: string; title: string; description: string | null };

export interface MessageRecord {
  id: string;
  conversationId: string;
  turnId: string;
  ordinal: number;
  role: "user" | "assistant";
  parts: MessagePart[];
  createdAt: string;
}

/** Where an agent's own session can be picked up again. */
export interface ProviderCheckpoint {
  conversationId: string;
  /** Adapter, installation, auth mode and binding, and computer together: a change of any opens a new native session. */
  key: string;
  providerSessionId: string;
  updatedAt: string;
  data: unknown;
}

/** One committed update: `json` is the text that every subscriber, the journal and the HTTP surface share. */
export interface JournalEntry { sequence: number; json: string }

export interface TurnSeal {
  turnId: string;
  status: Exclude<TurnStatus, "running">;
  stopReason: StopReason | null;
  nativeStopReason: string | null;
  error: TurnFailure | null;
  endedAt: string;
  usage: TurnUsage | null;
  usageSteps: UsageStep[];
  message: MessageRecord | null;
}

/**
 * What a host's own store implements. Every promise resolves only when the data is durable.
 * Each method is one transaction. All ids are scoped by owner: (owner, id) is the key. A method that meets an id it does not know for this owner rejects with code
 * SESSION_NOT_FOUND; `createConversation` of a known id with SESSION_ALREADY_EXISTS; `beginTurn` while a turn runs with SESSION_BUSY.
 */
export interface ConversationStorePort {
  createConversation(record: ConversationRecord): Promise<void>;
  getConversation(ownerUserId: string, id: string): Promise<ConversationRecord | null>;
  listConversations(ownerUserId: string, options?: ListOptions): Promise<ConversationPage>;
  updateConversation(ownerUserId: string, id: string, patch: Partial<Pick<ConversationRecord, "title" | "archivedAt" | "newMessages" | "execution" | "updatedAt">>): Promise<ConversationRecord>;

  /** Stores the turn, the user's message (null for a turn that the agent began) and the conversation's new execution, before anything is sent to an agent. */
  beginTurn(ownerUserId: string, turn: TurnRecord, message: MessageRecord | null, patch: Pick<ConversationRecord, "execution" | "updatedAt">): Promise<void>;
  /** Appends contiguous sequences; a gap or a sequence that is there already rejects; after the seal: TURN_ALREADY_SEALED. */
  appendUpdates(ownerUserId: string, conversationId: string, turnId: string, entries: JournalEntry[]): Promise<void>;
  /** Ends a turn exactly once and sets `newMessages`: a second seal rejects with TURN_ALREADY_SEALED and changes nothing. */
  sealTurn(ownerUserId: string, seal: TurnSeal): Promise<TurnRecord>;

  getTurn(ownerUserId: string, conversationId: string, turnId: string): Promise<TurnRecord | null>;
  latestTurn(ownerUserId: string, conversationId: string): Promise<TurnRecord | null>;
  /** Those that no live host drives; a store that can't tell returns all that run. */
  runningTurns(ownerUserId: string): Promise<TurnRecord[]>;
  readUpdates(ownerUserId: string, conversationId: string, turnId: string, afterSequence: number, limit: number): Promise<JournalEntry[]>;
  listMessages(ownerUserId: string, conversationId: string): Promise<MessageRecord[]>;
  listUsageSteps(ownerUserId: string, conversationId: string, turnId?: string): Promise<UsageStep[]>;

  putCheckpoint(ownerUserId: string, checkpoint: ProviderCheckpoint): Promise<void>;
  getCheckpoint(ownerUserId: string, conversationId: string, key: string): Promise<ProviderCheckpoint | null>;
  close(): Promise<void>;
}

export interface ListOptions {
  /** Also those that were archived. Default false. */
  includeArchived?: boolean;
  /** At most so many a page. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string | null;
}
export interface ConversationPage { conversations: ConversationRecord[]; nextCursor: string | null }

/** UI projection: a conversation as a list row. */
export interface ConversationSummary { id: string; title: string | null; agent: ExecutionContract["agent"]; status: TurnStatus | null; newMessages: boolean; updatedAt: string }

/**
 * The list row of a conversation.
 *
 * @param latestTurn its newest turn, whose status the row shows; null where there is none yet
 */
export function summarizeConversation(conversation: ConversationRecord, latestTurn: TurnRecord | null): ConversationSummary {
  const { id, title, agent, newMessages, updatedAt } = conversation;
  return { id, title, agent, status: latestTurn?.status ?? null, newMessages, updatedAt };
}

export type { ChatUpdate };
