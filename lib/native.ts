import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * What the addon exports: JSON text both ways for nested values. Internal, and always of the same version as this package;
 * commands are accepted in call order, on the calling thread, and only their answer is a promise.
 */
export interface NativeBinding {
  NativeStore: new (optionsJson: string) => NativeStore;
  NativeRuntime: new (optionsJson: string) => NativeRuntime;
  NativeChat: new (
    optionsJson: string,
    store: NativeStore,
    runtime: NativeRuntime,
    clock: (() => number) | null,
    onTurn: ((turnJson: string) => void) | null,
    onRequest: OnRequest | null,
  ) => NativeChat;
  NativeTranscript: new () => NativeTranscript;
  NativeNormalizer: {
    new (harness: string, providerSessionId: string | null, cwd: string | null): NativeNormalizer;
    /** Behind an agent's per-message function; `alone` where it reads one message only. */
    perMessage(harness: string, alone: boolean): NativeNormalizer;
  };
  normalizeRecording(harness: string, ndjson: Uint8Array): NativeUpdateParts;
  describeCodexItem(itemJson: string): string;
  codexErrorMessage(errorJson: string): string | null;
  toSessionUpdates(eventJson: string): string;
  NativeCatalog: new () => NativeCatalog;
  normalizeExecutionContract(json: string): string;
  executionRevision(json: string): string;
  normalizePrompt(json: string): string;
  normalizeUsage(inputJson: string, contextJson: string): string;
  aggregateTurnUsage(stepsJson: string): string;
  finalizeTurnUsage(stepsJson: string, catalog: NativeCatalog): string;
  calculateCost(usageJson: string, providerId: string | null, modelId: string, catalog: NativeCatalog): number | null;
  version(): string;
}

export interface NativeStore {
  ready(): Promise<void>;
  createConversation(recordJson: string): Promise<void>;
  getConversation(owner: string, id: string): Promise<string | null>;
  listConversations(owner: string, optionsJson: string): Promise<string>;
  updateConversation(owner: string, id: string, patchJson: string): Promise<string>;
  beginTurn(owner: string, turnJson: string, messageJson: string | null, patchJson: string): Promise<void>;
  appendUpdates(owner: string, conversationId: string, turnId: string, entriesJson: string): Promise<void>;
  sealTurn(owner: string, sealJson: string): Promise<string>;
  getTurn(owner: string, conversationId: string, turnId: string): Promise<string | null>;
  latestTurn(owner: string, conversationId: string): Promise<string | null>;
  runningTurns(owner: string): Promise<string>;
  readUpdates(owner: string, conversationId: string, turnId: string, afterSequence: number, limit: number): Promise<string>;
  listMessages(owner: string, conversationId: string): Promise<string>;
  listUsageSteps(owner: string, conversationId: string, turnId: string | null): Promise<string>;
  putCheckpoint(owner: string, checkpointJson: string): Promise<void>;
  getCheckpoint(owner: string, conversationId: string, key: string): Promise<string | null>;
  backup(toPath: string): Promise<void>;
  close(): Promise<void>;
}

export interface NativeRuntime {
  close(): Promise<void>;
}

/** Asked about each request of an agent; `kind` is `permission` or `elicitation`. Gives the answer, or null to leave it to others. */
export type OnRequest = (kind: string, requestJson: string) => Promise<string | null>;

export interface NativeChat {
  prepareExecution(id: string, contractJson: string, resolvedJson: string | null): Promise<string>;
  startSession(optionsJson: string): Promise<string>;
  resumeSession(optionsJson: string): Promise<string>;
  getConversation(id: string): Promise<string>;
  resumeStoredSession(id: string, resolvedJson: string | null): Promise<string>;
  recoverInterruptedTurns(): Promise<string>;
  pageConversations(optionsJson: string): Promise<string>;
  archiveSession(id: string): Promise<void>;
  markSeen(id: string): Promise<string>;
  activeTurn(id: string): Promise<string>;
  latestTurn(id: string): Promise<string>;
  send(sessionId: string, optionsJson: string): Promise<string>;
  subscribe(conversationId: string, turnId: string, afterSequence: number): NativeSubscription;
  /** How many subscriptions are open. */
  subscriptionCount(): number;
  completion(conversationId: string, turnId: string): Promise<string>;
  interrupt(sessionId: string): Promise<void>;
  respond(sessionId: string, requestId: string, answerJson: string): Promise<void>;
  inspect(sessionId: string): Promise<string>;
  messages(sessionId: string): Promise<string>;
  usageSteps(sessionId: string, turnId: string | null): Promise<string>;
  updateTitle(sessionId: string, title: string): Promise<string>;
  closeSession(sessionId: string): Promise<void>;
  close(): Promise<void>;
  shutdown(): void;
  endAgents(): void;
}

export interface NativeSubscription {
  /** The updates that are ready; null after the last one and after `close()`. */
  nextBatch(): Promise<NativeBatch | null>;
  close(): void;
}

/** The place of a native message in `natives`, in bytes. */
export type NativePlace = [start: number, end: number];

/** How updates that are nothing but a piece of text are told apart; the numbers are the addon's. */
export enum PieceForm {
  Text = 0,
  ToolOutput = 1,
  FullReasoning = 2,
  ReasoningSummary = 3,
  RedactedReasoning = 4,
  PlanReasoning = 5,
}

/** An update that is nothing but a piece of text: what is not the same in every update of its form. */
export type NativePiece = [form: PieceForm, text: string, id: string, at: number, sequence: number, ...place: NativePlace | []];

export interface NativeBatch {
  /**
   * A JSON array of updates: whole ones as objects, pieces of text as `NativePiece`. Where a whole one has a native
   * message, `_meta.amalgm.native.message` is its `NativePlace`.
   */
  text: string;
  /** The native messages as JSON text in UTF-8. */
  natives: Buffer;
  /** Where the native messages of pieces come from. */
  source: string;
}

/** Updates of no turn, of which nearly all are nothing but a piece of text. */
export interface NativeUpdateParts {
  /**
   * Five numbers an update: its `PieceForm`; the place of its id in `ids`; the place of its text's block in `blocks`, and where
   * the text begins and ends there. `WHOLE_UPDATE` in the first is the next update of `whole`.
   */
  items: Uint32Array;
  ids: string[];
  blocks: string[];
  /**
   * A JSON array. An update whose long texts stand in blocks is an array: the update, and four members a text: the path of the
   * empty string that stands for it, its block, and where it begins and ends there.
   */
  whole: string;
}

/** In the place of a `PieceForm`: an update that is more than a piece of text. */
export const WHOLE_UPDATE = 6;

export interface NativeCatalog {
  asOf(): string;
  find(providerId: string | null, modelId: string): string;
  list(): string;
  with(modelsJson: string): NativeCatalog;
}

export interface NativeTranscript {
  add(updateJson: string): void;
  parts(): string;
  lastSequence(): number;
}

/** Events are JSON arrays. */
export interface NativeNormalizer {
  push(line: string, fromHost: boolean, providerSessionId: string | null): string;
  pushBytes(line: Uint8Array, fromHost: boolean): string;
  finish(reason: string): string;
  unmapped(): string;
}

let loaded: NativeBinding | undefined;

/** The addon, loaded at its first use: entry points that hold types or plain JavaScript never load it. */
export function binding(): NativeBinding {
  return (loaded ??= load());
}

function load(): NativeBinding {
  const platform = platformName();
  const beside = join(__dirname, "..", `chat-native.${platform}.node`);
  const packaged = `@amalgm/chat-native-${platform}`;
  try {
    // A build in this folder wins, so that a checkout never runs an installed binary.
    return require(existsSync(beside) ? beside : packaged) as NativeBinding;
  } catch (cause) {
    throw bindingNotFound(packaged, cause);
  }
}

/** Such as `linux-x64-gnu`, `linux-arm64-musl`, `darwin-arm64`, `win32-x64-msvc`. */
export function platformName(): string {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform === "linux") return `${name}-${libc() === "glibc" ? "gnu" : "musl"}`;
  return process.platform === "win32" ? `${name}-msvc` : name;
}

function libc(): "glibc" | "musl" | null {
  if (process.platform !== "linux") return null;
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  const { excludeNetwork } = report;
  // A report otherwise looks up the names of all open connections, which can take seconds.
  report.excludeNetwork = true;
  const { header } = report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  report.excludeNetwork = excludeNetwork;
  return header.glibcVersionRuntime === undefined ? "musl" : "glibc";
}

function bindingNotFound(packaged: string, cause: unknown): Error {
  const problem = cause instanceof Error ? cause.message : String(cause);
  const error = new Error(
    `The native part for platform ${process.platform}, arch ${process.arch}, libc ${libc() ?? "none"} could not be loaded: ${problem}\n` +
      `Install it beside this package with \`npm install ${packaged}@${ownVersion()}\` (package managers leave it out where optional dependencies are switched off, ` +
      "or where a lock file was made on another platform), or build it from a checkout of the sources with `npm run build`.",
    { cause },
  );
  return Object.assign(error, { code: "NATIVE_BINDING_NOT_FOUND" });
}

function ownVersion(): string {
  return (require("../package.json") as { version: string }).version;
}
