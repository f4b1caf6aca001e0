import type { ChatUpdate } from "./acp.js";
import { checkChatOptions } from "./chat-options.js";
import { checkCount, checkHandle, checkMembers, checkRecord, checkString, checkText, invalidContract, optional } from "./checks.js";
import type { ConversationPage, ConversationRecord, ListOptions, TurnRecord } from "./conversations.js";
import { lifted, settle, settleJson } from "./errors.js";
import { contractJson, type ExecutionContract, type ExecutionHandle } from "./execution.js";
import { closedBeforeExit, shutdownAtExit } from "./exit.js";
import { Hidden } from "./hidden.js";
import type { NativeRuntimeOptions } from "./host.js";
import { checkListOptions } from "./list-options.js";
import { binding, type NativeBinding, type NativeChat } from "./native.js";
import { resolveExecution } from "./runtime.js";
import { ChatSession } from "./session.js";
import type { ChatOptions, ResumeSessionOptions, StartSessionOptions } from "./sessions.js";
import { TurnReplay } from "./stream.js";

interface ChatState {
  binding: NativeBinding;
  native: NativeChat;
  resolve: NativeRuntimeOptions["resolve"];
  /** What was prepared here, by handle id: an equal contract asks neither the host nor the agent again. */
  prepared: Map<string, { revision: string; handle: Promise<ExecutionHandle> }>;
}

const chats = new Hidden<Chat, ChatState>();

/**
 * The conversations of one owner. Commands are accepted in call order; every failure is a typed error with a `code`.
 * After `close()` everything rejects with ChatSessionError CHAT_CLOSED.
 */
export class Chat {
  readonly ownerUserId: string;

  /** @throws {@link ChatOptionsError} INVALID_OPTIONS; `path` names the member */
  constructor(options: ChatOptions) {
    const { ownerUserId, json, store, runtime, clock, onTurn } = checkChatOptions(options);
    const native = binding();
    const chat = lifted(() => new native.NativeChat(json, store, runtime.native, clock, onTurn, runtime.onRequest));
    this.ownerUserId = ownerUserId;
    chats.set(this, { binding: native, native: chat, resolve: runtime.resolve, prepared: new Map() });
    shutdownAtExit(chat);
  }

  /**
   * Checks a contract, has the host resolve it, and registers it under an id. An equal contract under a known id gives
   * the same handle and calls nothing; another contract makes the handles given out before for this id invalid.
   *
   * @throws {@link ExecutionError} INVALID_EXECUTION_CONTRACT or UNSUPPORTED_EXECUTION_INPUT, with `path`; what
   * `native.resolve` throws passes through as it is
   */
  async prepareExecution(id: string, contract: ExecutionContract): Promise<ExecutionHandle> {
    checkText(id, "id", invalidContract);
    const given = contractJson(contract);
    const state = chats.get(this);
    const json = lifted(() => state.binding.normalizeExecutionContract(given));
    const revision = lifted(() => state.binding.executionRevision(json));

    const known = state.prepared.get(id);
    if (known?.revision === revision) return { ...(await known.handle) };

    const handle = prepare(state, id, json, known?.handle);
    state.prepared.set(id, { revision, handle });
    try {
      return { ...(await handle) };
    } catch (error) {
      // A preparation that failed is no preparation: the next one asks again.
      if (state.prepared.get(id)?.handle === handle) state.prepared.delete(id);
      throw error;
    }
  }

  /**
   * Opens a conversation.
   *
   * @param options `sessionId`: an id of the caller's; one is made where it is left out
   * @throws {@link ChatSessionError} SESSION_ALREADY_EXISTS
   * @throws {@link ExecutionError} EXECUTION_NOT_PREPARED or EXECUTION_REVISION_MISMATCH
   */
  async startSession(options: StartSessionOptions): Promise<ChatSession> {
    const given = checkRecord(options, "options");
    checkMembers(given, "", ["execution", "sessionId", "title"]);
    const json = JSON.stringify({
      execution: checkHandle(given.execution),
      sessionId: optional(given.sessionId, (value) => checkText(value, "sessionId")),
      title: optional(given.title, (value) => (value === null ? null : checkString(value, "title"))),
    });
    const { native } = chats.get(this);
    const { id } = await settleJson<ConversationRecord>(() => native.startSession(json));
    return new ChatSession(native, id);
  }

  /**
   * Goes on with a conversation under an execution that was prepared on this host.
   *
   * @throws {@link ChatSessionError} SESSION_NOT_FOUND; SESSION_AGENT_MISMATCH where the execution is another agent's
   * @throws {@link ExecutionError} EXECUTION_NOT_PREPARED or EXECUTION_REVISION_MISMATCH
   */
  async resumeSession(options: ResumeSessionOptions): Promise<ChatSession> {
    const given = checkRecord(options, "options");
    checkMembers(given, "", ["sessionId", "execution"]);
    const json = JSON.stringify({ sessionId: checkText(given.sessionId, "sessionId"), execution: checkHandle(given.execution) });
    const { native } = chats.get(this);
    const { id } = await settleJson<ConversationRecord>(() => native.resumeSession(json));
    return new ChatSession(native, id);
  }

  /**
   * Goes on with a conversation under the execution that it stores: registers the stored contract under its id (resolving
   * it again; secrets are not stored), after which the stored handle is valid for `send`.
   *
   * @throws {@link ChatSessionError} SESSION_NOT_FOUND
   * @throws {@link ExecutionError} as `prepareExecution`
   */
  async resumeStoredSession(sessionId: string): Promise<{ session: ChatSession; latestTurn: TurnRecord | null }> {
    checkText(sessionId, "sessionId");
    const state = chats.get(this);
    const { execution } = await settleJson<ConversationRecord>(() => state.native.getConversation(sessionId));

    const known = state.prepared.get(execution.id);
    const isKnown = known?.revision === execution.revision && (await known.handle.then(Boolean, () => false));
    const resolved = isKnown ? null : await resolveExecution(state.resolve, execution.contract);
    const { conversation, latestTurn } = await settleJson<{ conversation: ConversationRecord; latestTurn: TurnRecord | null }>(() =>
      state.native.resumeStoredSession(sessionId, resolved),
    );
    const { id, revision } = conversation.execution;
    if (!isKnown) state.prepared.set(id, { revision, handle: Promise.resolve({ id, revision }) });
    return { session: new ChatSession(state.native, conversation.id), latestTurn };
  }

  /** Seals as `interrupted` the turns that a dead process left running. Turns of another live host stay untouched. */
  async recoverInterruptedTurns(): Promise<TurnRecord[]> {
    return settleJson(() => chats.get(this).native.recoverInterruptedTurns());
  }

  /** The owner's conversations, newest first: all of them, or one page where `limit` is given. */
  async listConversations(options?: ListOptions): Promise<ConversationRecord[]> {
    const page = await this.pageConversations(options);
    if (options?.limit !== undefined) return page.conversations;

    const { conversations } = page;
    let { nextCursor } = page;
    while (nextCursor !== null) {
      const next = await this.pageConversations({ ...options, cursor: nextCursor });
      conversations.push(...next.conversations);
      nextCursor = next.nextCursor;
    }
    return conversations;
  }

  /** One page of the owner's conversations, newest first, and the cursor of the next one. */
  async pageConversations(options?: ListOptions): Promise<ConversationPage> {
    const json = JSON.stringify(checkListOptions(options));
    return settleJson(() => chats.get(this).native.pageConversations(json));
  }

  /** Takes the conversation out of the lists. @throws {@link ChatSessionError} SESSION_NOT_FOUND */
  async archiveSession(id: string): Promise<void> {
    checkText(id, "id");
    await settle(() => chats.get(this).native.archiveSession(id));
  }

  /** Sets `newMessages` to false. @throws {@link ChatSessionError} SESSION_NOT_FOUND */
  async markSeen(id: string): Promise<ConversationRecord> {
    checkText(id, "id");
    return settleJson(() => chats.get(this).native.markSeen(id));
  }

  /** The turn that runs now, if any. @throws {@link ChatSessionError} SESSION_NOT_FOUND */
  async activeTurn(id: string): Promise<TurnRecord | null> {
    checkText(id, "id");
    return settleJson(() => chats.get(this).native.activeTurn(id));
  }

  /** The newest turn, running or sealed. @throws {@link ChatSessionError} SESSION_NOT_FOUND */
  async latestTurn(id: string): Promise<TurnRecord | null> {
    checkText(id, "id");
    return settleJson(() => chats.get(this).native.latestTurn(id));
  }

  /**
   * The committed updates of a turn after a sequence, and those still to come where it runs. Ends with the turn, whatever
   * became of it: a replay shows a failure, it does not throw it. The first `next()` rejects with TURN_NOT_FOUND where there
   * is no such turn.
   *
   * @param afterSequence 0 (default) for the whole turn
   */
  replayTurn(id: string, turnId: string, afterSequence = 0): AsyncIterable<ChatUpdate> {
    checkText(id, "id");
    checkText(turnId, "turnId");
    checkCount(afterSequence, "afterSequence", 0);
    return new TurnReplay(chats.get(this).native, id, turnId, afterSequence);
  }

  /** Interrupts the agents, seals running turns `interrupted` (reason `host_closed`) and ends all subscriptions. */
  async close(): Promise<void> {
    const { native, prepared } = chats.get(this);
    prepared.clear();
    await settle(() => native.close());
    closedBeforeExit(native);
  }
}

async function prepare(state: ChatState, id: string, json: string, earlier?: Promise<unknown>): Promise<ExecutionHandle> {
  const resolved = await resolveExecution(state.resolve, JSON.parse(json) as ExecutionContract);
  // However long the host takes to resolve each: the contract that was prepared last is the one that counts.
  await earlier?.catch(() => undefined);
  return settleJson(() => state.native.prepareExecution(id, json, resolved));
}
