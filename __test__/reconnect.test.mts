import type { SessionUpdate } from "@amalgm/chat-native/acp";
import { createChatHost } from "@amalgm/chat-native/host";
import { SqliteConversationStore } from "@amalgm/chat-native/sqlite";
import { describe, expect, test } from "vitest";
import { collect, contract, failure, FAILING, openHost, openSession, playTurn, prompt, sequenceOf, temporaryDatabase, TEXT, TOOL } from "./support.mjs";

const texts = (updates: unknown[]): string[] => updates.map((update) => JSON.stringify(update));

describe("reconnect", () => {
  test.each([TEXT, TOOL])("gives exactly the updates after k, for every k, byte for byte (%s)", async (recording) => {
    const opened = await openSession(recording);
    const { stream, updates } = await playTurn(opened);
    const all = texts(updates);
    for (let k = 0; k <= all.length; k += 1) {
      const again = opened.session.reconnect(stream.turnId, { afterSequence: k });
      expect(texts(await collect(again))).toEqual(all.slice(k));
      expect(await again.completion).toEqual(await stream.completion);
    }
    expect(texts(await collect(opened.session.reconnect(stream.turnId)))).toEqual(all);
  });

  test("in the middle of a turn replays, then goes on live, with the same bytes", async () => {
    const { session, execution } = await openSession(TEXT, "recorded");
    const stream = await session.send({ execution, prompt });
    const early = collect(stream);
    const late: unknown[] = [];
    for await (const update of session.reconnect(stream.turnId)) {
      late.push(update);
      if (sequenceOf(update) === 5) break;
    }
    const rest = await collect(session.reconnect(stream.turnId, { afterSequence: 5 }));
    expect(texts([...late, ...rest])).toEqual(texts(await early));
  });

  test("past the end gives nothing and ends with the turn", async () => {
    const opened = await openSession();
    const { stream, updates } = await playTurn(opened);
    expect(await collect(opened.session.reconnect(stream.turnId, { afterSequence: updates.length + 100 }))).toEqual([]);
  });

  test("to an unknown turn is TURN_NOT_FOUND, at the first update and at completion", async () => {
    const { session } = await openSession();
    const stream = session.reconnect("no-such-turn");
    const error = await failure(collect(stream));
    expect(error).toMatchObject({ code: "TURN_NOT_FOUND", name: "ChatSessionError" });
    expect(error.message).toContain("no-such-turn");
    await expect(stream.completion).rejects.toMatchObject({ code: "TURN_NOT_FOUND" });
  });

  test.each([-1, 1.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1, "3", null])("refuses the cursor %s", async (afterSequence) => {
    const { host, session } = await openSession();
    const refusal = expect.objectContaining({ code: "INVALID_OPTIONS", path: "afterSequence" }) as Error;
    expect(() => session.reconnect("turn", { afterSequence: afterSequence as number })).toThrow(refusal);
    expect(() => host.chat.replayTurn(session.id, "turn", afterSequence as number)).toThrow(refusal);
  });
});

describe("replayTurn", () => {
  test("gives the same bytes", async () => {
    const opened = await openSession(TOOL);
    const { stream, updates } = await playTurn(opened);
    const { chat } = opened.host;
    expect(texts(await collect(chat.replayTurn(opened.session.id, stream.turnId)))).toEqual(texts(updates));
    expect(texts(await collect(chat.replayTurn(opened.session.id, stream.turnId, 3)))).toEqual(texts(updates).slice(3));
  });

  test("shows a failed turn without throwing", async () => {
    const { host, session, execution } = await openSession(FAILING);
    const stream = await session.send({ execution, prompt });
    const { lastSequence } = await stream.completion;
    expect(await collect(host.chat.replayTurn(session.id, stream.turnId))).toHaveLength(lastSequence);
  });

  test("of an unknown turn is TURN_NOT_FOUND", async () => {
    const { host, session } = await openSession();
    expect(await failure(collect(host.chat.replayTurn(session.id, "no-such-turn")))).toMatchObject({ code: "TURN_NOT_FOUND" });
  });
});

test("the journal holds the bytes that were streamed", async () => {
  const conversations = new SqliteConversationStore(temporaryDatabase());
  const opened = await openSession(TOOL, "instant", { conversations });
  const { stream, updates } = await playTurn(opened);
  const entries = await conversations.readUpdates("owner", opened.session.id, stream.turnId, 0, 10_000);
  expect(entries.map(({ sequence }) => sequence)).toEqual(updates.map(sequenceOf));
  expect(entries.map(({ json }) => json)).toEqual(texts(updates));
});

describe("a new host on the file", () => {
  test("resumes a stored session with what was said, and resolves its contract again", async () => {
    const databasePath = temporaryDatabase();
    const first = await createChatHost({ ownerUserId: "owner", databasePath });
    const execution = await first.chat.prepareExecution("execution", contract("codex/two-turns-one-thread"));
    const session = await first.chat.startSession({ execution });
    const { stream, updates } = await playTurn({ host: first, session, execution });
    const messages = await session.messages();
    await first.close();

    const asked: unknown[] = [];
    const second = await openHost({
      databasePath,
      native: {
        resolve: (stored) => {
          asked.push(stored);
          return {};
        },
      },
    });
    expect(second.recoveredTurns).toEqual([]);
    const resumed = await second.chat.resumeStoredSession(session.id);
    expect(asked).toEqual([contract("codex/two-turns-one-thread")]);
    expect(resumed.latestTurn).toEqual(await stream.completion);
    expect(await resumed.session.messages()).toEqual(messages);
    expect(texts(await collect(resumed.session.reconnect(stream.turnId)))).toEqual(texts(updates));

    const next = await resumed.session.send({ execution, prompt });
    expect(await next.completion).toMatchObject({ status: "completed", ordinal: 2 });
    await second.chat.resumeStoredSession(session.id);
    expect(asked).toHaveLength(1);
  });

  test("does not know an id that was never stored", async () => {
    const { chat } = await openHost();
    await expect(chat.resumeStoredSession("nobody")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND", name: "ChatSessionError" });
    const execution = await chat.prepareExecution("a", contract(TEXT));
    await expect(chat.resumeSession({ sessionId: "nobody", execution })).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  test("needs the contract to be prepared before a stored handle counts", async () => {
    const databasePath = temporaryDatabase();
    const first = await createChatHost({ ownerUserId: "owner", databasePath });
    const execution = await first.chat.prepareExecution("execution", contract(TEXT));
    const { id } = await first.chat.startSession({ execution });
    await first.close();
    const { chat } = await openHost({ databasePath });
    await expect(chat.resumeSession({ sessionId: id, execution })).rejects.toMatchObject({ code: "EXECUTION_NOT_PREPARED" });
  });
});

test("a function that takes the official update takes every streamed one", async () => {
  const kinds = new Set<string>();
  const render = (update: SessionUpdate): void => void kinds.add(update.sessionUpdate);
  const { updates } = await playTurn(await openSession(TOOL));
  for (const update of updates) render(update);
  expect(kinds).toContain("tool_call");
});
