// Runs a turn and reports each update's sequence as soon as it has it, until it is killed:
// `node victim.mjs <database> <recording> <replay folder> <pace>`.
import { createChatHost } from "@amalgm/chat-native/host";
import { promptFromText } from "@amalgm/chat-native/input";
import { writeSync } from "node:fs";

const [databasePath, installationId, replayDir, pace] = process.argv.slice(2);

const host = await createChatHost({ ownerUserId: "owner", databasePath, native: { replayDirs: [replayDir] } });
const execution = await host.chat.prepareExecution("execution", {
  agent: { adapterId: "replay", installationId, revisionId: "1" },
  model: { providerId: "recorded", modelId: "recorded", settings: [{ configId: "pace", value: pace }] },
  auth: { mode: "subscription", bindingId: "none" },
  tools: { revisionId: null, toolIds: [] },
  cwd: { path: process.cwd(), workspaceId: null, materializationRevision: null },
  permissionMode: "full_access",
  computerId: "test",
});
const session = await host.chat.startSession({ execution });
const stream = await session.send({ execution, prompt: promptFromText("Play.") });
// Synchronous writes: what was reported has left this process before the next update is asked for.
writeSync(1, `${session.id} ${stream.turnId}\n`);
for await (const update of stream) writeSync(1, `${update._meta.amalgm.sequence}\n`);
await host.close();
