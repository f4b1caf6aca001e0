import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CACHE, generate } from "./generate.mjs";
import { install } from "./install.mjs";
import { WORKLOADS } from "./generator/workloads.mjs";
import { report } from "./report.mjs";
import { ratios, summarize } from "./statistics.mjs";
import { contentFaults } from "./verify.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const RUNS = join(CACHE, "runs");
const CHILD_LIMIT_MS = 600_000;
const VARIANTS = [
  { id: "javascript-core", label: "JavaScript core" },
  { id: "this-package", label: "this package" },
];

const { values: options } = parseArgs({
  options: {
    updates: { type: "string", default: "100000" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", multiple: true },
  },
});
const updates = Number(options.updates);
const rounds = Number(options.rounds);
const variants = VARIANTS.filter(({ id }) => options.only?.includes(id) ?? true);
if (!(updates > 0) || !(rounds > 0) || variants.length === 0) {
  console.error(`usage: npm run bench -- [--updates 100000] [--rounds 3] [--only ${VARIANTS.map(({ id }) => id).join(" | ")}]`);
  process.exit(1);
}

function measure(variant, recording, mode) {
  const dir = mkdtempSync(join(RUNS, `${variant}-`));
  try {
    const command = [join(HERE, "child.mjs"), variant, recording, dir, mode];
    const output = execFileSync(process.execPath, command, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], timeout: CHILD_LIMIT_MS });
    return JSON.parse(output.trim().split("\n").at(-1));
  } catch (error) {
    console.error(`The ${variant} variant failed on ${recording}: ${error.message}`);
    process.exit(1);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const ordered = (round) => (round % 2 ? [...variants].reverse() : variants);

if (variants.some(({ id }) => id === "this-package") && !existsSync(join(HERE, "..", "dist", "host.js"))) {
  console.error("This package is not built: run `npm run build` first.");
  process.exit(1);
}
install();
rmSync(RUNS, { recursive: true, force: true });
mkdirSync(RUNS, { recursive: true });

const workloads = Object.keys(WORKLOADS).map((name) => ({ name, recording: generate(name, updates), rounds: {} }));
const faults = [];
for (let round = 0; round <= rounds; round++) {
  console.log(round === 0 ? "warm-up: checking the content of every variant" : `round ${round} of ${rounds}`);
  for (const workload of workloads) {
    for (const { id, label } of ordered(round)) {
      const result = measure(id, workload.recording.path, round === 0 ? "verify" : "measure");
      faults.push(...contentFaults(`${workload.name}, ${label}`, result.seen, workload.recording.expected));
      if (round > 0) (workload.rounds[id] ??= []).push(result);
    }
  }
}

for (const workload of workloads) {
  workload.summaries = Object.fromEntries(variants.map(({ id }) => [id, summarize(workload.rounds[id])]));
  const [baseline, candidate] = VARIANTS.map(({ id }) => workload.summaries[id]);
  workload.ratio = baseline && candidate ? ratios(baseline, candidate) : null;
}

const machine = { node: process.version, platform: `${process.platform}-${process.arch}`, cpu: cpus()[0]?.model, cores: cpus().length };
console.log(report({ workloads, variants, rounds }));
writeFileSync(join(HERE, "results.json"), JSON.stringify({ date: new Date().toISOString(), machine, updates, rounds, workloads }, null, 2) + "\n");
console.log(`All rounds: ${join(HERE, "results.json")}`);

for (const fault of new Set(faults)) console.error(`CONTENT DIFFERS: ${fault}`);
process.exitCode = faults.length > 0 ? 1 : 0;
