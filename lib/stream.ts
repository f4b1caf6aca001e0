import type { ChatUpdate } from "./acp.js";
import type { TurnRecord } from "./conversations.js";
import { settleJson } from "./errors.js";
import { Hidden } from "./hidden.js";
import type { NativeChat } from "./native.js";
import { throwFailure, type TurnName, UpdateIterator } from "./update-iterator.js";

interface StreamState {
  native: NativeChat;
  afterSequence: number;
  completion: Promise<TurnRecord> | null;
}

const streams = new Hidden<ChatTurnStream, StreamState>();

/**
 * A subscriber of one turn. Dropping it does not stop the turn. Each `[Symbol.asyncIterator]()` subscribes anew from the
 * same cursor, with its first `next()`.
 */
export class ChatTurnStream implements AsyncIterable<ChatUpdate> {
  readonly turnId: string;
  readonly conversationId: string;

  /** @internal */
  constructor(native: NativeChat, conversationId: string, turnId: string, afterSequence: number) {
    this.conversationId = conversationId;
    this.turnId = turnId;
    streams.set(this, { native, afterSequence, completion: null });
  }

  /**
   * The sealed turn; resolves for every terminal status, also when nobody iterates. Rejects with a ChatSessionError only
   * where there is no such turn (TURN_NOT_FOUND) or the store fails (STORE_ERROR, CHAT_CLOSED).
   */
  get completion(): Promise<TurnRecord> {
    const state = streams.get(this);
    return (state.completion ??= sealedTurn(state.native, this.conversationId, this.turnId));
  }

  /**
   * The updates after the cursor, first those of the journal, then live ones.
   *
   * Ends after a `completed` or `cancelled` turn (the iterator's return value is the sealed turn); throws
   * {@link TurnStreamError} after the last update of a `failed` or `interrupted` one, and ChatSessionError
   * SUBSCRIBER_BACKPRESSURE where the reader lags too far: `reconnect` from its last sequence continues.
   */
  [Symbol.asyncIterator](): AsyncIterator<ChatUpdate, TurnRecord> {
    const { native, afterSequence } = streams.get(this);
    const { conversationId, turnId } = this;
    return new UpdateIterator(
      this,
      () => native.subscribe(conversationId, turnId, afterSequence),
      async () => throwFailure(await this.completion),
    );
  }
}

function sealedTurn(native: NativeChat, conversationId: string, turnId: string): Promise<TurnRecord> {
  const completion = settleJson<TurnRecord>(() => native.completion(conversationId, turnId));
  // Asked for by streams that nobody may look at again: its failure is theirs who await it, never an unhandled one.
  completion.catch(() => undefined);
  return completion;
}

/** @internal The committed updates of a turn, whatever became of it: a replay shows a failure, it does not throw it. */
export class TurnReplay implements AsyncIterable<ChatUpdate> {
  readonly #turn: TurnName;
  readonly #subscribe: () => ReturnType<NativeChat["subscribe"]>;

  constructor(native: NativeChat, conversationId: string, turnId: string, afterSequence: number) {
    this.#turn = { conversationId, turnId };
    this.#subscribe = () => native.subscribe(conversationId, turnId, afterSequence);
  }

  [Symbol.asyncIterator](): AsyncIterator<ChatUpdate, undefined> {
    return new UpdateIterator(this.#turn, this.#subscribe, () => Promise.resolve(undefined));
  }
}
