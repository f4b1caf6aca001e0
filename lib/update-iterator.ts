import type { ChatUpdate } from "./acp.js";
import type { TurnRecord } from "./conversations.js";
import { lift, turnStreamError } from "./errors.js";
import { Batch } from "./batch.js";
import type { NativeBatch, NativeSubscription } from "./native.js";

/** Which turn is read. */
export interface TurnName {
  readonly conversationId: string;
  readonly turnId: string;
}

type Step<End> = IteratorResult<ChatUpdate, End>;
interface Waiter<End> {
  resolve(step: Step<End>): void;
  reject(error: unknown): void;
}


/** Ends the subscriptions of iterators that were dropped without `return()`. */
const dropped = new FinalizationRegistry<NativeSubscription>(release);

function release(subscription: NativeSubscription): void {
  try {
    subscription.close();
  } catch {
    // Closing what is closed already, by the end of the turn or of the chat, changes nothing.
  }
}

/** @internal The turn where it ended well, else its failure, thrown. */
export function throwFailure(turn: TurnRecord): TurnRecord {
  if (turn.status === "failed" || turn.status === "interrupted") throw turnStreamError(turn);
  return turn;
}

/**
 * @internal Batches of updates, one at a time. Written by hand: an async generator costs more promises for each update, and
 * concurrent `next()` calls must share one running fetch and be answered in call order.
 */
export class UpdateIterator<End> implements AsyncIterableIterator<ChatUpdate, End> {
  readonly #turn: TurnName;
  readonly #subscribe: () => NativeSubscription;
  readonly #end: () => Promise<End>;
  /** Where the iteration began: an error that comes out of a batch has no caller of its own on the stack. */
  readonly #site: { stack?: string } = {};
  #subscription: NativeSubscription | null = null;
  #batch = Batch.EMPTY;
  #waiting: Waiter<End>[] = [];
  #fetching = false;
  #ended = false;

  constructor(turn: TurnName, subscribe: () => NativeSubscription, end: () => Promise<End>) {
    this.#turn = turn;
    this.#subscribe = subscribe;
    this.#end = end;
    Error.captureStackTrace(this.#site, UpdateIterator);
  }

  next(): Promise<Step<End>> {
    if (!this.#batch.isEmpty) return Promise.resolve({ done: false, value: this.#take() });
    if (this.#ended) return Promise.resolve(finished());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (!this.#fetching) void this.#fetch();
    });
  }

  return(value?: End | PromiseLike<End>): Promise<Step<End>> {
    this.#close();
    return Promise.resolve(value).then((end) => ({ done: true, value: end as End }));
  }

  throw(error?: unknown): Promise<Step<End>> {
    this.#close();
    // The protocol hands back whatever the caller threw in.
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
    return Promise.reject(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): ChatUpdate {
    const update = this.#batch.take();
    if (this.#batch.isEmpty) this.#batch = Batch.EMPTY;
    return update;
  }

  // Whoever waits found the batch empty, so an update never overtakes an earlier call.
  async #fetch(): Promise<void> {
    this.#fetching = true;
    while (this.#waiting.length > 0) {
      let batch: NativeBatch | null;
      try {
        batch = await this.#open().nextBatch();
      } catch (error) {
        this.#fail(lift(error));
        break;
      }
      if (this.#ended) break;
      if (batch === null) {
        await this.#finish();
        break;
      }
      this.#batch = new Batch(batch, this.#turn.conversationId, this.#turn.turnId);
      this.#answer();
    }
    this.#fetching = false;
  }

  #open(): NativeSubscription {
    if (this.#subscription === null) {
      this.#subscription = this.#subscribe();
      dropped.register(this, this.#subscription, this);
    }
    return this.#subscription;
  }

  #answer(): void {
    while (this.#waiting.length > 0 && !this.#batch.isEmpty) {
      this.#waiting.shift()?.resolve({ done: false, value: this.#take() });
    }
  }

  async #finish(): Promise<void> {
    let value: End;
    try {
      value = await this.#end();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#waiting.shift()?.resolve({ done: true, value });
    this.#close();
  }

  #fail(error: unknown): void {
    if (error instanceof Error && this.#site.stack !== undefined) {
      error.stack = `${error.name}: ${error.message}${this.#site.stack.slice(this.#site.stack.indexOf("\n"))}`;
    }
    this.#waiting.shift()?.reject(error);
    this.#close();
  }

  #close(): void {
    this.#ended = true;
    this.#batch = Batch.EMPTY;
    if (this.#subscription !== null) {
      dropped.unregister(this);
      release(this.#subscription);
      this.#subscription = null;
    }
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const waiter of waiting) waiter.resolve(finished());
  }
}

/** Further steps after the last: `End` is what only the first of them carried. */
function finished<End>(): Step<End> {
  return { done: true, value: undefined as End };
}
