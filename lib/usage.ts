import { expected, invalidOption, toJson } from "./checks.js";
import { lifted } from "./errors.js";
import { binding } from "./native.js";

/**
 * Tokens. A count that is not known is `null`, never 0. The four buckets do not overlap: `inputTokens` excludes cache
 * reads and writes; `outputTokens` includes reasoning.
 */
export interface TokenCounts {
  inputTokens: number | null;
  outputTokens: number | null;
  cacheReadTokens: number | null;
  cacheWriteTokens: number | null;
}

export type UsageOperation =
  | "chat_step"         // one model invocation
  | "chat_turn"         // an agent that reports only a turn's sum
  | "compaction"
  | "context_snapshot"; // how full the context is; never billable

/** One provider model invocation, finalized once. */
export interface UsageStep extends TokenCounts {
  id: string;
  turnId: string;
  /** 0, 1, 2 … within the turn. */
  index: number;
  operation: UsageOperation;
  model: { agentRevisionId: string | null; providerId: string | null; modelId: string | null };
  /** Which of the agent's records the numbers come from, such as `claude.assistant.usage`. */
  source: string;
  exact: boolean;
  billable: boolean;
  /** Informational parts of the buckets above. */
  reasoningTokens: number | null;
  cacheWrite1hTokens: number | null;
  /** Cost in USD as the agent reported it. */
  nativeCostUsd: number | null;
  /** Fullness of the context window after this step. */
  context: { used: number | null; size: number | null };
  /** The subagent's tool call, where a subagent made the invocation. */
  parentToolCallId: string | null;
  /** The provider's record, untouched. */
  raw: unknown;
}

export interface TurnUsage extends TokenCounts {
  steps: number;
  exact: boolean;
  reasoningTokens: number | null;
  /** `native`: the agent said it. `catalog`: computed from prices. `null` where a contributing step has no price or no count. */
  costUsd: number | null;
  /** The same turn at catalog prices (for an agent whose gateway states its price: that price). */
  marketCostUsd: number | null;
  costSource: "native" | "catalog" | null;
  /** Per model, in order of first use. */
  models: Array<TokenCounts & { providerId: string | null; modelId: string | null; steps: number; costUsd: number | null }>;
}

/** A step before it has a place in a turn: what a normalizer emits. */
export type UsageRecord = Omit<UsageStep, "turnId" | "index">;

/**
 * The one place where a turn's usage and cost are settled: drops snapshots, de-duplicates repeated reports of one
 * invocation, prefers exact steps to a turn's sum.
 *
 * @param steps the steps of one turn, as `ChatSession.usageSteps` gives them
 * @returns sums in tokens and USD; a bucket is null where any step that enters it does not know it
 * @throws {@link ChatOptionsError} INVALID_OPTIONS where `steps` is no array of steps
 */
export function finalizeTurnUsage(steps: readonly UsageStep[]): TurnUsage {
  if (!Array.isArray(steps)) throw invalidOption("steps", expected("an array of usage steps", steps));
  const json = toJson(steps, "steps", invalidOption);
  const native = binding();
  const usage = JSON.parse(lifted(() => native.finalizeTurnUsage(json))) as TurnUsage | null;
  return usage ?? { ...NOTHING_KNOWN, models: [] };
}

/** Of a turn without a billable step. */
const NOTHING_KNOWN: TurnUsage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  steps: 0,
  exact: false,
  reasoningTokens: null,
  costUsd: null,
  marketCostUsd: null,
  costSource: null,
  models: [],
};
