import * as events from "@amalgm/chat-native/events";
import type { ChatEvent } from "@amalgm/chat-native/events";
import { describe, expect, test } from "vitest";

const invalid = (path: string): unknown => expect.objectContaining({ name: "ChatOptionsError", code: "INVALID_OPTIONS", path });

describe("constructors", () => {
  test("make whole events of what is given", () => {
    expect(events.textDelta("a")).toEqual({ type: "text.delta", text: "a" });
    expect(events.textDelta("a", { messageId: "m", text: "b" })).toEqual({ type: "text.delta", text: "a", messageId: "m" });
    expect(events.reasoningDelta("a")).toEqual({ type: "reasoning.delta", text: "a", visibility: "full" });
    expect(events.reasoningDelta("a", { streamKind: "plan" })).toEqual({ type: "reasoning.delta", text: "a", visibility: "plan", streamKind: "plan" });
    expect(events.toolStarted("c", { toolName: "Bash", kind: "bash" })).toEqual({
      type: "tool.started", toolCallId: "c", toolName: "Bash", title: "Bash", kind: "bash", input: {},
    });
    expect(events.toolUpdated("c", { outputDelta: "x" })).toEqual({ type: "tool.updated", toolCallId: "c", outputDelta: "x" });
    expect(events.toolCompleted("c")).toEqual({ type: "tool.completed", toolCallId: "c", output: null, result: "", isError: false });
    expect(events.toolCompleted("c", { output: { exitCode: 0, output: "x" } })).toMatchObject({ result: "x", isError: false });
    expect(events.toolCompleted("c", { error: "no" })).toMatchObject({ isError: true, error: "no" });
    expect(events.compactionStarted()).toEqual({ type: "compaction.started", compactionId: "compaction", trigger: null });
    expect(events.compactionFinished({ compactionId: "k", postTokens: 5 })).toMatchObject({ compactionId: "k", trigger: null, postTokens: 5 });
    expect(events.errorEvent("no", { retryable: undefined })).toEqual({
      type: "error", message: "no", class: "runtime", reason: "agent_error", retryable: false,
    });
    expect(events.warning("careful", { detail: "d" })).toEqual({ type: "warning", message: "careful", detail: "d" });
    expect(events.done({ nativeStopReason: "stop" })).toEqual({ type: "done", stopReason: "end_turn", nativeStopReason: "stop" });
  });

  test("refuse what is no text", () => {
    expect(() => events.textDelta(5 as never)).toThrow(invalid("text"));
    expect(() => events.toolStarted(undefined as never)).toThrow(invalid("toolCallId"));
    expect(() => events.usageFinal(null as never)).toThrow(invalid("usage"));
    expect(() => events.done("a" as never)).toThrow(invalid("extra"));
  });
});

describe("toSessionUpdates", () => {
  test("makes ACP of an event", () => {
    expect(events.toSessionUpdates(events.textDelta("a", { messageId: "m" }))).toEqual([
      { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "a" }, messageId: "m" },
    ]);
    expect(events.toSessionUpdates(events.reasoningDelta("a", { parentToolCallId: "p" }))).toEqual([{
      sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "a" }, _meta: { amalgm: { parentToolCallId: "p", reasoning: "full" } },
    }]);
    expect(events.toSessionUpdates(events.toolStarted("c", { toolName: "Bash", title: "ls", kind: "bash", input: { command: "ls" } }))).toMatchObject([
      { sessionUpdate: "tool_call", toolCallId: "c", name: "Bash", title: "ls", kind: "execute", status: "in_progress", rawInput: { command: "ls" } },
    ]);
    expect(events.toSessionUpdates(events.toolUpdated("c", { outputDelta: "x", output: { output: "x" } }))).toMatchObject([
      { sessionUpdate: "tool_call_update", toolCallId: "c", rawOutput: { output: "x" }, _meta: { amalgm: { delta: { output: "x" } } } },
    ]);
    expect(events.toSessionUpdates(events.toolCompleted("c", { output: "x" }))).toMatchObject([
      { toolCallId: "c", status: "completed", rawOutput: "x", content: [{ type: "content", content: { type: "text", text: "x" } }] },
    ]);
    expect(events.toSessionUpdates(events.errorEvent("no", { class: "auth", reason: "login_required" }))).toMatchObject([
      { sessionUpdate: "notice", severity: "error", title: "no", _meta: { amalgm: { error: { class: "auth", reason: "login_required", retryable: false } } } },
    ]);
  });

  test("gives the agent's own update, and nothing for the end of a turn", () => {
    const update = { sessionUpdate: "current_mode_update", currentModeId: "ask", later: [1.5] } as const;
    expect(events.toSessionUpdates({ type: "mode", modeId: "other", update, raw: { source: "s", payload: 1n } })).toEqual([update]);
    expect(events.toSessionUpdates(events.done())).toEqual([]);
    expect(events.toSessionUpdates({ type: "unmapped", kind: "x" })).toEqual([]);
  });

  test("counts tokens in one step", () => {
    const usage = {
      id: "u", operation: "chat_step", model: { agentRevisionId: null, providerId: null, modelId: "m" }, source: "s", exact: true, billable: true,
      inputTokens: 1, outputTokens: null, cacheReadTokens: null, cacheWriteTokens: null, reasoningTokens: null, cacheWrite1hTokens: null,
      nativeCostUsd: null, context: { used: 5, size: 10 }, parentToolCallId: null, raw: { a: 1 },
    } as const;
    const step = { ...usage, turnId: "", index: 0 };
    expect(events.toSessionUpdates(events.usageFinal(usage))).toEqual([
      { sessionUpdate: "usage_step", step },
      { sessionUpdate: "usage_update", used: 5, size: 10, _meta: { amalgm: { usage: step } } },
    ]);
  });

  test("refuses what is no event, by the member at fault", () => {
    expect(() => events.toSessionUpdates(null as never)).toThrow(invalid("event"));
    expect(() => events.toSessionUpdates({ type: "other" } as never)).toThrow(invalid("event.type"));
    expect(() => events.toSessionUpdates({ type: "text.delta", text: 5 } as never)).toThrow(invalid("event.text"));
    expect(() => events.toSessionUpdates({ type: "tool.updated", toolCallId: "c", output: Number.NaN } satisfies ChatEvent)).toThrow(invalid("event.output"));
  });
});
