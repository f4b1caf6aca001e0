import Database from "better-sqlite3";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS turns (
    id INTEGER PRIMARY KEY, turn TEXT NOT NULL UNIQUE, conversation TEXT NOT NULL, prompt TEXT NOT NULL,
    status TEXT NOT NULL, stop_reason TEXT, error TEXT, last_sequence INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE IF NOT EXISTS journal (
    turn INTEGER NOT NULL REFERENCES turns (id), sequence INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (turn, sequence)
  ) STRICT;
`;

/** One row an update, many rows a transaction. */
export class Journal {
  #database;
  #begin;
  #append;
  #seal;

  constructor(path) {
    const database = new Database(path);
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = NORMAL");
    database.exec(SCHEMA);
    const insertTurn = database.prepare("INSERT INTO turns (turn, conversation, prompt, status) VALUES (?, ?, ?, 'running')");
    const insertUpdate = database.prepare("INSERT INTO journal (turn, sequence, data) VALUES (?, ?, ?)");
    const sealTurn = database.prepare("UPDATE turns SET status = ?, stop_reason = ?, error = ?, last_sequence = ? WHERE id = ?");
    this.#database = database;
    this.#begin = (turnId, conversationId, prompt) => insertTurn.run(turnId, conversationId, JSON.stringify(prompt)).lastInsertRowid;
    this.#append = database.transaction((turn, updates) => {
      for (const update of updates) insertUpdate.run(turn, update._meta.amalgm.sequence, JSON.stringify(update));
    });
    this.#seal = (turn, end, lastSequence) => sealTurn.run(end.status, end.stopReason, end.error ? JSON.stringify(end.error) : null, lastSequence, turn);
  }

  beginTurn(turnId, conversationId, prompt) {
    return this.#begin(turnId, conversationId, prompt);
  }

  append(turn, updates) {
    this.#append(turn, updates);
  }

  sealTurn(turn, end, lastSequence) {
    this.#seal(turn, end, lastSequence);
  }

  close() {
    this.#database.close();
  }
}
