import { extensionOf } from "@amalgm/chat-native/acp";
import { summarizeConversation } from "@amalgm/chat-native/conversations";
import { reduceTranscript, Transcript } from "@amalgm/chat-native/transcript";
import { finalizeTurnUsage } from "@amalgm/chat-native/usage";
import { expect, test } from "vitest";
import { openSession, playTurn, TEXT, TOOL } from "./support.mjs";

test.each([TEXT, TOOL, "codex/recommended-launch", "codex/code-mode-model"])("updates reduce to the stored message (%s)", async (recording) => {
  const opened = await openSession(recording);
  const { updates } = await playTurn(opened);
  const [, answer] = await opened.session.messages();
  expect(reduceTranscript(updates)).toEqual(answer!.parts);
});

test("a transcript grows in pieces and takes an update again without change", async () => {
  const opened = await openSession(TOOL);
  const { updates } = await playTurn(opened);
  const transcript = new Transcript();
  expect([transcript.parts, transcript.lastSequence]).toEqual([[], 0]);
  for (const update of updates.slice(0, 6)) transcript.add(update);
  expect(transcript.lastSequence).toBe(6);
  for (const update of updates) transcript.add(update);
  expect(transcript.lastSequence).toBe(updates.length);
  expect(transcript.parts).toEqual(reduceTranscript(updates));
  expect(() => { transcript.add("text" as never); }).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS", path: "update" }));
});

test.each([TEXT, TOOL, "codex/plan-update"])("splitting and repeating updates changes nothing (%s)", async (recording) => {
  const { updates } = await playTurn(await openSession(recording));
  const whole = reduceTranscript(updates);
  for (let split = 0; split <= updates.length; split++) {
    const transcript = new Transcript();
    for (const update of [...updates.slice(0, split), ...updates.slice(Math.floor(split / 2)), ...updates]) {
      transcript.add(update);
      expect(transcript.lastSequence).toBeGreaterThanOrEqual(update._meta.amalgm.sequence);
    }
    expect(transcript.parts).toEqual(whole);
    expect(transcript.lastSequence).toBe(updates.length);
  }
});

test("extensionOf tells our variants from the official ones", async () => {
  const { updates } = await playTurn(await openSession(TEXT));
  const steps = updates.map(extensionOf).filter((extension) => extension !== null);
  expect(steps).toMatchObject([{ sessionUpdate: "usage_step", step: { inputTokens: 1200, outputTokens: 42 } }]);
});

test("the usage of a turn is the sum of its steps", async () => {
  const opened = await openSession("codex/usage-three-steps");
  const { stream } = await playTurn(opened);
  const steps = await opened.session.usageSteps(stream.turnId);
  expect(steps.filter(({ billable }) => billable)).toHaveLength(3);
  expect(finalizeTurnUsage(steps)).toEqual((await stream.completion).usage);
  expect(finalizeTurnUsage([])).toMatchObject({ steps: 0, inputTokens: null, costUsd: null, models: [] });
  expect(() => finalizeTurnUsage({} as never)).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS", path: "steps" }));
});

test("a conversation is summed up as a list row", async () => {
  const opened = await openSession();
  const { conversation } = await opened.session.inspect();
  expect(summarizeConversation(conversation, null)).toMatchObject({ id: conversation.id, status: null });
  const { stream } = await playTurn(opened);
  const row = summarizeConversation(conversation, await stream.completion);
  expect(row).toEqual({ id: conversation.id, title: null, agent: conversation.agent, status: "completed", newMessages: false, updatedAt: conversation.updatedAt });
});
