import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  EnvVariable,
  McpServer,
  PermissionOption,
  RequestPermissionOutcome,
  ToolCallUpdate,
} from "./sdk.js";
import { Chat } from "./chat.js";
import { checkOwnOptions, checkRuntime, checkStore } from "./chat-options.js";
import { checkMembers, checkRecord, checkText, invalidOption } from "./checks.js";
import type { ConversationStorePort, TurnRecord } from "./conversations.js";
import type { AuthMode, ExecutionContract } from "./execution.js";
import { checkRuntimeOptions, NativeChatRuntime } from "./runtime.js";
import type { Clock, JournalBatchPolicy } from "./sessions.js";
import { SqliteConversationStore, storeReady } from "./sqlite.js";

export { NativeChatRuntime } from "./runtime.js";

export interface ChatHostOptions {
  ownerUserId: string;
  /** The SQLite file, or ":memory:". Needed unless `conversations` is given. */
  databasePath?: string;
  /** In this version a `SqliteConversationStore`. It stays open when the host closes. */
  conversations?: ConversationStorePort;
  /** It stays open when the host closes. */
  runtime?: ChatRuntime;
  clock?: Clock;
  journal?: JournalBatchPolicy;
  /** Options of the built-in runtime, where `runtime` is not given. */
  native?: NativeRuntimeOptions;
}

export interface ChatHost {
  readonly chat: Chat;
  /** Turns that the previous process left running, now `interrupted`. */
  readonly recoveredTurns: TurnRecord[];
  /** Ends agents (politely, then by force), flushes and closes the store. */
  close(): Promise<void>;
}

/** The immutable way to start an ACP agent. */
export interface AcpLaunch {
  command: string;
  args: string[];
  env?: EnvVariable[];
  authMethodId?: string | null;
  /** The auth modes that the revision declares; any other is refused. */
  authModes: AuthMode[];
}

/** What a host resolves a contract to while the user is composing. */
export interface ResolvedExecution {
  /**
   * What `auth` stands for; the adapter puts each where its agent takes it (environment, private config home), never on a
   * command line. `loginHome`: the home whose login a subscription uses.
   */
  credential?: { apiKey?: string; baseUrl?: string; headers?: Record<string, string>; loginHome?: string };
  /** Further environment of the agent. */
  env?: Record<string, string>;
  /** The complete selection; no other server reaches the agent. */
  mcpServers?: McpServer[];
  /** Goes to the agent's own system or developer field, never into the prompt. */
  instructions?: string | null;
  /** Needed for adapter `acp`. */
  acpLaunch?: AcpLaunch;
  /** Another executable for this installation. */
  command?: string;
  args?: string[];
}

export interface NativeRuntimeOptions {
  /**
   * Called once per prepared contract. Without it: a contract that selects tools is refused (UNSUPPORTED_EXECUTION_INPUT),
   * `subscription` uses the login of the host's user, `byok` the provider's usual variable, and `platform` is refused.
   */
  resolve?: (contract: ExecutionContract) => ResolvedExecution | Promise<ResolvedExecution>;
  /** Executables by installation id, such as `{ claude_code: { default: { command: "/opt/claude" } } }`. */
  installations?: Record<string, Record<string, { command: string; args?: string[]; env?: Record<string, string> }>>;
  /** How long an idle agent process is kept. Default 5 minutes. */
  idleTimeoutMs?: number;
  /**
   * Private agent homes, per adapter, installation, auth binding and permission mode; owner-only; kept across restarts.
   * Default: beside the database.
   */
  stateDir?: string;
  /** Folders whose recordings the `replay` adapter may open by absolute path. Bundled names always work. */
  replayDirs?: string[];
  /**
   * Which variables of the host an agent inherits: default, all but those that steer the login, endpoint or configuration
   * of a known agent; or exactly these.
   */
  inheritEnv?: string[];
  /** How long an agent may take to start and say what it can. Default 60 000. */
  startLimitMs?: number;
  /** Unanswered permission and elicitation requests are cancelled after this. Default: wait. */
  requestLimitMs?: number;
  /**
   * A turn without any message of the agent; stands still while a request waits, a tool runs or a compaction goes on.
   * Default 600 000.
   */
  idleLimitMs?: number;
  /** An agent that only retries. Default 300 000. */
  retryLimitMs?: number;
  /**
   * Write what the agents say to `<dir>/<date>.ndjson`; `true`: to `~/.amalgm/chat-core-recordings`. Default: on where the
   * environment has `CHAT_CORE_RECORD=1`.
   */
  record?: boolean | { dir: string };
  /**
   * Answers permission requests of `ask` mode in code, as `respondToPermission` takes it; undefined leaves the request to that. Where
   * it fails, or gives anything else, the request is cancelled and the process is warned (`CHAT_NATIVE_CALLBACK`).
   */
  onPermissionRequest?: (request: {
    conversationId: string;
    turnId: string;
    requestId: string;
    toolCall: ToolCallUpdate;
    options: PermissionOption[];
  }) => RequestPermissionOutcome | undefined | Promise<RequestPermissionOutcome | undefined>;
  /** The same for questions; undefined leaves the request to `respondToElicitation`. */
  onElicitationRequest?: (request: {
    conversationId: string;
    turnId: string;
    requestId: string;
    request: CreateElicitationRequest;
  }) => CreateElicitationResponse | undefined | Promise<CreateElicitationResponse | undefined>;
}

/** What drives the agents of a `Chat`: in this version the built-in runtime. */
export type ChatRuntime = NativeChatRuntime;

const OPTIONS = ["ownerUserId", "databasePath", "conversations", "runtime", "clock", "journal", "native"];

/**
 * A `Chat` with its store and its runtime: opens the database, seals the turns that a dead process left running, and ends
 * everything with one `close()`. Where a step fails, what was opened before it is closed again.
 *
 * @throws {@link ChatOptionsError} INVALID_OPTIONS; `path` names the member
 * @throws {@link ChatSessionError} STORE_ERROR where the file cannot be opened; it is not changed then
 */
export async function createChatHost(options: ChatHostOptions): Promise<ChatHost> {
  const { databasePath, conversations, runtime, native, ...own } = checkHostOptions(options);
  const opened: Array<{ close(): Promise<void> }> = [];
  try {
    let store = conversations;
    if (store === undefined) {
      store = new SqliteConversationStore(checkText(databasePath, "databasePath"));
      opened.unshift(store);
    }
    await storeReady(store);

    let driver = runtime;
    if (driver === undefined) {
      driver = new NativeChatRuntime(native);
      opened.unshift(driver);
    }

    const chat = new Chat({ ...own, conversations: store, runtime: driver });
    opened.unshift(chat);
    const recoveredTurns = await chat.recoverInterruptedTurns();
    let closing: Promise<void> | null = null;
    return { chat, recoveredTurns, close: () => (closing ??= closeAll(opened)) };
  } catch (error) {
    // The failure that stopped the opening says more than one of the clean-up after it.
    await closeAll(opened).catch(() => undefined);
    throw error;
  }
}

/** In order. Each is closed even where one before it fails; the first failure is thrown at the end. */
async function closeAll(parts: ReadonlyArray<{ close(): Promise<void> }>): Promise<void> {
  const failures: unknown[] = [];
  for (const part of parts) await part.close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** All of it before anything is opened: a bad option leaves no file behind. */
function checkHostOptions(value: unknown): ChatHostOptions {
  const options = checkRecord(value, "options");
  checkMembers(options, "", OPTIONS, ["http"]);
  checkOwnOptions(options);
  if (options.conversations === undefined) {
    checkText(options.databasePath, "databasePath");
  } else {
    checkStore(options.conversations);
    if (options.databasePath !== undefined) throw invalidOption("databasePath", "cannot be given beside `conversations`");
  }
  if (options.runtime !== undefined) {
    checkRuntime(options.runtime);
    if (options.native !== undefined) throw invalidOption("native", "cannot be given beside `runtime`");
  } else if (options.native !== undefined) {
    checkRuntimeOptions(options.native, "native");
  }
  return options as unknown as ChatHostOptions;
}
