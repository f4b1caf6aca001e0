import { expect, test } from "vitest";
import { held, message, reasoning, respond } from "../server/responses.mjs";
import { KEY, ofKind, play, send, textOf } from "../support.mjs";
import { codex, inputText, MODEL } from "./support.mjs";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

test("text: what the model streams, piece by piece", async () => {
  const { model, ...conversation } = await codex();
  model.queue(respond([message("Grüße, ", "世界", " 👋")]));

  const { turn, updates, parts } = await play(conversation, "Greet the world.");

  expect(turn).toMatchObject({ status: "completed", stopReason: "end_turn", error: null, origin: "host" });
  const chunks = ofKind(updates, "agent_message_chunk").map(({ content }) => content);
  expect(chunks).toEqual(["Grüße, ", "世界", " 👋"].map((text) => ({ type: "text", text })));
  expect(textOf(parts)).toBe("Grüße, 世界 👋");
  expect(model.requests).toHaveLength(1);
  expect(model.requests[0]!.headers.authorization).toBe(`Bearer ${KEY}`);
  expect(model.requests[0]!.body.model).toBe(MODEL);
  expect(inputText(model.requests[0]!, "user")).toContain("Greet the world.");
});

test("text is seen while the model still speaks", async () => {
  const { model, ...conversation } = await codex();
  const answer = held(["The first half"], [" and the second."]);
  model.queue(answer.answer);

  const turn = await send(conversation);
  await turn.first("agent_message_chunk");
  answer.release();

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(ofKind(turn.updates, "agent_message_chunk")).toHaveLength(2);
});

test("reasoning: its summary, apart from the text", async () => {
  const { model, ...conversation } = await codex();
  model.queue(respond([reasoning("**Looking** around.", "**Deciding** what to say."), message("Here.")]));

  const { updates, parts } = await play(conversation);

  const thoughts = ofKind(updates, "agent_thought_chunk");
  expect(thoughts.map(({ _meta }) => _meta.amalgm.reasoning)).toEqual(thoughts.map(() => "summary"));
  expect(parts.filter(({ type }) => type === "reasoning")).toEqual([
    { type: "reasoning", visibility: "summary", text: "**Looking** around.\n\n**Deciding** what to say." },
  ]);
  expect(textOf(parts)).toBe("Here.");
  // The model gives no summary unless it is asked for one.
  expect(model.requests[0]!.body.reasoning?.summary).toBe("auto");
});

test("an image of the prompt reaches the model, in its place between the texts", async () => {
  const { model, ...conversation } = await codex();
  model.queue(respond([message("A pixel.")]));

  const { turn } = await play(conversation, {
    parts: [
      { type: "text", text: "before the image" },
      { type: "image", data: PIXEL, mimeType: "image/png" },
      { type: "text", text: "after the image" },
    ],
  });

  expect(turn.status).toBe("completed");
  const content = model.requests[0]!.body.input.flatMap((item) => (item.role === "user" ? (item.content ?? []) : []));
  const image = content.findIndex(({ type }) => type === "input_image");
  expect(content[image]?.image_url).toBe(`data:image/png;base64,${PIXEL}`);
  expect(content.findIndex(({ text }) => text === "before the image")).toBeLessThan(image);
  expect(content.findIndex(({ text }) => text === "after the image")).toBeGreaterThan(image);
});

test("two turns: one process, one conversation of the model", async () => {
  const { model, folder, ...conversation } = await codex();
  const { processesWith } = await import("../processes.mjs");
  const agents = (): number[] => processesWith(folder).filter((running) => running.arguments.includes("app-server")).map(({ pid }) => pid);
  model.queue(respond([message("First answer.")]), respond([message("Second answer.")]));

  await play(conversation, "First question.");
  const before = agents();
  const { turn } = await play(conversation, "Second question.");

  expect(turn).toMatchObject({ status: "completed", ordinal: 2 });
  expect(before).toHaveLength(1);
  expect(agents()).toEqual(before);
  expect(model.requests[1]!.text).toContain("First answer.");
});
