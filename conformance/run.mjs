// The conformance suite: `npm run conformance -- [agent …] [--changed] [-- vitest arguments]`. Drives the real agents against
// a scripted model server. Without a name: all agents that have a folder here. `--changed`: those that a change since the
// commit CONFORMANCE_BASE can have touched. With CHAT_NATIVE_BUILT=1 the addon and the facade are taken as they are.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildAddon, buildFacade } from "../scripts/build.mjs";
import { announce, ensureInstalled, main, root, StepError, step, tool } from "../scripts/steps.mjs";
import { changedAgents } from "./changed.mjs";
import { installAgent, knownAgents } from "./install.mjs";

await main(import.meta.url, async () => {
  const { agents, vitestArguments } = await readArguments(process.argv.slice(2));
  const total = { passed: 0, failed: 0 };
  let exitCode = 0;
  try {
    if (agents.length > 0) {
      await prepare(agents);
      const { code, passed, failed } = await test(agents, vitestArguments);
      total.passed += passed;
      // What does not even load fails without a count.
      total.failed += code === 0 ? failed : Math.max(failed, 1);
      exitCode = code;
    } else {
      announce("no agent is touched by the change");
    }
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    console.error(`\n${error.message}`);
    total.failed += 1;
    exitCode = error.code;
  }
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
  return exitCode;
});

async function readArguments(given) {
  const end = given.indexOf("--");
  const own = end < 0 ? given : given.slice(0, end);
  const vitestArguments = end < 0 ? [] : given.slice(end + 1);
  const { positionals, values } = parseArgs({ args: own, allowPositionals: true, options: { changed: { type: "boolean" } } });
  const known = knownAgents();
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new StepError(`no such agent: ${unknown.join(", ")}; known: ${known.join(", ")}`, 2);
  if (values.changed) return { agents: await changedAgents(known), vitestArguments };
  return { agents: positionals.length > 0 ? positionals : known, vitestArguments };
}

async function prepare(agents) {
  await ensureInstalled();
  if (process.env.CHAT_NATIVE_BUILT !== "1") {
    await buildAddon({ debug: true, dts: join("target", "conformance-binding.d.ts") });
    await buildFacade();
  }
  for (const agent of agents) await installAgent(agent, step);
}

async function test(agents, vitestArguments) {
  announce(`conformance of ${agents.join(", ")} (vitest)`);
  const folder = mkdtempSync(join(tmpdir(), "chat-native-conformance-"));
  const report = join(folder, "report.json");
  const [home, temporary] = ["home", "tmp"].map((name) => join(folder, name));
  for (const path of [home, temporary]) mkdirSync(path);
  // What is left out instead of what is named, so that the caller's own arguments may name files.
  const others = knownAgents().filter((agent) => !agents.includes(agent));
  const options = ["--config", join("conformance", "vitest.config.mts"), ...others.flatMap((agent) => ["--exclude", `conformance/${agent}/**`])];
  const reports = ["--reporter=verbose", "--reporter=json", `--outputFile.json=${report}`];
  try {
    // An agent inherits what its host has: here nothing that belongs to the person who runs this.
    const versions = Object.entries(process.env).filter(([name]) => /^CONFORMANCE_\w+_VERSION$/.test(name));
    const env = { ...Object.fromEntries(versions), PATH: process.env.PATH, HOME: home, TMPDIR: temporary, LANG: "C.UTF-8", TERM: "dumb", NO_COLOR: "1", CONFORMANCE: "1" };
    const code = await runAlone([tool("vitest"), "run", ...options, ...reports, ...vitestArguments], env);
    const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(readFileSync(report, "utf8"));
    return { code, passed, failed };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a Node program in exactly this environment. */
function runAlone(args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "inherit", "inherit"] });
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}
