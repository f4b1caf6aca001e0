import { CODEX_TOOLS } from "./codex-tools.mjs";
import { CodexUsage } from "./codex-usage.mjs";

const STOP_REASONS = { completed: "end_turn", interrupted: "cancelled" };

const SILENT = new Set([
  "turn/started", "turn/diff/updated", "thread/started", "thread/status/changed", "thread/readState/changed", "thread/settings/updated",
  "account/rateLimits/updated", "remoteControl/status/changed", "item/reasoning/summaryPartAdded",
]);

/** Codex app-server messages of one turn to ACP updates; what is ours about an update stands in `amalgm`. */
export class CodexNormalizer {
  /** Set by the message that ends the turn. */
  end = null;
  /** Messages that no rule knew, by method. */
  unmapped = {};
  #turnId;
  #threadId = null;
  #streamed = new Map();
  #tools = new Map();
  #usage = new CodexUsage();

  constructor(turnId) {
    this.#turnId = turnId;
  }

  push(message) {
    if (message.method === undefined) return this.#answer(message);
    const { params } = message;
    if (params?.threadId !== undefined && this.#threadId !== null && params.threadId !== this.#threadId) return [];
    switch (message.method) {
      case "item/agentMessage/delta":
        return [this.#text("agent_message_chunk", params.itemId, params.delta)];
      case "item/reasoning/summaryTextDelta":
        return [this.#text("agent_thought_chunk", params.itemId, params.delta, { reasoning: "summary" })];
      case "item/reasoning/textDelta":
        return [this.#text("agent_thought_chunk", params.itemId, params.delta, { reasoning: "full" })];
      case "item/commandExecution/outputDelta":
        return this.#output(params);
      case "item/started":
        return this.#started(params.item);
      case "item/completed":
        return this.#completed(params.item);
      case "turn/plan/updated":
        return [{ update: { sessionUpdate: "plan", entries: params.plan.map(planEntry) } }];
      case "thread/tokenUsage/updated":
        return this.#usageReported(params.tokenUsage);
      case "warning":
        return [notice("warning", params.message)];
      case "error":
        return params.willRetry ? [notice("warning", params.error.message)] : [];
      case "turn/completed":
        return this.#turnCompleted(params.turn);
      default:
        if (!SILENT.has(message.method)) this.unmapped[message.method] = (this.unmapped[message.method] ?? 0) + 1;
        return [];
    }
  }

  #answer({ result }) {
    if (!result?.thread) return [];
    this.#threadId = result.thread.id;
    const init = { providerSessionId: result.thread.id, cwd: result.cwd, model: result.model, tools: [], mcpServers: [] };
    return [{ update: { sessionUpdate: "session_info_update" }, amalgm: { init } }];
  }

  #text(sessionUpdate, messageId, text, amalgm) {
    this.#streamed.set(messageId, (this.#streamed.get(messageId) ?? "") + text);
    return { update: { sessionUpdate, content: { type: "text", text }, messageId }, amalgm };
  }

  #started(item) {
    const tool = CODEX_TOOLS[item.type];
    if (!tool || this.#tools.has(item.id)) return [];
    this.#tools.set(item.id, "in_progress");
    const update = { sessionUpdate: "tool_call", toolCallId: item.id, status: "in_progress", ...tool.begin(item) };
    return [{ update, amalgm: tool.meta?.(item) }];
  }

  #output({ itemId, delta }) {
    if (this.#tools.get(itemId) !== "in_progress") return [];
    const update = { sessionUpdate: "tool_call_update", toolCallId: itemId, status: "in_progress" };
    return [{ update, amalgm: { delta: { output: delta } } }];
  }

  #completed(item) {
    if (item.type === "agentMessage") return this.#whole("agent_message_chunk", item.id, item.text);
    if (item.type === "reasoning") return this.#whole("agent_thought_chunk", item.id, item.summary.join(""), { reasoning: "summary" });
    const tool = CODEX_TOOLS[item.type];
    if (!tool) return [];
    const begun = this.#started(item);
    if (this.#tools.get(item.id) !== "in_progress") return begun;
    const status = item.status === "completed" && !item.exitCode ? "completed" : "failed";
    this.#tools.set(item.id, status);
    const update = { sessionUpdate: "tool_call_update", toolCallId: item.id, status, ...tool.end(item) };
    return [...begun, { update, amalgm: tool.meta?.(item) }];
  }

  #whole(sessionUpdate, id, text, amalgm) {
    const streamed = this.#streamed.get(id) ?? "";
    this.#streamed.delete(id);
    if (text === streamed || text === "") return [];
    if (text.startsWith(streamed)) return [{ update: { sessionUpdate, content: { type: "text", text: text.slice(streamed.length) }, messageId: id }, amalgm }];
    return [notice("warning", "The agent sent another text than it had streamed."), { update: { sessionUpdate, content: { type: "text", text }, messageId: id }, amalgm }];
  }

  #usageReported(report) {
    const step = this.#usage.step(report, this.#turnId);
    const updates = step ? [{ update: { sessionUpdate: "usage_step", step } }] : [];
    const size = report.modelContextWindow;
    if (size) updates.push({ update: { sessionUpdate: "usage_update", used: report.last.totalTokens, size } });
    return updates;
  }

  #turnCompleted(turn) {
    const failed = turn.status === "failed";
    this.end = { status: failed ? "failed" : turn.status === "interrupted" ? "cancelled" : "completed", stopReason: STOP_REASONS[turn.status] ?? null, error: turn.error };
    return failed ? [notice("error", turn.error?.message ?? "The turn failed.")] : [];
  }
}

const notice = (severity, title) => ({ update: { sessionUpdate: "notice", severity, title } });

const PLAN_STATUS = { pending: "pending", inProgress: "in_progress", completed: "completed" };
const planEntry = ({ step, status }) => ({ content: step, priority: "medium", status: PLAN_STATUS[status] ?? "pending" });
