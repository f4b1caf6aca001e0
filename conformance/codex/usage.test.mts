import type { UsageStep } from "@amalgm/chat-native/usage";
import { expect, test } from "vitest";
import { failed, message, respond, type TokenUsage } from "../server/responses.mjs";
import { ofKind, play } from "../support.mjs";
import { codex, contract, MODEL, shell } from "./support.mjs";

/** What a step says of a call that the provider reported so. */
const step = ({ input, cached, output, reasoning }: TokenUsage) => ({
  inputTokens: input - cached,
  cacheReadTokens: cached,
  outputTokens: output,
  reasoningTokens: reasoning,
});

/** Without what only says how full the context is. */
const calls = (steps: UsageStep[]): UsageStep[] => steps.filter(({ operation }) => operation !== "context_snapshot");

test("every call once, with what the provider counted", async () => {
  const made: TokenUsage[] = [
    { input: 1000, cached: 0, output: 50, reasoning: 30 },
    { input: 1100, cached: 900, output: 20, reasoning: 0 },
    // The same numbers again are another call.
    { input: 1100, cached: 900, output: 20, reasoning: 0 },
  ];
  const { model, ...at } = await codex();
  model.queue(respond([shell("echo one")], made[0]), respond([shell("echo two")], made[1]), respond([message("Done.")], made[2]));

  const { turn, updates } = await play(at);

  const steps = await at.session.usageSteps(turn.id);
  expect(steps).toMatchObject(made.map((call, index) => ({ ...step(call), index, operation: "chat_step", billable: true, model: { modelId: MODEL } })));
  expect(ofKind(updates, "usage_step").map((update) => update.step)).toEqual(steps);
  expect(turn.usage).toMatchObject({ steps: 3, inputTokens: 1400, cacheReadTokens: 1800, outputTokens: 90, reasoningTokens: 30 });
  expect(ofKind(updates, "usage_update").at(-1)).toMatchObject({ used: 1120 });
});

test("the next turn counts its own calls only, and so does a new host", async () => {
  const first: TokenUsage = { input: 500, cached: 100, output: 10, reasoning: 5 };
  const second: TokenUsage = { input: 600, cached: 500, output: 11, reasoning: 6 };
  const third: TokenUsage = { input: 700, cached: 600, output: 12, reasoning: 7 };
  const at = await codex();
  at.model.queue(respond([message("One.")], first), respond([message("Two.")], second), respond([message("Three.")], third));
  const one = await play(at);
  const two = await play(at);
  await at.host.close();

  const { host } = await import("./support.mjs");
  const again = await host(at);
  const { session, latestTurn } = await again.chat.resumeStoredSession(at.session.id);
  const three = await play({ host: again, session, execution: latestTurn!.execution });

  for (const [{ turn }, usage] of [[one, first], [two, second], [three, third]] as const) {
    expect(calls(await session.usageSteps(turn.id))).toMatchObject([step(usage)]);
    expect(turn.usage).toMatchObject({ steps: 1, ...step(usage) });
  }
});

test("a call is of the model and in the mode that the server was asked for", async () => {
  const { model, ...at } = await codex();
  model.otherwise(() => respond([message("Done.")]));
  const { turn: first } = await play(at);
  const other = { modelId: "gpt-5.6-luna", settings: [{ configId: "speed", value: "priority" }] };
  const execution = await at.host.chat.prepareExecution("other", contract({ ...at, model }, other));
  const { turn: second } = await play({ ...at, execution });

  const steps = [...await at.session.usageSteps(first.id), ...await at.session.usageSteps(second.id)];
  const asked = model.requests.map(({ body }) => `${body.model}${body.service_tier === "priority" ? "-fast" : ""}`);
  expect(calls(steps).map((step) => step.model.modelId)).toEqual(asked);
  expect(asked).toContain(MODEL);
  expect(asked).toContain("gpt-5.6-luna-fast");
});

test("the call of a compaction is a step of its own kind", async () => {
  const { model, ...at } = await codex();
  const nearlyFull: TokenUsage = { input: 250_000, cached: 0, output: 100, reasoning: 0 };
  const summary: TokenUsage = { input: 250_200, cached: 1000, output: 400, reasoning: 0 };
  const after: TokenUsage = { input: 900, cached: 0, output: 10, reasoning: 0 };
  model.queue(respond([message("Nearly full.")], nearlyFull), respond([message("SUMMARY")], summary), respond([message("Much room.")], after));
  await play(at);

  const { turn, updates, parts } = await play(at);

  expect(turn.status).toBe("completed");
  expect(model.requests).toHaveLength(3);
  const steps = calls(await at.session.usageSteps(turn.id));
  expect(steps).toMatchObject([
    { operation: "compaction", billable: true, ...step(summary) },
    { operation: "chat_step", billable: true, ...step(after) },
  ]);
  expect(turn.usage).toMatchObject({ steps: 2, inputTokens: 249_200 + 900, outputTokens: 410 });
  expect(ofKind(updates, "compaction_update").length).toBeGreaterThan(0);
  // What was summed up is no answer.
  expect(JSON.stringify(parts.filter(({ type }) => type === "text"))).not.toContain("SUMMARY");
});

test("a response without numbers is a call whose numbers are unknown", async () => {
  const { model, ...at } = await codex();
  model.queue(respond([message("Uncounted.")], null));

  const { turn } = await play(at);

  expect(turn.status).toBe("completed");
  expect(calls(await at.session.usageSteps(turn.id))).toMatchObject([{ inputTokens: null, outputTokens: null, exact: false, billable: true }]);
  expect(turn.usage).toMatchObject({ steps: 1, inputTokens: null, outputTokens: null, costUsd: null });
});

test("a context that overflowed does not spoil the counts after it", async () => {
  const before: TokenUsage = { input: 1000, cached: 200, output: 30, reasoning: 10 };
  const after: TokenUsage = { input: 800, cached: 0, output: 20, reasoning: 0 };
  const { model, ...at } = await codex();
  model.queue(respond([message("Fine.")], before), failed("context_length_exceeded", "Your input exceeds the context window of this model."));
  const one = await play(at);
  const two = await play(at);
  // Codex sums up first what has grown too long.
  model.otherwise(() => respond([message("Fine again.")], after));
  const three = await play(at);

  expect(one.turn.usage).toMatchObject({ steps: 1, ...step(before) });
  expect(two.turn.status).toBe("failed");
  expect(two.turn.usage?.outputTokens ?? null).toBeNull();
  const made = model.requests.length - 2;
  expect(made).toBeGreaterThan(0);
  expect(calls(await at.session.usageSteps(three.turn.id))).toMatchObject(Array.from({ length: made }, () => step(after)));
});
