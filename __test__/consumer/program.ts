// A host as somebody writes it for `@amalgm/chat`: compiled by `tsc --strict` and run in an empty project, as an ES module
// and as CommonJS. Every entry point is imported.
import { Chat, ChatSession, ChatSessionError, ChatTurnStream } from "@amalgm/chat";
import { extensionOf, PROTOCOL_VERSION, RequestError, type ChatUpdate, type SessionUpdate } from "@amalgm/chat/acp";
import type { MessageRecord as ApiMessage } from "@amalgm/chat/api";
import { summarizeConversation, type ConversationStorePort, type MessageRecord, type TurnRecord } from "@amalgm/chat/conversations";
import type { ChatEvent } from "@amalgm/chat/events";
import { ExecutionError, executionRevision, type ExecutionContract } from "@amalgm/chat/execution";
import { createChatHost, NativeChatRuntime, type ChatHost, type ChatRuntime } from "@amalgm/chat/host";
import { normalizePrompt, PromptError, promptFromText } from "@amalgm/chat/input";
import type { Harness } from "@amalgm/chat/normalizers";
import { TurnStreamError, type ChatOptions } from "@amalgm/chat/sessions";
import { SqliteConversationStore } from "@amalgm/chat/sqlite";
import { reduceTranscript } from "@amalgm/chat/transcript";
import { finalizeTurnUsage, type TurnUsage } from "@amalgm/chat/usage";

declare const process: { argv: string[]; exitCode?: number };

const contract: ExecutionContract = {
  agent: { adapterId: "replay", installationId: "codex/text-stream", revisionId: "1" },
  model: { providerId: "recorded", modelId: "recorded", settings: [{ configId: "pace", value: "instant" }] },
  auth: { mode: "subscription", bindingId: "none" },
  tools: { revisionId: null, toolIds: [] },
  cwd: { path: "/", workspaceId: null, materializationRevision: null },
  permissionMode: "full_access",
  computerId: "this",
};
const harness: Harness = "codex";
const event: ChatEvent = { type: "text.delta", text: harness };

/** A renderer written for ACP, without a word of this package. */
function render(update: SessionUpdate): string {
  return update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? update.content.text : "";
}

function check(condition: boolean, what: string): void {
  if (!condition) throw new Error(`not so: ${what}`);
}

async function collect(stream: AsyncIterable<ChatUpdate>): Promise<string[]> {
  const texts: string[] = [];
  for await (const update of stream) texts.push(JSON.stringify(update));
  return texts;
}

async function playTurn(host: ChatHost): Promise<string> {
  const execution = await host.chat.prepareExecution("execution", contract);
  check(execution.revision === executionRevision(contract), "the handle carries the contract's revision");
  const session: ChatSession = await host.chat.startSession({ execution, title: "From a stranger" });
  const stream: ChatTurnStream = await session.send({ execution, prompt: normalizePrompt(promptFromText("Say hello.")) });

  const updates: ChatUpdate[] = [];
  for await (const update of stream) updates.push(update);
  console.log(updates.map(render).join(""));
  const turn: TurnRecord = await stream.completion;
  console.log(turn.status);

  const all = updates.map((update) => JSON.stringify(update));
  for (let k = 0; k <= all.length; k += 1) {
    const rest = await collect(session.reconnect(stream.turnId, { afterSequence: k }));
    check(JSON.stringify(rest) === JSON.stringify(all.slice(k)), `reconnect after ${k}`);
  }

  const [, answer]: MessageRecord[] = await session.messages();
  check(JSON.stringify(reduceTranscript(updates)) === JSON.stringify(answer?.parts), "the transcript is the stored message");
  const usage: TurnUsage = finalizeTurnUsage(await session.usageSteps());
  check(JSON.stringify(usage) === JSON.stringify(turn.usage), "the usage is the sum of the steps");
  check(updates.some((update) => extensionOf(update)?.sessionUpdate === "usage_step"), "the usage was streamed");
  return session.id;
}

async function typedErrors(chat: Chat): Promise<void> {
  const stale = chat.startSession({ execution: { id: "never", revision: "prepared" } });
  await stale.then(
    () => check(false, "an unprepared execution starts nothing"),
    (error: unknown) => check(error instanceof ExecutionError && error.code === "EXECUTION_NOT_PREPARED", "EXECUTION_NOT_PREPARED"),
  );
  await chat.resumeStoredSession("nobody").then(
    () => check(false, "nobody is unknown"),
    (error: unknown) => check(error instanceof ChatSessionError && !(error instanceof TurnStreamError), "SESSION_NOT_FOUND"),
  );
  try {
    normalizePrompt({ parts: [] });
  } catch (error) {
    check(error instanceof PromptError && error.code === "INVALID_PROMPT", "INVALID_PROMPT");
  }
}

async function main(): Promise<void> {
  const databasePath = process.argv[2] ?? "chat.sqlite";
  check(event.type === "text.delta" && PROTOCOL_VERSION > 0 && new RequestError(1, "a") instanceof Error, "values of the SDK");

  const first = await createChatHost({ ownerUserId: "stranger", databasePath });
  const id = await playTurn(first);
  await typedErrors(first.chat);
  await first.close();

  const second = await createChatHost({ ownerUserId: "stranger", databasePath });
  check(second.recoveredTurns.length === 0, "nothing was left running");
  const { session, latestTurn } = await second.chat.resumeStoredSession(id);
  const messages: ApiMessage[] = await session.messages();
  const { conversation } = await session.inspect();
  check(summarizeConversation(conversation, latestTurn).status === "completed", "the list row");
  await second.close();

  // The parts that a host can put together by hand.
  const conversations: ConversationStorePort = new SqliteConversationStore({ path: databasePath, durability: "power" });
  const runtime: ChatRuntime = new NativeChatRuntime({ idleTimeoutMs: 1000 });
  const options: ChatOptions = { ownerUserId: "stranger", conversations, runtime };
  const chat = new Chat(options);
  check((await chat.listConversations()).length === 1, "one conversation");
  await chat.close();
  await runtime.close();
  await conversations.close();

  console.log(`reconnected at every k, resumed with ${messages.length} messages`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
