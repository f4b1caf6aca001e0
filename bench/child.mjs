// node bench/child.mjs <variant> <recording> <dir> [verify]: one turn in a process of its own; prints one JSON line.
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { setImmediate as nextLoop } from "node:timers/promises";
import { consume } from "./consumer.mjs";
import { startMeter } from "./meter.mjs";

const [variant, recording, dir, mode] = process.argv.slice(2);
const databasePath = join(resolve(dir), "journal.sqlite");
const { open } = await import(`./variants/${variant}.mjs`);
const hash = mode === "verify" ? createHash("sha256") : null;

const chat = await open(resolve(recording), databasePath);
await nextLoop();
const stop = startMeter();
const seen = await consume(await chat.send(), hash ? (text) => hash.update(text) : undefined);
const times = stop();
await chat.close();

const size = (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
const journalBytes = size(databasePath) + size(`${databasePath}-wal`);
console.log(JSON.stringify({ ...times, journalBytes, seen: { ...seen, agentTextHash: hash?.digest("hex") } }));
