// What every command shares: named steps that stop the command with their own exit code. Plain Node without
// dependencies, since these run in a fresh clone before anything is installed.
import { spawn } from "node:child_process";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");
export const require = createRequire(import.meta.url);

const isWindows = process.platform === "win32";

/** A step that failed, with the code that the whole command ends with. */
export class StepError extends Error {
  constructor(name, code) {
    super(`step failed: ${name} (exit code ${code})`);
    this.code = code;
  }
}

export function announce(name) {
  console.log(`\n==> ${name}`);
}

/** Runs a program in the repository's folder. Gives its exit code and, where `capture` is set, what it printed. */
export function run(command, args, { capture = false, env = {}, cwd = root, stdin = "ignore" } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      // There it is a script, which only a shell can run.
      shell: isWindows && command === "npm",
      stdio: capture ? [stdin, "pipe", "pipe"] : [stdin, "inherit", "inherit"],
    });
    let output = "";
    for (const [stream, sink] of [[child.stdout, process.stdout], [child.stderr, process.stderr]]) {
      stream?.setEncoding("utf8").on("data", (text) => {
        output += text;
        sink.write(text);
      });
    }
    child.on("error", (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      resolve({ code: 127, output });
    });
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

export async function step(name, command, args, options) {
  announce(name);
  const { code, output } = await run(command, args, options);
  if (code !== 0) throw new StepError(name, code);
  return output;
}

/** A program of a dependency, run by this Node: works without a shell and on every system. */
export function tool(dependency, program = dependency) {
  const manifestPath = join(root, "node_modules", dependency, "package.json");
  const { bin } = JSON.parse(readFileSync(manifestPath, "utf8"));
  return join(dirname(manifestPath), typeof bin === "string" ? bin : bin[program]);
}

export const node = (script, ...args) => [process.execPath, [script, ...args]];

/** Installs exactly what the lock file says, unless npm did so after the file was last changed: it notes the end of its work. */
export async function ensureInstalled() {
  const changed = (name) => statSync(join(root, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changed(join("node_modules", ".package-lock.json")) > changed("package-lock.json")) return;
  await step("install dependencies", "npm", ["ci", "--no-audit", "--no-fund"]);
}

/** Runs a command's body where its file is the program; a failed step ends the process with that step's code. */
export async function main(moduleUrl, body) {
  if (realpathSync(process.argv[1]) !== fileURLToPath(moduleUrl)) return;
  try {
    process.exitCode = (await body()) ?? 0;
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    console.error(`\n${error.message}`);
    process.exitCode = error.code;
  }
}
