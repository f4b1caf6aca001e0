import { normalizePrompt, PromptError, promptFromText, type ContentBlock } from "@amalgm/chat-native/input";
import { describe, expect, test } from "vitest";
import { failure, openSession } from "./support.mjs";

const image: ContentBlock = { type: "image", data: "AAAA", mimeType: "image/png" };

test("promptFromText puts a text before its attachments", () => {
  expect(promptFromText("Hello")).toEqual({ parts: [{ type: "text", text: "Hello" }] });
  expect(promptFromText("Look", [image])).toEqual({ parts: [{ type: "text", text: "Look" }, image] });
  expect(promptFromText("", [image])).toEqual({ parts: [image] });
  expect(() => promptFromText(5 as never)).toThrow(expect.objectContaining({ code: "INVALID_PROMPT" }));
  expect(() => promptFromText("a", image as never)).toThrow(expect.objectContaining({ code: "INVALID_PROMPT" }));
});

test("normalizePrompt keeps every block, in order, with what it holds", () => {
  const prompt = {
    parts: [
      { type: "text", text: "a", annotations: { priority: 1 } },
      { type: "text", text: "a" },
      image,
      { type: "resource_link", uri: "file:///a.txt", name: "a.txt" },
      { type: "resource", resource: { uri: "file:///b.txt", text: "b" } },
      { type: "text", text: "emoji 👩‍👩‍👧, NUL \u0000, separator \u2028", _meta: { own: [1, null] } },
    ],
  };
  expect(JSON.stringify(normalizePrompt(prompt))).toBe(JSON.stringify(prompt));
});

const table: Array<[string, unknown, number | null, string]> = [
  ["nothing", undefined, null, "prompt"],
  ["a text", "Hello", null, "prompt"],
  ["no parts", {}, null, "parts"],
  ["parts that are no array", { parts: "Hello" }, null, "parts"],
  ["an empty prompt", { parts: [] }, null, "parts"],
  ["an unknown member", { parts: [{ type: "text", text: "a" }], model: "x" }, null, "model"],
  ["a block that is no object", { parts: [{ type: "text", text: "a" }, "b"] }, 1, "parts[1]"],
  ["an unknown block type", { parts: [{ type: "hologram" }] }, 0, "type"],
  ["a block without its text", { parts: [{ type: "text" }] }, 0, "text"],
  ["a text that is a number", { parts: [image, { type: "text", text: 5 }] }, 1, "text"],
  ["an image without a type", { parts: [{ type: "image", data: "AAAA" }] }, 0, "mimeType"],
  ["a BigInt in a block", { parts: [image, { type: "text", text: "a", _meta: { n: 1n } }] }, 1, "parts[1]._meta.n"],
  ["a number that is none", { parts: [{ type: "text", text: "a", _meta: { n: Number.NaN } }] }, 0, "parts[0]._meta.n"],
  ["half a surrogate pair", { parts: [{ type: "text", text: "\udc00" }] }, 0, "parts[0].text"],
];

describe("a malformed prompt is INVALID_PROMPT and names the block and the field", () => {
  test.each(table)("%s", (_, value, part, field) => {
    const attempt = (): unknown => normalizePrompt(value);
    expect(attempt).toThrow(PromptError);
    expect(attempt).toThrow(expect.objectContaining({ code: "INVALID_PROMPT", part }));
    expect(attempt).toThrow(field);
  });

  test("a prompt that holds itself", () => {
    const meta: Record<string, unknown> = {};
    meta.self = meta;
    const attempt = (): unknown => normalizePrompt({ parts: [{ type: "text", text: "a", _meta: meta }] });
    expect(attempt).toThrow(expect.objectContaining({ code: "INVALID_PROMPT", part: 0 }));
  });

  test("`send` refuses the same, and nothing is stored", async () => {
    const { host, session, execution } = await openSession();
    for (const [, value, part] of table) {
      expect(await failure(session.send({ execution, prompt: value as never }))).toMatchObject({ code: "INVALID_PROMPT", part });
    }
    expect(await session.messages()).toEqual([]);
    expect(await host.chat.latestTurn(session.id)).toBeNull();
  });
});
