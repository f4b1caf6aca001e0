import type { ChatExtensionUpdate } from "./acp.js";
import { REASONING } from "./batch.js";
import { type NativeUpdateParts, PieceForm, WHOLE_UPDATE } from "./native.js";
import type { SessionUpdate } from "./sdk.js";

type AnyUpdate = SessionUpdate | ChatExtensionUpdate;

type LongText = [path: Array<string | number>, block: number, start: number, end: number];
type WithLongTexts = [update: AnyUpdate, ...flat: Array<LongText[number]>];

const NUMBERS_AN_UPDATE = 5;
const MEMBERS_A_TEXT = 4;

/** Makes the updates: those that are a piece of text without a parser, member by member in the order of their JSON text. */
export function updatesOf({ items, ids, blocks, whole }: NativeUpdateParts): AnyUpdate[] {
  const parsed = JSON.parse(whole) as Array<AnyUpdate | WithLongTexts>;
  const text = (block: number, start: number, end: number): string => blocks[block]!.slice(start, end);
  const updates = new Array<AnyUpdate>(items.length / NUMBERS_AN_UPDATE);
  let next = 0;
  for (let index = 0, at = 0; at < items.length; index += 1, at += NUMBERS_AN_UPDATE) {
    if (items[at] !== WHOLE_UPDATE) {
      updates[index] = piece(items[at]!, ids[items[at + 1]!]!, text(items[at + 2]!, items[at + 3]!, items[at + 4]!));
      continue;
    }
    const update = parsed[next++]!;
    updates[index] = Array.isArray(update) ? completed(update, text) : update;
  }
  return updates;
}

function completed([update, ...flat]: WithLongTexts, text: (block: number, start: number, end: number) => string): AnyUpdate {
  for (let at = 0; at < flat.length; at += MEMBERS_A_TEXT) {
    const [path, block, start, end] = flat.slice(at, at + MEMBERS_A_TEXT) as LongText;
    let holder = update as unknown as Record<string | number, unknown>;
    for (const member of path.slice(0, -1)) holder = holder[member] as Record<string | number, unknown>;
    holder[path.at(-1)!] = text(block, start, end);
  }
  return update;
}

function piece(number: number, id: string, text: string): AnyUpdate {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the addon has the same numbers
  const form: PieceForm = number;
  switch (form) {
    case PieceForm.Text:
      return { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, messageId: id };
    case PieceForm.ToolOutput:
      return { sessionUpdate: "tool_call_update", toolCallId: id, _meta: { amalgm: { delta: { output: text } } } };
    default:
      return { sessionUpdate: "agent_thought_chunk", content: { type: "text", text }, messageId: id, _meta: { amalgm: { reasoning: REASONING[form] } } };
  }
}
