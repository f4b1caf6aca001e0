import { join } from "node:path";
import { chmodSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { processesWith } from "../processes.mjs";
import { cut, failed, held, incomplete, message, refuse, respond } from "../server/responses.mjs";
import type { Answer } from "../server/scripted.mjs";
import { converse, errorNotices, kill, ofKind, openHost, play, resolved, scene, send, textOf, type AnyUpdate } from "../support.mjs";
import { codex, contract, host, shell } from "./support.mjs";

const retries = (updates: AnyUpdate[]): AnyUpdate[] => updates.filter((update) => update._meta.amalgm.retry !== undefined);

/** One failure in the turn, one notice of it, and both say the same. */
function expectFailure(turn: { status: string; error: unknown }, updates: AnyUpdate[], expected: { class: string; reason: string; retryable?: boolean }): void {
  expect(turn).toMatchObject({ status: "failed", error: expected });
  expect(errorNotices(updates).map((update) => update._meta.amalgm.error)).toMatchObject([expected]);
}

const invalidKey = refuse(401, { code: "invalid_api_key", message: "Incorrect API key provided." });
const overflow = failed("context_length_exceeded", "Your input exceeds the context window of this model.");
const quota = refuse(429, { code: "insufficient_quota", type: "insufficient_quota", message: "You exceeded your current quota." });

test.each<[string, Answer, { class: string; reason: string; retryable: boolean }]>([
  ["401", invalidKey, { class: "auth", reason: "invalid_key", retryable: false }],
  ["429 for good", refuse(429, { code: "rate_limit_exceeded", message: "Rate limit reached." }), { class: "model", reason: "rate_limited", retryable: true }],
  ["no quota", quota, { class: "model", reason: "quota_exceeded", retryable: false }],
  ["500", refuse(500, { type: "server_error", message: "The server had an error." }), { class: "model", reason: "server_error", retryable: true }],
  ["503", refuse(503, { code: "server_is_overloaded", message: "Overloaded." }), { class: "model", reason: "overloaded", retryable: true }],
  ["400", refuse(400, { message: "Something is wrong with it." }), { class: "model", reason: "invalid_request", retryable: false }],
  ["404", refuse(404, { code: "model_not_found", message: "The model does not exist." }), { class: "model", reason: "model_not_found", retryable: false }],
  ["a context that is full", overflow, { class: "model", reason: "context_overflow", retryable: false }],
  ["an answer that is too long", incomplete("max_output_tokens", "Half of"), { class: "model", reason: "max_tokens", retryable: false }],
  ["a stream that is always cut", cut("Half of"), { class: "transport", reason: "stream_cut", retryable: true }],
])("%s", async (_, answer, expected) => {
  const { model, ...at } = await codex();
  model.otherwise(() => answer);

  const { turn, updates } = await play(at);

  expectFailure(turn, updates, expected);
  expect(turn.error?.message).not.toBe("");
  // The conversation is no worse for it.
  model.otherwise(() => respond([message("Here again.")]));
  expect((await play(at)).turn.status).toBe("completed");
});

test("429 with retry-after: a notice of the retry, then success", async () => {
  const { model, ...at } = await codex();
  model.queue(refuse(429, { code: "rate_limit_exceeded", message: "Rate limit reached." }, { "retry-after": "1" }), respond([message("Now it works.")]));

  const { turn, updates, parts } = await play(at);

  expect(turn).toMatchObject({ status: "completed", error: null });
  expect(textOf(parts)).toBe("Now it works.");
  expect(retries(updates).length).toBeGreaterThan(0);
  expect(errorNotices(updates)).toEqual([]);
});

test("a stream that is cut once: the text that was seen is not said twice", async () => {
  const { model, ...at } = await codex();
  model.queue(cut("The answer", " is"), respond([message("The answer", " is", " 42.")]));

  const { turn, updates, parts } = await play(at);

  expect(turn).toMatchObject({ status: "completed", error: null });
  expect(retries(updates)).toHaveLength(1);
  expect(errorNotices(updates)).toEqual([]);
  // What was streamed before the cut stays, and a notice says that the answer begins anew.
  expect(ofKind(updates, "notice").map(({ severity }) => severity)).not.toContain("error");
  expect(textOf(parts)).toMatch(/The answer is 42\.$/);
});

test("an error after a command: what was done stays", async () => {
  const { model, ...at } = await codex();
  model.queue(respond([shell("echo done")]));
  model.otherwise(() => refuse(400, { message: "Something is wrong with it." }));

  const { turn, updates, parts } = await play(at);

  expectFailure(turn, updates, { class: "model", reason: "invalid_request" });
  expect(parts).toContainEqual(expect.objectContaining({ type: "tool", status: "completed" }));
});

test("a program that is not there", async () => {
  const at = await scene();
  const conversation = await converse(await openHost(at, { installations: { codex: { default: { command: "/nonexistent/codex" } } } }), contract(at));

  const { turn, updates } = await play(conversation);

  expectFailure(turn, updates, { class: "runtime", reason: "agent_missing" });
  expect(turn.error?.message).toContain("/nonexistent/codex");
  expect(at.model.requests).toEqual([]);
});

test("a program that does not start in time", async () => {
  const at = await scene();
  const silent = join(at.folder, "silent");
  writeFileSync(silent, "#!/bin/sh\nexec sleep 603\n");
  chmodSync(silent, 0o755);
  const conversation = await converse(await openHost(at, { installations: { codex: { default: { command: silent } } }, startLimitMs: 1000 }), contract(at));

  const { turn, updates } = await play(conversation);

  expectFailure(turn, updates, { class: "transport", reason: "start_timeout" });
  await conversation.host.close();
  expect(processesWith(at.folder)).toEqual([]);
});

test("a program that ends at once, with what it said last", async () => {
  const at = await scene();
  const broken = join(at.folder, "broken");
  writeFileSync(broken, "#!/bin/sh\necho the library is missing >&2\nexit 127\n");
  chmodSync(broken, 0o755);
  const conversation = await converse(await openHost(at, { installations: { codex: { default: { command: broken } } } }), contract(at));

  const { turn, updates } = await play(conversation);

  expectFailure(turn, updates, { class: "transport", reason: "agent_exited" });
  expect(JSON.stringify(turn.error)).toContain("the library is missing");
});

test("no key", async () => {
  const at = await scene();
  // Without `resolve`, byok takes the provider's usual variable, which is not set here.
  const conversation = await converse(await host(at, { resolve: undefined }), contract(at));

  const { turn, updates } = await play(conversation);

  expectFailure(turn, updates, { class: "auth", reason: "missing_key" });
});

test("the agent is killed in mid-turn; the next turn has a new one and the same session", async () => {
  const { model, ...at } = await codex();
  model.queue(respond([message("First answer.")]), held(["Half an ans"]).answer);
  await play(at, "First question.");

  const turn = await send(at, "Second question.");
  await turn.first("agent_message_chunk");
  const agents = processesWith(at.folder).filter((running) => running.arguments.includes("app-server"));
  expect(agents).toHaveLength(1);
  kill(agents[0]!.pid);

  expectFailure(await turn.ended, turn.updates, { class: "transport", reason: "agent_exited" });
  model.queue(respond([message("Third answer.")]));
  expect((await play(at, "Third question.")).turn.status).toBe("completed");
  expect(model.requests.at(-1)!.text).toContain("First answer.");
});

test("a model server that nobody listens at ends by the retry limit", async () => {
  const at = await scene();
  await at.model.close();
  const conversation = await converse(await host(at, { resolve: () => resolved(at), retryLimitMs: 3000 }), contract(at));

  const { turn, updates } = await play(conversation);

  expectFailure(turn, updates, { class: "transport", reason: "retry_limit" });
  expect(retries(updates).length).toBeGreaterThan(0);
});

test("an agent that falls silent ends by the idle limit", async () => {
  const { model, ...at } = await codex({ idleLimitMs: 2000 });
  model.queue(held(["And then"]).answer);

  const { turn, updates } = await play(at);

  expectFailure(turn, updates, { class: "transport", reason: "agent_silent" });
});
