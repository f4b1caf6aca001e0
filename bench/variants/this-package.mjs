import { createRequire } from "node:module";
import { dirname } from "node:path";

const require = createRequire(import.meta.url);

const contractFor = (recording) => ({
  agent: { adapterId: "replay", installationId: recording, revisionId: "1" },
  model: { providerId: "openai", modelId: "gpt-5.5", settings: [] },
  auth: { mode: "platform", bindingId: "bench" },
  tools: { revisionId: null, toolIds: [] },
  cwd: { path: "/", workspaceId: null, materializationRevision: null },
  permissionMode: "full_access",
  computerId: "bench",
});

export async function open(recording, databasePath) {
  const { createChatHost } = require("../../dist/host.js");
  const host = await createChatHost({ ownerUserId: "bench", databasePath, native: { replayDirs: [dirname(recording)] } });
  const execution = await host.chat.prepareExecution("bench", contractFor(recording));
  const session = await host.chat.startSession({ execution });
  return {
    send: () => session.send({ execution, prompt: { parts: [{ type: "text", text: "go" }] } }),
    close: () => host.close(),
  };
}
