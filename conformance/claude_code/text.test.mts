import { expect, test } from "vitest";
import { held, redactedThinking, respond, text, thinking } from "../server/messages.mjs";
import { KEY, ofKind, play, send, textOf } from "../support.mjs";
import { agents, blocksOf, claude, messageText, MODEL } from "./support.mjs";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

test("text: what the model streams, piece by piece, and nothing twice", async () => {
  const { model, ...conversation } = await claude();
  model.queue(respond([text("Grüße, ", "世界", " 👋")]));

  const { turn, updates, parts } = await play(conversation, "Greet the world.");

  expect(turn).toMatchObject({ status: "completed", stopReason: "end_turn", error: null, origin: "host" });
  const chunks = ofKind(updates, "agent_message_chunk").map(({ content }) => content);
  expect(chunks).toEqual(["Grüße, ", "世界", " 👋"].map((piece) => ({ type: "text", text: piece })));
  expect(textOf(parts)).toBe("Grüße, 世界 👋");
  expect(model.requests).toHaveLength(1);
  expect(model.requests[0]!.headers["x-api-key"]).toBe(KEY);
  expect(model.requests[0]!.body.model).toBe(MODEL);
  expect(messageText(model.requests[0]!, "user")).toContain("Greet the world.");
});

test("text is seen while the model still speaks", async () => {
  const { model, ...conversation } = await claude();
  const answer = held([text("The first half", " and the second.")], 1);
  model.queue(answer.answer);

  const turn = await send(conversation);
  await turn.first("agent_message_chunk");
  answer.release();

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(ofKind(turn.updates, "agent_message_chunk")).toHaveLength(2);
});

test("reasoning, apart from the text", async () => {
  const { model, ...conversation } = await claude();
  model.queue(respond([thinking("Looking around. ", "Deciding."), text("Here.")]));

  const { parts } = await play(conversation);

  expect(textOf(parts, "reasoning")).toBe("Looking around. Deciding.");
  expect(textOf(parts)).toBe("Here.");
  // Without a wish newer models tell nothing of their thoughts.
  expect(model.requests[0]!.body.thinking).toMatchObject({ display: "summarized" });
});

test("redacted reasoning is noted, and the text comes", async () => {
  const { model, ...conversation } = await claude();
  model.queue(respond([redactedThinking(), text("I cannot show my thoughts.")]));

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  expect(parts.filter(({ type }) => type === "reasoning")).toMatchObject([{ visibility: "redacted" }]);
  expect(textOf(parts)).toBe("I cannot show my thoughts.");
});

test("an image of the prompt reaches the model, in its place between the texts", async () => {
  const { model, ...conversation } = await claude();
  model.queue(respond([text("A pixel.")]));

  const { turn } = await play(conversation, {
    parts: [
      { type: "text", text: "before the image" },
      { type: "image", data: PIXEL, mimeType: "image/png" },
      { type: "text", text: "after the image" },
    ],
  });

  expect(turn.status).toBe("completed");
  const content = blocksOf(model.requests[0]!, "user");
  const image = content.findIndex(({ type }) => type === "image");
  expect(content[image]?.source).toMatchObject({ type: "base64", media_type: "image/png" });
  expect(content.findIndex((block) => block.text?.includes("before the image"))).toBeLessThan(image);
  expect(content.findIndex((block) => block.text?.includes("after the image"))).toBeGreaterThan(image);
});

test("a document of the prompt reaches the model", async () => {
  const { model, ...conversation } = await claude();
  model.queue(respond([text("Read.")]));
  const pdf = Buffer.from("%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n").toString("base64");

  const { turn } = await play(conversation, {
    parts: [
      { type: "text", text: "Read this." },
      { type: "resource", resource: { uri: "file:///paper.pdf", mimeType: "application/pdf", blob: pdf } },
    ],
  });

  expect(turn.status).toBe("completed");
  const [document] = blocksOf(model.requests[0]!, "user").filter(({ type }) => type === "document");
  expect(document?.source).toEqual({ type: "base64", media_type: "application/pdf", data: pdf });
});

test("two turns: one process, one conversation of the model", async () => {
  const { model, ...conversation } = await claude();
  model.queue(respond([text("First answer.")]), respond([text("Second answer.")]));

  await play(conversation, "First question.");
  const before = agents(conversation).map(({ pid }) => pid);
  const { turn } = await play(conversation, "Second question.");

  expect(turn).toMatchObject({ status: "completed", ordinal: 2 });
  expect(before).toHaveLength(1);
  expect(agents(conversation).map(({ pid }) => pid)).toEqual(before);
  expect(model.requests[1]!.text).toContain("First answer.");
});
