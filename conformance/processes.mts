// The processes of this machine, by what is written in their arguments and environments (/proc: Linux only).
import { readdirSync, readFileSync } from "node:fs";

export interface RunningProcess {
  pid: number;
  parent: number;
  arguments: string[];
  environment: Record<string, string>;
}

/** All that can be looked at, but for this process. */
export function processes(): RunningProcess[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
  return pids.filter((pid) => pid !== process.pid).flatMap((pid) => describe(pid) ?? []);
}

/** Those whose arguments or environment hold the text. */
export function processesWith(text: string): RunningProcess[] {
  return processes().filter((running) => [...running.arguments, ...Object.values(running.environment)].some((value) => value.includes(text)));
}

export const isAlive = (pid: number): boolean => describe(pid) !== null;

function describe(pid: number): RunningProcess | null {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
    // The program's name may hold spaces and parentheses; what follows the last one does not.
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended; only its parent has not looked yet.
    if (state === "Z") return null;
    const list = (name: string): string[] => readFileSync(`/proc/${String(pid)}/${name}`, "utf8").split("\0").filter(Boolean);
    const environment = Object.fromEntries(list("environ").map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]));
    return { pid, parent: Number(parent), arguments: list("cmdline"), environment };
  } catch {
    // It ended while it was looked at, or is another user's.
    return null;
  }
}

/** Waits until the condition holds; fails with what `seen` tells where it never does. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>, seen: () => unknown = () => "", limitMs = 30_000): Promise<void> {
  for (const end = Date.now() + limitMs; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 25))) {
    if (await holds()) return;
  }
  throw new Error(`not within ${String(limitMs)} ms: ${what} ${JSON.stringify(seen())}`);
}
