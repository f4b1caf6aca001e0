import type { ContentBlock } from "./sdk.js";
import { checkRecord, expected, invalidPrompt, toJson } from "./checks.js";
import { lifted } from "./errors.js";
import { binding } from "./native.js";

export { PromptError } from "./errors.js";
export type { ContentBlock };

/** Ordered, non-empty. Attachments are `image`, `audio`, `resource` or `resource_link` blocks. */
export interface PromptInput {
  parts: ContentBlock[];
}

/**
 * A text followed by its attachments. An empty text beside attachments makes no block of its own.
 *
 * @throws {@link PromptError} INVALID_PROMPT where `text` is no string or `attachments` no array
 */
export function promptFromText(text: string, attachments: ContentBlock[] = []): PromptInput {
  if (typeof text !== "string") throw invalidPrompt("text", expected("a string", text));
  if (!Array.isArray(attachments)) throw invalidPrompt("attachments", expected("an array of content blocks", attachments));
  const words: ContentBlock[] = text === "" && attachments.length > 0 ? [] : [{ type: "text", text }];
  return { parts: [...words, ...attachments] };
}

/** @internal */
export function promptJson(prompt: unknown): string {
  return toJson(checkRecord(prompt, "prompt", invalidPrompt), "prompt", invalidPrompt);
}

/**
 * Checks every block against ACP and returns the prompt unchanged in meaning: no block is merged, reordered or dropped.
 *
 * @throws {@link PromptError} INVALID_PROMPT; `part` is the index of the block at fault, the message names its field
 */
export function normalizePrompt(input: unknown): PromptInput {
  const json = promptJson(input);
  const native = binding();
  return JSON.parse(lifted(() => native.normalizePrompt(json))) as PromptInput;
}
