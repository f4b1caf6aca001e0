// The agents' programs, installed from npm at the exact versions that are tested.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const cache = join(here, ".cache");
/** Written last: an installation without it was cut off. */
const DONE = "installed.json";

/** The agents that have a folder here. */
export function knownAgents() {
  const folders = readdirSync(here, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => name).filter((name) => existsSync(join(here, name, "agent.mjs")));
}

/**
 * The agent's program, ready to be started.
 * @param {string} name
 * @returns {Promise<string>}
 */
export async function agentCommand(name) {
  const agent = await describe(name);
  const folder = folderOf(name, agent);
  if (!isInstalled(folder)) throw new Error(`${name} ${agent.version} is not installed: npm run conformance -- ${name}`);
  return agent.command(folder);
}

/**
 * Installs the agent unless it is there.
 * @param {string} name
 * @param {(name: string, command: string, args: string[], options: { cwd: string }) => Promise<unknown>} step runs a command that must succeed
 */
export async function installAgent(name, step) {
  const agent = await describe(name);
  const folder = folderOf(name, agent);
  if (isInstalled(folder)) return;

  // Beside its place, so that a run at the same time never sees half of it.
  const growing = `${folder}.${process.pid}`;
  rmSync(growing, { recursive: true, force: true });
  mkdirSync(growing, { recursive: true });
  writeFileSync(join(growing, "package.json"), JSON.stringify({ private: true, dependencies: { [agent.package]: agent.version } }));
  // No scripts: what is tested is the program, and nothing of a package runs at its installation.
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save"];
  await step(`install ${agent.package} ${agent.version}`, "npm", args, { cwd: growing });
  if (!existsSync(agent.command(growing))) throw new Error(`${agent.package} ${agent.version} came without its program`);

  writeFileSync(join(growing, DONE), JSON.stringify({ package: agent.package, version: agent.version }));
  rmSync(folder, { recursive: true, force: true });
  renameSync(growing, folder);
}

const folderOf = (name, { version }) => join(cache, `${name}-${version}`);

const describe = async (name) => (await import(pathToFileURL(join(here, name, "agent.mjs")).href)).default;

function isInstalled(folder) {
  const note = join(folder, DONE);
  return existsSync(note) && readFileSync(note, "utf8").length > 0;
}
