import { extensionOf, type ChatExtensionUpdate, type ChatUpdate, type WithMeta } from "@amalgm/chat-native/acp";
import { NativeChatRuntime, type NativeRuntimeOptions } from "@amalgm/chat-native/host";
import { Chat, ChatOptionsError, ChatSessionError, type ChatSession } from "@amalgm/chat-native/sessions";
import { SqliteConversationStore } from "@amalgm/chat-native/sqlite";
import { assert, describe, expect, onTestFinished, test } from "vitest";
import { collect, contract, failure, openHost, openSession, playTurn, prompt, type Opened } from "./support.mjs";

const ACCEPTED = "codex/approval-command-accept";
const DECLINED = "codex/approval-command-decline";
const QUESTION = "codex/request-user-input";
const FORM = "codex/mcp-elicitation-form-accept";

type Extension<Kind extends ChatExtensionUpdate["sessionUpdate"]> = WithMeta<Extract<ChatExtensionUpdate, { sessionUpdate: Kind }>>;

const asking = (recording: string): ReturnType<typeof contract> => ({ ...contract(recording), permissionMode: "ask" });

async function openAsking(recording: string, native: NativeRuntimeOptions = {}): Promise<Opened> {
  const host = await openHost({ native });
  const execution = await host.chat.prepareExecution("execution", asking(recording));
  return { host, execution, session: await host.chat.startSession({ execution }) };
}

/** Reads on to the next update of one of our kinds. */
async function next<Kind extends ChatExtensionUpdate["sessionUpdate"]>(updates: AsyncIterator<ChatUpdate>, kind: Kind): Promise<Extension<Kind>> {
  for (;;) {
    const step = await updates.next();
    assert(step.done !== true, `the turn ended before a ${kind}`);
    const update = extensionOf(step.value);
    if (update?.sessionUpdate === kind) return update as Extension<Kind>;
  }
}

const of = <Kind extends ChatExtensionUpdate["sessionUpdate"]>(updates: ChatUpdate[], kind: Kind): Array<Extension<Kind>> =>
  updates.map(extensionOf).filter((update) => update?.sessionUpdate === kind) as Array<Extension<Kind>>;

const choice = (options: Array<{ optionId: string; kind: string }>, kind: string): { outcome: "selected"; optionId: string } => ({
  outcome: "selected",
  optionId: options.find((option) => option.kind === kind)!.optionId,
});

/** A turn that has come to its first request. */
async function openTurn<Kind extends "permission_request" | "elicitation_request">(recording: string, kind: Kind, native?: NativeRuntimeOptions) {
  const { host, session, execution } = await openAsking(recording, native);
  const stream = await session.send({ execution, prompt });
  const updates = stream[Symbol.asyncIterator]();
  return { host, session, execution, stream, updates, request: await next(updates, kind) };
}

/** What Node warned of while the test ran, of one code. */
function warnings(): Error[] {
  const seen: Error[] = [];
  const listen = (warning: Error & { code?: string }): void => {
    if (warning.code === "CHAT_NATIVE_CALLBACK") seen.push(warning);
  };
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  return seen;
}

describe("a permission request", () => {
  test("that is allowed runs the command, and the answer is in the stream", async () => {
    const { session, stream, updates, request } = await openTurn(ACCEPTED, "permission_request");
    expect(request.toolCall.toolCallId).toBe(request.toolCallId);
    const outcome = choice(request.options, "allow_once");
    await session.respondToPermission(request.requestId, outcome);
    const response = await next(updates, "permission_response");
    expect(response).toMatchObject({ requestId: request.requestId, outcome, approved: true, by: "host" });
    expect(await stream.completion).toMatchObject({ status: "completed" });
    const all = await collect(stream);
    expect(of(all, "permission_response")).toEqual([response]);
  });

  test("that is refused keeps the reason", async () => {
    const { session, stream, updates, request } = await openTurn(DECLINED, "permission_request");
    const refusal = request.options.find(({ kind }) => kind.startsWith("reject"));
    assert(refusal !== undefined);
    await session.respondToPermission(request.requestId, { outcome: "selected", optionId: refusal.optionId }, "not today");
    expect(await next(updates, "permission_response")).toMatchObject({ approved: false, reason: "not today", by: "host" });
    expect(await stream.completion).toMatchObject({ status: "completed" });
  });

  test("waits: a reader that comes back finds it in the replay, and the session lists it until it is answered", async () => {
    const { session, stream, request } = await openTurn(ACCEPTED, "permission_request");
    const { requestId } = request;
    const { sequence, turnId } = request._meta.amalgm;
    const pending = [{ requestId, kind: "permission", turnId, sequence }];
    expect((await session.inspect()).pendingRequests).toEqual(pending);

    const again = session.reconnect(stream.turnId)[Symbol.asyncIterator]();
    expect(await next(again, "permission_request")).toEqual(request);
    await session.respondToPermission(requestId, choice(request.options, "allow_once"));
    expect((await session.inspect()).pendingRequests).toEqual([]);
    expect(await next(again, "permission_response")).toMatchObject({ requestId });
    await stream.completion;
  });

  test("is answered once: REQUEST_NOT_PENDING after that, and for unknown ones", async () => {
    const { session, stream, request } = await openTurn(ACCEPTED, "permission_request");
    const outcome = choice(request.options, "allow_once");
    const [first, second, unknown] = await Promise.allSettled([
      session.respondToPermission(request.requestId, outcome),
      session.respondToPermission(request.requestId, outcome),
      session.respondToPermission("no request", outcome),
    ]);
    expect(first).toMatchObject({ status: "fulfilled" });
    for (const late of [second, unknown]) {
      assert(late.status === "rejected");
      expect(late.reason).toBeInstanceOf(ChatSessionError);
      expect(late.reason).toMatchObject({ code: "REQUEST_NOT_PENDING" });
    }
    expect(of(await collect(stream), "permission_response")).toHaveLength(1);
  });

  test("takes no option that was not offered, and still waits", async () => {
    const { session, stream, request } = await openTurn(ACCEPTED, "permission_request");
    const error = await failure(session.respondToPermission(request.requestId, { outcome: "selected", optionId: "no option" }));
    expect(error).toBeInstanceOf(ChatOptionsError);
    expect(error).toMatchObject({ code: "INVALID_OPTIONS", path: "outcome.optionId" });
    expect(error.message).toContain("no option");
    expect((await session.inspect()).pendingRequests).toHaveLength(1);
    await session.respondToPermission(request.requestId, { outcome: "cancelled" });
    expect(of(await collect(stream), "permission_response")).toMatchObject([{ outcome: { outcome: "cancelled" }, approved: false, by: "host" }]);
  });

  test("takes no other input where the agent runs the tool with its own, and still waits", async () => {
    const { session, stream, request } = await openTurn(ACCEPTED, "permission_request");
    const changed = { ...choice(request.options, "allow_once"), _meta: { amalgm: { updatedInput: { command: "another" } } } };
    const error = await failure(session.respondToPermission(request.requestId, changed));
    expect(error).toBeInstanceOf(ChatOptionsError);
    expect(error).toMatchObject({ code: "INVALID_OPTIONS", path: "outcome._meta.amalgm.updatedInput" });
    expect((await session.inspect()).pendingRequests).toHaveLength(1);
    await session.respondToPermission(request.requestId, choice(request.options, "allow_once"));
    expect(of(await collect(stream), "permission_response")).toMatchObject([{ approved: true, by: "host" }]);
  });

  test("takes no answer to a question", async () => {
    const { session, stream, request } = await openTurn(ACCEPTED, "permission_request");
    expect(await failure(session.respondToElicitation(request.requestId, { action: "decline" }))).toMatchObject({ code: "INVALID_OPTIONS" });
    await session.respondToPermission(request.requestId, choice(request.options, "allow_once"));
    await stream.completion;
  });

  test("that nobody answers within requestLimitMs is cancelled, and the turn goes on", async () => {
    const { session, stream, request } = await openTurn(ACCEPTED, "permission_request", { requestLimitMs: 50 });
    expect(await stream.completion).toMatchObject({ status: "completed" });
    expect(of(await collect(stream), "permission_response")).toMatchObject([{ requestId: request.requestId, outcome: { outcome: "cancelled" }, approved: false }]);
    expect((await session.inspect()).pendingRequests).toEqual([]);
  });

  test("does not outlive its turn: an interrupt cancels both", async () => {
    const { session, stream, request } = await openTurn(ACCEPTED, "permission_request");
    await session.interrupt();
    expect(await stream.completion).toMatchObject({ status: "cancelled" });
    expect(of(await collect(stream), "permission_response")).toMatchObject([{ requestId: request.requestId, outcome: { outcome: "cancelled" }, by: "turn_end" }]);
    expect((await session.inspect()).pendingRequests).toEqual([]);
    expect(await failure(session.respondToPermission(request.requestId, { outcome: "cancelled" }))).toMatchObject({ code: "REQUEST_NOT_PENDING" });
  });

  test("does not keep a host from closing", async () => {
    const { host, stream } = await openTurn(ACCEPTED, "permission_request");
    await host.close();
    expect(await stream.completion).toMatchObject({ status: "interrupted", error: { reason: "host_closed" } });
  });

  test("in full_access is allowed at once, and asks no callback", async () => {
    let asked = 0;
    const native: NativeRuntimeOptions = { onPermissionRequest: () => void (asked += 1) };
    const { updates } = await playTurn(await openSession(ACCEPTED, "instant", { native }));
    expect(of(updates, "permission_response")).toMatchObject([{ approved: true, by: "full_access" }]);
    expect(asked).toBe(0);
  });
});

describe("a question", () => {
  test.each([
    ["of the agent", QUESTION, { colour: "Red" }],
    ["of an MCP server", FORM, { colour: "red", loud: true }],
  ])("%s is answered with the filled form", async (_, recording, content) => {
    const { session, stream, updates, request } = await openTurn(recording, "elicitation_request");
    const { requestId } = request;
    expect(request.request).toMatchObject({ mode: "form", message: "Which colour?" });
    expect((await session.inspect()).pendingRequests).toMatchObject([{ requestId, kind: "elicitation" }]);
    await session.respondToElicitation(requestId, { action: "accept", content });
    expect(await next(updates, "elicitation_response")).toMatchObject({ requestId, response: { action: "accept", content } });
    expect(await stream.completion).toMatchObject({ status: "completed" });
    expect(await failure(session.respondToElicitation(requestId, { action: "cancel" }))).toMatchObject({ code: "REQUEST_NOT_PENDING" });
  });

  test("is declined without a form", async () => {
    const { session, updates, stream, request } = await openTurn(FORM, "elicitation_request");
    await session.respondToElicitation(request.requestId, { action: "decline", content: { colour: "red" } });
    expect((await next(updates, "elicitation_response")).response).toEqual({ action: "decline" });
    await stream.completion;
  });
});

describe("a callback", () => {
  test.each([
    ["at once", <T,>(value: T) => value],
    ["later", <T,>(value: T) => new Promise<T>((resolve) => setImmediate(resolve, value))],
  ])("that answers %s is asked once for each request", async (_, give) => {
    const asked: unknown[] = [];
    const native: NativeRuntimeOptions = {
      onPermissionRequest: (request) => {
        asked.push(request);
        return give(choice(request.options, "allow_once"));
      },
    };
    const opened = await openAsking(ACCEPTED, native);
    const { updates, stream } = await playTurn(opened);
    const [request] = of(updates, "permission_request");
    assert(request !== undefined);
    const { requestId, toolCall, options } = request;
    expect(asked).toEqual([{ conversationId: opened.session.id, turnId: stream.turnId, requestId, toolCall, options }]);
    expect(of(updates, "permission_response")).toMatchObject([{ requestId, approved: true, by: "host" }]);
  });

  test("answers questions", async () => {
    const asked: unknown[] = [];
    const native: NativeRuntimeOptions = {
      onElicitationRequest: (request) => {
        asked.push(request);
        return { action: "accept", content: { colour: "Blue" } };
      },
    };
    const opened = await openAsking(QUESTION, native);
    const { updates, stream } = await playTurn(opened);
    const [{ requestId, request }] = of(updates, "elicitation_request") as [Extension<"elicitation_request">];
    expect(asked).toEqual([{ conversationId: opened.session.id, turnId: stream.turnId, requestId, request }]);
    expect(of(updates, "elicitation_response")).toMatchObject([{ requestId, response: { action: "accept", content: { colour: "Blue" } } }]);
  });

  test("that gives undefined leaves the request to others", async () => {
    const { session, stream, request } = await openTurn(ACCEPTED, "permission_request", { onPermissionRequest: () => undefined });
    await session.respondToPermission(request.requestId, choice(request.options, "allow_once"));
    expect(of(await collect(stream), "permission_response")).toMatchObject([{ approved: true }]);
  });

  test("that thinks for long is overtaken by an answer, and its own comes to nothing", async () => {
    let answer: (outcome: { outcome: "cancelled" }) => void = () => undefined;
    const thinking = new Promise<{ outcome: "cancelled" }>((resolve) => (answer = resolve));
    const seen = warnings();
    const { session, stream, request } = await openTurn(ACCEPTED, "permission_request", { onPermissionRequest: () => thinking });
    await session.respondToPermission(request.requestId, choice(request.options, "allow_once"));
    answer({ outcome: "cancelled" });
    expect(of(await collect(stream), "permission_response")).toMatchObject([{ approved: true }]);
    expect(seen).toEqual([]);
  });

  test.each<[string, () => unknown, string]>([
    ["throws", () => { throw new Error("out of order"); }, "out of order"],
    ["rejects", () => Promise.reject(new Error("out of order")), "out of order"],
    ["gives an option that was not offered", () => ({ outcome: "selected", optionId: "no option" }), "outcome.optionId"],
  ])("that %s cancels its request with the reason, and warns", async (_, callback, words) => {
    const seen = warnings();
    const { updates, stream } = await playTurn(await openAsking(ACCEPTED, { onPermissionRequest: callback as never }));
    const [response] = of(updates, "permission_response");
    expect(response).toMatchObject({ outcome: { outcome: "cancelled" }, approved: false });
    expect(response!.reason).toContain("onPermissionRequest");
    expect(response!.reason).toContain(words);
    expect(await stream.completion).toMatchObject({ status: "completed" });
    expect(seen).toHaveLength(1);
  });

  test("for questions that throws cancels the question, and warns", async () => {
    const seen = warnings();
    const native: NativeRuntimeOptions = {
      onElicitationRequest: () => {
        throw new Error("out of order");
      },
    };
    const { updates } = await playTurn(await openAsking(QUESTION, native));
    expect(of(updates, "elicitation_response")).toMatchObject([{ response: { action: "cancel" } }]);
    expect(seen).toMatchObject([{ message: expect.stringContaining("out of order") as string }]);
  });

  test("serves all chats of its runtime", async () => {
    const asked: string[] = [];
    const runtime = new NativeChatRuntime({
      onPermissionRequest: ({ conversationId, options }) => {
        asked.push(conversationId);
        return choice(options, "allow_once");
      },
    });
    const conversations = new SqliteConversationStore(":memory:");
    const chats = ["one", "two"].map((ownerUserId) => new Chat({ ownerUserId, conversations, runtime }));
    onTestFinished(async () => {
      for (const part of [...chats, runtime, conversations]) await part.close();
    });
    for (const chat of chats) {
      const execution = await chat.prepareExecution("execution", asking(ACCEPTED));
      const session = await chat.startSession({ execution, sessionId: chat.ownerUserId });
      await (await session.send({ execution, prompt })).completion;
    }
    expect(asked).toEqual(["one", "two"]);
  });
});

describe("an answer is refused at its field, before anything is asked", () => {
  const refused = async (attempt: (session: ChatSession) => Promise<void>, path: string): Promise<void> => {
    const { session } = await openSession();
    const error = await failure(attempt(session));
    expect(error).toBeInstanceOf(ChatOptionsError);
    expect(error).toMatchObject({ code: "INVALID_OPTIONS", path });
    expect(error.message).toContain(path);
  };
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const changed = (updatedInput: unknown) => ({ outcome: "selected", optionId: "b", _meta: { amalgm: { updatedInput } } });

  test.each<[string, unknown[], string]>([
    ["no id", [undefined, { outcome: "cancelled" }], "requestId"],
    ["an empty id", ["", { outcome: "cancelled" }], "requestId"],
    ["an id that is a number", [0, { outcome: "cancelled" }], "requestId"],
    ["no outcome", ["a"], "outcome"],
    ["an outcome that is a text", ["a", "allow"], "outcome"],
    ["an outcome of another kind", ["a", { outcome: "allowed" }], "outcome.outcome"],
    ["an outcome without its kind", ["a", { optionId: "accept" }], "outcome.outcome"],
    ["a choice without an option", ["a", { outcome: "selected" }], "outcome.optionId"],
    ["a choice of a number", ["a", { outcome: "selected", optionId: 1 }], "outcome.optionId"],
    ["an option with half a character", ["a", { outcome: "selected", optionId: "\ud800" }], "outcome.optionId"],
    ["a misspelt member", ["a", { outcome: "selected", optionID: "b" }], "outcome.optionID"],
    ["an input that is a text", ["a", changed("ls")], "outcome._meta.amalgm.updatedInput"],
    ["an input that is a list", ["a", changed([])], "outcome._meta.amalgm.updatedInput"],
    ["an input that is null", ["a", changed(null)], "outcome._meta.amalgm.updatedInput"],
    ["an input that JSON cannot hold", ["a", changed({ command: () => "ls" })], "outcome._meta.amalgm.updatedInput.command"],
    ["an input with half a character", ["a", changed({ lines: ["\ud800"] })], "outcome._meta.amalgm.updatedInput.lines[0]"],
    ["an input without end", ["a", changed(circle)], "outcome._meta.amalgm.updatedInput.self"],
    ["a misspelt input", ["a", { outcome: "selected", optionId: "b", _meta: { amalgm: { updateInput: {} } } }], "outcome._meta.amalgm.updateInput"],
    ["an own member that is a text", ["a", { outcome: "selected", optionId: "b", _meta: { amalgm: "ls" } }], "outcome._meta.amalgm"],
    ["a reason that is an object", ["a", { outcome: "cancelled" }, {}], "reason"],
    ["a reason with half a character", ["a", { outcome: "cancelled" }, "\udc00"], "reason"],
  ])("of a permission: %s", async (_, given, path) => {
    await refused((session) => session.respondToPermission(...(given as Parameters<ChatSession["respondToPermission"]>)), path);
  });

  test.each<[string, unknown[], string]>([
    ["no id", [undefined, { action: "cancel" }], "requestId"],
    ["no response", ["a"], "response"],
    ["a response that is a list", ["a", []], "response"],
    ["no action", ["a", { content: {} }], "response.action"],
    ["an action of another kind", ["a", { action: "skip" }], "response.action"],
    ["a form that is a text", ["a", { action: "accept", content: "red" }], "response.content"],
    ["a form that is a list", ["a", { action: "accept", content: [] }], "response.content"],
    ["a field that is null", ["a", { action: "accept", content: { colour: null } }], "response.content.colour"],
    ["a field that is an object", ["a", { action: "accept", content: { colour: circle } }], "response.content.colour"],
    ["a field that is a list of numbers", ["a", { action: "accept", content: { colours: [1] } }], "response.content.colours"],
    ["a field that is no finite number", ["a", { action: "accept", content: { count: Number.NaN } }], "response.content.count"],
    ["a field that is a function", ["a", { action: "accept", content: { colour: () => "red" } }], "response.content.colour"],
    ["a field with half a character", ["a", { action: "accept", content: { colours: ["\ud800"] } }], "response.content.colours[0]"],
    ["a misspelt member", ["a", { action: "accept", contents: {} }], "response.contents"],
  ])("of a question: %s", async (_, given, path) => {
    await refused((session) => session.respondToElicitation(...(given as Parameters<ChatSession["respondToElicitation"]>)), path);
  });

  test("what is right but answers nothing is REQUEST_NOT_PENDING", async () => {
    const { session } = await openSession();
    const attempts = [
      session.respondToPermission("a", { outcome: "cancelled" }),
      session.respondToPermission("a", { outcome: "selected", optionId: "b", _meta: { mine: 1 } }, ""),
      session.respondToPermission("a", { outcome: "selected", optionId: "b", _meta: { mine: 1, amalgm: { updatedInput: {} } } }),
      session.respondToElicitation("a", { action: "accept" }),
      session.respondToElicitation("a", { action: "accept", content: null, _meta: null }),
      session.respondToElicitation("a", { action: "accept", content: { text: "", count: 0, loud: false, colours: [] } }),
    ];
    for (const error of await Promise.all(attempts.map(failure))) {
      expect(error).toBeInstanceOf(ChatSessionError);
      expect(error).toMatchObject({ code: "REQUEST_NOT_PENDING" });
    }
  });

  test("after the end of the chat it is CHAT_CLOSED", async () => {
    const { host, session } = await openSession();
    await host.close();
    expect(await failure(session.respondToPermission("a", { outcome: "cancelled" }))).toMatchObject({ code: "CHAT_CLOSED" });
  });
});
