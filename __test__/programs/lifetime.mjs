// How a process can end around a turn: `node lifetime.mjs <way> <database>`.
import { createChatHost } from "@amalgm/chat-native/host";
import { promptFromText } from "@amalgm/chat-native/input";

const [way, databasePath] = process.argv.slice(2);

async function begin(host, pace) {
  const execution = await host.chat.prepareExecution("execution", {
    agent: { adapterId: "replay", installationId: "codex/text-stream", revisionId: "1" },
    model: { providerId: "recorded", modelId: "recorded", settings: [{ configId: "pace", value: pace }] },
    auth: { mode: "subscription", bindingId: "none" },
    tools: { revisionId: null, toolIds: [] },
    cwd: { path: process.cwd(), workspaceId: null, materializationRevision: null },
    permissionMode: "full_access",
    computerId: "test",
  });
  const session = await host.chat.startSession({ execution });
  return session.send({ execution, prompt: promptFromText("Play.") });
}

async function count(stream) {
  let updates = 0;
  for await (const _ of stream) updates += 1;
  return updates;
}

const open = (ownerUserId = "owner") => createChatHost({ ownerUserId, databasePath });

const ways = {
  /** In the middle of a turn, while its updates are being read. */
  async exit() {
    for await (const update of await begin(await open(), "recorded")) {
      if (update._meta.amalgm.sequence === 3) process.exit(7);
    }
  },
  async exitWhileCallsAreOpen() {
    const host = await open();
    const stream = await begin(host, "recorded");
    void stream.completion;
    void count(stream);
    void host.chat.listConversations();
    process.exit(7);
  },
  async throwInTheMiddle() {
    for await (const update of await begin(await open(), "recorded")) {
      if (update._meta.amalgm.sequence === 3) setImmediate(() => { throw new Error("nobody catches this"); });
    }
  },
  /** Nothing is closed: the event loop has nothing left to do. */
  async idle() {
    console.log(await count(await begin(await open(), "instant")));
  },
  /** The reader is gone, the turn goes on: nobody waits for it. */
  async leaveEarly() {
    for await (const _ of await begin(await open(), "instant")) break;
  },
  async twoHosts() {
    const hosts = [await open("one"), await open("two")];
    const counts = await Promise.all(hosts.map(async (host) => count(await begin(host, "recorded"))));
    console.log(JSON.stringify(counts));
    console.log(process.listenerCount("exit"));
    for (const host of hosts) await host.close();
    console.log(process.listenerCount("exit"));
  },
  async twoHostsExit() {
    const hosts = [await open("one"), await open("two")];
    for (const host of hosts) await begin(host, "recorded");
    process.exit(7);
  },
  async closeInTheMiddle() {
    const host = await open();
    const stream = await begin(host, "recorded");
    const { completion } = stream;
    for await (const _ of stream) break;
    await Promise.all([host.close(), host.close()]);
    const { status, error } = await completion;
    console.log(JSON.stringify({ status, reason: error.reason }));
  },
};

await ways[way]();
