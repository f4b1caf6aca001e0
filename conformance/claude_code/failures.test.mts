import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually, processesWith } from "../processes.mjs";
import { cut, held, refuse, respond, text } from "../server/messages.mjs";
import type { Answer } from "../server/scripted.mjs";
import { converse, errorNotices, kill, openHost, play, resolved, send, textOf, type AnyUpdate } from "../support.mjs";
import { agents, claude, claudeScene, contract, host, shell } from "./support.mjs";

const retries = (updates: AnyUpdate[]): AnyUpdate[] => updates.filter((update) => update._meta.amalgm.retry !== undefined);

/** One failure in the turn, one notice of it, and both say the same. */
function expectFailure(turn: { status: string; error: unknown }, updates: AnyUpdate[], expected: { class: string; reason: string; retryable?: boolean }): void {
  expect(turn).toMatchObject({ status: "failed", error: expected });
  expect(errorNotices(updates).map((update) => update._meta.amalgm.error)).toMatchObject([expected]);
}

const now = { "retry-after": "0" };

test.each<[string, Answer, { class: string; reason: string; retryable: boolean }]>([
  ["401", refuse(401, "authentication_error", "invalid x-api-key"), { class: "auth", reason: "invalid_key", retryable: false }],
  ["429 for good", refuse(429, "rate_limit_error", "Rate limit reached.", now), { class: "model", reason: "rate_limited", retryable: true }],
  ["500", refuse(500, "api_error", "The server had an error.", now), { class: "model", reason: "server_error", retryable: true }],
  ["529", refuse(529, "overloaded_error", "Overloaded.", now), { class: "model", reason: "overloaded", retryable: true }],
  ["400", refuse(400, "invalid_request_error", "Something is wrong with it."), { class: "model", reason: "invalid_request", retryable: false }],
  ["no credit", refuse(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."), { class: "model", reason: "quota_exceeded", retryable: false }],
  ["404", refuse(404, "not_found_error", "model: claude-sonnet-5-5"), { class: "model", reason: "model_not_found", retryable: false }],
  ["a context that is full", refuse(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"), { class: "model", reason: "context_overflow", retryable: false }],
])("%s", async (_, answer, expected) => {
  const { model, ...at } = await claude();
  model.otherwise(() => answer);

  const { turn, updates } = await play(at);

  expectFailure(turn, updates, expected);
  expect(turn.error?.message).not.toBe("");
  // The conversation is no worse for it, and the process goes on.
  model.otherwise(() => respond([text("Here again.")]));
  expect((await play(at)).turn.status).toBe("completed");
  expect(agents(at)).toHaveLength(1);
});

test("a result that calls itself a success and is an error fails the turn", async () => {
  const { model, ...at } = await claude();
  model.otherwise(() => refuse(403, "permission_error", "Your organization does not have access."));

  const { turn, updates } = await play(at);

  const results = updates.flatMap(({ _meta: { amalgm } }) => (amalgm.native !== undefined && "message" in amalgm.native ? [amalgm.native.message as { type: string }] : [])).filter(({ type }) => type === "result");
  expect(results).toMatchObject([{ subtype: "success", is_error: true, api_error_status: 403 }]);
  expectFailure(turn, updates, { class: "auth", reason: "login_required" });
  expect(turn.stopReason).toBeNull();
});

test("after an error Claude Code ends with exit code 1, which is no failure of its own", async () => {
  const { model, ...at } = await claude({ idleTimeoutMs: 200 });
  model.queue(respond([text("First answer.")]));
  await play(at, "First question.");
  model.otherwise(() => refuse(401, "authentication_error", "invalid x-api-key"));
  const failed = await play(at, "Second question.");
  expectFailure(failed.turn, failed.updates, { class: "auth", reason: "invalid_key" });
  // The host ends an agent that nobody needs.
  await eventually("the agent is gone", () => agents(at).length === 0);

  model.otherwise(() => respond([text("Third answer.")]));
  const { turn, updates, parts } = await play(at, "Third question.");

  expect(turn).toMatchObject({ status: "completed", error: null });
  expect(errorNotices(updates)).toEqual([]);
  expect(textOf(parts)).toBe("Third answer.");
  expect(model.requests.at(-1)!.text).toContain("First answer.");
});

test("429 with retry-after: a notice of the retry, then success", async () => {
  const { model, ...at } = await claude();
  model.queue(refuse(429, "rate_limit_error", "Rate limit reached.", { "retry-after": "1" }), respond([text("Now it works.")]));

  const { turn, updates, parts } = await play(at);

  expect(turn).toMatchObject({ status: "completed", error: null });
  expect(textOf(parts)).toBe("Now it works.");
  expect(retries(updates).length).toBeGreaterThan(0);
  expect(errorNotices(updates)).toEqual([]);
});

test("a stream that is cut once: the answer comes all the same", async () => {
  const { model, ...at } = await claude();
  model.queue(cut("The answer", " is"), respond([text("The answer", " is", " 42.")]));

  const { turn, updates, parts } = await play(at);

  expect(turn).toMatchObject({ status: "completed", error: null });
  expect(errorNotices(updates)).toEqual([]);
  expect(textOf(parts)).toMatch(/The answer is 42\.$/);
});

test("an error after a command: what was done stays", async () => {
  const { model, ...at } = await claude();
  model.queue(respond([shell("echo done")]));
  model.otherwise(() => refuse(401, "authentication_error", "invalid x-api-key"));

  const { turn, updates, parts } = await play(at);

  expectFailure(turn, updates, { class: "auth", reason: "invalid_key" });
  expect(parts).toContainEqual(expect.objectContaining({ type: "tool", status: "completed" }));
});

test("a program that is not there", async () => {
  const at = await claudeScene();
  const conversation = await converse(await openHost(at, { installations: { claude_code: { default: { command: "/nonexistent/claude" } } } }), contract(at));

  const { turn, updates } = await play(conversation);

  expectFailure(turn, updates, { class: "runtime", reason: "agent_missing" });
  expect(turn.error?.message).toContain("/nonexistent/claude");
  expect(at.model.requests).toEqual([]);
});

const programs: Array<[string, string, { class: string; reason: string }]> = [
  ["does not start in time", "exec sleep 603", { class: "transport", reason: "start_timeout" }],
  ["ends at once, with what it said last", "echo the library is missing >&2; exit 127", { class: "transport", reason: "agent_exited" }],
];

test.each(programs)("a program that %s", async (_, script, expected) => {
  const at = await claudeScene();
  const command = join(at.folder, "program");
  writeFileSync(command, `#!/bin/sh\n${script}\n`);
  chmodSync(command, 0o755);
  const conversation = await converse(await openHost(at, { installations: { claude_code: { default: { command } } }, startLimitMs: 1000 }), contract(at));

  const { turn, updates } = await play(conversation);

  expectFailure(turn, updates, expected);
  if (script.includes("echo")) expect(JSON.stringify(turn.error)).toContain("the library is missing");
  await conversation.host.close();
  expect(processesWith(at.folder)).toEqual([]);
});

test("no key", async () => {
  const at = await claudeScene();
  // Without `resolve`, byok takes the provider's usual variable, which is not set here.
  const conversation = await converse(await host(at, { resolve: undefined }), contract(at));

  const { turn, updates } = await play(conversation);

  expectFailure(turn, updates, { class: "auth", reason: "missing_key" });
});

test("the agent is killed in mid-turn; the next turn has a new one and the same session", async () => {
  const { model, ...at } = await claude();
  model.queue(respond([text("First answer.")]), held([text("Half an ans", "wer")], 1).answer);
  await play(at, "First question.");

  const turn = await send(at, "Second question.");
  await turn.first("agent_message_chunk");
  expect(agents(at)).toHaveLength(1);
  kill(agents(at)[0]!.pid);

  expectFailure(await turn.ended, turn.updates, { class: "transport", reason: "agent_exited" });
  model.queue(respond([text("Third answer.")]));
  expect((await play(at, "Third question.")).turn.status).toBe("completed");
  expect(model.requests.at(-1)!.text).toContain("First answer.");
});

test("a model server that nobody listens at ends with a failure of the transport", async () => {
  const at = await claudeScene();
  await at.model.close();
  const conversation = await converse(await host(at, { resolve: () => resolved(at) }), contract(at));

  const { turn, updates } = await play(conversation);

  expectFailure(turn, updates, { class: "transport", reason: "unreachable" });
  expect(retries(updates).length).toBeGreaterThan(0);
});

test("an agent that falls silent ends by the idle limit", async () => {
  const { model, ...at } = await claude({ idleLimitMs: 2000 });
  model.queue(held([text("And then", "what")], 1).answer);

  const { turn, updates } = await play(at);

  expectFailure(turn, updates, { class: "transport", reason: "agent_silent" });
});
