import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { functionCall, message, respond } from "../server/responses.mjs";
import { ofKind, play, toolsOf } from "../support.mjs";
import { codex, patch, shell, toolOutputs } from "./support.mjs";

test("a command that succeeds", async () => {
  const { model, project, ...conversation } = await codex();
  model.queue(respond([shell("echo made > made.txt; echo to stdout; echo to stderr >&2")]), respond([message("Done.")]));

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  const [tool, ...others] = toolsOf(parts);
  expect(others).toEqual([]);
  expect(tool).toMatchObject({ name: "Bash", kind: "execute", status: "completed", output: { exitCode: 0 } });
  // Codex reads both streams at once: which comes first is chance.
  const lines = (tool?.output as { output: string }).output.trim().split("\n");
  expect(lines.sort()).toEqual(["to stderr", "to stdout"]);
  expect(JSON.stringify(tool?.input)).toContain("echo made > made.txt");
  expect(readFileSync(join(project, "made.txt"), "utf8")).toBe("made\n");
  expect(toolOutputs(model.requests[1]!)).toContain("to stdout");
});

test("a command that fails is failed, and the turn goes on", async () => {
  const { model, ...conversation } = await codex();
  model.queue(respond([shell("echo before it; exit 3")]), respond([message("It failed.")]));

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  expect(toolsOf(parts)).toMatchObject([{ status: "failed", output: { exitCode: 3, output: "before it\n" } }]);
});

test("two commands of one response run at the same time", async () => {
  const { model, ...conversation } = await codex();
  // Each ends only when the other one has begun.
  const meet = (mine: string, other: string): string => `touch ${mine}; while [ ! -e ${other} ]; do sleep 0.05; done; echo ${mine} met ${other}`;
  model.queue(respond([shell(meet("left", "right")), shell(meet("right", "left"))]), respond([message("Both.")]));

  const { turn, updates, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  // Which of them begins first is nobody's choice.
  const outputs = toolsOf(parts).map(({ output }) => (output as { output: string }).output);
  expect(outputs.sort()).toEqual(["left met right\n", "right met left\n"]);
  expect(toolsOf(parts).map(({ status }) => status)).toEqual(["completed", "completed"]);
  expect(ofKind(updates, "tool_call")).toHaveLength(2);
});

test("a tool goes from in progress to its end, each once", async () => {
  const { model, ...conversation } = await codex();
  model.queue(respond([shell("for i in 1 2 3; do echo $i; sleep 0.2; done")]), respond([message("Done.")]));

  const { updates } = await play(conversation);

  const tool = updates.flatMap((update) => (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update" ? [update] : []));
  const states = tool.map(({ status }) => status).filter((status) => status !== undefined && status !== null);
  expect(states).toEqual(["in_progress", "completed"]);
});

test("file changes: diffs in the stream, and the files on the disk", async () => {
  const { model, project, ...conversation } = await codex();
  const edited = join(project, "edited.txt");
  const removed = join(project, "removed.txt");
  writeFileSync(edited, "one\ntwo\nthree\n");
  writeFileSync(removed, "to be removed\n");
  model.queue(
    respond([patch("*** Add File: created.txt", "+hello", "+世界")]),
    respond([patch("*** Update File: edited.txt", "@@", " one", "-two", "+TWO", " three", "*** Delete File: removed.txt")]),
    respond([message("Changed.")]),
  );

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  const [created, changed] = toolsOf(parts);
  expect(created).toMatchObject({ name: "Write", kind: "edit", status: "completed" });
  expect(created?.content).toContainEqual(expect.objectContaining({ type: "diff", path: join(project, "created.txt"), newText: "hello\n世界\n" }));
  expect(changed).toMatchObject({ name: "Edit", kind: "edit", status: "completed" });
  expect(changed?.content).toContainEqual(expect.objectContaining({ type: "diff", path: edited, oldText: "one\ntwo\nthree\n", newText: "one\nTWO\nthree\n" }));
  expect(readFileSync(join(project, "created.txt"), "utf8")).toBe("hello\n世界\n");
  expect(readFileSync(edited, "utf8")).toBe("one\nTWO\nthree\n");
  expect(existsSync(removed)).toBe(false);
});

test("a plan, each time the model writes it anew", async () => {
  const { model, ...conversation } = await codex();
  const plan = (first: string, second: string) =>
    functionCall("update_plan", { plan: [{ step: "Look", status: first }, { step: "Change", status: second }] });
  model.queue(respond([plan("in_progress", "pending")]), respond([plan("completed", "in_progress")]), respond([message("Planned.")]));

  const { turn, updates, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  expect(ofKind(updates, "plan")).toHaveLength(2);
  expect(parts.filter(({ type }) => type === "plan")).toMatchObject([
    { entries: [{ content: "Look", status: "completed" }, { content: "Change", status: "in_progress" }] },
  ]);
});
