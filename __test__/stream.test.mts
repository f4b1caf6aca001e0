import type { ChatUpdate } from "@amalgm/chat-native/acp";
import { NativeChatRuntime } from "@amalgm/chat-native/host";
import { Chat, ChatSessionError, type ChatTurnStream } from "@amalgm/chat-native/sessions";
import { SqliteConversationStore } from "@amalgm/chat-native/sqlite";
import { createRequire } from "node:module";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test, vi, type Mock } from "vitest";
import { collect, contract, countTo, failure, longRecording, openSession, playTurn, prompt, sequenceOf, temporaryDatabase, TEXT } from "./support.mjs";

const iterate = (stream: ChatTurnStream): AsyncIterator<ChatUpdate, unknown> => stream[Symbol.asyncIterator]();

/** Counts what the facade frees, on the addon's own class. */
function spyOnRelease(): Mock {
  const require = createRequire(import.meta.url);
  const native = require("../dist/native.js") as { binding: () => { NativeSubscription: { prototype: { close: () => void } } } };
  const spy = vi.spyOn(native.binding().NativeSubscription.prototype, "close");
  onTestFinished(() => {
    spy.mockRestore();
  });
  return spy;
}

describe("an iterator", () => {
  test("keeps the order of 50 calls of next() that do not wait for each other", async () => {
    const { session, execution } = await openSession(TEXT, "recorded");
    const stream = await session.send({ execution, prompt });
    const iterator = iterate(stream);
    const settled: number[] = [];
    const steps = await Promise.all(
      countTo(50).map(async (call) => {
        const step = await iterator.next();
        settled.push(call);
        return step;
      }),
    );
    expect(settled).toEqual(countTo(50));
    const updates = steps.filter(({ done }) => !done).map(({ value }) => sequenceOf(value as ChatUpdate));
    expect(updates).toEqual(countTo(updates.length));
    const turn = await stream.completion;
    const [last, ...further] = steps.slice(updates.length);
    expect(last).toEqual({ done: true, value: turn });
    expect(further.every((step) => step.done && step.value === undefined)).toBe(true);
  });

  test("returns the sealed turn once, then nothing", async () => {
    const { session, execution } = await openSession();
    const stream = await session.send({ execution, prompt });
    const iterator = iterate(stream);
    let step = await iterator.next();
    while (!step.done) step = await iterator.next();
    expect(step.value).toEqual(await stream.completion);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("throws a failure once, then is at its end", async () => {
    const { session, execution } = await openSession("codex/error-401");
    const iterator = iterate(await session.send({ execution, prompt }));
    const drain = async (): Promise<void> => {
      while (!(await iterator.next()).done);
    };
    expect(await failure(drain())).toMatchObject({ name: "TurnStreamError" });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("is at its end after return(), also for calls that wait", async () => {
    const { session, execution } = await openSession(TEXT, "recorded");
    const stream = await session.send({ execution, prompt });
    const iterator = iterate(stream);
    const first = await iterator.next();
    const waiting = countTo(40).map(() => iterator.next());
    expect(await iterator.return!("enough")).toEqual({ done: true, value: "enough" });
    expect((await Promise.all(waiting)).at(-1)).toEqual({ done: true, value: undefined });
    expect(first.done).toBe(false);
    expect(await stream.completion).toMatchObject({ status: "completed" });
  });

  test("hands back what is thrown in, and ends", async () => {
    const { session, execution } = await openSession();
    const iterator = iterate(await session.send({ execution, prompt }));
    const mine = new Error("mine");
    await expect(iterator.throw!(mine)).rejects.toBe(mine);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("subscribes anew from the same cursor, as often as it is asked for", async () => {
    const { session, execution } = await openSession();
    const stream = await session.send({ execution, prompt });
    const [one, two] = await Promise.all([collect(stream), collect(stream)]);
    expect(two).toEqual(one);
    expect(await collect(stream)).toEqual(one);
  });

  test("frees its subscription when the loop is left", async () => {
    const release = spyOnRelease();
    const { session, execution } = await openSession(TEXT, "recorded");
    for await (const _ of await session.send({ execution, prompt })) break;
    expect(release).toHaveBeenCalledTimes(1);
  });

  test("frees its subscription when it is dropped", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const release = spyOnRelease();
    const opened = await openSession(TEXT, "recorded");
    const stream = await opened.session.send({ execution: opened.execution, prompt });
    await (async () => {
      await iterate(stream).next();
    })();
    await vi.waitUntil(
      () => {
        collectGarbage();
        return release.mock.calls.length > 0;
      },
      { timeout: 30_000 },
    );
    expect(await stream.completion).toMatchObject({ status: "completed" });
  });
});

describe("completion", () => {
  test("resolves when nobody iterates, and is one promise", async () => {
    const { session, execution } = await openSession();
    const stream = await session.send({ execution, prompt });
    expect(stream.completion).toBe(stream.completion);
    expect(await stream.completion).toMatchObject({ status: "completed" });
  });

  test("that nobody awaits is no unhandled rejection", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const { session } = await openSession();
    void session.reconnect("no-such-turn").completion;
    await expect(session.reconnect("no-such-turn").completion).rejects.toMatchObject({ code: "TURN_NOT_FOUND" });
    await new Promise((done) => setImmediate(done));
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe("back-pressure", () => {
  test("disconnects the reader that lags; the turn and the others go on, and it can go on where it was", async () => {
    const conversations = new SqliteConversationStore(temporaryDatabase());
    const runtime = new NativeChatRuntime();
    const chat = new Chat({ ownerUserId: "owner", conversations, runtime, subscriberBuffer: { maxUpdates: 5, maxBytes: 1 << 30 } });
    onTestFinished(async () => {
      await chat.close();
      await runtime.close();
      await conversations.close();
    });
    // At the recorded pace the first update is read when there is no other yet: the reader was at the tail.
    const execution = await chat.prepareExecution("a", contract(TEXT, "recorded"));
    const session = await chat.startSession({ execution });
    const stream = await session.send({ execution, prompt });

    const seen: ChatUpdate[] = [];
    const slow = iterate(stream);
    const lag = async (): Promise<void> => {
      // Reads one update, then stands still until the turn is over.
      const first = await slow.next();
      if (!first.done) seen.push(first.value);
      await stream.completion;
      for (let step = await slow.next(); !step.done; step = await slow.next()) seen.push(step.value);
    };
    const [error, all] = await Promise.all([failure(lag()), collect(session.reconnect(stream.turnId))]);

    expect(error).toBeInstanceOf(ChatSessionError);
    expect(error).toMatchObject({ code: "SUBSCRIBER_BACKPRESSURE" });
    expect(await slow.next()).toEqual({ done: true, value: undefined });
    expect(await stream.completion).toMatchObject({ status: "completed", lastSequence: all.length });
    expect(seen.length).toBeLessThan(all.length);

    const rest = await collect(session.reconnect(stream.turnId, { afterSequence: seen.length }));
    expect(JSON.stringify([...seen, ...rest])).toBe(JSON.stringify(all));
  });

  test("does not count what is replayed from the journal", async () => {
    const { path, replayDirs } = longRecording(3000);
    const opened = await openSession(path, "instant", { native: { replayDirs } });
    const { stream, updates } = await playTurn(opened);
    const replayed: number[] = [];
    for await (const update of opened.session.reconnect(stream.turnId)) replayed.push(sequenceOf(update));
    expect(replayed).toEqual(countTo(updates.length));
  });
});

describe("an error", () => {
  test("shows the caller's own frames, and the core's error as its cause", async () => {
    const { host } = await openSession();
    async function theCaller(): Promise<void> {
      await host.chat.resumeStoredSession("nobody");
    }
    const error = await failure(theCaller());
    expect(error.stack).toContain("theCaller");
    expect(error.cause).toBeInstanceOf(Error);
  });

  test("of a stream shows where the iteration began", async () => {
    const { session } = await openSession();
    async function theReader(): Promise<void> {
      for await (const _ of session.reconnect("no-such-turn")) continue;
    }
    expect((await failure(theReader())).stack).toContain("theReader");
  });
});
