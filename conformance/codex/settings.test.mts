import { expect, test } from "vitest";
import { message, respond } from "../server/responses.mjs";
import { failure, play, scene } from "../support.mjs";
import { codex, contract, host, inputText, MODEL } from "./support.mjs";

const INSTRUCTIONS = "Speak like a lighthouse keeper.";

test("instructions go to the developer's field, and nowhere else", async () => {
  const { model, ...conversation } = await codex({ resolved: { instructions: INSTRUCTIONS } });
  model.queue(respond([message("Aye.")]), respond([message("Aye again.")]));

  await play(conversation, "Hello.");
  await play(conversation, "Hello again.");

  for (const request of model.requests) {
    expect(inputText(request, "developer").split(INSTRUCTIONS)).toHaveLength(2);
    expect(inputText(request, "user")).not.toContain(INSTRUCTIONS);
  }
});

test("effort and speed stand in the request", async () => {
  const settings = [{ configId: "reasoning", value: "high" }, { configId: "speed", value: "priority" }];
  const { model, ...conversation } = await codex({}, { settings });
  model.queue(respond([message("Quick.")]));

  await play(conversation);

  expect(model.requests[0]!.body.reasoning?.effort).toBe("high");
  expect(model.requests[0]!.body.service_tier).toBe("priority");
});

test("without settings the request names no speed", async () => {
  const { model, ...conversation } = await codex();
  model.queue(respond([message("As usual.")]));

  await play(conversation);

  expect(model.requests[0]!.body).not.toHaveProperty("service_tier");
});

test("another effort: the same session goes on", async () => {
  const { model, ...at } = await codex();
  model.queue(respond([message("First answer.")]), respond([message("Second answer.")]));
  await play(at, "First question.");

  const execution = await at.host.chat.prepareExecution("harder", contract({ ...at, model }, { settings: [{ configId: "reasoning", value: "high" }] }));
  const { turn } = await play({ ...at, execution }, "Second question.");

  expect(turn.status).toBe("completed");
  expect(model.requests[1]!.body.reasoning?.effort).toBe("high");
  expect(model.requests[1]!.text).toContain("First answer.");
});

test("another model: the same session goes on", async () => {
  const { model, ...at } = await codex();
  // Codex sums up what was said for another model, in a call of its own.
  model.queue(respond([message("First answer.")]));
  model.otherwise(() => respond([message("From the other one.")]));
  await play(at, "First question.");

  const other = "gpt-5.6-luna";
  const execution = await at.host.chat.prepareExecution("other", contract({ ...at, model }, { modelId: other }));
  const { turn } = await play({ ...at, execution }, "Second question.");

  expect(turn.status).toBe("completed");
  const last = model.requests.at(-1)!;
  expect(last.body.model).toBe(other);
  expect(last.text).toContain("First question.");
  expect(last.text).toContain("Second question.");
});

test.each([
  ["an effort that the model does not have", { settings: [{ configId: "reasoning", value: "enormous" }] }, "model.settings[0].value"],
  ["a speed that the model does not have", { settings: [{ configId: "speed", value: "ludicrous" }] }, "model.settings[0].value"],
  ["a setting that Codex does not have", { settings: [{ configId: "temperature", value: "0.5" }] }, "model.settings[0].configId"],
])("%s is refused before anything is sent", async (_, changes, path) => {
  const at = await scene();
  const { chat } = await host(at);

  const error = await failure(chat.prepareExecution("execution", contract(at, changes)));

  expect(error).toMatchObject({ name: "ExecutionError", code: "UNSUPPORTED_EXECUTION_INPUT", path });
  expect(at.model.requests).toEqual([]);
});

test("a server over SSE is refused before anything is sent", async () => {
  const at = await scene();
  const { chat } = await host(at, { resolved: { mcpServers: [{ type: "sse", name: "old", url: "http://127.0.0.1:9/sse", headers: [] }] } });

  const error = await failure(chat.prepareExecution("execution", contract(at, { toolIds: ["old"] })));

  expect(error).toMatchObject({ name: "ExecutionError", code: "UNSUPPORTED_EXECUTION_INPUT" });
  expect(error.path).toMatch(/mcpServers\[0\]/);
  expect(at.model.requests).toEqual([]);
});

test("a folder that is not there is refused before anything is sent", async () => {
  const at = await scene();
  const { chat } = await host(at);

  const error = await failure(chat.prepareExecution("execution", contract({ ...at, project: `${at.project}/nowhere` })));

  expect(error).toMatchObject({ name: "ExecutionError", code: "UNSUPPORTED_EXECUTION_INPUT", path: "cwd.path" });
});

test("platform without what it stands for is refused", async () => {
  const at = await scene();
  const { chat } = await host(at, { resolve: () => ({}) });

  const error = await failure(chat.prepareExecution("execution", contract(at, { auth: { mode: "platform" } })));

  expect(error).toMatchObject({ name: "ExecutionError", code: "UNSUPPORTED_EXECUTION_INPUT" });
  expect(error.path).toMatch(/^auth/);
});

test("a part of the prompt that Codex cannot take is refused before anything is sent", async () => {
  const { model, session, execution } = await codex();
  const parts = [{ type: "text" as const, text: "Listen." }, { type: "audio" as const, data: "UklGRg==", mimeType: "audio/wav" }];

  const error = await failure(session.send({ execution, prompt: { parts } }));

  expect(error).toMatchObject({ name: "PromptError", code: "UNSUPPORTED_PROMPT_PART", part: 1 });
  expect(model.requests).toEqual([]);
  expect(await session.messages()).toEqual([]);
});

test("platform and byok both use what the contract resolves to", async () => {
  const { model, ...conversation } = await codex({}, { auth: { mode: "platform", bindingId: "platform" }, modelId: MODEL });
  model.queue(respond([message("Hello.")]));
  expect((await play(conversation)).turn.status).toBe("completed");
});
