// All tests from a fresh clone: installs, builds, runs the Rust, JavaScript and type tests. Arguments go to vitest.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { buildAddon, buildFacade } from "./build.mjs";
import { announce, ensureInstalled, main, node, root, run, StepError, tool } from "./steps.mjs";

await main(import.meta.url, async () => {
  const total = { passed: 0, failed: 0 };
  let exitCode = 0;
  try {
    await ensureInstalled();
    // Its types go elsewhere: exports that panic on purpose are no part of the binding.
    await buildAddon({ debug: true, features: "test-panics", dts: join("target", "test-binding.d.ts") });
    await buildFacade();
    for (const tests of [rustTests, typeTests, javaScriptTests]) {
      const { code, passed, failed } = await tests();
      total.passed += passed;
      // What does not even compile fails without a count.
      total.failed += code === 0 ? failed : Math.max(failed, 1);
      exitCode ||= code;
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

async function rustTests() {
  const hasNextest = await run("cargo", ["nextest", "--version"], { capture: true }).then(({ code }) => code === 0);
  const command = hasNextest ? ["nextest", "run"] : ["test"];
  announce(`Rust tests (cargo ${command.join(" ")})`);
  const { code, output } = await run("cargo", [...command, "--workspace", "--no-fail-fast"], { capture: true });
  return { code, ...countRust(stripVTControlCharacters(output)) };
}

/** The summary of nextest, or the sum of the lines that `cargo test` prints for each binary. */
export function countRust(output) {
  const summary = /(\d+) tests? run: (\d+) passed/.exec(output);
  if (summary !== null) return { passed: Number(summary[2]), failed: Number(summary[1]) - Number(summary[2]) };
  const counts = { passed: 0, failed: 0 };
  for (const [, passed, failed] of output.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed/gm)) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
  }
  return counts;
}

/** A file of type tests counts as one test: what must not compile stands behind `@ts-expect-error`. */
async function typeTests() {
  announce("type tests (tsc)");
  const files = readdirSync(join(root, "__test__", "types")).filter((name) => /\.test-d\.[cm]?ts$/.test(name));
  const { code, output } = await run(...node(tool("typescript", "tsc"), "-p", "__test__"), { capture: true });
  const failed = files.filter((name) => output.includes(name)).length;
  return { code, passed: files.length - failed, failed };
}

async function javaScriptTests() {
  announce("JavaScript tests (vitest)");
  const folder = mkdtempSync(join(tmpdir(), "chat-native-tests-"));
  const report = join(folder, "report.json");
  try {
    const { code } = await run(
      ...node(tool("vitest"), "run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...process.argv.slice(2)),
    );
    const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(readFileSync(report, "utf8"));
    return { code, passed, failed };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
