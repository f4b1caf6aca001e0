import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** The agent's messages of a recording, in order. */
export async function* recordedMessages(path) {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Infinity });
  for await (const line of lines) {
    const { ch, msg } = JSON.parse(line);
    if (ch === "stdout") yield msg;
  }
}
