// Runs a turn and reports each update's sequence as soon as it has it, until somebody kills this process.
import { createChatHost } from "@amalgm/chat-native/host";
import { promptFromText } from "@amalgm/chat-native/input";
import { writeSync } from "node:fs";
import { replayContract } from "./replay-contract.mjs";

const host = await createChatHost({ ownerUserId: "demo", databasePath: process.argv[2] });
const execution = await host.chat.prepareExecution("victim", replayContract("codex/text-stream"));
const session = await host.chat.startSession({ execution, title: "A turn that is cut" });
const stream = await session.send({ execution, prompt: promptFromText("Play another recording.") });

for await (const update of stream) {
  const text = update.sessionUpdate === "agent_message_chunk" ? update.content.text : "";
  // Synchronous: what was reported is out of this process before the next update is asked for.
  writeSync(1, `${JSON.stringify({ sequence: update._meta.amalgm.sequence, text })}\n`);
}
await host.close();
