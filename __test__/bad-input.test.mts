import { createChatHost, NativeChatRuntime } from "@amalgm/chat-native/host";
import { Chat, ChatOptionsError, ChatSessionError } from "@amalgm/chat-native/sessions";
import { createSqliteJournalBatchPolicy, SqliteConversationStore } from "@amalgm/chat-native/sqlite";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { bundledRecording, contract, failure, openHost, openSession, prompt, temporaryFolder, TEXT } from "./support.mjs";

describe("createChatHost refuses", () => {
  test.each<[string, object, string]>([
    ["no owner", { ownerUserId: undefined }, "ownerUserId"],
    ["an empty owner", { ownerUserId: "" }, "ownerUserId"],
    ["an owner that is a number", { ownerUserId: 5 }, "ownerUserId"],
    ["no database", { databasePath: undefined }, "databasePath"],
    ["a database that is a URL object", { databasePath: new URL("file:///tmp/x") }, "databasePath"],
    ["a misspelt option", { ownerUserID: "me" }, "ownerUserID"],
    ["a store made in JavaScript", { databasePath: undefined, conversations: { getConversation: () => null } }, "conversations"],
    ["a store that is a text", { databasePath: undefined, conversations: "store" }, "conversations"],
    ["a runtime made in JavaScript", { runtime: { run: () => null } }, "runtime"],
    ["a runtime beside its options", { runtime: new NativeChatRuntime(), native: {} }, "native"],
    ["a clock without now", { clock: {} }, "clock.now"],
    ["a clock that gives no date", { clock: { now: () => 5 } }, "clock.now"],
    ["a policy without bounds", { journal: {} }, "journal.maxUpdates"],
    ["a bound of zero", { journal: { maxUpdates: 0, maxBytes: 1, maxDelayMs: 0 } }, "journal.maxUpdates"],
    ["a misspelt bound", { journal: { maxUpdates: 1, maxBytes: 1, maxDelayMs: 0, maxDelay: 0 } }, "journal.maxDelay"],
    ["options of the runtime that are none", { native: "codex" }, "native"],
    ["a misspelt option of the runtime", { native: { idleTimeout: 5 } }, "native.idleTimeout"],
    ["a limit that is negative", { native: { idleLimitMs: -1 } }, "native.idleLimitMs"],
    ["a limit that is a text", { native: { startLimitMs: "5" } }, "native.startLimitMs"],
    ["a resolve that is no function", { native: { resolve: {} } }, "native.resolve"],
    ["folders that are no list", { native: { replayDirs: "/tmp" } }, "native.replayDirs"],
    ["a folder that is no text", { native: { replayDirs: ["/tmp", 5] } }, "native.replayDirs[1]"],
    ["variables that are no texts", { native: { inheritEnv: [1] } }, "native.inheritEnv[0]"],
    ["an installation without a command", { native: { installations: { codex: { default: {} } } } }, "native.installations.codex.default.command"],
    ["an empty state folder", { native: { stateDir: "" } }, "native.stateDir"],
    ["a callback for permissions that is none", { native: { onPermissionRequest: "allow" } }, "native.onPermissionRequest"],
    ["a callback for questions that is none", { native: { onElicitationRequest: {} } }, "native.onElicitationRequest"],
    ["a recording that is a text", { native: { record: "/tmp" } }, "native.record"],
    ["a recording that is null", { native: { record: null } }, "native.record"],
    ["a recording without a folder", { native: { record: {} } }, "native.record.dir"],
    ["a recording in an empty folder", { native: { record: { dir: "" } } }, "native.record.dir"],
    ["a misspelt member of a recording", { native: { record: { folder: "/tmp" } } }, "native.record.folder"],
    ["a request limit of zero", { native: { requestLimitMs: 0 } }, "native.requestLimitMs"],
  ])("%s", async (_, options, path) => {
    const folder = temporaryFolder();
    const error = await failure(createChatHost({ ownerUserId: "owner", databasePath: join(folder, "chat.sqlite"), ...options }));
    expect(error).toBeInstanceOf(ChatOptionsError);
    expect(error).toMatchObject({ code: "INVALID_OPTIONS", path });
    expect(error.message).toContain(path);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each<[object, string]>([
    [{ http: {} }, "http"],
    [{ runtime: { run: () => null } }, "runtime"],
  ])("what a later version brings: %o", async (options, path) => {
    const error = await failure(createChatHost({ ownerUserId: "owner", databasePath: ":memory:", ...options }));
    expect(error).toMatchObject({ code: "INVALID_OPTIONS", path });
    expect(error.message).toContain("not available in this version");
  });

  test("options that are none", async () => {
    for (const options of [undefined, null, "path", []]) {
      expect(await failure(createChatHost(options as never))).toMatchObject({ code: "INVALID_OPTIONS" });
    }
  });
});

describe("a database that cannot be used is STORE_ERROR and stays as it is", () => {
  async function refuse(databasePath: string): Promise<void> {
    const error = await failure(createChatHost({ ownerUserId: "owner", databasePath }));
    expect(error).toBeInstanceOf(ChatSessionError);
    expect(error).toMatchObject({ code: "STORE_ERROR" });
    expect(error.message).toContain(databasePath);
  }

  test("a folder", async () => {
    const folder = join(temporaryFolder(), "folder.sqlite");
    mkdirSync(folder);
    await refuse(folder);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("below a file", async () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    await refuse(join(file, "chat.sqlite"));
    expect(readFileSync(file)).toHaveLength(0);
  });

  test("no database", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "notes.txt");
    writeFileSync(path, "This is no database. ".repeat(500));
    const before = readFileSync(path);
    await refuse(path);
    expect(readFileSync(path)).toEqual(before);
    expect(readdirSync(folder)).toEqual(["notes.txt"]);
  });

  test("a database of another program", async () => {
    const path = await databaseWith((header) => header.writeUInt32BE(0x12345678, 68));
    const before = readFileSync(path);
    await refuse(path);
    expect(readFileSync(path)).toEqual(before);
  });

  test("a database of a newer version", async () => {
    const path = await databaseWith((header) => header.writeUInt32BE(9999, 60));
    const before = readFileSync(path);
    await refuse(path);
    expect(readFileSync(path)).toEqual(before);
  });

  /** A database of ours whose header was changed: `user_version` stands at byte 60, `application_id` at 68. */
  async function databaseWith(change: (header: Buffer) => void): Promise<string> {
    const path = join(temporaryFolder(), "chat.sqlite");
    const host = await createChatHost({ ownerUserId: "owner", databasePath: path });
    await host.close();
    const bytes = readFileSync(path);
    change(bytes);
    writeFileSync(path, bytes);
    return path;
  }

  test("also where the store is used without a host", async () => {
    const folder = temporaryFolder();
    const store = new SqliteConversationStore(folder);
    expect(await failure(store.getConversation("owner", "id"))).toMatchObject({ code: "STORE_ERROR" });
    const chat = new Chat({ ownerUserId: "owner", conversations: store, runtime: new NativeChatRuntime() });
    expect(await failure(chat.listConversations())).toMatchObject({ code: "STORE_ERROR" });
    await chat.close().catch(() => undefined);
  });
});

describe("arguments of the wrong kind are refused by name", () => {
  test("of a chat", async () => {
    const { host, execution } = await openSession();
    const chat = host.chat as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const table: Array<[string, unknown[], string]> = [
      ["prepareExecution", [5, contract(TEXT)], "id"],
      ["startSession", [undefined], "options"],
      ["startSession", [{ execution, sessionId: 5 }], "sessionId"],
      ["startSession", [{ execution, sessionId: "" }], "sessionId"],
      ["startSession", [{ execution, title: 5 }], "title"],
      ["startSession", [{ execution, sessionID: "a" }], "sessionID"],
      ["resumeSession", [{ execution }], "sessionId"],
      ["resumeStoredSession", [undefined], "sessionId"],
      ["listConversations", [{ limit: 0 }], "limit"],
      ["listConversations", [{ limit: "5" }], "limit"],
      ["pageConversations", [{ cursor: 5 }], "cursor"],
      ["pageConversations", [{ includeArchived: "yes" }], "includeArchived"],
      ["pageConversations", [{ archived: true }], "archived"],
      ["archiveSession", [null], "id"],
      ["markSeen", [5], "id"],
      ["activeTurn", [{}], "id"],
      ["latestTurn", [], "id"],
    ];
    for (const [method, args, path] of table) {
      const error = await failure(chat[method]!.apply(host.chat, args));
      expect(error, `${method} ${path}`).toMatchObject({ path, code: method === "prepareExecution" ? "INVALID_EXECUTION_CONTRACT" : "INVALID_OPTIONS" });
      expect(error.message).toContain(path);
    }
    expect(() => host.chat.replayTurn(5 as never, "turn")).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS", path: "id" }));
    expect(() => host.chat.replayTurn("id", "")).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS", path: "turnId" }));
    expect(await host.chat.listConversations()).toHaveLength(1);
  });

  test("of a session", async () => {
    const { session, execution } = await openSession();
    expect(await failure(session.send(undefined as never))).toMatchObject({ code: "INVALID_OPTIONS", path: "options" });
    expect(await failure(session.send({ execution, prompt, turnId: 5 as never }))).toMatchObject({ code: "INVALID_OPTIONS", path: "turnId" });
    expect(await failure(session.send({ execution, prompt, turnID: "a" } as never))).toMatchObject({ code: "INVALID_OPTIONS", path: "turnID" });
    expect(await failure(session.updateTitle(5 as never))).toMatchObject({ code: "INVALID_OPTIONS", path: "title" });
    expect(await failure(session.usageSteps(5 as never))).toMatchObject({ code: "INVALID_OPTIONS", path: "turnId" });
    expect(() => session.reconnect(5 as never)).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS", path: "turnId" }));
    expect(() => session.reconnect("turn", { after: 3 } as never)).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS", path: "after" }));
    expect(await session.messages()).toEqual([]);
  });

  test("of a store", async () => {
    for (const [options, path] of [
      [undefined, "options"],
      [{}, "path"],
      [{ path: "" }, "path"],
      [{ path: ":memory:", durability: "disk" }, "durability"],
      [{ path: ":memory:", wal: false }, "wal"],
    ] as const) {
      expect(() => new SqliteConversationStore(options as never)).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS", path }));
    }
    const store = new SqliteConversationStore(":memory:");
    expect(await failure(store.getConversation(5 as never, "id"))).toMatchObject({ code: "INVALID_OPTIONS", path: "ownerUserId" });
    expect(await failure(store.readUpdates("owner", "id", "turn", -1, 5))).toMatchObject({ code: "INVALID_OPTIONS", path: "afterSequence" });
    expect(await failure(store.readUpdates("owner", "id", "turn", 0, 0))).toMatchObject({ code: "INVALID_OPTIONS", path: "limit" });
    expect(await failure(store.appendUpdates("owner", "id", "turn", {} as never))).toMatchObject({ code: "INVALID_OPTIONS", path: "entries" });
    expect(await failure(store.createConversation(null as never))).toMatchObject({ code: "INVALID_OPTIONS", path: "record" });
    await store.close();
  });

  test("of a store's records, by the member at fault", async () => {
    const conversations = new SqliteConversationStore(":memory:");
    onTestFinished(() => conversations.close());
    const { session, execution } = await openSession(TEXT, "instant", { conversations });
    await (await session.send({ execution, prompt })).completion;
    const record = (await conversations.getConversation("owner", session.id))!;
    const turn = (await conversations.latestTurn("owner", session.id))!;
    const [message] = await conversations.listMessages("owner", session.id);
    const refused: Array<[Promise<unknown>, string]> = [
      [conversations.createConversation({ ...record, id: "" }), "record.id"],
      [conversations.createConversation({ ...record, title: 5 as never }), "record.title"],
      [conversations.createConversation({ ...record, createdAt: "yesterday" }), "record.createdAt"],
      [conversations.updateConversation("owner", session.id, { newMessages: 5 as never }), "patch.newMessages"],
      [conversations.beginTurn("owner", { ...turn, origin: "user" as never }, null, record), "turn.origin"],
      [conversations.beginTurn("owner", turn, { ...message!, parts: {} as never }, record), "message.parts"],
      [conversations.sealTurn("owner", { ...turn, turnId: turn.id, status: "running" } as never), "seal.status"],
      [conversations.putCheckpoint("owner", { conversationId: session.id, key: "" } as never), "checkpoint.key"],
    ];
    const errors = await Promise.all(refused.map(([attempt]) => failure(attempt)));
    for (const [index, [, path]] of refused.entries()) {
      expect(errors[index]).toMatchObject({ code: "INVALID_OPTIONS", path });
      expect(errors[index]!.message).toContain(path);
    }
  });

  test("of a store's updates: what is no JSON object could never be read again", async () => {
    const conversations = new SqliteConversationStore(":memory:");
    onTestFinished(() => conversations.close());
    const { session, execution } = await openSession(TEXT, "recorded", { conversations });
    const { turnId } = await session.send({ execution, prompt });
    for (const json of ["{oops", "5", "[]", "", "{\n}", "{} {}"]) {
      const error = await failure(conversations.appendUpdates("owner", session.id, turnId, [{ sequence: 1, json }]));
      expect(error).toMatchObject({ code: "INVALID_OPTIONS", path: "entries[0].json" });
    }
  });

  test("of a store's reads: a limit above all that there is reads all", async () => {
    const conversations = new SqliteConversationStore(":memory:");
    onTestFinished(() => conversations.close());
    const { session, execution } = await openSession(TEXT, "instant", { conversations });
    const turn = await (await session.send({ execution, prompt })).completion;
    for (const limit of [2 ** 32, Number.MAX_SAFE_INTEGER]) {
      expect(await conversations.readUpdates("owner", session.id, turn.id, 0, limit)).toHaveLength(turn.lastSequence);
    }
  });

  test("of a batch policy", () => {
    expect(createSqliteJournalBatchPolicy()).toEqual({ maxUpdates: 256, maxBytes: 262_144, maxDelayMs: 20 });
    expect(createSqliteJournalBatchPolicy({ maxUpdates: 8, maxBytes: undefined })).toMatchObject({ maxUpdates: 8, maxBytes: 262_144 });
    expect(() => createSqliteJournalBatchPolicy({ maxUpdates: 0 })).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS", path: "overrides.maxUpdates" }));
    expect(() => createSqliteJournalBatchPolicy({ updates: 1 } as never)).toThrow(expect.objectContaining({ path: "overrides.updates" }));
  });
});

describe("unknown ids", () => {
  test("of conversations are SESSION_NOT_FOUND and name the id", async () => {
    const { chat } = await openHost();
    const attempts = [chat.resumeStoredSession("nobody"), chat.archiveSession("nobody"), chat.markSeen("nobody"), chat.activeTurn("nobody"), chat.latestTurn("nobody")];
    // All at once: a rejection that is awaited after another one counts as unhandled until then.
    for (const error of await Promise.all(attempts.map(failure))) {
      expect(error).toMatchObject({ code: "SESSION_NOT_FOUND" });
      expect(error.message).toContain("nobody");
    }
  });
});

describe("a recording by path", () => {
  const read = async (path: string, replayDirs: string[]): Promise<unknown> => {
    const { chat } = await openHost({ native: { replayDirs } });
    return chat.prepareExecution("a", contract(path));
  };

  test("is played where its folder is one of the replay folders", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "own.ndjson");
    writeFileSync(path, bundledRecording(TEXT));
    await expect(read(path, [folder])).resolves.toMatchObject({ id: "a" });
  });

  test.each<[string, (folder: string) => string]>([
    ["outside of the folders", () => join(temporaryFolder(), "other.ndjson")],
    ["that leads out of the folder", (folder) => join(folder, "..", "other.ndjson")],
    ["that is not there", (folder) => join(folder, "missing.ndjson")],
    ["that is a folder", (folder) => folder],
    [
      "that is no recording",
      (folder) => {
        writeFileSync(join(folder, "plain.ndjson"), '{"hello":1}\nnot json\n');
        return join(folder, "plain.ndjson");
      },
    ],
  ])("%s is refused at agent.installationId", async (_, locate) => {
    const folder = temporaryFolder();
    const error = await failure(read(locate(folder), [folder]));
    expect(error).toMatchObject({ code: "UNSUPPORTED_EXECUTION_INPUT", path: "agent.installationId" });
    expect(error.message).toContain("agent.installationId");
  });
});
