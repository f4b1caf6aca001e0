import type { ChatUpdate } from "@amalgm/chat-native/acp";
import type { ExecutionContract, ModelSetting } from "@amalgm/chat-native/execution";
import { createChatHost, type ChatHost, type ChatHostOptions } from "@amalgm/chat-native/host";
import { promptFromText } from "@amalgm/chat-native/input";
import type { ChatSession, ChatTurnStream } from "@amalgm/chat-native/sessions";
import type { ExecutionHandle } from "@amalgm/chat-native/execution";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export const root = join(import.meta.dirname, "..");
export const TEXT = "codex/text-stream";
export const TOOL = "codex/command-success-output-deltas";
export const TWO_TURNS = "codex/two-turns-one-thread";
export const FAILING = "codex/error-401";

/** A folder that is gone when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "chat-native-test-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

export const temporaryDatabase = (): string => join(temporaryFolder(), "chat.sqlite");

export function contract(recording: string, pace?: "instant" | "recorded"): ExecutionContract {
  const settings: ModelSetting[] = pace === undefined ? [] : [{ configId: "pace", value: pace }];
  return {
    agent: { adapterId: "replay", installationId: recording, revisionId: "1" },
    model: { providerId: "recorded", modelId: "recorded", settings },
    auth: { mode: "subscription", bindingId: "none" },
    tools: { revisionId: null, toolIds: [] },
    cwd: { path: root, workspaceId: null, materializationRevision: null },
    permissionMode: "full_access",
    computerId: "test",
  };
}

/** A host that is closed when the test is over. */
export async function openHost(options: Partial<ChatHostOptions> = {}): Promise<ChatHost> {
  const given = options.conversations === undefined ? { databasePath: temporaryDatabase() } : {};
  const host = await createChatHost({ ownerUserId: "owner", ...given, ...options });
  onTestFinished(() => host.close());
  return host;
}

export interface Opened {
  host: ChatHost;
  session: ChatSession;
  execution: ExecutionHandle;
}

export async function openSession(recording = TEXT, pace?: "instant" | "recorded", options?: Partial<ChatHostOptions>): Promise<Opened> {
  const host = await openHost(options);
  const execution = await host.chat.prepareExecution("execution", contract(recording, pace));
  return { host, execution, session: await host.chat.startSession({ execution }) };
}

export const prompt = promptFromText("Play the recording.");

export async function collect<T>(updates: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const update of updates) collected.push(update);
  return collected;
}

/** A turn that has run to its end. */
export async function playTurn({ session, execution }: Opened): Promise<{ stream: ChatTurnStream; updates: ChatUpdate[] }> {
  const stream = await session.send({ execution, prompt });
  return { stream, updates: await collect(stream) };
}

export const sequenceOf = (update: ChatUpdate): number => update._meta.amalgm.sequence;

export const countTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

/** The text of one kind of chunk, in order. */
export function textOf(updates: ChatUpdate[], kind = "agent_message_chunk"): string {
  return updates
    .map((update) => ("content" in update && update.sessionUpdate === kind ? (update.content as { text?: string }).text : ""))
    .join("");
}

/** The rejection's error, for `expect(...)` on several of its members. */
export async function failure(promise: Promise<unknown>): Promise<Error & { code?: string; path?: string | null; part?: number | null }> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error("it was expected to reject");
}

export const bundledRecording = (name: string): string => readFileSync(join(root, "dist", "recordings", `${name}.ndjson`), "utf8");

/**
 * A recording with many text deltas, made from the bundled one: its lines, with the delta line repeated and the final text
 * that says the same. At the recorded pace a delta comes each `everyMs` milliseconds.
 */
export function longRecording(deltas: number, everyMs = 0): { path: string; replayDirs: string[] } {
  const folder = temporaryFolder();
  const path = join(folder, "long.ndjson");
  const lines = bundledRecording(TEXT).trimEnd().split("\n");
  const isDelta = (line: string): boolean => line.includes('"item/agentMessage/delta"');
  const first = lines.findIndex(isDelta);
  const whole = lines.filter(isDelta).map((line) => (JSON.parse(line) as { msg: { params: { delta: string } } }).msg.params.delta).join("");
  const pieces = Array.from({ length: deltas }, (_, index) => `${String(index)} `);

  const at = (line: string, time: number): string => line.replace(/"t":\d+/, `"t":${String(time)}`);
  const rewritten = lines.flatMap((line, index) => {
    if (index === first) {
      return pieces.map((piece, number) => {
        const record = JSON.parse(line) as { msg: { params: { delta: string } } };
        record.msg.params.delta = piece;
        return at(JSON.stringify(record), number * everyMs);
      });
    }
    const time = index < first ? 0 : deltas * everyMs;
    return isDelta(line) ? [] : [at(line, time).replaceAll(JSON.stringify(whole), () => JSON.stringify(pieces.join("")))];
  });
  writeFileSync(path, `${rewritten.join("\n")}\n`);
  return { path, replayDirs: [folder] };
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Runs a program of `__test__/programs` to its end; `onLine` sees what it prints, and may kill it. */
export function runProgram(name: string, args: string[], onLine?: (line: string, kill: () => void) => void): Promise<Ended> {
  return runNode([join(import.meta.dirname, "programs", name), ...args], onLine);
}

export function runNode(args: string[], onLine?: (line: string, kill: () => void) => void, cwd = root, env = process.env): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    const kill = (): void => void child.kill("SIGKILL");
    let stdout = "";
    let stderr = "";
    let line = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      line += text;
      for (let end = line.indexOf("\n"); end >= 0; end = line.indexOf("\n")) {
        onLine?.(line.slice(0, end), kill);
        line = line.slice(end + 1);
      }
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      resolve({ code, signal, stdout, stderr });
    });
  });
}
