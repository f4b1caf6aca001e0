import type { ExecutionContract } from "@amalgm/chat-native/execution";
import { ExecutionError, executionRevision, normalizeExecutionContract } from "@amalgm/chat-native/execution";
import { describe, expect, test, vi } from "vitest";
import { contract, failure, openHost, openSession, prompt, TEXT, TOOL } from "./support.mjs";

const valid = contract(TEXT, "instant");
const broken = (change: (draft: Record<string, Record<string, unknown>>) => void): unknown => {
  const draft = structuredClone(valid) as unknown as Record<string, Record<string, unknown>>;
  change(draft);
  return draft;
};

describe("normalizeExecutionContract", () => {
  test("gives an equal contract, whatever the order of its members", () => {
    const turned = Object.fromEntries(Object.entries(valid).reverse()) as unknown as ExecutionContract;
    expect(normalizeExecutionContract(turned)).toEqual(valid);
    expect(executionRevision(turned)).toBe(executionRevision(valid));
  });

  test.each<[string, unknown, string]>([
    ["no object", "codex", "contract"],
    ["null", null, "contract"],
    ["an array", [], "contract"],
    ["a missing part", broken((draft) => delete draft.agent), "agent"],
    ["a missing field", broken((draft) => delete draft.agent!.adapterId), "agent.adapterId"],
    ["an empty id", broken((draft) => (draft.agent!.installationId = "")), "agent.installationId"],
    ["a number for a text", broken((draft) => (draft.model!.modelId = 5)), "model.modelId"],
    ["settings that are no array", broken((draft) => (draft.model!.settings = {})), "model.settings"],
    ["a setting without a value", broken((draft) => (draft.model!.settings = [{ configId: "pace" }])), "model.settings[0].value"],
    ["an unknown auth mode", broken((draft) => (draft.auth!.mode = "guest")), "auth.mode"],
    ["a tool id that is no text", broken((draft) => (draft.tools!.toolIds = ["a", 1])), "tools.toolIds[1]"],
    ["a relative path", broken((draft) => (draft.cwd!.path = "here")), "cwd.path"],
    ["an unknown permission mode", broken((draft) => (draft.permissionMode = "yolo" as never)), "permissionMode"],
    ["an unknown field", broken((draft) => (draft.extra = {})), "extra"],
    ["an unknown field within", broken((draft) => (draft.cwd!.branch = "main")), "cwd.branch"],
    ["a BigInt", broken((draft) => (draft.model!.settings = [{ configId: "pace", value: 1n }])), "model.settings[0].value"],
    ["a function", broken((draft) => (draft.cwd!.branch = () => "main")), "cwd.branch"],
    ["half a surrogate pair", broken((draft) => (draft.model!.modelId = "\ud83d")), "model.modelId"],
  ])("refuses %s", (_, value, path) => {
    const attempt = (): unknown => normalizeExecutionContract(value);
    expect(attempt).toThrow(ExecutionError);
    expect(attempt).toThrow(expect.objectContaining({ code: "INVALID_EXECUTION_CONTRACT", path, name: "ExecutionError" }));
    expect(attempt).toThrow(path);
  });

  test("refuses a contract that holds itself", () => {
    const circular = broken((draft) => (draft.cwd!.self = draft));
    expect(() => normalizeExecutionContract(circular)).toThrow(expect.objectContaining({ code: "INVALID_EXECUTION_CONTRACT", path: "cwd.self" }));
  });
});

test("equal contracts have equal revisions, other contracts have others", () => {
  const revision = executionRevision(valid);
  expect(revision).toBe(executionRevision(structuredClone(valid)));
  expect(revision).not.toBe(executionRevision(contract(TEXT, "recorded")));
  expect(revision).not.toBe(executionRevision({ ...valid, computerId: "other" }));
});

describe("prepareExecution", () => {
  test("gives the handle of the contract's revision, the same one again", async () => {
    const { chat } = await openHost();
    const handle = await chat.prepareExecution("a", valid);
    expect(handle).toEqual({ id: "a", revision: executionRevision(valid) });
    expect(await chat.prepareExecution("a", structuredClone(valid))).toEqual(handle);
  });

  test("asks the host once for each prepared contract", async () => {
    const resolve = vi.fn((_: ExecutionContract) => ({}));
    const { chat } = await openHost({ native: { resolve } });
    await Promise.all([chat.prepareExecution("a", valid), chat.prepareExecution("a", structuredClone(valid))]);
    await chat.prepareExecution("a", valid);
    expect(resolve).toHaveBeenCalledTimes(1);
    expect(resolve).toHaveBeenCalledWith(valid);
    await chat.prepareExecution("b", valid);
    await chat.prepareExecution("a", contract(TOOL));
    expect(resolve).toHaveBeenCalledTimes(3);
  });

  test("passes on what the host throws, and asks again the next time", async () => {
    const refusal = new TypeError("no credential");
    const resolve = vi.fn((_: ExecutionContract) => ({}));
    resolve.mockImplementationOnce(() => {
      throw refusal;
    });
    const { chat } = await openHost({ native: { resolve } });
    await expect(chat.prepareExecution("a", valid)).rejects.toBe(refusal);
    await expect(chat.prepareExecution("a", valid)).resolves.toMatchObject({ id: "a" });
  });

  test("lets the contract count that was prepared last, however long each takes to resolve", async () => {
    let release = (): void => undefined;
    const slow = new Promise<object>((done) => {
      release = () => {
        done({});
      };
    });
    const resolve = vi.fn((_: ExecutionContract): object | Promise<object> => ({}));
    resolve.mockReturnValueOnce(slow);
    const { chat } = await openHost({ native: { resolve } });
    const first = chat.prepareExecution("a", valid);
    const second = chat.prepareExecution("a", contract(TOOL));
    release();
    const stale = await first;
    const current = await second;
    await expect(chat.startSession({ execution: stale })).rejects.toMatchObject({ code: "EXECUTION_REVISION_MISMATCH" });
    await expect(chat.startSession({ execution: current })).resolves.toBeDefined();
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["a text", "token"],
    ["an unknown member", { token: "x" }],
    ["a BigInt", { env: { A: 1n } }],
  ])("refuses %s as the host's answer", async (_, answer) => {
    const { chat } = await openHost({ native: { resolve: () => answer as object } });
    expect(await failure(chat.prepareExecution("a", valid))).toMatchObject({ code: "INVALID_OPTIONS", path: expect.stringContaining("native.resolve()") as string });
  });

  test.each<[string, ExecutionContract, string]>([
    ["a recording that is not there", contract("codex/no-such-recording"), "agent.installationId"],
    ["a name that leads elsewhere", contract("../codex/text-stream"), "agent.installationId"],
    ["a path in no replay folder", contract("/etc/hostname"), "agent.installationId"],
    ["another pace", contract(TEXT, "slow" as "instant"), "model.settings[0].value"],
    ["tools", { ...valid, tools: { revisionId: "1", toolIds: ["search"] } }, "tools"],
    ["an adapter that is not there", { ...valid, agent: { ...valid.agent, adapterId: "abacus" } }, "agent.adapterId"],
  ])("refuses %s as UNSUPPORTED_EXECUTION_INPUT", async (_, value, path) => {
    const { chat } = await openHost();
    const error = await failure(chat.prepareExecution("a", value));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).toMatchObject({ code: "UNSUPPORTED_EXECUTION_INPUT", path: expect.stringContaining(path) as string });
  });
});

describe("handles", () => {
  test.each<[string, unknown, string, string]>([
    ["nothing", undefined, "INVALID_EXECUTION_CONTRACT", "execution"],
    ["a text", "a", "INVALID_EXECUTION_CONTRACT", "execution"],
    ["no id", { revision: "r" }, "INVALID_EXECUTION_CONTRACT", "execution.id"],
    ["a revision that is no text", { id: "a", revision: 1 }, "INVALID_EXECUTION_CONTRACT", "execution.revision"],
  ])("%s is refused by name", async (_, execution, code, path) => {
    const { chat } = await openHost();
    expect(await failure(chat.startSession({ execution: execution as never }))).toMatchObject({ code, path });
  });

  test("an id that was never prepared is EXECUTION_NOT_PREPARED", async () => {
    const { chat } = await openHost();
    const error = await failure(chat.startSession({ execution: { id: "never", revision: "r" } }));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).toMatchObject({ code: "EXECUTION_NOT_PREPARED" });
    expect(error.message).toContain("never");
  });

  test("a handle is stale once its id was prepared with another contract, and nothing is stored", async () => {
    const { host, session, execution } = await openSession();
    await host.chat.prepareExecution("execution", contract(TOOL));
    await expect(session.send({ execution, prompt })).rejects.toMatchObject({ code: "EXECUTION_REVISION_MISMATCH" });
    expect(await session.messages()).toEqual([]);
    expect(await host.chat.latestTurn(session.id)).toBeNull();
  });

  test("further members of a handle are ignored", async () => {
    const { chat } = await openHost();
    const handle = await chat.prepareExecution("a", valid);
    await expect(chat.startSession({ execution: { ...handle, label: "mine" } as never })).resolves.toBeDefined();
  });
});
