// Drives `host-process.mjs`.
import type { TurnRecord } from "@amalgm/chat-native/conversations";
import type { ExecutionContract } from "@amalgm/chat-native/execution";
import type { NativeRuntimeOptions } from "@amalgm/chat-native/host";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, lchownSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { kill, resolved, type AnyUpdate, type ModelServer, type Scene } from "./support.mjs";

export interface HostProcess {
  pid: number;
  sessionId: string;
  /** Turns that a host before this one left running. */
  recovered: TurnRecord[];
  /** What the turns of this process streamed. */
  updates: AnyUpdate[];
  /** Begins a turn. */
  send(text: string): Promise<{ turnId: string; ended: Promise<TurnRecord> }>;
  interrupt(): Promise<void>;
  close(): Promise<void>;
  /** `kill -9`; resolves when it is gone. */
  kill(): Promise<void>;
}

export interface HostProcessOptions {
  contract: ExecutionContract;
  native: Omit<NativeRuntimeOptions, "resolve" | "onPermissionRequest" | "onElicitationRequest">;
  /** Picks this conversation up instead of starting one. */
  sessionId?: string | undefined;
  /** The number of the user that it runs as, where that is another; all of the scene becomes that user's. */
  user?: number;
}

interface Identity {
  uid?: number;
  gid?: number;
  env?: NodeJS.ProcessEnv;
}

type Line = { id: number; result?: unknown; error?: { code: string | null; message: string } } | { update: AnyUpdate } | { ended: TurnRecord };

export async function startHostProcess(scene: Scene<ModelServer>, { contract, native, sessionId, user }: HostProcessOptions): Promise<HostProcess> {
  const identity: Identity = user === undefined ? {} : asUser(scene, user);
  const child = spawn(process.execPath, [join(import.meta.dirname, "host-process.mjs")], { stdio: ["pipe", "pipe", "inherit"], ...identity });
  const gone = once(child, "close");
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) kill(child.pid!);
  });
  const updates: AnyUpdate[] = [];
  const calls = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const ends: Array<(turn: TurnRecord) => void> = [];
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = JSON.parse(text) as Line;
    if ("update" in line) updates.push(line.update);
    else if ("ended" in line) ends.shift()?.(line.ended);
    else if (line.error !== undefined) calls.get(line.id)?.reject(new Error(`${line.error.code ?? ""} ${line.error.message}`));
    else calls.get(line.id)?.resolve(line.result);
  });
  child.on("close", () => {
    for (const { reject } of calls.values()) reject(new Error("the host process is gone"));
  });

  const call = <T,>(name: string, args: unknown = {}): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const id = calls.size + 1;
      calls.set(id, { resolve: resolve as (value: unknown) => void, reject });
      child.stdin.write(`${JSON.stringify({ id, call: name, args })}\n`);
    });
  // A host that is killed takes the pipe with it.
  child.stdin.on("error", () => undefined);

  const opened = await call<{ sessionId: string; recovered: TurnRecord[] }>("open", {
    databasePath: scene.databasePath,
    native: { stateDir: scene.stateDir, ...native },
    resolved: resolved(scene),
    contract,
    sessionId,
  });
  return {
    pid: child.pid!,
    updates,
    ...opened,
    async send(text) {
      const ended = new Promise<TurnRecord>((resolve) => ends.push(resolve));
      return { ...(await call<{ turnId: string }>("send", { text })), ended };
    },
    interrupt: () => call("interrupt"),
    close: () => call("close"),
    async kill() {
      kill(child.pid!);
      await gone;
    },
  };
}

/** Gives the scene to a user, who finds the way to it but sees nothing else of the run. */
function asUser({ folder }: Scene<ModelServer>, user: number): Identity {
  for (let above = dirname(folder); above.startsWith(dirname(process.env.TMPDIR!)); above = dirname(above)) chmodSync(above, 0o711);
  const own = join(folder, "tmp");
  mkdirSync(own);
  for (const path of [folder, ...(readdirSync(folder, { recursive: true }) as string[]).map((name) => join(folder, name))]) lchownSync(path, user, user);
  return { uid: user, gid: user, env: { ...process.env, TMPDIR: own } };
}
