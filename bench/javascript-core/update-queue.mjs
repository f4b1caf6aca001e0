const HIGH_WATER = 1024;
const LOW_WATER = 256;

/** Committed updates on their way to one reader. The writer waits at `room` where the reader lags. */
export class UpdateQueue {
  #updates = [];
  #taken = 0;
  #readers = [];
  #resume = null;
  #ended = false;
  #abandoned = false;
  #error = null;

  get isFull() {
    return this.#size >= HIGH_WATER;
  }

  room() {
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  push(updates) {
    if (this.#abandoned) return;
    for (const update of updates) {
      const reader = this.#readers.shift();
      if (reader) reader.resolve({ value: update, done: false });
      else this.#updates.push(update);
    }
  }

  end(error = null) {
    this.#ended = true;
    this.#error = error;
    for (const reader of this.#readers.splice(0)) this.#settle(reader);
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    if (this.#size > 0) {
      const update = this.#take();
      return Promise.resolve({ value: update, done: false });
    }
    return new Promise((resolve, reject) => {
      const reader = { resolve, reject };
      if (this.#ended) this.#settle(reader);
      else this.#readers.push(reader);
    });
  }

  return() {
    this.#abandoned = true;
    this.#updates = [];
    this.#taken = 0;
    this.#resume?.();
    return Promise.resolve({ value: undefined, done: true });
  }

  get #size() {
    return this.#updates.length - this.#taken;
  }

  #take() {
    const update = this.#updates[this.#taken++];
    if (this.#taken === this.#updates.length) {
      this.#updates = [];
      this.#taken = 0;
    }
    if (this.#resume && this.#size <= LOW_WATER) {
      this.#resume();
      this.#resume = null;
    }
    return update;
  }

  #settle({ resolve, reject }) {
    if (this.#error) reject(this.#error);
    else resolve({ value: undefined, done: true });
  }
}
