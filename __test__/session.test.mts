import type { TurnRecord } from "@amalgm/chat-native/conversations";
import { NativeChatRuntime } from "@amalgm/chat-native/host";
import { Chat, ChatSession, ChatSessionError, TurnStreamError } from "@amalgm/chat-native/sessions";
import { createSqliteJournalBatchPolicy, SqliteConversationStore } from "@amalgm/chat-native/sqlite";
import { assert, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  collect,
  contract,
  countTo,
  failure,
  FAILING,
  openHost,
  openSession,
  playTurn,
  prompt,
  sequenceOf,
  temporaryDatabase,
  TEXT,
  textOf,
  TOOL,
  TWO_TURNS,
} from "./support.mjs";

const WORDS = 'Hello 世界! 👩‍👩‍👧 🎉\n\n- café ñ\n```js\nconst a = "\\u0000";\n```\n';

describe("a turn", () => {
  test("streams what the agent said, in order and without gaps, and is sealed completed", async () => {
    const opened = await openSession();
    const { stream, updates } = await playTurn(opened);
    expect(updates.map(sequenceOf)).toEqual(countTo(updates.length));
    expect(textOf(updates)).toBe(WORDS);
    expect(updates.every(({ _meta }) => _meta.amalgm.turnId === stream.turnId && _meta.amalgm.conversationId === opened.session.id)).toBe(true);

    const turn = await stream.completion;
    expect(turn).toMatchObject({ id: stream.turnId, status: "completed", stopReason: "end_turn", error: null, origin: "host", ordinal: 1 });
    expect(turn).toMatchObject({ lastSequence: updates.length, prompt, execution: { ...opened.execution, contract: contract(TEXT) } });
    expect(turn.usage).toMatchObject({ inputTokens: 1200, outputTokens: 42, cacheReadTokens: 0, steps: 1 });
    expect(Date.parse(turn.endedAt!)).toBeGreaterThanOrEqual(Date.parse(turn.startedAt));
  });

  test("leaves the prompt and the answer as messages, and its usage as steps", async () => {
    const { session, execution, host } = await openSession();
    const { stream, updates } = await playTurn({ session, execution, host });
    const messages = await session.messages();
    expect(messages.map(({ role, turnId }) => [role, turnId])).toEqual([
      ["user", stream.turnId],
      ["assistant", stream.turnId],
    ]);
    expect(messages[0]!.parts).toEqual([{ type: "text", text: "Play the recording." }]);
    expect(messages[1]!.parts).toContainEqual({ type: "text", text: textOf(updates) });

    const steps = await session.usageSteps(stream.turnId);
    expect(steps).toMatchObject([{ turnId: stream.turnId, index: 0, inputTokens: 1200, outputTokens: 42, billable: true }]);
    expect(await session.usageSteps()).toEqual(steps);
  });

  test("shows a tool in each state once and ends it", async () => {
    const { updates } = await playTurn(await openSession(TOOL));
    const states = new Map<string, string[]>();
    for (const update of updates) {
      if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") continue;
      const seen = states.get(update.toolCallId) ?? [];
      if (update.status && update.status !== seen.at(-1)) seen.push(update.status);
      states.set(update.toolCallId, seen);
    }
    expect(states.size).toBeGreaterThan(0);
    for (const seen of states.values()) {
      expect(new Set(seen).size).toBe(seen.length);
      expect(["completed", "failed"]).toContain(seen.at(-1));
    }
  });

  test("that fails is sealed failed, and its streams throw after the last update", async () => {
    const { session, execution } = await openSession(FAILING);
    const stream = await session.send({ execution, prompt });
    const seen: number[] = [];
    const error = await failure(
      (async () => {
        for await (const update of stream) seen.push(sequenceOf(update));
      })(),
    );
    assert(error instanceof TurnStreamError);
    const { turn } = error;
    expect(turn).toEqual(await stream.completion);
    expect(turn).toMatchObject({ status: "failed", error: { code: "AUTH_ERROR", class: "auth" }, lastSequence: seen.length });
    expect(error).toMatchObject({ code: "AUTH_ERROR", message: turn.error!.message });
  });

  test("after the last recorded one fails with replay_exhausted", async () => {
    const opened = await openSession();
    await playTurn(opened);
    const stream = await opened.session.send({ execution: opened.execution, prompt });
    expect(await stream.completion).toMatchObject({ status: "failed", error: { reason: "replay_exhausted" } });
  });

  test("sends that follow play the following recorded turns", async () => {
    const opened = await openSession(TWO_TURNS);
    const first = await playTurn(opened);
    const second = await playTurn(opened);
    expect(await first.stream.completion).toMatchObject({ status: "completed", ordinal: 1 });
    expect(await second.stream.completion).toMatchObject({ status: "completed", ordinal: 2 });
    expect(await opened.session.messages()).toHaveLength(4);
  });
});

describe("send", () => {
  test("with a known turn id attaches and starts nothing", async () => {
    const { session, execution } = await openSession();
    const first = await session.send({ execution, prompt, turnId: "mine" });
    const again = await session.send({ execution, prompt, turnId: "mine" });
    expect([first.turnId, again.turnId]).toEqual(["mine", "mine"]);
    expect(JSON.stringify(await collect(again))).toBe(JSON.stringify(await collect(first)));
    expect(await session.messages()).toHaveLength(2);
  });

  test("while a turn runs is SESSION_BUSY and stores nothing", async () => {
    const { session, execution } = await openSession(TEXT, "recorded");
    const running = await session.send({ execution, prompt });
    const error = await failure(session.send({ execution, prompt }));
    expect(error).toBeInstanceOf(ChatSessionError);
    expect(error).toMatchObject({ code: "SESSION_BUSY" });
    expect(await running.completion).toMatchObject({ status: "completed", ordinal: 1 });
    expect(await session.messages()).toHaveLength(2);
  });

  test("of calls that do not wait for each other the first one wins", async () => {
    const { session, execution } = await openSession(TEXT, "recorded");
    const outcomes = await Promise.allSettled(countTo(5).map(() => session.send({ execution, prompt })));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "rejected", "rejected"]);
  });

  test("of another agent's execution is SESSION_AGENT_MISMATCH", async () => {
    const { host, session } = await openSession();
    const other = await host.chat.prepareExecution("other", contract(TOOL));
    await expect(session.send({ execution: other, prompt })).rejects.toMatchObject({ code: "SESSION_AGENT_MISMATCH" });
    await expect(host.chat.resumeSession({ sessionId: session.id, execution: other })).rejects.toMatchObject({ code: "SESSION_AGENT_MISMATCH" });
  });
});

describe("interrupt", () => {
  test("seals the running turn cancelled, and its streams end without an error", async () => {
    const { session, execution } = await openSession(TEXT, "recorded");
    const stream = await session.send({ execution, prompt });
    await session.interrupt();
    const turn = await stream.completion;
    expect(turn).toMatchObject({ status: "cancelled", stopReason: "cancelled" });
    expect(await collect(stream)).toHaveLength(turn.lastSequence);
  });

  test("resolves at once where no turn runs", async () => {
    const { session } = await openSession();
    await expect(session.interrupt()).resolves.toBeUndefined();
  });
});

describe("conversations", () => {
  test("are started once under an id, and known by it", async () => {
    const { chat } = await openHost();
    const execution = await chat.prepareExecution("a", contract(TEXT));
    const session = await chat.startSession({ execution, sessionId: "mine", title: "First" });
    expect(session).toBeInstanceOf(ChatSession);
    expect(session.id).toBe("mine");
    await expect(chat.startSession({ execution, sessionId: "mine" })).rejects.toMatchObject({ code: "SESSION_ALREADY_EXISTS" });
    expect((await session.inspect()).conversation).toMatchObject({ id: "mine", title: "First", ownerUserId: "owner", newMessages: false, archivedAt: null });
    expect(await session.updateTitle("Second")).toMatchObject({ title: "Second" });
  });

  test("are listed newest first, page by page, without the archived ones", async () => {
    const { chat } = await openHost();
    const execution = await chat.prepareExecution("a", contract(TEXT));
    const ids = countTo(7).map((number) => `session-${String(number)}`);
    for (const sessionId of ids) await chat.startSession({ execution, sessionId });
    const newestFirst = ids.toReversed();
    expect((await chat.listConversations()).map(({ id }) => id)).toEqual(newestFirst);
    expect((await chat.listConversations({ limit: 2 })).map(({ id }) => id)).toEqual(newestFirst.slice(0, 2));

    const paged: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<Chat["pageConversations"]>> = await chat.pageConversations({ limit: 3, cursor });
      paged.push(...page.conversations.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(paged).toEqual(newestFirst);

    await chat.archiveSession("session-4");
    expect((await chat.listConversations()).map(({ id }) => id)).not.toContain("session-4");
    expect((await chat.listConversations({ includeArchived: true })).map(({ id }) => id)).toContain("session-4");
  });

  test("say what is new until it was seen", async () => {
    const opened = await openSession();
    const { chat } = opened.host;
    await playTurn(opened);
    expect((await opened.session.inspect()).conversation.newMessages).toBe(true);
    expect(await chat.markSeen(opened.session.id)).toMatchObject({ newMessages: false });
  });

  test("tell the turn that runs and the newest one", async () => {
    const { host, session, execution } = await openSession(TEXT, "recorded");
    expect([await host.chat.activeTurn(session.id), await host.chat.latestTurn(session.id)]).toEqual([null, null]);
    const stream = await session.send({ execution, prompt });
    expect(await host.chat.activeTurn(session.id)).toMatchObject({ id: stream.turnId, status: "running", endedAt: null });
    expect(await session.inspect()).toMatchObject({ activeTurn: { id: stream.turnId }, latestTurn: { id: stream.turnId }, pendingRequests: [] });
    const sealed = await stream.completion;
    expect(await host.chat.activeTurn(session.id)).toBeNull();
    expect(await host.chat.latestTurn(session.id)).toEqual(sealed);
  });

  test("of another owner do not exist", async () => {
    const databasePath = temporaryDatabase();
    const mine = await openSession(TEXT, "instant", { databasePath });
    const { stream } = await playTurn(mine);
    const { chat } = await openHost({ databasePath, ownerUserId: "stranger" });
    const { id } = mine.session;
    expect(await chat.listConversations()).toEqual([]);
    const attempts = [chat.resumeStoredSession(id), chat.archiveSession(id), chat.markSeen(id), chat.latestTurn(id), chat.activeTurn(id)];
    for (const error of await Promise.all(attempts.map(failure))) expect(error).toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(await failure(collect(chat.replayTurn(id, stream.turnId)))).toMatchObject({ code: expect.stringMatching(/NOT_FOUND/) as string });
  });

  test("closing one waits for its turn", async () => {
    const { session, execution, host } = await openSession(TEXT, "recorded");
    const stream = await session.send({ execution, prompt });
    await session.close();
    expect(await host.chat.latestTurn(session.id)).toMatchObject({ id: stream.turnId, status: "completed" });
  });
});

describe("a chat made by hand", () => {
  function openChat(options: Partial<ConstructorParameters<typeof Chat>[0]> = {}): Chat {
    const conversations = new SqliteConversationStore(temporaryDatabase());
    const runtime = new NativeChatRuntime();
    const chat = new Chat({ ownerUserId: "owner", conversations, runtime, ...options });
    onTestFinished(async () => {
      await chat.close();
      await runtime.close();
      await conversations.close();
    });
    return chat;
  }

  test("announces each turn when it begins and when it is sealed", async () => {
    const turns: TurnRecord[] = [];
    let sealed = (): void => undefined;
    const announced = new Promise<void>((done) => (sealed = done));
    const chat = openChat({
      onTurn: (turn) => {
        turns.push(turn);
        if (turn.status !== "running") sealed();
      },
    });
    const execution = await chat.prepareExecution("a", contract(TEXT));
    const stream = await (await chat.startSession({ execution })).send({ execution, prompt });
    await announced;
    expect(turns.map(({ id, status }) => [id, status])).toEqual([
      [stream.turnId, "running"],
      [stream.turnId, "completed"],
    ]);
  });

  test("survives an onTurn that throws, with a warning", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    onTestFinished(() => {
      warn.mockRestore();
    });
    const chat = openChat({
      onTurn: () => {
        throw new Error("in the callback");
      },
    });
    const execution = await chat.prepareExecution("a", contract(TEXT));
    const stream = await (await chat.startSession({ execution })).send({ execution, prompt });
    expect(await stream.completion).toMatchObject({ status: "completed" });
    await vi.waitUntil(() => warn.mock.calls.length === 2);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("in the callback"));
  });

  test("takes its times from the host's clock", async () => {
    const now = new Date("2020-02-02T02:02:02.000Z");
    const chat = openChat({ clock: { now: () => now }, journal: createSqliteJournalBatchPolicy({ maxUpdates: 1 }) });
    const execution = await chat.prepareExecution("a", contract(TEXT));
    const session = await chat.startSession({ execution });
    const stream = await session.send({ execution, prompt });
    const [update] = await collect(stream);
    expect(update!._meta.amalgm.at).toBe(now.getTime());
    expect(await stream.completion).toMatchObject({ startedAt: now.toISOString(), endedAt: now.toISOString() });
    expect((await session.inspect()).conversation.createdAt).toBe(now.toISOString());
  });

  test("rejects everything with CHAT_CLOSED after its end, however often it is closed", async () => {
    const chat = openChat();
    const execution = await chat.prepareExecution("a", contract(TEXT));
    const session = await chat.startSession({ execution });
    await chat.close();
    await chat.close();
    const attempts = [chat.startSession({ execution }), session.send({ execution, prompt }), session.messages(), chat.listConversations()];
    for (const error of await Promise.all(attempts.map(failure))) {
      expect(error).toBeInstanceOf(ChatSessionError);
      expect(error).toMatchObject({ code: "CHAT_CLOSED" });
    }
  });
});
