import { resolve } from "node:path";
import { checkCount, checkMembers, checkRecord, checkText, expected, invalidOption, optional, toJson } from "./checks.js";
import type {
  ConversationPage,
  ConversationRecord,
  ConversationStorePort,
  JournalEntry,
  ListOptions,
  MessageRecord,
  ProviderCheckpoint,
  TurnRecord,
  TurnSeal,
} from "./conversations.js";
import { lifted, settle, settleJson } from "./errors.js";
import { Hidden } from "./hidden.js";
import { checkListOptions } from "./list-options.js";
import { binding, type NativeStore } from "./native.js";
import { CHECKPOINT, CONVERSATION, MESSAGE, patchJson, recordJson, SEAL, TURN } from "./record-checks.js";
import type { JournalBatchPolicy } from "./sessions.js";
import type { UsageStep } from "./usage.js";

export interface SqliteStoreOptions {
  /** A file, or ":memory:". */
  path: string;
  /**
   * `process` (default): an acknowledged update survives the death of the process. `power`: also of the machine.
   * Accepted prompts and sealed turns are always synced to disk.
   */
  durability?: "process" | "power";
}

/** What the core's counter holds: no turn has more updates. */
const MOST_UPDATES = 2 ** 32 - 1;

const stores = new Hidden<SqliteConversationStore, NativeStore>();

/** @internal What `Chat` hands to the core; undefined where the value is no store of this class. */
export const nativeStore = (value: unknown): NativeStore | undefined => stores.find(value);

/** @internal Waits for the opening in the background, and rejects with STORE_ERROR where it failed. */
export async function storeReady(store: ConversationStorePort): Promise<void> {
  await settle(async () => nativeStore(store)?.ready());
}

/**
 * The journal in one SQLite file, WAL-backed. Handed to `Chat`, it is used in Rust without a crossing for each update; its
 * methods work from JavaScript too. One store serves many `Chat`s of many owners.
 *
 * The file is opened in the background: where that fails (a folder, no database, one of a newer version, no rights),
 * everything that needs it rejects with ChatSessionError STORE_ERROR and nothing is changed.
 *
 * Two copies of SQLite in one process must not open one file: read the journal through this class, not with another
 * SQLite package.
 */
export class SqliteConversationStore implements ConversationStorePort {
  /** @throws {@link ChatOptionsError} INVALID_OPTIONS */
  constructor(options: SqliteStoreOptions | string) {
    const json = JSON.stringify(storeOptions(options));
    const { NativeStore } = binding();
    stores.set(this, lifted(() => new NativeStore(json)));
  }

  async createConversation(record: ConversationRecord): Promise<void> {
    const json = recordJson(record, "record", CONVERSATION);
    await settle(() => stores.get(this).createConversation(json));
  }

  async getConversation(ownerUserId: string, id: string): Promise<ConversationRecord | null> {
    checkIds({ ownerUserId, id });
    return settleRecord(() => stores.get(this).getConversation(ownerUserId, id));
  }

  async listConversations(ownerUserId: string, options?: ListOptions): Promise<ConversationPage> {
    checkIds({ ownerUserId });
    const json = JSON.stringify(checkListOptions(options));
    return settleJson(() => stores.get(this).listConversations(ownerUserId, json));
  }

  async updateConversation(
    ownerUserId: string,
    id: string,
    patch: Partial<Pick<ConversationRecord, "title" | "archivedAt" | "newMessages" | "execution" | "updatedAt">>,
  ): Promise<ConversationRecord> {
    checkIds({ ownerUserId, id });
    const json = patchJson(patch, "patch");
    return settleJson(() => stores.get(this).updateConversation(ownerUserId, id, json));
  }

  async beginTurn(
    ownerUserId: string,
    turn: TurnRecord,
    message: MessageRecord | null,
    patch: Pick<ConversationRecord, "execution" | "updatedAt">,
  ): Promise<void> {
    checkIds({ ownerUserId });
    const turnJson = recordJson(turn, "turn", TURN);
    const messageJson = message === null ? null : recordJson(message, "message", MESSAGE);
    const change = patchJson(patch, "patch");
    await settle(() => stores.get(this).beginTurn(ownerUserId, turnJson, messageJson, change));
  }

  async appendUpdates(ownerUserId: string, conversationId: string, turnId: string, entries: JournalEntry[]): Promise<void> {
    checkIds({ ownerUserId, conversationId, turnId });
    if (!Array.isArray(entries)) throw invalidOption("entries", expected("an array of journal entries", entries));
    const json = toJson(entries, "entries", invalidOption);
    await settle(() => stores.get(this).appendUpdates(ownerUserId, conversationId, turnId, json));
  }

  async sealTurn(ownerUserId: string, seal: TurnSeal): Promise<TurnRecord> {
    checkIds({ ownerUserId });
    const json = recordJson(seal, "seal", SEAL);
    return settleJson(() => stores.get(this).sealTurn(ownerUserId, json));
  }

  async getTurn(ownerUserId: string, conversationId: string, turnId: string): Promise<TurnRecord | null> {
    checkIds({ ownerUserId, conversationId, turnId });
    return settleRecord(() => stores.get(this).getTurn(ownerUserId, conversationId, turnId));
  }

  async latestTurn(ownerUserId: string, conversationId: string): Promise<TurnRecord | null> {
    checkIds({ ownerUserId, conversationId });
    return settleRecord(() => stores.get(this).latestTurn(ownerUserId, conversationId));
  }

  async runningTurns(ownerUserId: string): Promise<TurnRecord[]> {
    checkIds({ ownerUserId });
    return settleJson(() => stores.get(this).runningTurns(ownerUserId));
  }

  async readUpdates(
    ownerUserId: string,
    conversationId: string,
    turnId: string,
    afterSequence: number,
    limit: number,
  ): Promise<JournalEntry[]> {
    checkIds({ ownerUserId, conversationId, turnId });
    checkCount(afterSequence, "afterSequence", 0);
    const most = Math.min(checkCount(limit, "limit", 1), MOST_UPDATES);
    return settleJson(() => stores.get(this).readUpdates(ownerUserId, conversationId, turnId, afterSequence, most));
  }

  async listMessages(ownerUserId: string, conversationId: string): Promise<MessageRecord[]> {
    checkIds({ ownerUserId, conversationId });
    return settleJson(() => stores.get(this).listMessages(ownerUserId, conversationId));
  }

  async listUsageSteps(ownerUserId: string, conversationId: string, turnId?: string): Promise<UsageStep[]> {
    checkIds({ ownerUserId, conversationId });
    if (turnId !== undefined) checkIds({ turnId });
    return settleJson(() => stores.get(this).listUsageSteps(ownerUserId, conversationId, turnId ?? null));
  }

  async putCheckpoint(ownerUserId: string, checkpoint: ProviderCheckpoint): Promise<void> {
    checkIds({ ownerUserId });
    const json = recordJson(checkpoint, "checkpoint", CHECKPOINT);
    await settle(() => stores.get(this).putCheckpoint(ownerUserId, json));
  }

  async getCheckpoint(ownerUserId: string, conversationId: string, key: string): Promise<ProviderCheckpoint | null> {
    checkIds({ ownerUserId, conversationId, key });
    return settleRecord(() => stores.get(this).getCheckpoint(ownerUserId, conversationId, key));
  }

  /** Writes a consistent copy to a new file, while the store is in use. */
  async backup(toPath: string): Promise<void> {
    const path = resolve(checkText(toPath, "toPath"));
    await settle(() => stores.get(this).backup(path));
  }

  /** Commits what waits and closes the file. */
  async close(): Promise<void> {
    await settle(() => stores.get(this).close());
  }
}

/**
 * When the journal commits: content deltas may share a transaction up to these bounds, every other update commits at once.
 * `maxDelayMs` is an upper bound, not a wait: an idle journal commits at once.
 *
 * @param overrides bounds that differ from 256 updates, 256 KiB and 20 ms
 * @throws {@link ChatOptionsError} INVALID_OPTIONS
 */
export function createSqliteJournalBatchPolicy(overrides: Partial<JournalBatchPolicy> = {}): JournalBatchPolicy {
  const given = checkRecord(overrides, "overrides");
  const policy = { maxUpdates: 256, maxBytes: 256 * 1024, maxDelayMs: 20 };
  checkMembers(given, "overrides", Object.keys(policy));
  return checkJournalPolicy({ ...policy, ...withoutUndefined(given) }, "overrides");
}

/** @internal */
export function checkJournalPolicy(value: unknown, path: string): JournalBatchPolicy {
  const policy = checkRecord(value, path);
  checkMembers(policy, path, ["maxUpdates", "maxBytes", "maxDelayMs"]);
  return {
    maxUpdates: checkCount(policy.maxUpdates, `${path}.maxUpdates`, 1),
    maxBytes: checkCount(policy.maxBytes, `${path}.maxBytes`, 1),
    maxDelayMs: checkCount(policy.maxDelayMs, `${path}.maxDelayMs`, 0),
  };
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

function storeOptions(value: unknown): SqliteStoreOptions {
  const options = typeof value === "string" ? { path: value } : checkRecord(value, "options");
  checkMembers(options, "", ["path", "durability"]);
  const path = checkText(options.path, "path");
  return {
    // Absolute, since the working directory may change before the file is opened.
    path: path === ":memory:" ? path : resolve(path),
    durability: optional(options.durability, checkDurability),
  };
}

function checkDurability(value: unknown): "process" | "power" {
  if (value !== "process" && value !== "power") throw invalidOption("durability", expected('"process" or "power"', value));
  return value;
}

function checkIds(ids: Record<string, unknown>): void {
  for (const [name, id] of Object.entries(ids)) checkText(id, name);
}

/** {@link settleJson} for a record that may not be there. */
async function settleRecord<T>(run: () => Promise<string | null>): Promise<T | null> {
  const text = await settle(run);
  return text === null ? null : (JSON.parse(text) as T);
}
