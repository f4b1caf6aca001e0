import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnRecord } from "@amalgm/chat-native/conversations";
import { NativeChatRuntime } from "@amalgm/chat-native/host";
import { Chat } from "@amalgm/chat-native/sessions";
import { SqliteConversationStore } from "@amalgm/chat-native/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { eventually, processesWith } from "../processes.mjs";
import { held, respond, text } from "../server/messages.mjs";
import { follow, partsOf, play, resolved, send, textOf, type Conversation } from "../support.mjs";
import { claudeScene, contract, installations, shell, type ClaudeScene } from "./support.mjs";

/** The model leaves a command behind that ends when the file `go` is there. */
const BACKGROUND = shell("while [ ! -e go ]; do sleep 0.05; done; echo over", { run_in_background: true });

/** A conversation whose first turn has left a command behind, and the turns that the agent begins. */
async function withBackground(): Promise<ClaudeScene & Omit<Conversation, "host"> & { own: TurnRecord[]; go: () => void }> {
  const at = await claudeScene();
  const own: TurnRecord[] = [];
  const conversations = new SqliteConversationStore(at.databasePath);
  const runtime = new NativeChatRuntime({ installations, stateDir: at.stateDir, resolve: () => resolved(at) });
  const chat = new Chat({
    ownerUserId: "owner",
    conversations,
    runtime,
    onTurn: (turn) => {
      if (turn.origin === "agent" && turn.status === "running") own.push(turn);
    },
  });
  onTestFinished(async () => {
    await chat.close();
    await runtime.close();
    await conversations.close();
  });
  const execution = await chat.prepareExecution("execution", contract(at));
  const session = await chat.startSession({ execution });
  const conversation = { ...at, execution, session };
  at.model.queue(respond([BACKGROUND]), respond([text("It runs.")]));
  const { turn, parts } = await play(conversation, "Run it.");
  expect(turn).toMatchObject({ status: "completed", origin: "host" });
  expect(textOf(parts)).toBe("It runs.");
  return {
    ...conversation,
    own,
    go: () => {
      writeFileSync(join(at.project, "go"), "");
    },
  };
}

async function endOf({ own, session }: { own: TurnRecord[] } & Pick<Conversation, "session">): Promise<{ turn: TurnRecord; said: string }> {
  await eventually("the agent's own turn begins", () => own.length > 0);
  const turn = await follow(session.reconnect(own[0]!.id)).ended;
  return { turn, said: textOf(await partsOf(session, turn.id)) };
}

test("a command in the background that ends after the turn: a turn of the agent's own, and the next one is apart", async () => {
  const at = await withBackground();
  // Its pieces come with pauses, as a model's do.
  const answer = held([text("It is", " over.")], 1);
  at.model.queue(answer.answer);
  at.go();
  await answer.begun;
  await new Promise((resolve) => setTimeout(resolve, 500));
  answer.release();

  expect(await endOf(at)).toMatchObject({ turn: { status: "completed", origin: "agent" }, said: "It is over." });
  expect(at.own).toHaveLength(1);
  at.model.queue(respond([text("The next answer.")]));
  const next = await play(at, "And the next?");
  expect(next.turn).toMatchObject({ status: "completed", origin: "host" });
  expect(textOf(next.parts)).toBe("The next answer.");
});

test("a command in the background that ends while another turn runs is not mixed into it", async () => {
  const at = await withBackground();
  const answer = held([text("The next", " answer.")], 1);
  at.model.queue(answer.answer, respond([text("It is over.")]));

  const turn = await send(at, "And the next?");
  await turn.first("agent_message_chunk");
  at.go();
  await eventually("the command is over", () => !processesWith(at.folder).some((running) => running.arguments.join(" ").includes("-e go")));
  answer.release();

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(textOf(await partsOf(at.session, turn.id))).toBe("The next answer.");
  expect(await endOf(at)).toMatchObject({ turn: { status: "completed", origin: "agent" }, said: "It is over." });
});
