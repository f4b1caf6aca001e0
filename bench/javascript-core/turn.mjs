import { CodexNormalizer } from "./codex-normalizer.mjs";
import { recordedMessages } from "./recorded-messages.mjs";
import { UpdateQueue } from "./update-queue.mjs";

const BATCH = 64;
const SOURCE = "codex.app-server.notification";

/** Drives one recorded turn: message, updates, commit, and only then the reader. */
export class Turn {
  updates = new UpdateQueue();
  #journal;
  #row;
  #conversationId;
  #turnId;
  #normalizer;
  #sequence = 0;
  #batch = [];
  #idle = null;
  #failure = null;

  constructor({ journal, row, conversationId, turnId }) {
    this.#journal = journal;
    this.#row = row;
    this.#conversationId = conversationId;
    this.#turnId = turnId;
    this.#normalizer = new CodexNormalizer(turnId);
  }

  async run(recording) {
    try {
      await this.#pump(recording);
      this.#commit();
      this.#journal.sealTurn(this.#row, this.#normalizer.end, this.#sequence);
      const { status, error } = this.#normalizer.end;
      this.updates.end(status === "failed" ? new Error(error?.message ?? "The turn failed.") : null);
    } catch (error) {
      this.updates.end(error);
    }
  }

  async #pump(recording) {
    for await (const message of recordedMessages(recording)) {
      if (this.#failure) throw this.#failure;
      this.#accept(message);
      if (this.#normalizer.end) return;
      if (this.updates.isFull) await this.updates.room();
    }
    throw new Error("The recording ends within the turn.");
  }

  #accept(message) {
    let native = { source: SOURCE, message };
    for (const { update, amalgm } of this.#normalizer.push(message)) {
      update._meta = {
        amalgm: { at: Date.now(), conversationId: this.#conversationId, turnId: this.#turnId, sequence: ++this.#sequence, ...amalgm, ...(native && { native }) },
      };
      native = null;
      this.#batch.push(update);
      if (this.#batch.length >= BATCH) this.#commit();
      else this.#idle ??= setImmediate(() => this.#commitIdle());
    }
  }

  #commit() {
    clearImmediate(this.#idle);
    this.#idle = null;
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#journal.append(this.#row, batch);
    this.updates.push(batch);
  }

  #commitIdle() {
    try {
      this.#commit();
    } catch (error) {
      this.#failure = error;
    }
  }
}
