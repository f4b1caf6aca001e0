import { createChatHost } from "@amalgm/chat-native/host";
import { Chat } from "@amalgm/chat-native/sessions";
import { SqliteConversationStore } from "@amalgm/chat-native/sqlite";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { collect, contract, countTo, openHost, openSession, playTurn, prompt, runProgram, sequenceOf, temporaryDatabase, temporaryFolder, TEXT } from "./support.mjs";

const end = (way: string, databasePath = temporaryDatabase()): ReturnType<typeof runProgram> => runProgram("lifetime.mjs", [way, databasePath]);

describe("a process ends cleanly", () => {
  test.each(["exit", "exitWhileCallsAreOpen"])("by process.exit() in mid-turn (%s), and the next host recovers the turn", async (way) => {
    const databasePath = temporaryDatabase();
    expect(await end(way, databasePath)).toMatchObject({ code: 7, signal: null, stderr: "" });
    const host = await openHost({ databasePath });
    expect(host.recoveredTurns).toMatchObject([{ status: "interrupted", error: { code: "TURN_INTERRUPTED", class: "runtime", reason: "host_died" } }]);
    const turn = host.recoveredTurns[0]!;
    const replayed = await collect(host.chat.replayTurn(turn.conversationId, turn.id));
    expect(replayed.map(sequenceOf)).toEqual(countTo(turn.lastSequence));
    if (way === "exit") expect(turn.lastSequence).toBeGreaterThanOrEqual(3);
  });

  test("by an uncaught exception in mid-turn, with Node's own exit code", async () => {
    const databasePath = temporaryDatabase();
    const { code, signal, stderr } = await end("throwInTheMiddle", databasePath);
    expect({ code, signal }).toEqual({ code: 1, signal: null });
    expect(stderr).toContain("nobody catches this");
    expect((await openHost({ databasePath })).recoveredTurns).toHaveLength(1);
  });

  test("by having nothing left to do, though nothing was closed", async () => {
    const databasePath = temporaryDatabase();
    const { code, signal, stdout, stderr } = await end("idle", databasePath);
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: "" });
    const host = await openHost({ databasePath });
    expect(host.recoveredTurns).toEqual([]);
    const [conversation] = await host.chat.listConversations();
    expect(await host.chat.latestTurn(conversation!.id)).toMatchObject({ status: "completed", lastSequence: Number(stdout) });
  });

  test("when its reader has left", async () => {
    expect(await end("leaveEarly")).toMatchObject({ code: 0, signal: null, stderr: "" });
  });

  test("though a callback for requests is there, which does not keep it alive", async () => {
    expect(await end("idleWithCallback")).toMatchObject({ code: 0, signal: null, stdout: "completed\n", stderr: "" });
  });

  test("after a callback that failed, with a warning", async () => {
    const { code, stdout, stderr } = await end("failingCallback");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "completed\n" });
    expect(stderr).toContain("[CHAT_NATIVE_CALLBACK]");
    expect(stderr).toContain("out of order");
  });

  test("by process.exit() while a callback is asked", async () => {
    const databasePath = temporaryDatabase();
    expect(await end("exitWhileAsking", databasePath)).toMatchObject({ code: 7, signal: null, stderr: "" });
    expect((await openHost({ databasePath })).recoveredTurns).toMatchObject([{ status: "interrupted" }]);
  });

  test("by closing the host while a callback is asked", async () => {
    expect(await end("closeWhileAsking")).toMatchObject({ code: 0, signal: null, stdout: "interrupted\n", stderr: "" });
  });

  test("with two hosts on one file, and one exit listener for both", async () => {
    const { code, stdout, stderr } = await end("twoHosts");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [counts, during, after] = stdout.trim().split("\n");
    const [one, two] = JSON.parse(counts!) as [number, number];
    expect(one).toBeGreaterThan(20);
    expect(two).toBe(one);
    expect(Number(during) - Number(after)).toBe(1);
  });

  test("by process.exit() with two hosts in mid-turn", async () => {
    const databasePath = temporaryDatabase();
    expect(await end("twoHostsExit", databasePath)).toMatchObject({ code: 7, signal: null, stderr: "" });
    for (const ownerUserId of ["one", "two"]) {
      expect((await openHost({ databasePath, ownerUserId })).recoveredTurns).toMatchObject([{ status: "interrupted" }]);
    }
  });

  test("by closing the host in mid-turn: the turn is sealed interrupted, host_closed", async () => {
    const databasePath = temporaryDatabase();
    const { code, stdout, stderr } = await end("closeInTheMiddle", databasePath);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ status: "interrupted", reason: "host_closed" });
    expect((await openHost({ databasePath })).recoveredTurns).toEqual([]);
  });
});

describe("createChatHost", () => {
  test("leaves the turns of another live host alone", async () => {
    const databasePath = temporaryDatabase();
    const { session, execution } = await openSession(TEXT, "recorded", { databasePath });
    const stream = await session.send({ execution, prompt });
    const other = await openHost({ databasePath });
    expect(other.recoveredTurns).toEqual([]);
    expect(await other.chat.recoverInterruptedTurns()).toEqual([]);
    expect(await stream.completion).toMatchObject({ status: "completed" });
  });

  test("closes what it opened where a later step fails", async () => {
    const close = vi.spyOn(SqliteConversationStore.prototype, "close");
    const recover = vi.spyOn(Chat.prototype, "recoverInterruptedTurns").mockRejectedValueOnce(new Error("no"));
    const listeners = process.listenerCount("exit");
    await expect(createChatHost({ ownerUserId: "owner", databasePath: temporaryDatabase() })).rejects.toThrow("no");
    expect(close).toHaveBeenCalledTimes(1);
    expect(process.listenerCount("exit")).toBe(listeners);
    close.mockRestore();
    recover.mockRestore();
  });

  test.skipIf(process.platform === "win32")("makes a file and a folder that only their owner may read", async () => {
    const folder = join(temporaryFolder(), "new");
    await openHost({ databasePath: join(folder, "chat.sqlite") });
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600);
  });

  test("works in memory", async () => {
    const { updates } = await playTurn(await openSession(TEXT, "instant", { databasePath: ":memory:" }));
    expect(updates.length).toBeGreaterThan(20);
  });

  test("leaves a store that it was given open, for many owners", async () => {
    const conversations = new SqliteConversationStore(temporaryDatabase());
    for (const ownerUserId of ["one", "two"]) {
      const host = await createChatHost({ ownerUserId, conversations });
      const execution = await host.chat.prepareExecution("a", contract(TEXT));
      await host.chat.startSession({ execution, sessionId: "same-id" });
      await host.close();
    }
    expect(await conversations.getConversation("one", "same-id")).toMatchObject({ ownerUserId: "one" });
    expect(await conversations.getConversation("two", "same-id")).toMatchObject({ ownerUserId: "two" });
    await conversations.close();
  });

  test("copies the database while it is in use", async () => {
    const conversations = new SqliteConversationStore(temporaryDatabase());
    const opened = await openSession(TEXT, "instant", { conversations });
    const { updates, stream } = await playTurn(opened);
    const copy = join(temporaryFolder(), "copy.sqlite");
    await conversations.backup(copy);
    const host = await openHost({ databasePath: copy });
    expect(JSON.stringify(await collect(host.chat.replayTurn(opened.session.id, stream.turnId)))).toBe(JSON.stringify(updates));
  });
});
