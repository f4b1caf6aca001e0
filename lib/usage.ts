import { modelCatalog, nativeCatalog, type ModelCatalog } from "./catalog.js";
import { checkMembers, checkRecord, checkText, expected, invalidOption, toJson } from "./checks.js";
import { lifted } from "./errors.js";
import { binding } from "./native.js";

export { modelCatalog, type CatalogModel, type ModelCatalog, type ModelPrice } from "./catalog.js";

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
  /** The same turn at catalog prices. */
  marketCostUsd: number | null;
  costSource: "native" | "catalog" | null;
  /** Per model, in order of first use. */
  models: Array<TokenCounts & { providerId: string | null; modelId: string | null; steps: number; costUsd: number | null }>;
}

/** A step before it has a place in a turn: what a normalizer emits. */
export type UsageRecord = Omit<UsageStep, "turnId" | "index">;

/**
 * Reads the counts of one model invocation in the spellings of every supported agent and of the common provider APIs
 * (Anthropic, OpenAI chat and responses, Gemini, ACP), also where they stand deeper in what was sent.
 *
 * @param input the counts or what holds them
 * @param context members of the record that the caller knows better than the counts do, such as the model
 * @returns counts in tokens that do not overlap. Negative, fractional, too large or non-numeric ones are null, as is what
 *   nobody reported; `raw` is `input`
 * @throws {@link ChatOptionsError} INVALID_OPTIONS where `input` is no JSON value, or `context` does not fit a record
 */
export function normalizeUsage(input: unknown, context: Partial<UsageRecord> = {}): UsageRecord {
  const known = checkRecord(context, "context");
  checkMembers(known, "context", RECORD);
  const { raw = input, ...members } = known;
  const inputJson = looseJson(input);
  const contextJson = toJson(members, "context", invalidOption);
  const native = binding();
  return { ...(JSON.parse(lifted(() => native.normalizeUsage(inputJson, contextJson))) as UsageRecord), raw };
}

/**
 * Sums billable steps as they are, with the agent's own costs.
 *
 * @returns sums in tokens and USD; a bucket is null where any contributing step does not know it
 * @throws {@link ChatOptionsError} INVALID_OPTIONS where `steps` is no array of steps
 */
export function aggregateTurnUsage(steps: readonly UsageStep[]): TurnUsage {
  const json = stepsJson(steps);
  const native = binding();
  return turnUsage(lifted(() => native.aggregateTurnUsage(json)));
}

/**
 * The one place where a turn's usage and cost are settled: drops snapshots, de-duplicates repeated reports of one
 * invocation, prefers exact steps to a turn's sum, and the agent's own cost to the catalog's.
 *
 * @param steps the steps of one turn, as `ChatSession.usageSteps` gives them
 * @param options `catalog`: the prices, instead of the published ones
 * @returns sums in tokens and USD; a bucket is null where any step that enters it does not know it
 * @throws {@link ChatOptionsError} INVALID_OPTIONS where `steps` is no array of steps, or the catalog not of this package
 */
export function finalizeTurnUsage(steps: readonly UsageStep[], options: { catalog?: ModelCatalog } = {}): TurnUsage {
  const json = stepsJson(steps);
  checkMembers(checkRecord(options, "options"), "", ["catalog"]);
  const catalog = nativeCatalog(options.catalog ?? modelCatalog, "catalog");
  const native = binding();
  return turnUsage(lifted(() => native.finalizeTurnUsage(json, catalog)));
}

/**
 * What one model invocation costs.
 *
 * @param usage counts in tokens; the prompt's size decides the price where it matters. Cache writes of which no part is said
 *   to be kept for an hour are priced as kept for five minutes
 * @param model as agents name it
 * @param catalog the prices, instead of the published ones
 * @returns USD, or null where the model, a price or a count is unknown
 * @throws {@link ChatOptionsError} INVALID_OPTIONS where an argument is of the wrong kind
 */
export function calculateCost(
  usage: TokenCounts & { cacheWrite1hTokens?: number | null },
  model: { providerId: string | null; modelId: string },
  catalog: ModelCatalog = modelCatalog,
): number | null {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens } = checkRecord(usage, "usage");
  const json = looseJson({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens });
  const { providerId, modelId } = checkRecord(model, "model");
  const provider = providerId === null || providerId === undefined ? null : checkText(providerId, "model.providerId");
  const name = checkText(modelId, "model.modelId");
  const prices = nativeCatalog(catalog, "catalog");
  const native = binding();
  return lifted(() => native.calculateCost(json, provider, name, prices)) ?? null;
}

const RECORD = [
  ...["id", "operation", "model", "source", "exact", "billable", "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"],
  ...["reasoningTokens", "cacheWrite1hTokens", "nativeCostUsd", "context", "parentToolCallId", "raw"],
];

/** JSON text of something that need not be JSON: what is no JSON value counts nothing, and is no error. */
function looseJson(value: unknown): string {
  try {
    // Undefined, which JSON does not know, gives undefined.
    return JSON.stringify(value, (_key, member: unknown) => (typeof member === "bigint" ? null : member)) ?? "null";
  } catch (error) {
    throw invalidOption("input", `cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function stepsJson(steps: readonly UsageStep[]): string {
  if (!Array.isArray(steps)) throw invalidOption("steps", expected("an array of usage steps", steps));
  return toJson(steps, "steps", invalidOption);
}

function turnUsage(json: string): TurnUsage {
  return (JSON.parse(json) as TurnUsage | null) ?? { ...NOTHING_KNOWN, models: [] };
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
