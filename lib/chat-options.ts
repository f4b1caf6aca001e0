import { checkCount, checkFunction, checkMembers, checkRecord, checkText, expected, invalidOption, isRecord, optional } from "./checks.js";
import type { TurnRecord } from "./conversations.js";
import type { NativeStore } from "./native.js";
import { nativeRuntime, type RuntimeState } from "./runtime.js";
import type { ChatOptions, Clock, JournalBatchPolicy } from "./sessions.js";
import { checkJournalPolicy, nativeStore } from "./sqlite.js";

const OPTIONS = ["ownerUserId", "conversations", "runtime", "clock", "journal", "onTurn", "subscriberBuffer"];

/** The options of a `Chat`, taken apart for the core. */
export interface CheckedOptions {
  ownerUserId: string;
  json: string;
  store: NativeStore;
  runtime: RuntimeState;
  clock: (() => number) | null;
  onTurn: ((turnJson: string) => void) | null;
}

export function checkChatOptions(value: unknown): CheckedOptions {
  const options = checkRecord(value, "options");
  checkMembers(options, "", OPTIONS);
  const { ownerUserId, journal, clock } = checkOwnOptions(options);
  const subscriberBuffer = optional(options.subscriberBuffer, checkSubscriberBuffer);
  return {
    ownerUserId,
    json: JSON.stringify({ ownerUserId, journal, subscriberBuffer }),
    store: checkStore(options.conversations),
    runtime: checkRuntime(options.runtime),
    clock,
    onTurn: optional(options.onTurn, checkOnTurn) ?? null,
  };
}

/** What `Chat` and `createChatHost` both take, whatever store and runtime they work with. */
export function checkOwnOptions(options: Record<string, unknown>): {
  ownerUserId: string;
  journal: JournalBatchPolicy | undefined;
  clock: (() => number) | null;
} {
  return {
    ownerUserId: checkText(options.ownerUserId, "ownerUserId"),
    journal: optional(options.journal, (given) => checkJournalPolicy(given, "journal")),
    clock: optional(options.clock, checkClock) ?? null,
  };
}

export function checkStore(value: unknown): NativeStore {
  return nativeStore(value) ?? refusePort("conversations", "a SqliteConversationStore", value);
}

export function checkRuntime(value: unknown): RuntimeState {
  return nativeRuntime(value) ?? refusePort("runtime", "a NativeChatRuntime", value);
}

function refusePort(path: string, wanted: string, value: unknown): never {
  if (!isRecord(value)) throw invalidOption(path, expected(wanted, value));
  throw invalidOption(path, `must be ${wanted} of this package; one that is implemented in JavaScript is not available in this version`);
}

function checkSubscriberBuffer(value: unknown): NonNullable<ChatOptions["subscriberBuffer"]> {
  const buffer = checkRecord(value, "subscriberBuffer");
  checkMembers(buffer, "subscriberBuffer", ["maxUpdates", "maxBytes"]);
  return {
    maxUpdates: checkCount(buffer.maxUpdates, "subscriberBuffer.maxUpdates", 1),
    maxBytes: checkCount(buffer.maxBytes, "subscriberBuffer.maxBytes", 1),
  };
}

function checkClock(value: unknown): () => number {
  const given = checkRecord(value, "clock");
  checkFunction(given.now, "clock.now");
  const clock = given as unknown as Clock;
  if (Number.isNaN(readClock(clock))) throw invalidOption("clock.now", "must give a valid Date");
  let warned = false;
  return () => {
    const now = readClock(clock);
    if (!Number.isNaN(now)) return now;
    if (!warned) process.emitWarning("The clock of a Chat gave no valid Date; the system's time is used in its place.");
    warned = true;
    return Date.now();
  };
}

/** NaN where the host's clock throws or gives no date: it is called from the core, where nobody could catch it. */
function readClock(clock: Clock): number {
  try {
    const now: unknown = clock.now();
    return now instanceof Date ? now.getTime() : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

function checkOnTurn(value: unknown): (turnJson: string) => void {
  const onTurn = checkFunction<(turn: TurnRecord) => unknown>(value, "onTurn");
  return (turnJson) => {
    // Called from the core: an error that left here would be an uncaught exception.
    void Promise.resolve()
      .then(() => onTurn(JSON.parse(turnJson) as TurnRecord))
      .catch(warnOfOnTurn);
  };
}

function warnOfOnTurn(error: unknown): void {
  process.emitWarning(`The onTurn callback of a Chat failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
}
