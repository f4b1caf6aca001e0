import { checkBoolean, checkCount, checkRecord, checkString, checkText, expected, invalidOption, toJson } from "./checks.js";

type Check = (value: unknown, path: string) => unknown;

/** Members of a record that must be of a kind; what stands deeper is checked where it is read. */
type Shape = Readonly<Record<string, Check>>;

const text: Check = (value, path) => checkText(value, path);
const count: Check = (value, path) => checkCount(value, path, 0);
const object: Check = (value, path) => checkRecord(value, path);
const list: Check = (value, path) => Array.isArray(value) || refuse(path, "an array", value);
const time: Check = (value, path) => (typeof value === "string" && !Number.isNaN(Date.parse(value))) || refuse(path, "an ISO 8601 time", value);
const orNull =
  (check: Check): Check =>
  (value, path) =>
    value === null || check(value, path);
const textOrNull = orNull((value, path) => checkString(value, path));

function refuse(path: string, wanted: string, value: unknown): never {
  throw invalidOption(path, expected(wanted, value));
}

const oneOf =
  (...words: string[]): Check =>
  (value, path) =>
    words.includes(value as string) || refuse(path, words.map((word) => JSON.stringify(word)).join(" or "), value);

export const CONVERSATION: Shape = {
  id: text,
  ownerUserId: text,
  title: textOrNull,
  agent: object,
  execution: object,
  createdAt: time,
  updatedAt: time,
  archivedAt: orNull(time),
  newMessages: (value, path) => checkBoolean(value, path),
};

const PATCH: Shape = Object.fromEntries(
  Object.entries(CONVERSATION).filter(([name]) => ["title", "archivedAt", "newMessages", "execution", "updatedAt"].includes(name)),
);

export const TURN: Shape = {
  id: text,
  conversationId: text,
  origin: oneOf("host", "agent"),
  stopReason: textOrNull,
  nativeStopReason: textOrNull,
  error: orNull(object),
  execution: object,
  prompt: object,
  startedAt: time,
  endedAt: orNull(time),
  lastSequence: count,
  usage: orNull(object),
};

export const MESSAGE: Shape = { id: text, conversationId: text, turnId: text, role: oneOf("user", "assistant"), parts: list, createdAt: time };

export const SEAL: Shape = {
  turnId: text,
  status: oneOf("completed", "failed", "cancelled", "interrupted"),
  stopReason: textOrNull,
  nativeStopReason: textOrNull,
  error: orNull(object),
  endedAt: time,
  usage: orNull(object),
  usageSteps: list,
  message: orNull((value, path) => checkShape(value, path, MESSAGE)),
};

export const CHECKPOINT: Shape = { conversationId: text, key: text, providerSessionId: text, updatedAt: time };

function checkShape(value: unknown, path: string, shape: Shape): Record<string, unknown> {
  const record = checkRecord(value, path);
  for (const [name, check] of Object.entries(shape)) check(record[name], `${path}.${name}`);
  return record;
}

/** JSON text of a whole record for the core, once its members are of the right kinds. */
export const recordJson = (value: unknown, path: string, shape: Shape): string => toJson(checkShape(value, path, shape), path, invalidOption);

/** {@link recordJson} where members may be left out. */
export function patchJson(value: unknown, path: string): string {
  const given = checkRecord(value, path);
  const shape = Object.fromEntries(Object.entries(PATCH).filter(([name]) => given[name] !== undefined));
  return recordJson(given, path, shape);
}
