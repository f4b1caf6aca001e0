import { randomUUID } from "node:crypto";
import { Journal } from "./journal.mjs";
import { Turn } from "./turn.mjs";

/** The same job as this package, as one would write it in JavaScript. */
export class JavaScriptCore {
  #journal;

  constructor({ databasePath }) {
    this.#journal = new Journal(databasePath);
  }

  startSession({ recording }) {
    const conversationId = randomUUID();
    return { send: ({ prompt }) => this.#send(conversationId, recording, prompt) };
  }

  close() {
    this.#journal.close();
  }

  async #send(conversationId, recording, prompt) {
    const turnId = randomUUID();
    const row = this.#journal.beginTurn(turnId, conversationId, prompt);
    const turn = new Turn({ journal: this.#journal, row, conversationId, turnId });
    void turn.run(recording);
    return turn.updates;
  }
}
