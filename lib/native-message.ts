import type { NativePlace } from "./native.js";

/** Its private fields are put onto the object that it is given, which stays a plain object to everybody else. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what it constructs is what it is given
class Stamp {
  constructor(target: object) {
    return target;
  }
}

/**
 * The agent's own message under `_meta.amalgm.native`: more than half of an update's text, and seldom read. So a batch holds
 * only its place in the bytes beside the updates, and it is parsed when somebody looks. The member is an own, enumerable
 * accessor: `JSON.stringify`, spread and `structuredClone` see the message.
 */
class LazyMessage extends Stamp {
  #natives: Buffer | null;
  readonly #place: NativePlace;
  #message: unknown;

  // One pair of functions for all messages: with a pair for each, every object would have a shape of its own.
  static readonly #accessor: PropertyDescriptor & ThisType<LazyMessage> = {
    enumerable: true,
    configurable: true,
    get() {
      if (this.#natives !== null) {
        this.#message = JSON.parse(this.#natives.toString("utf8", ...this.#place));
        this.#natives = null;
      }
      return this.#message;
    },
    set(message: unknown) {
      this.#message = message;
      this.#natives = null;
    },
  };

  constructor(target: object, natives: Buffer, place: NativePlace) {
    super(target);
    this.#natives = natives;
    this.#place = place;
    Object.defineProperty(target, "message", LazyMessage.#accessor);
  }
}

/** A native message that is parsed when somebody looks. */
export function lazyNative(source: string, natives: Buffer, place: NativePlace): { source: string; message: unknown } {
  const native = { source } as { source: string; message: unknown };
  new LazyMessage(native, natives, place);
  return native;
}
