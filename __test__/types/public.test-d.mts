// Types as a host sees them from an ES module. What must not compile stands behind `@ts-expect-error`.
import type { ContentBlock, SessionUpdate } from "@agentclientprotocol/sdk";
import { extensionOf, RequestError, type ChatExtensionUpdate, type ChatUpdate, type UsageStepUpdate, type WithMeta } from "@amalgm/chat-native/acp";
import type { ConversationStorePort, TurnRecord } from "@amalgm/chat-native/conversations";
import { textDelta, toSessionUpdates, type ChatEvent, type TextDelta } from "@amalgm/chat-native/events";
import { ExecutionError, type ExecutionContract, type ModelSetting } from "@amalgm/chat-native/execution";
import { createChatHost, NativeChatRuntime, type ChatHost, type ChatHostOptions, type ChatRuntime, type NativeRuntimeOptions } from "@amalgm/chat-native/host";
import { normalizeCodexNotification, normalizeRecording, Normalizer, type Harness } from "@amalgm/chat-native/normalizers";
import { promptFromText, type PromptInput } from "@amalgm/chat-native/input";
import type { Chat, ChatSession, ChatTurnStream, SessionInspection, TurnStreamError } from "@amalgm/chat-native/sessions";
import { SqliteConversationStore } from "@amalgm/chat-native/sqlite";
import type { Transcript } from "@amalgm/chat-native/transcript";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
declare function same<A, B>(_: Equal<A, B>): void;
/** The members of a class, as an object that somebody wrote by hand has them. */
type ByHand<Class> = { [Member in keyof Class]: Class[Member] };

declare const update: ChatUpdate;
declare const host: ChatHost;
declare const session: ChatSession;
declare const stream: ChatTurnStream;

// A streamed update is an official one, and carries our meta.
const official: SessionUpdate = update;
const sequence: number = update._meta.amalgm.sequence;
const extension = extensionOf(update);
if (extension?.sessionUpdate === "usage_step") same<typeof extension, WithMeta<UsageStepUpdate>>(true);

// Streams are async iterables whose iterator returns the sealed turn.
const iterable: AsyncIterable<ChatUpdate> = stream;
same<ReturnType<ChatTurnStream[typeof Symbol.asyncIterator]>, AsyncIterator<ChatUpdate, TurnRecord>>(true);
same<ChatTurnStream["completion"], Promise<TurnRecord>>(true);
same<ReturnType<Chat["replayTurn"]>, AsyncIterable<ChatUpdate>>(true);

// The store is a port, the runtime is a runtime, prompts are ACP blocks.
const port: ConversationStorePort = new SqliteConversationStore("a.sqlite");
const runtime: ChatRuntime = new NativeChatRuntime();
const prompt: PromptInput = promptFromText("a");
const blocks: ContentBlock[] = prompt.parts;
const setting: ModelSetting = { configId: "fast", type: "boolean", value: true };

// Requests are answered in ACP's own forms, by calls or by callbacks.
const allowed: Promise<void> = session.respondToPermission("a", { outcome: "selected", optionId: "b" }, "why");
const filled: Promise<void> = session.respondToElicitation("a", { action: "accept", content: { colour: "red", colours: ["red"] } });
// @ts-expect-error an outcome is `selected` or `cancelled`
const wrongOutcome: Promise<void> = session.respondToPermission("a", { outcome: "allowed" });
// @ts-expect-error a choice names its option
const noOption: Promise<void> = session.respondToPermission("a", { outcome: "selected" });
same<SessionInspection["pendingRequests"], Array<{ requestId: string; kind: "permission" | "elicitation"; turnId: string; sequence: number }>>(true);
const callbacks: NativeRuntimeOptions = {
  record: { dir: "recordings" },
  onPermissionRequest({ options }) {
    const once = options.find(({ kind }) => kind === "allow_once");
    return once && { outcome: "selected", optionId: once.optionId };
  },
  onElicitationRequest: ({ request }) => Promise.resolve(request.message === "" ? undefined : { action: "decline" }),
};
// @ts-expect-error a folder is given as `{ dir }`
const record: NativeRuntimeOptions = { record: "recordings" };
// @ts-expect-error a callback gives an outcome
const noOutcome: NativeRuntimeOptions = { onPermissionRequest: () => "allow" };

// Members are read only, and classes are structural: a host's tests can stand in for a session.
// @ts-expect-error the id of a session never changes
session.id = "other";
declare const byHand: ByHand<ChatSession>;
const standIn: ChatSession = byHand;
const rename: Transcript["lastSequence"] = 5;

// Events are told apart by their type, and become updates one by one.
declare const event: ChatEvent;
if (event.type === "tool.completed") same<typeof event.result, string>(true);
same<ReturnType<typeof textDelta>, TextDelta>(true);
same<ReturnType<typeof toSessionUpdates>, Array<SessionUpdate | ChatExtensionUpdate>>(true);
same<ReturnType<typeof normalizeRecording>, Array<SessionUpdate | ChatExtensionUpdate>>(true);
same<Parameters<typeof normalizeCodexNotification>, [message: unknown, providerSessionId: string | null, state?: object]>(true);
same<Normalizer["unmapped"], Record<string, number>>(true);
const harness: Harness = "claude_code";
// @ts-expect-error an agent that this package does not know
const nobody: Harness = "nobody";
const done: ChatEvent = { type: "done", stopReason: "end_turn" };
// @ts-expect-error a piece of text has a text
const noText: ChatEvent = { type: "text.delta" };

// Errors carry their code, and where they belong the field or the turn.
same<TurnStreamError["turn"], TurnRecord>(true);
same<ExecutionError["path"], string | null>(true);
const requestError: RequestError = new RequestError(-32000, "a");

// What is no option, or not yet one, does not compile.
// @ts-expect-error a misspelt option
void createChatHost({ ownerUserID: "a" });
// @ts-expect-error not in this version
const http: ChatHostOptions = { ownerUserId: "a", http: {} };
// @ts-expect-error not in this version
const handleHttp: unknown = host.handleHttp;
// @ts-expect-error a contract is whole
const contract: ExecutionContract = { agent: { adapterId: "codex", installationId: "default", revisionId: "1" } };

export { done, harness, noText, nobody };
export { allowed, callbacks, filled, noOption, noOutcome, record, wrongOutcome };
export { blocks, contract, handleHttp, http, iterable, official, port, rename, requestError, runtime, sequence, setting, standIn };
