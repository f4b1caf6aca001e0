import { JavaScriptCore } from "../javascript-core/core.mjs";

export async function open(recording, databasePath) {
  const core = new JavaScriptCore({ databasePath });
  const session = core.startSession({ recording });
  return {
    send: () => session.send({ prompt: { parts: [{ type: "text", text: "go" }] } }),
    close: async () => core.close(),
  };
}
