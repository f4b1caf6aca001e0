import type { UsageStep } from "@amalgm/chat-native/usage";
import { expect, test } from "vitest";
import { refuse, respond, text, thinking, toolUse, type Block, type TokenUsage } from "../server/messages.mjs";
import { ofKind, play, textOf } from "../support.mjs";
import { claude, host, MODEL, shell } from "./support.mjs";

/** What a step says of a call that the provider reported so. */
const step = ({ input, cacheRead, cacheWrite, output }: TokenUsage) => ({
  inputTokens: input,
  cacheReadTokens: cacheRead,
  cacheWriteTokens: cacheWrite,
  outputTokens: output,
});

/** Without what only tells the sum of the turn. */
const calls = (steps: UsageStep[]): UsageStep[] => steps.filter(({ billable }) => billable);

const usage = (input: number, output: number, cacheRead = 0, cacheWrite = 0): TokenUsage => ({ input, cacheRead, cacheWrite, output });

test("every call once, with what the provider counted", async () => {
  // The same numbers again are another call.
  const made = [usage(1000, 50, 0, 200), usage(200, 20, 900), usage(200, 20, 900)];
  const { model, ...at } = await claude();
  model.queue(respond([text("One."), shell("echo one")], made[0]), respond([shell("echo two")], made[1]), respond([text("Done.")], made[2]));

  const { turn, updates } = await play(at);

  const steps = await at.session.usageSteps(turn.id);
  expect(calls(steps)).toMatchObject(made.map((call) => ({ ...step(call), operation: "chat_step", billable: true, model: { modelId: MODEL } })));
  expect(calls(ofKind(updates, "usage_step").map((update) => update.step))).toEqual(calls(steps));
  expect(turn.usage).toMatchObject({ inputTokens: 1400, cacheReadTokens: 1800, cacheWriteTokens: 200, outputTokens: 90 });
});

test("whatever a turn is made of, its text and its tokens are those that the server sent", async () => {
  const { model, ...at } = await claude();
  const sent: Array<{ said: string; counted: TokenUsage; isSub: boolean }> = [];
  const say = (said: string, more: Block[], isSub = false) => {
    const counted = usage(100 + sent.length, 10 + sent.length, 1000 * sent.length, 7 * sent.length);
    sent.push({ said, counted, isSub });
    return respond([thinking("Hm."), text(said), ...more], counted);
  };
  // Newer versions would let it run on behind the turn.
  const agent = toolUse("Agent", { description: "Look", prompt: "Look around.", subagent_type: "general-purpose", run_in_background: false });
  let round = 0;
  model.otherwise(({ text: asked }) => {
    if (!asked.includes("MAIN PROMPT")) return asked.includes("in the subagent") ? say("Its report.", [], true) : say("Looking.", [shell("echo in the subagent")], true);
    round += 1;
    if (round === 1) return say("First, ", [shell("echo one"), shell("exit 3")]);
    if (round === 2) return refuse(529, "overloaded_error", "Overloaded.", { "retry-after": "0" });
    if (round === 3) return say("second, ", [agent]);
    return say("third.", []);
  });

  const { turn, parts } = await play(at, "MAIN PROMPT");

  expect(turn.status).toBe("completed");
  expect(sent.map(({ said }) => said)).toEqual(["First, ", "second, ", "Looking.", "Its report.", "third."]);
  const own = sent.filter(({ isSub }) => !isSub);
  expect(textOf(parts)).toBe(own.map(({ said }) => said).join(""));
  const steps = calls(await at.session.usageSteps(turn.id));
  expect(steps.filter(({ operation }) => operation === "chat_step").map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens])).toEqual(
    expect.arrayContaining(own.map(({ counted }) => [counted.input, counted.output])) as unknown,
  );
  const sum = (of: keyof TokenUsage): number => sent.reduce((total, { counted }) => total + counted[of], 0);
  expect(turn.usage).toMatchObject({ inputTokens: sum("input"), outputTokens: sum("output"), cacheReadTokens: sum("cacheRead"), cacheWriteTokens: sum("cacheWrite") });
});

test("the next turn counts its own calls only, and so does a new host", async () => {
  const made = [usage(500, 10, 100), usage(600, 11, 500), usage(700, 12, 600)] as const;
  const at = await claude();
  for (const call of made) at.model.queue(respond([text("Said.")], call));
  const one = await play(at);
  const two = await play(at);
  await at.host.close();

  const again = await host(at);
  const { session, latestTurn } = await again.chat.resumeStoredSession(at.session.id);
  const three = await play({ host: again, session, execution: latestTurn!.execution });

  for (const [index, { turn }] of [one, two, three].entries()) {
    expect(calls(await session.usageSteps(turn.id))).toMatchObject([step(made[index]!)]);
    expect(turn.usage).toMatchObject(step(made[index]!));
  }
});

test("a compaction: its call is counted too, and what was summed up is no answer", async () => {
  const { model, ...at } = await claude();
  model.queue(respond([text("First.")], usage(100, 10)), respond([text("Second.")], usage(110, 11)), respond([text("<summary>SUMMARY</summary>")], usage(900, 60)));
  await play(at);
  await play(at);

  const { turn, updates, parts } = await play(at, "/compact");

  expect(turn.status).toBe("completed");
  expect(ofKind(updates, "compaction_update").length).toBeGreaterThan(0);
  expect(turn.usage).toMatchObject({ inputTokens: 900, outputTokens: 60 });
  expect(JSON.stringify(parts.filter(({ type }) => type === "text"))).not.toContain("SUMMARY");
});
