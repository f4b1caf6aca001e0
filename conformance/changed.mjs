// Which agents a change can have touched.
import { run, root } from "../scripts/steps.mjs";

/** Files of no agent, on which none of them depends. */
const HARMLESS = [/\.md$/, /^(bench|examples|fixtures|__test__|npm|LICENSE)/, /^crates\/[^/]+\/tests\//];

/**
 * Those of `known` whose folders changed since the commit in CONFORMANCE_BASE; all of them where anything below an agent
 * changed, or where no commit is given.
 * @param {string[]} known
 */
export async function changedAgents(known) {
  const base = process.env.CONFORMANCE_BASE;
  if (base === undefined || base === "") return known;
  const { code, output } = await run("git", ["diff", "--name-only", base, "--"], { capture: true, cwd: root });
  return code === 0 ? touchedAgents(known, output.split("\n").filter(Boolean)) : known;
}

/** @param {string[]} known @param {string[]} files */
export function touchedAgents(known, files) {
  const touched = new Set();
  for (const file of files.filter((name) => !HARMLESS.some((pattern) => pattern.test(name)))) {
    const owner = /^(?:crates\/(?:agents|normalizers)\/src|conformance)\/([^/.]+)/.exec(file)?.[1];
    // The shared code of all agents: no folder of one agent, or one that is tested nowhere, such as the replay's.
    const isAgent = known.includes(owner);
    if (isAgent) touched.add(owner);
    else return known;
  }
  return known.filter((name) => touched.has(name));
}
