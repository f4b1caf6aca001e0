// What the tests of all agents share: a scene for each test, and readers of what a turn streams.
import type { ChatExtensionUpdate, ChatUpdate, WithMeta } from "@amalgm/chat-native/acp";
import type { MessagePart, TurnRecord } from "@amalgm/chat-native/conversations";
import type { ExecutionContract, ExecutionHandle } from "@amalgm/chat-native/execution";
import { createChatHost, type ChatHost, type NativeRuntimeOptions, type ResolvedExecution } from "@amalgm/chat-native/host";
import { promptFromText, type PromptInput } from "@amalgm/chat-native/input";
import { TurnStreamError, type ChatSession, type ChatTurnStream } from "@amalgm/chat-native/sessions";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { processesWith } from "./processes.mjs";
import { counted } from "./server/counted.mjs";
import { startResponsesServer, type ResponsesServer } from "./server/responses.mjs";
import { setTraps, type Traps } from "./traps.mjs";

/** What no argument list, file, log or message may show. */
export const KEY = "sk-conformance-fake-key-0123456789";

// Of the scene that was opened last.
let serving: ModelServer | undefined;

// The home that `run.mjs` made for this run, before a test changes it.
const runHome = homedir();

/** What a scene needs of the model server, whichever API it speaks. */
export interface ModelServer {
  /** What an agent takes as the API's base URL. */
  baseUrl: string;
  /** What it answered: the data of events, and whole answers. */
  sent: unknown[];
  close(): Promise<void>;
}

export interface Scene<M extends ModelServer = ResponsesServer> {
  /** All that the test leaves on the disk is below it; every process of the test has it in its environment. */
  folder: string;
  /** The user's home. */
  home: string;
  /** The working directory of the agent. */
  project: string;
  databasePath: string;
  stateDir: string;
  model: M;
  traps: Traps;
}

/** A user with a home, a project and a model server. When the test is over, nothing of it is left. */
export async function scene(): Promise<Scene>;
export async function scene<M extends ModelServer>(start: () => Promise<M>): Promise<Scene<M>>;
export async function scene(start: () => Promise<ModelServer> = startResponsesServer): Promise<Scene<ModelServer>> {
  if (process.env.CONFORMANCE !== "1") throw new Error("the real agents are driven by `npm run conformance`, in an environment of its own");
  const folder = realpathSync(mkdtempSync(join(runHome, "scene-")));
  const [home, project, state] = ["home", "project", "state"].map((name) => join(folder, name)) as [string, string, string];
  for (const path of [home, project, state]) mkdirSync(path);
  process.env.HOME = home;
  const model = await start();
  serving = model;
  onTestFinished(async () => {
    process.env.HOME = runHome;
    await model.close();
    for (const { pid } of processesWith(folder)) kill(pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return { folder, home, project, databasePath: join(state, "chat.sqlite"), stateDir: join(state, "agents"), model, traps: setTraps(folder, home, project) };
}

export function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

/** What a contract of the scene resolves to: the scripted model, and what the test adds. */
export function resolved(scene: Scene<ModelServer>, more: Partial<ResolvedExecution> = {}): ResolvedExecution {
  return { credential: { apiKey: KEY, baseUrl: scene.model.baseUrl }, ...more };
}

export interface HostOptions extends Omit<NativeRuntimeOptions, "resolve"> {
  /** Added to what every contract resolves to. */
  resolved?: Partial<ResolvedExecution>;
  resolve?: NativeRuntimeOptions["resolve"];
}

/** A host on the scene's database that is closed when the test is over. */
export async function openHost(scene: Scene<ModelServer>, { resolved: more, ...native }: HostOptions = {}): Promise<ChatHost> {
  const host = await createChatHost({
    ownerUserId: "owner",
    databasePath: scene.databasePath,
    native: { resolve: () => resolved(scene, more), stateDir: scene.stateDir, ...native },
  });
  onTestFinished(() => host.close());
  return host;
}

export interface Conversation {
  host: ChatHost;
  session: ChatSession;
  execution: ExecutionHandle;
}

export async function converse(host: ChatHost, contract: ExecutionContract, id = "execution"): Promise<Conversation> {
  const execution = await host.chat.prepareExecution(id, contract);
  return { host, execution, session: await host.chat.startSession({ execution }) };
}

/** Everything that a stream carries, told apart by `sessionUpdate`. */
export type AnyUpdate = ChatUpdate | WithMeta<ChatExtensionUpdate>;
type Kind = AnyUpdate["sessionUpdate"];
type OfKind<K extends Kind> = Extract<AnyUpdate, { sessionUpdate: K }>;

export function ofKind<K extends Kind>(updates: AnyUpdate[], kind: K): OfKind<K>[] {
  return updates.filter((update): update is OfKind<K> => update.sessionUpdate === kind);
}

export interface Turn {
  id: string;
  /** Grows while the turn runs. */
  updates: AnyUpdate[];
  /** The first update of a kind that the condition accepts, as soon as it is there. */
  first<K extends Kind>(kind: K, accept?: (update: OfKind<K>) => boolean): Promise<OfKind<K>>;
  /** The sealed turn, when all its updates have been read. */
  ended: Promise<TurnRecord>;
}

export async function send({ session, execution }: Partial<Conversation> & Omit<Conversation, "host">, prompt: string | PromptInput = "Go on."): Promise<Turn> {
  return follow(await session.send({ execution, prompt: typeof prompt === "string" ? promptFromText(prompt) : prompt }));
}

/** Reads a stream to its end in the background. */
export function follow(stream: ChatTurnStream): Turn {
  const updates: AnyUpdate[] = [];
  let wake: Array<() => void> = [];
  let over = false;
  const notify = (): void => {
    const waiting = wake;
    wake = [];
    for (const go of waiting) go();
  };
  const read = async (): Promise<TurnRecord> => {
    try {
      for await (const update of stream) {
        updates.push(update);
        notify();
      }
    } catch (error) {
      // How a failed turn's stream ends; anything else is the test's failure.
      if (!(error instanceof TurnStreamError)) throw error;
    } finally {
      over = true;
      notify();
    }
    return stream.completion;
  };
  const ended = read();
  ended.catch(() => undefined);
  return {
    id: stream.turnId,
    updates,
    ended,
    async first(kind, accept = () => true) {
      for (;;) {
        const found = ofKind(updates, kind).find(accept);
        if (found !== undefined) return found;
        if (over) throw new Error(`the turn ended without ${kind}: ${JSON.stringify(await ended)} ${JSON.stringify(updates.map(withoutNative))}`);
        await new Promise<void>((resolve) => wake.push(resolve));
      }
    },
  };
}

/** A turn that has run to its end. Where it is sure of its tokens, they are those that the model server counted meanwhile. */
export async function play(conversation: Partial<Conversation> & Omit<Conversation, "host">, prompt?: string | PromptInput): Promise<{ turn: TurnRecord; updates: AnyUpdate[]; parts: MessagePart[] }> {
  const sent = serving?.sent ?? [];
  const before = sent.length;
  const { ended, updates } = await send(conversation, prompt);
  const turn = await ended;
  if (turn.usage?.exact === true) expect(turn.usage, "the tokens of the turn").toMatchObject(counted(sent.slice(before)));
  return { turn, updates, parts: await partsOf(conversation.session, turn.id) };
}

/** The stored answer of a turn. */
export async function partsOf(session: ChatSession, turnId: string): Promise<MessagePart[]> {
  const messages = await session.messages();
  return messages.find((message) => message.turnId === turnId && message.role === "assistant")?.parts ?? [];
}

export type ToolPart = Extract<MessagePart, { type: "tool" }>;
export const toolsOf = (parts: MessagePart[]): ToolPart[] => parts.filter((part) => part.type === "tool");

/** All text of one kind of part. */
export const textOf = (parts: MessagePart[], type: "text" | "reasoning" = "text"): string =>
  parts.map((part) => (part.type === type ? part.text : "")).join("");

export const errorNotices = (updates: AnyUpdate[]): AnyUpdate[] => updates.filter((update) => update._meta.amalgm.error !== undefined);

/** An update without the agent's own message, which is most of its bytes. */
function withoutNative(update: AnyUpdate): unknown {
  const { native: _, ...amalgm } = update._meta.amalgm;
  return { ...update, _meta: amalgm };
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
