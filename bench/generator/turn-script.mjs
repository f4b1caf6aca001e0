import { createHash } from "node:crypto";
import * as codex from "./codex-messages.mjs";

const CONTEXT_WINDOW = 258400;

/** One Codex turn being written: ids, items, usage totals, and what a reader of the recording must arrive at. */
export class TurnScript {
  #writer;
  #random;
  #threadId;
  #turnId;
  #items = 0;
  #startedMs;
  #totals = usage(0, 0, 0, 0);
  #lastMessage = null;
  #agentText = createHash("sha256");
  #expected = { updates: 0, agentText: 0, thoughtText: 0, commandOutput: 0, toolCalls: 0 };

  constructor(writer, random) {
    this.#writer = writer;
    this.#random = random;
    this.#threadId = this.#uuid();
    this.#turnId = this.#uuid();
  }

  get updates() {
    return this.#expected.updates;
  }

  begin(prompt) {
    const writer = this.#writer;
    writer.host(codex.initialize());
    writer.pass(600);
    writer.answer(codex.initializeAnswer());
    writer.host({ method: "initialized" });
    writer.host(codex.threadStart());
    writer.pass(40);
    const thread = codex.thread(this.#threadId, this.#seconds());
    writer.answer(codex.threadStartAnswer(thread));
    writer.host(codex.turnStart(this.#threadId, prompt));
    writer.notify("thread/started", { thread });
    writer.pass(30);
    writer.answer({ id: 2, result: { turn: codex.turn(this.#turnId) } });
    this.#startedMs = writer.nowMs;
    writer.notify("thread/status/changed", { threadId: this.#threadId, status: { type: "active", activeFlags: [] } });
    writer.notify("turn/started", { threadId: this.#threadId, turn: codex.turn(this.#turnId, { startedAt: this.#seconds() }) });
    const message = codex.userMessage(this.#uuid(), prompt);
    this.complete(message, this.start(message));
  }

  itemId(prefix) {
    return `${prefix}_${String(++this.#items).padStart(6, "0")}`;
  }

  start(item) {
    const startedAtMs = this.#writer.nowMs;
    this.notify("item/started", { item: { ...item, startedAtMs, completedAtMs: null } }, { startedAtMs });
    return startedAtMs;
  }

  complete(item, startedAtMs) {
    const completedAtMs = this.#writer.nowMs;
    const whole = { ...item, startedAtMs, completedAtMs };
    this.notify("item/completed", { item: whole }, { contentTokenCount: null, completedAtMs });
    if (item.type === "agentMessage") this.#lastMessage = whole;
  }

  startTool(item) {
    this.#expected.updates += 1;
    return this.start(item);
  }

  completeTool(item, startedAtMs) {
    this.#expected.updates += 1;
    this.#expected.toolCalls += 1;
    this.complete(item, startedAtMs);
  }

  textDelta(itemId, delta) {
    this.#agentText.update(delta);
    this.#delta("item/agentMessage/delta", "agentText", { itemId, delta });
  }

  thoughtDelta(itemId, delta) {
    this.#delta("item/reasoning/summaryTextDelta", "thoughtText", { itemId, delta, summaryIndex: 0 });
  }

  outputDelta(itemId, delta) {
    this.#delta("item/commandExecution/outputDelta", "commandOutput", { itemId, delta });
  }

  notify(method, leading, trailing = {}) {
    this.#writer.notify(method, { ...leading, threadId: this.#threadId, turnId: this.#turnId, ...trailing });
  }

  notifyInTurn(method, params) {
    this.#writer.notify(method, { threadId: this.#threadId, turnId: this.#turnId, ...params });
  }

  pass(low, high) {
    this.#writer.pass(this.#random.integer(low, high));
  }

  /** The end of one model call. */
  usage(outputTokens) {
    const inputTokens = Math.min(20000 + Math.floor(this.#expected.updates / 2), 240000);
    const last = usage(inputTokens, Math.floor(inputTokens * 0.9), outputTokens, Math.floor(outputTokens / 5));
    for (const name of Object.keys(last)) this.#totals[name] += last[name];
    this.notifyInTurn("thread/tokenUsage/updated", { tokenUsage: { total: this.#totals, last, modelContextWindow: CONTEXT_WINDOW } });
    this.#writer.notify("account/rateLimits/updated", codex.rateLimits());
  }

  /** Returns what every correct reader of the recording arrives at. */
  end() {
    const writer = this.#writer;
    const firstUnread = { type: "turn", turnId: this.#turnId };
    writer.notify("thread/readState/changed", { threadId: this.#threadId, readState: { firstUnread, revision: this.#uuid() } });
    writer.notify("thread/status/changed", { threadId: this.#threadId, status: { type: "idle" } });
    const turn = codex.turn(this.#turnId, {
      items: this.#lastMessage ? [this.#lastMessage] : [], itemsView: "summary", status: "completed",
      startedAt: Math.floor(this.#startedMs / 1000), completedAt: this.#seconds(), durationMs: writer.nowMs - this.#startedMs,
    });
    writer.notify("turn/completed", { threadId: this.#threadId, turn });
    writer.close();
    return { ...this.#expected, agentTextHash: this.#agentText.digest("hex") };
  }

  #delta(method, measure, params) {
    this.pass(4, 40);
    this.#expected.updates += 1;
    this.#expected[measure] += params.delta.length;
    this.notifyInTurn(method, params);
  }

  #seconds() {
    return Math.floor(this.#writer.nowMs / 1000);
  }

  #uuid() {
    const hex = (length) => this.#random.hex(length);
    return `01a22db3-${hex(4)}-7${hex(3)}-a${hex(3)}-${hex(12)}`;
  }
}

function usage(inputTokens, cachedInputTokens, outputTokens, reasoningOutputTokens) {
  return { totalTokens: inputTokens + outputTokens, inputTokens, cachedInputTokens, cacheWriteInputTokens: 0, outputTokens, reasoningOutputTokens };
}
