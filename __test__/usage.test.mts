import {
  aggregateTurnUsage,
  calculateCost,
  finalizeTurnUsage,
  modelCatalog,
  normalizeUsage,
  type CatalogModel,
  type UsageStep,
} from "@amalgm/chat-native/usage";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSession, playTurn, root, TOOL } from "./support.mjs";

const invalid = (path: string): unknown => expect.objectContaining({ code: "INVALID_OPTIONS", path });

const haiku = { providerId: "anthropic", modelId: "claude-haiku-4-5" };
const MILLION = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

function step(id: string, members: Partial<UsageStep> = {}): UsageStep {
  const record = normalizeUsage(MILLION, { id, model: { agentRevisionId: null, ...haiku } });
  return { ...record, turnId: "turn", index: 0, ...members };
}

test("the bundled catalog is what the price list generates", () => {
  execFileSync(process.execPath, [join(root, "scripts", "catalog.mjs"), "--check"], { stdio: "pipe" });
});

test.each<[string, unknown, Array<number | null>]>([
  ["Anthropic", { input_tokens: 3, cache_creation_input_tokens: 1200, cache_read_input_tokens: 15_000, output_tokens: 480 }, [3, 480, 15_000, 1200]],
  ["OpenAI chat", { prompt_tokens: 1000, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 200 } }, [800, 50, 200, null]],
  ["Gemini", { promptTokenCount: 100, cachedContentTokenCount: 40, candidatesTokenCount: 20, thoughtsTokenCount: 5 }, [60, 25, 40, null]],
  ["impossible numbers", { inputTokens: Number.NaN, outputTokens: -1, cacheReadTokens: 2 ** 60, cacheWriteTokens: "5" }, [null, null, null, null]],
  ["numbers that are no numbers", { inputTokens: 5n, outputTokens: 0.5, cacheReadTokens: Infinity, cacheWriteTokens: () => 5 }, [null, null, null, null]],
  ["nothing", undefined, [null, null, null, null]],
  ["a text", "12", [null, null, null, null]],
])("usage of %s", (_, input, [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens]) => {
  expect(normalizeUsage(input)).toMatchObject({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens });
});

test("what the caller knows better wins, and the agent's own record is kept as it is", () => {
  const input = { usage: { input_tokens: 1, output_tokens: 2 }, extra: [1n] };
  const record = normalizeUsage(input, { id: "resp", operation: "chat_turn", billable: false });
  expect(record).toMatchObject({ id: "resp", operation: "chat_turn", billable: false, inputTokens: 1, outputTokens: 2 });
  expect(record.raw).toBe(input);
  expect(() => normalizeUsage({}, { idd: "x" } as never)).toThrow(invalid("context.idd"));
  expect(() => normalizeUsage({}, { operation: "chat" } as never)).toThrow(invalid("context"));
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  expect(() => normalizeUsage(cycle)).toThrow(invalid("input"));
});

test("a turn is settled once: repeats, snapshots and sums of it are not added", () => {
  const steps = [
    step("a"),
    step("a"),
    step("context", { operation: "context_snapshot", billable: false }),
    step("b", { inputTokens: 500_000 }),
    step("turn", { operation: "chat_turn", inputTokens: 9_000_000 }),
  ];
  expect(finalizeTurnUsage(steps)).toEqual({
    inputTokens: 1_500_000,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    steps: 2,
    exact: true,
    reasoningTokens: null,
    costUsd: 1.5,
    marketCostUsd: 1.5,
    costSource: "catalog",
    models: [{ ...haiku, inputTokens: 1_500_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, steps: 2, costUsd: 1.5 }],
  });
  expect(aggregateTurnUsage(steps)).toMatchObject({ steps: 4, inputTokens: 11_500_000, costUsd: null });
  expect(aggregateTurnUsage([])).toMatchObject({ steps: 0, inputTokens: null, costUsd: null, models: [] });
});

test("the agent's own cost comes before the catalog's, and an unknown model costs null", () => {
  expect(finalizeTurnUsage([step("a", { nativeCostUsd: 0.25 })])).toMatchObject({ costUsd: 0.25, costSource: "native", marketCostUsd: 1 });
  const unknown = step("b", { model: { agentRevisionId: null, providerId: "anthropic", modelId: "claude-haiku-4-5-fast" } });
  expect(finalizeTurnUsage([step("a"), unknown])).toMatchObject({ costUsd: null, costSource: null, models: [{ costUsd: 1 }, { costUsd: null }] });
});

test("the catalog finds what agents write, and takes a host's own prices", () => {
  expect(modelCatalog.asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  expect(modelCatalog.list().length).toBeGreaterThan(1000);
  expect(modelCatalog.find(null, "anthropic/claude-haiku-4.5-20251001")).toMatchObject({ ...haiku, contextLimit: 200_000, price: { input: 1, output: 5 } });
  expect(modelCatalog.find("anthropic", "claude-haiku-4-5-fast")).toBeNull();
  expect(calculateCost({ ...MILLION, cacheWriteTokens: 1000, cacheWrite1hTokens: 400 }, haiku)).toBeCloseTo(1.001_55, 8);
  expect(calculateCost({ ...MILLION, outputTokens: null }, haiku)).toBeNull();
  expect(calculateCost({ ...MILLION, outputTokens: Number.NaN }, haiku)).toBeNull();

  const price = { input: 7, output: 1, cacheRead: null, cacheWrite: null, cacheWrite1h: null };
  const own: CatalogModel = { ...haiku, contextLimit: null, price };
  const catalog = modelCatalog.with([own]);
  expect(catalog.find("anthropic", "claude-haiku-4-5")).toEqual(own);
  expect(calculateCost(MILLION, haiku, catalog)).toBe(7);
  expect(finalizeTurnUsage([step("a")], { catalog })).toMatchObject({ costUsd: 7, costSource: "catalog" });
  expect(calculateCost(MILLION, haiku)).toBe(1);
  const tiers = [{ abovePromptTokens: 999_999, input: 9, output: 1, cacheRead: null, cacheWrite: null }];
  expect(calculateCost(MILLION, haiku, catalog.with([{ ...own, price: { ...price, tiers } }]))).toBe(9);
});

test("arguments of the wrong kind are refused by name", () => {
  expect(() => finalizeTurnUsage([], { catalog: {} as never })).toThrow(invalid("catalog"));
  expect(() => finalizeTurnUsage([], { prices: 1 } as never)).toThrow(invalid("prices"));
  expect(() => calculateCost(null as never, haiku)).toThrow(invalid("usage"));
  expect(() => calculateCost(MILLION, { providerId: null, modelId: "" })).toThrow(invalid("model.modelId"));
  expect(() => modelCatalog.find(null, 5 as never)).toThrow(invalid("modelId"));
  expect(() => modelCatalog.with([{ ...haiku, contextLimit: null, price: { input: -1 } } as never])).toThrow(invalid("models[0].price.input"));
  expect(() => modelCatalog.with({} as never)).toThrow(invalid("models"));
});

test("a stored turn has the catalog's cost", async () => {
  const { stream } = await playTurn(await openSession(TOOL));
  const { usage } = await stream.completion;
  expect(usage).toMatchObject({ inputTokens: 900, cacheReadTokens: 800, cacheWriteTokens: 0, outputTokens: 35, models: [{ modelId: "gpt-5.5" }] });
  // 900 × 5 + 800 × 0.50 + 35 × 30 millionths
  expect(usage).toMatchObject({ costSource: "catalog", costUsd: expect.closeTo(0.005_95, 9) as number });
});

test("a stored turn with tokens that have no published price has no cost", async () => {
  const { stream } = await playTurn(await openSession("codex/usage-three-steps"));
  // GPT-5.5 writes to no cache that OpenAI has a price for.
  expect((await stream.completion).usage).toMatchObject({ costSource: null, costUsd: null, marketCostUsd: null });
});
