import * as codex from "./codex-messages.mjs";
import { outputDelta, outputLine } from "./command-output.mjs";
import { identifier, proseDelta, sourcePath } from "./prose.mjs";

export function message(script, random, deltas) {
  const id = script.itemId("msg");
  const startedAtMs = script.start(codex.agentMessage(id, ""));
  let text = "";
  for (let n = 0; n < deltas; n++) {
    const delta = proseDelta(random);
    text += delta;
    script.textDelta(id, delta);
  }
  script.complete(codex.agentMessage(id, text), startedAtMs);
}

export function thought(script, random, deltas) {
  const id = script.itemId("rs");
  const startedAtMs = script.start(codex.reasoning(id, []));
  script.notifyInTurn("item/reasoning/summaryPartAdded", { itemId: id, summaryIndex: 0 });
  let text = "";
  for (let n = 0; n < deltas; n++) {
    const delta = n === 0 ? `**${proseDelta(random).trim()}**\n\n` : proseDelta(random);
    text += delta;
    script.thoughtDelta(id, delta);
  }
  script.complete(codex.reasoning(id, [text]), startedAtMs);
}

/** As with the real agent, what a command prints in its first moments may show only in the final output. */
export function command(script, random, deltas) {
  const id = script.itemId("call");
  const run = {
    command: `cargo test ${identifier(random)} -- --nocapture && cat ${sourcePath(random)}`,
    processId: String(random.integer(1000, 99999)),
    status: "inProgress", aggregatedOutput: null, exitCode: null, durationMs: null,
  };
  const startedAtMs = script.startTool(codex.commandExecution(id, run));
  let output = random.chance(0.2) ? outputLine(random) : "";
  for (let n = 0; n < deltas; n++) {
    const delta = outputDelta(random);
    output += delta;
    script.outputDelta(id, delta);
  }
  script.pass(5, 200);
  const exitCode = random.chance(0.06) ? 1 : 0;
  const ended = { status: exitCode === 0 ? "completed" : "failed", aggregatedOutput: output, exitCode, durationMs: random.integer(20, 4000) };
  script.completeTool(codex.commandExecution(id, { ...run, ...ended }), startedAtMs);
}

export function fileChange(script, random) {
  const id = script.itemId("call");
  const change = random.chance(0.7) ? edit(random) : addition(random);
  const startedAtMs = script.startTool(codex.fileChange(id, [change], "inProgress"));
  script.pass(1, 10);
  script.completeTool(codex.fileChange(id, [change], "completed"), startedAtMs);
  script.notifyInTurn("turn/diff/updated", { diff: gitDiff(change, random) });
}

export function mcpCall(script, random) {
  const id = script.itemId("call");
  const call = { tool: random.pick(["search", "fetch", "outline"]), status: "inProgress", args: { query: identifier(random), limit: random.integer(1, 50) }, result: null, durationMs: null };
  const startedAtMs = script.startTool(codex.mcpToolCall(id, call));
  script.pass(2, 400);
  const text = Array.from({ length: random.integer(1, 6) }, () => proseDelta(random)).join("\n");
  const result = { content: [{ type: "text", text }], structuredContent: null, _meta: null };
  script.completeTool(codex.mcpToolCall(id, { ...call, status: "completed", result, durationMs: random.integer(2, 400) }), startedAtMs);
}

const codeLine = (random) => `    let ${identifier(random)} = ${identifier(random)}(&mut state, "${random.hex(6)}")?;`;

function edit(random) {
  const context = () => ` ${codeLine(random)}\n`;
  const removed = Array.from({ length: random.integer(1, 6) }, () => `-${codeLine(random)}\n`);
  const added = Array.from({ length: random.integer(1, 8) }, () => `+${codeLine(random)}\n`);
  const at = random.integer(1, 600);
  const hunk = `@@ -${at},${removed.length + 2} +${at},${added.length + 2} @@\n${context()}${removed.join("")}${added.join("")}${context()}`;
  return { path: `/workspace/${sourcePath(random)}`, kind: { type: "update", move_path: null }, diff: hunk };
}

function addition(random) {
  const body = Array.from({ length: random.integer(5, 30) }, () => codeLine(random)).join("\n");
  return { path: `/workspace/${sourcePath(random)}`, kind: { type: "add" }, diff: `${body}\n` };
}

function gitDiff({ path, kind, diff }, random) {
  const name = path.slice("/workspace/".length);
  if (kind.type === "update") return `diff --git a/${name} b/${name}\nindex ${random.hex(40)}..${random.hex(40)}\n--- a/${name}\n+++ b/${name}\n${diff}`;
  const lines = diff.trimEnd().split("\n");
  return `diff --git a/${name} b/${name}\nnew file mode 100644\nindex ${"0".repeat(40)}..${random.hex(40)}\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1,${lines.length} @@\n${lines.map((line) => `+${line}\n`).join("")}`;
}
