import { lifted } from "./errors.js";
import { messageText } from "./message-text.js";
import { binding } from "./native.js";

// Helpers that existing hosts call with items of `codex app-server`, of today's or an older form. They never throw: what is
// no tool item has empty words, an empty input and a null output.

interface Description {
  tool: boolean;
  name: string;
  title: string;
  detail: string;
  input: Record<string, unknown>;
  output: unknown;
  error?: string;
}

function describe(item: unknown): Description {
  const native = binding();
  return JSON.parse(lifted(() => native.describeCodexItem(messageText(item)))) as Description;
}

/** The sentence for a person in an error: a text, an object with a message, or a provider's JSON; `fallback` where there is none. */
export function codexErrorMessage(error: unknown, fallback = "The turn failed"): string {
  const native = binding();
  return lifted(() => native.codexErrorMessage(messageText(error ?? null))) ?? fallback;
}

/** The canonical name of the item's tool, such as `Bash` or `Edit`; an MCP tool's own name. */
export const codexToolName = (item: unknown): string => describe(item).name;

/** What the call does, on one line. */
export const codexToolTitle = (item: unknown): string => describe(item).title;

/** What the call is about: the command, the paths, the query; empty where the input says nothing of the kind. */
export const codexToolDetail = (item: unknown): string => describe(item).detail;

/** The input of the call. */
export const codexToolInput = (item: unknown): Record<string, unknown> => describe(item).input;

/** The output of the call, as `tool.completed` has it. */
export const codexToolOutput = (item: unknown): unknown => describe(item).output;

/** Why the call failed; undefined where it did not. */
export const codexToolError = (item: unknown): string | undefined => describe(item).error;

/** Whether the item is a tool call, rather than a text or a compaction. */
export const isCodexToolItem = (item: unknown): boolean => describe(item).tool;
