import { closeSync, openSync, writeSync } from "node:fs";

const EPOCH_MS = 1796063040000;
const FLUSH_BYTES = 1 << 20;

/** Writes numbered lines with a clock that only the recording's own seed moves. */
export class RecordingWriter {
  #file;
  #buffer;
  #index = 0;
  #elapsedMs = 0;

  constructor(path, header) {
    this.#file = openSync(path, "w");
    this.#buffer = JSON.stringify(header) + "\n";
  }

  get nowMs() {
    return EPOCH_MS + this.#elapsedMs;
  }

  pass(milliseconds) {
    this.#elapsedMs += milliseconds;
  }

  host(message) {
    this.#line("stdin", message);
  }

  answer(message) {
    this.#line("stdout", message);
  }

  notify(method, params) {
    this.#line("stdout", { method, params, emittedAtMs: this.nowMs });
  }

  close() {
    this.#flush();
    closeSync(this.#file);
  }

  #line(channel, message) {
    this.#buffer += JSON.stringify({ i: this.#index++, t: this.#elapsedMs, ch: channel, msg: message }) + "\n";
    if (this.#buffer.length > FLUSH_BYTES) this.#flush();
  }

  #flush() {
    writeSync(this.#file, this.#buffer);
    this.#buffer = "";
  }
}
