import { homedir } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import type { NativeRuntimeOptions } from "./host.js";

/**
 * The environment as it is now. The core must not read the process's own: Node may change it on another thread meanwhile.
 * What cannot be written as JSON text is left out.
 */
export function hostEnvironment(): Record<string, string> {
  const isText = (text: unknown): boolean => typeof text === "string" && text.isWellFormed();
  return Object.fromEntries(Object.entries(process.env).filter(([name, value]) => isText(name) && isText(value))) as Record<string, string>;
}

/** Where what the agents say is recorded; undefined where it is not. */
export function recordingFolder(record: NativeRuntimeOptions["record"]): { dir: string } | undefined {
  const wanted = record ?? process.env.CHAT_CORE_RECORD === "1";
  if (wanted === false) return undefined;
  return { dir: wanted === true ? join(homedir(), ".amalgm", "chat-core-recordings") : resolvePath(wanted.dir) };
}
