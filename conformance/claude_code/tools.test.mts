import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { respond, text, toolUse } from "../server/messages.mjs";
import { ofKind, play, textOf, toolsOf } from "../support.mjs";
import { claude, shell, TODO_MODEL, toolResults } from "./support.mjs";

test("a command that succeeds", async () => {
  const { model, project, ...conversation } = await claude();
  model.queue(respond([shell("echo made > made.txt; echo to stdout; echo to stderr >&2")]), respond([text("Done.")]));

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  const [tool, ...others] = toolsOf(parts);
  expect(others).toEqual([]);
  expect(tool).toMatchObject({ name: "Bash", kind: "execute", status: "completed" });
  expect(JSON.stringify(tool?.output)).toContain("to stdout");
  expect(JSON.stringify(tool?.input)).toContain("echo made > made.txt");
  expect(readFileSync(join(project, "made.txt"), "utf8")).toBe("made\n");
  expect(toolResults(model.requests[1]!)).toContain("to stdout");
});

test("a command that fails is failed, and the turn goes on", async () => {
  const { model, ...conversation } = await claude();
  model.queue(respond([shell("echo before it; exit 3")]), respond([text("It failed.")]));

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  const [tool] = toolsOf(parts);
  expect(tool).toMatchObject({ status: "failed", output: { exitCode: 3 } });
  expect(JSON.stringify(tool)).toContain("before it");
});

test("two calls of one message, each with its own result", async () => {
  const { model, project, ...conversation } = await claude();
  const read = (name: string) => toolUse("Read", { file_path: join(project, name) });
  for (const name of ["left", "right"]) writeFileSync(join(project, name), `this is ${name}\n`);
  model.queue(respond([read("left"), read("right"), shell("echo and a command")]), respond([text("Both.")]));

  const { turn, updates, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  const results = toolsOf(parts).map((tool) => JSON.stringify([tool.content, tool.output]));
  expect(results).toHaveLength(3);
  for (const [index, said] of ["this is left", "this is right", "and a command"].entries()) expect(results[index]).toContain(said);
  expect(toolsOf(parts).map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  expect(ofKind(updates, "tool_call")).toHaveLength(3);
});

test("file changes: diffs in the stream, and the files on the disk", async () => {
  const { model, project, ...conversation } = await claude();
  const [created, edited] = [join(project, "created.txt"), join(project, "edited.txt")];
  writeFileSync(edited, "one\ntwo\nthree\n");
  model.queue(
    respond([toolUse("Write", { file_path: created, content: "hello\n世界\n" }), toolUse("Read", { file_path: edited })]),
    respond([toolUse("Edit", { file_path: edited, old_string: "two", new_string: "TWO" })]),
    respond([text("Changed.")]),
  );

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  const tools = toolsOf(parts);
  const write = tools.find(({ name }) => name === "Write");
  const edit = tools.find(({ name }) => name === "Edit");
  expect(write).toMatchObject({ kind: "edit", status: "completed" });
  expect(write?.content).toContainEqual(expect.objectContaining({ type: "diff", path: created, newText: "hello\n世界\n" }));
  expect(edit).toMatchObject({ kind: "edit", status: "completed" });
  expect(edit?.content).toContainEqual(expect.objectContaining({ type: "diff", path: edited }));
  expect(readFileSync(created, "utf8")).toBe("hello\n世界\n");
  expect(readFileSync(edited, "utf8")).toBe("one\nTWO\nthree\n");
});

test("a plan out of the calls that change it", async () => {
  const { model, ...conversation } = await claude({}, { modelId: TODO_MODEL });
  const create = (subject: string) => toolUse("TaskCreate", { subject, description: subject });
  model.queue(
    respond([create("Look")]),
    respond([create("Change")]),
    respond([toolUse("TaskUpdate", { taskId: "1", status: "completed" })]),
    respond([text("Planned.")]),
  );

  const { turn, updates, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  expect(ofKind(updates, "plan").length).toBeGreaterThan(1);
  expect(parts.filter(({ type }) => type === "plan")).toMatchObject([
    { entries: [{ content: "Look", status: "completed" }, { content: "Change", status: "pending" }] },
  ]);
});

test("a subagent: what it does stands under its call", async () => {
  const { model, ...conversation } = await claude();
  model.queue(respond([toolUse("Agent", { description: "Look", prompt: "Look around.", subagent_type: "general-purpose" })]));
  model.otherwise(({ text: asked }) => {
    const isSub = !asked.includes("MAIN PROMPT");
    if (isSub) return asked.includes("from the subagent") ? respond([text("The subagent's report.")]) : respond([shell("echo from the subagent")]);
    return respond([text("It looked.")]);
  });

  const { turn, updates, parts } = await play(conversation, "MAIN PROMPT");

  expect(turn.status).toBe("completed");
  const call = ofKind(updates, "tool_call").find((update) => JSON.stringify(update).includes("Look around."));
  const inner = ofKind(updates, "tool_call").find((update) => JSON.stringify(update.rawInput ?? update.title).includes("from the subagent"));
  expect(inner?._meta.amalgm.parentToolCallId).toBe(call?.toolCallId);
  expect(textOf(parts)).toContain("It looked.");
});

test("a tool's image is an image", async () => {
  const { model, project, ...conversation } = await claude();
  const pixel = join(project, "pixel.png");
  writeFileSync(pixel, Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==", "base64"));
  model.queue(respond([toolUse("Read", { file_path: pixel })]), respond([text("A pixel.")]));

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  expect(existsSync(pixel)).toBe(true);
  const blocks = (toolsOf(parts)[0]?.content ?? []).map((block) => (block.type === "content" ? block.content : block));
  expect(blocks).toContainEqual(expect.objectContaining({ type: "image" }));
});
