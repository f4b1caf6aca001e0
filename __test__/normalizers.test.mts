import { createChatHost } from "@amalgm/chat-native/host";
import { toSessionUpdates, type ChatEvent } from "@amalgm/chat-native/events";
import * as normalizers from "@amalgm/chat-native/normalizers";
import { normalizeCodexNotification, normalizeRecording, Normalizer, type Harness } from "@amalgm/chat-native/normalizers";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { bundledRecording, collect, contract, prompt, root } from "./support.mjs";

const invalid = (path: string): unknown => expect.objectContaining({ name: "ChatOptionsError", code: "INVALID_OPTIONS", path });

interface Message {
  ch: string;
  msg: unknown;
}
const messagesOf = (recording: string): Message[] =>
  bundledRecording(recording).trimEnd().split("\n").slice(1).map((line) => JSON.parse(line) as Message).filter(({ ch }) => ch === "stdin" || ch === "stdout");

/** What a chat journals for all turns of a recording. */
async function journaled(recording: string): Promise<string[]> {
  const host = await createChatHost({ ownerUserId: "owner", databasePath: ":memory:", native: { onElicitationRequest: () => ({ action: "decline" }) } });
  onTestFinished(() => host.close());
  const execution = await host.chat.prepareExecution("execution", contract(recording));
  const session = await host.chat.startSession({ execution });
  const kinds: string[] = [];
  for (;;) {
    const stream = await session.send({ execution, prompt });
    const updates = await collect(stream).catch(() => collect(host.chat.replayTurn(session.id, stream.turnId)));
    if ((await stream.completion).error?.reason === "replay_exhausted") return kinds;
    kinds.push(...updates.map(({ sessionUpdate }) => sessionUpdate));
  }
}

const OTHERWISE: Record<string, string> = {
  "approval-pending-then-interrupt": "the replay answers at once what the recorded host answered later",
  "killed-mid-turn-then-resume": "a chat says that the agent died",
  "stdin-closed-mid-turn": "a chat says that the agent died",
  "account-chatgpt-login-start-cancel": "no turn was recorded",
  "model-list-account-config": "no turn was recorded",
  "mcp-ambient-and-disable": "no turn was recorded",
  "project-trust-overridden": "no turn was recorded",
  "project-trust-side-effect": "no turn was recorded",
  "two-threads-interleaved": "a chat keeps the turns of two threads apart",
};
const names = readdirSync(join(root, "fixtures", "recordings", "codex")).filter((name) => name.endsWith(".ndjson")).map((name) => name.slice(0, -".ndjson".length));

test.each(names.filter((name) => !(name in OTHERWISE)))("a recording means what a chat journals for it (codex/%s)", async (name) => {
  const updates = normalizeRecording("codex", bundledRecording(`codex/${name}`));
  const kinds: string[] = updates.map(({ sessionUpdate }) => sessionUpdate);
  expect(kinds).toEqual(await journaled(`codex/${name}`));
});

test("a recording crosses as text or as bytes, and says what its events say", () => {
  const text = bundledRecording("codex/command-success-output-deltas");
  const updates = normalizeRecording("codex", text);
  expect(normalizeRecording("codex", Buffer.from(text))).toEqual(updates);
  const call = updates.find(({ sessionUpdate }) => sessionUpdate === "tool_call");
  expect(call).toMatchObject({ name: "Bash", kind: "execute" });
  const places = updates.map((update) => ("_meta" in update ? update._meta : null) as { amalgm?: object } | null);
  expect(places.some((meta) => meta?.amalgm !== undefined && "delta" in meta.amalgm)).toBe(true);
  for (const meta of places) expect(Object.keys(meta?.amalgm ?? {})).not.toContain("sequence");
});

test("invalid UTF-8 in a recording is replaced", () => {
  const line = JSON.stringify({ i: 0, t: 0, ch: "stdout", msg: { method: "item/agentMessage/delta", params: { threadId: "t", itemId: "m", delta: "a?é" } } });
  const bytes = Buffer.from(line);
  bytes[bytes.indexOf("?")] = 0xff;
  expect(normalizeRecording("codex", bytes)).toMatchObject([{ sessionUpdate: "agent_message_chunk", messageId: "m", content: { text: "a\ufffdé" } }]);
});

test.each<Harness>(["acp", "claude_code", "codex", "cursor", "opencode", "pi"])("all recordings of %s are read", (harness) => {
  const folder = join(root, "fixtures", "recordings", harness);
  const names = readdirSync(folder).filter((name) => name.endsWith(".ndjson"));
  const counts = names.map((name) => {
    const recording = readFileSync(join(folder, name));
    const updates = normalizeRecording(harness, recording);
    expect(updates.flatMap(words)).toEqual(eventsOf(harness, recording).flatMap(toSessionUpdates).flatMap(words));
    return updates.length;
  });
  expect(counts.filter((count) => count > 0).length).toBeGreaterThan(names.length / 2);
});

/** All events of a recording, one message at a time. */
function eventsOf(harness: Harness, recording: Buffer): ChatEvent[] {
  const normalizer = new Normalizer(harness);
  const lines = recording.toString().split("\n").filter((line) => line.startsWith('{"i"')).map((line) => JSON.parse(line) as Message);
  const sides: Partial<Record<string, "agent" | "host">> = { stdin: "host", "http-req": "host", stdout: "agent", "http-res": "agent", sse: "agent" };
  const events = lines.flatMap(({ ch, msg }) => (sides[ch] === undefined ? [] : normalizer.push(msg, sides[ch])));
  return [...events, ...normalizer.finish()];
}

/** What a reader sees of an update: its text, or its tool call with input and output. */
function words(update: ReturnType<typeof normalizeRecording>[number]): unknown[] {
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return [[update.sessionUpdate, update.messageId, update.content]];
    case "tool_call":
    case "tool_call_update": {
      const { toolCallId, status, content, rawInput, rawOutput } = update;
      const { delta, truncated } = (update._meta as { amalgm?: { delta?: unknown; truncated?: unknown } } | undefined)?.amalgm ?? {};
      // What is too long to repeat is shortened only where the stream is known.
      return [[toolCallId, status, delta, ...(truncated === undefined ? [content, rawInput, rawOutput] : [])]];
    }
    default:
      return [];
  }
}

describe("a normalizer", () => {
  test("takes values, texts and bytes alike", () => {
    const ways: Array<(normalizer: Normalizer, message: unknown, from: "agent" | "host") => ChatEvent[]> = [
      (normalizer, message, from) => normalizer.push(message, from),
      (normalizer, message, from) => normalizer.push(JSON.stringify(message), from),
      (normalizer, message, from) => normalizer.pushLine(JSON.stringify(message), from),
      (normalizer, message, from) => normalizer.pushLine(Buffer.from(JSON.stringify(message)), from),
    ];
    const [first, ...others] = ways.map((push) => {
      const normalizer = new Normalizer("codex");
      const events = messagesOf("codex/approval-command-accept").flatMap(({ ch, msg }) => push(normalizer, msg, ch === "stdin" ? "host" : "agent"));
      return [...events, ...normalizer.finish()];
    });
    for (const other of others) expect(other).toEqual(first);
    expect(first!.map(({ type }) => type)).toEqual(expect.arrayContaining(["session.init", "permission.requested", "permission.resolved", "done"]));
    expect(first!.at(-1)?.providerSessionId).toMatch(/./);
  });

  test("closes what the stream left open", () => {
    const normalizer = new Normalizer("codex", { providerSessionId: "t", cwd: "/w" });
    const item = { type: "commandExecution", id: "c", command: "sleep 9", status: "inProgress" };
    normalizer.push({ method: "item/started", params: { threadId: "t", turnId: "u", item } });
    expect(normalizer.finish("cancelled")).toMatchObject([{ type: "tool.completed", toolCallId: "c", isError: true, error: "The turn was cancelled" }]);
    expect(normalizer.finish()).toEqual([]);
  });

  test("counts junk and never throws it", () => {
    const normalizer = new Normalizer("codex");
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    const junk = [undefined, null, 5, "{", "", [], {}, cycle, 1n, Symbol("a"), () => 1, { method: 5 }, { method: "new/thing", params: {} }, { text: "\ud800" }];
    for (const message of junk) expect(normalizer.push(message)).toMatchObject([{ type: "unmapped", raw: { source: "codex.app-server.notification" } }]);
    expect(normalizer.pushLine(new Uint8Array([0xff, 0xfe]))).toMatchObject([{ type: "unmapped", kind: "invalid_json", raw: { payload: "\ufffd\ufffd" } }]);
    expect(Object.values(normalizer.unmapped).reduce((sum, count) => sum + count, 0)).toBe(junk.length + 1);
    expect(normalizer.unmapped["new/thing"]).toBe(1);
  });

  test("refuses arguments that it does not know, by name", () => {
    expect(() => new Normalizer("nobody" as never)).toThrow(invalid("harness"));
    expect(() => new Normalizer(5 as never)).toThrow(invalid("harness"));
    expect(() => new Normalizer("codex", { cwd: 5 } as never)).toThrow(invalid("options.cwd"));
    expect(() => new Normalizer("codex", { model: "a" } as never)).toThrow(invalid("options.model"));
    const normalizer = new Normalizer("codex");
    expect(() => normalizer.push({}, "me" as never)).toThrow(invalid("from"));
    expect(() => normalizer.pushLine(5 as never)).toThrow(invalid("line"));
    expect(() => normalizer.finish("why" as never)).toThrow(invalid("reason"));
    expect(() => normalizeRecording("nobody" as never, "")).toThrow(invalid("harness"));
    expect(() => normalizeRecording("codex", {} as never)).toThrow(invalid("ndjson"));
    expect(() => normalizeCodexNotification({}, 5 as never)).toThrow(invalid("providerSessionId"));
    expect(() => normalizeCodexNotification({}, null, "a" as never)).toThrow(invalid("state"));
  });
});

describe("the per-message functions", () => {
  const delta = (text: string): object => ({ method: "item/agentMessage/delta", params: { threadId: "t", turnId: "u", itemId: "m", delta: text } });
  const whole = { method: "item/completed", params: { threadId: "t", turnId: "u", item: { type: "agentMessage", id: "m", text: "Hello" } } };

  test("remember by the state object", () => {
    const [one, other] = [{}, {}];
    expect(normalizeCodexNotification(delta("Hel"), "s", one)).toMatchObject([{ text: "Hel", providerSessionId: "s" }]);
    expect(normalizeCodexNotification(delta("Hello"), "s", other)).toMatchObject([{ text: "Hello" }]);
    expect(normalizeCodexNotification(whole, "s", one)).toMatchObject([{ text: "lo" }]);
    expect(normalizeCodexNotification(whole, "s", other)).toEqual([]);
    expect(normalizeCodexNotification(whole, "s")).toMatchObject([{ text: "Hello" }]);
    expect(one).toEqual({});
  });

  test("of all agents tell junk", () => {
    const { normalizeClaudeMessage, normalizeOpenCodeEvent, normalizeCursorUpdate, normalizePiEvent, normalizeAcpUpdate } = normalizers;
    for (const normalize of [normalizeClaudeMessage, normalizeOpenCodeEvent, normalizeCursorUpdate, normalizePiEvent, normalizeAcpUpdate]) {
      expect(normalize("{", "s")).toMatchObject([{ type: "unmapped", providerSessionId: "s", raw: { payload: "{" } }]);
    }
  });

  test("of Codex take older forms", () => {
    const event = { method: "item/reasoning/delta", payload: { callId: "r", textDelta: "Hm" } };
    expect(normalizeCodexNotification(event, null)).toMatchObject([{
      type: "reasoning.delta", text: "Hm", messageId: "r", providerSessionId: null,
      raw: { source: "codex.app-server.notification", method: "item/reasoning/delta", payload: { callId: "r", textDelta: "Hm" } },
    }]);
    expect(normalizeCodexNotification({ method: "error", params: { error: { message: "Reconnecting... 1/5" }, willRetry: true } }, null)).toEqual([]);
  });
});

test("the helpers describe items of Codex", () => {
  const item = { type: "commandExecution", id: "c", rawCommand: "bash -lc 'ls -l'", output: "a", exitCode: 2, status: "failed" };
  expect(normalizers.codexToolName(item)).toBe("Bash");
  expect(normalizers.codexToolTitle(item)).toBe("ls -l");
  expect(normalizers.codexToolDetail(item)).toBe("ls -l");
  expect(normalizers.codexToolInput(item)).toEqual({ command: "bash -lc 'ls -l'" });
  expect(normalizers.codexToolOutput(item)).toEqual({ exitCode: 2, output: "a" });
  expect(normalizers.codexToolError(item)).toBe("Exit code 2");
  expect(normalizers.codexToolError({ ...item, exitCode: 0, status: "completed" })).toBeUndefined();
  expect([item, { type: "agentMessage", id: "m" }, null, "text", undefined, 1n].map(normalizers.isCodexToolItem)).toEqual([true, false, false, false, false, false]);
  expect(normalizers.codexErrorMessage({ error: { message: "no" } })).toBe("no");
  expect(normalizers.codexErrorMessage(null, "nothing said")).toBe("nothing said");
  expect(normalizers.codexErrorMessage(undefined)).toBe("The turn failed");
});

test("events of a recording become the updates of the recording", () => {
  const normalizer = new Normalizer("codex");
  const events = messagesOf("codex/mcp-text-image-error").flatMap(({ ch, msg }) => normalizer.push(msg, ch === "stdin" ? "host" : "agent"));
  const kinds = [...events, ...normalizer.finish()].flatMap(toSessionUpdates).map(({ sessionUpdate }) => sessionUpdate);
  expect(kinds).toEqual(normalizeRecording("codex", bundledRecording("codex/mcp-text-image-error")).map(({ sessionUpdate }) => sessionUpdate));
});
