// npm run bench:recordings [-- --updates 100000 --rounds 5]: a whole recording to updates, by the JavaScript core, by its normalizer alone, and by
// `normalizeRecording`.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { normalizeRecording } from "../dist/normalizers.js";
import { consume } from "./consumer.mjs";
import { generate } from "./generate.mjs";
import { WORKLOADS } from "./generator/workloads.mjs";
import { install } from "./install.mjs";
import { CodexNormalizer } from "./javascript-core/codex-normalizer.mjs";
import { recordedMessages } from "./javascript-core/recorded-messages.mjs";
import { median } from "./statistics.mjs";
import { contentFaults } from "./verify.mjs";

install();
const { open } = await import("./variants/javascript-core.mjs");

async function javaScriptCore(path) {
  const folder = mkdtempSync(join(tmpdir(), "bench-recordings-"));
  try {
    const chat = await open(path, join(folder, "journal.sqlite"));
    const updates = [];
    for await (const update of await chat.send()) updates.push(update);
    await chat.close();
    return updates;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function javaScriptNormalizer(path) {
  const normalizer = new CodexNormalizer("turn");
  const updates = [];
  for await (const message of recordedMessages(path)) {
    for (const { update, amalgm } of normalizer.push(message)) {
      if (amalgm) update._meta = { amalgm };
      updates.push(update);
    }
  }
  return updates;
}

const thisPackage = (path) => normalizeRecording("codex", readFileSync(path));

const BASELINES = { "the JavaScript core": javaScriptCore, "its normalizer alone": javaScriptNormalizer };
const VARIANTS = { ...BASELINES, normalizeRecording: thisPackage };

async function measure(run, path) {
  globalThis.gc?.();
  const start = process.hrtime.bigint();
  const updates = await run(path);
  return { seconds: Number(process.hrtime.bigint() - start) / 1e9, updates };
}

async function faults(label, updates, expected) {
  const hash = createHash("sha256");
  const seen = await consume(updates, (text) => hash.update(text));
  return contentFaults(label, { ...seen, agentTextHash: hash.digest("hex") }, expected);
}

const { values } = parseArgs({ options: { updates: { type: "string", default: "100000" }, rounds: { type: "string", default: "5" } } });
for (const workload of Object.keys(WORKLOADS)) {
  const { path, bytes, expected } = generate(workload, Number(values.updates));
  const times = Object.fromEntries(Object.keys(VARIANTS).map((name) => [name, []]));
  for (let round = 0; round <= Number(values.rounds); round++) {
    const variants = Object.entries(VARIANTS);
    for (const [name, run] of round % 2 ? variants.reverse() : variants) {
      const { seconds, updates } = await measure(run, path);
      if (round > 0) {
        times[name].push(seconds);
        continue;
      }
      for (const fault of await faults(`${workload}, ${name}`, updates, expected)) {
        console.error(`CONTENT DIFFERS: ${fault}`);
        process.exitCode = 1;
      }
    }
  }
  const own = median(times.normalizeRecording);
  console.log(`${workload}: normalizeRecording ${(bytes / own / 1e6).toFixed(0)} MB/s`);
  for (const name of Object.keys(BASELINES)) {
    const time = median(times[name]);
    console.log(`  ${name}: ${(bytes / time / 1e6).toFixed(0)} MB/s, ratio ${(time / own).toFixed(2)}`);
  }
}
