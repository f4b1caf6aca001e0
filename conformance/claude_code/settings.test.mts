import { expect, test } from "vitest";
import { respond, text } from "../server/messages.mjs";
import { failure, play } from "../support.mjs";
import { claude, claudeScene, contract, FAST_MODEL, host, messageText, OTHER_MODEL, systemText } from "./support.mjs";

const INSTRUCTIONS = "Speak like a lighthouse keeper.";

test("instructions go to the system field, and nowhere else", async () => {
  const { model, ...conversation } = await claude({ resolved: { instructions: INSTRUCTIONS } });
  model.queue(respond([text("Aye.")]), respond([text("Aye again.")]));

  await play(conversation, "Hello.");
  await play(conversation, "Hello again.");

  expect(model.requests).toHaveLength(2);
  for (const request of model.requests) {
    expect(systemText(request).split(INSTRUCTIONS)).toHaveLength(2);
    expect(messageText(request, "user")).not.toContain(INSTRUCTIONS);
  }
});

test("effort and speed stand in the request", async () => {
  const settings = [{ configId: "reasoning", value: "high" }, { configId: "speed", value: "fast" }];
  const { model, ...conversation } = await claude({}, { modelId: FAST_MODEL, settings });
  model.queue(respond([text("Quick.")]));

  const { turn } = await play(conversation);

  expect(model.requests[0]!.body.output_config?.effort).toBe("high");
  expect(model.requests[0]!.body.speed).toBe("fast");
  // Its price is another.
  expect(turn.usage?.models.map(({ modelId }) => modelId)).toEqual([`${FAST_MODEL}-fast`]);
});

test("without settings the request names no speed", async () => {
  const { model, ...conversation } = await claude();
  model.queue(respond([text("As usual.")]));

  await play(conversation);

  expect(model.requests[0]!.body).not.toHaveProperty("speed");
});

test("a budget for thoughts stands in the request", async () => {
  const { model, ...conversation } = await claude({}, { modelId: "claude-sonnet-4-5", settings: [{ configId: "thinking", value: "4000" }] });
  model.queue(respond([text("Thought.")]));

  await play(conversation);

  expect(model.requests[0]!.body.thinking).toMatchObject({ type: "enabled", budget_tokens: 4000 });
});

test.each([
  ["effort", { settings: [{ configId: "reasoning", value: "high" }] }],
  ["model", { modelId: OTHER_MODEL }],
])("another %s: the same session goes on", async (_, changes) => {
  const { model, ...at } = await claude();
  model.queue(respond([text("First answer.")]), respond([text("Second answer.")]));
  await play(at, "First question.");

  const other = contract(at, changes);
  const execution = await at.host.chat.prepareExecution("other", other);
  const { turn } = await play({ ...at, execution }, "Second question.");

  expect(turn.status).toBe("completed");
  expect(model.requests[1]!.body.model).toBe(other.model.modelId);
  expect(model.requests[1]!.text).toContain("First answer.");
});

test.each([
  ["an effort that the model does not have", { settings: [{ configId: "reasoning", value: "enormous" }] }, "model.settings[0].value"],
  ["a speed that the model does not have", { settings: [{ configId: "speed", value: "fast" }] }, "model.settings[0].value"],
  ["a setting that Claude Code does not have", { settings: [{ configId: "temperature", value: "0.5" }] }, "model.settings[0].configId"],
])("%s is refused before anything is sent", async (_, changes, path) => {
  const at = await claudeScene();
  const { chat } = await host(at);

  const error = await failure(chat.prepareExecution("execution", contract(at, changes)));

  expect(error).toMatchObject({ name: "ExecutionError", code: "UNSUPPORTED_EXECUTION_INPUT", path });
  expect(at.model.requests).toEqual([]);
});

test("a folder that is not there is refused before anything is sent", async () => {
  const at = await claudeScene();
  const { chat } = await host(at);

  const error = await failure(chat.prepareExecution("execution", contract({ project: `${at.project}/nowhere` })));

  expect(error).toMatchObject({ name: "ExecutionError", code: "UNSUPPORTED_EXECUTION_INPUT", path: "cwd.path" });
});

test("platform without what it stands for is refused", async () => {
  const at = await claudeScene();
  const { chat } = await host(at, { resolve: () => ({}) });

  const error = await failure(chat.prepareExecution("execution", contract(at, { auth: { mode: "platform" } })));

  expect(error).toMatchObject({ name: "ExecutionError", code: "UNSUPPORTED_EXECUTION_INPUT" });
  expect(error.path).toMatch(/^auth/);
});

test("a part of the prompt that Claude Code cannot take is refused before anything is sent", async () => {
  const { model, session, execution } = await claude();
  const parts = [{ type: "text" as const, text: "Listen." }, { type: "audio" as const, data: "UklGRg==", mimeType: "audio/wav" }];

  const error = await failure(session.send({ execution, prompt: { parts } }));

  expect(error).toMatchObject({ name: "PromptError", code: "UNSUPPORTED_PROMPT_PART", part: 1 });
  expect(model.requests).toEqual([]);
  expect(await session.messages()).toEqual([]);
});

test("platform uses what the contract resolves to", async () => {
  const { model, ...conversation } = await claude({}, { auth: { mode: "platform", bindingId: "platform" } });
  model.queue(respond([text("Hello.")]));
  expect((await play(conversation)).turn.status).toBe("completed");
});
