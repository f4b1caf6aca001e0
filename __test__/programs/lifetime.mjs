// How a process can end around a turn: `node lifetime.mjs <way> <database>`.
import { createChatHost } from "@amalgm/chat-native/host";
import { promptFromText } from "@amalgm/chat-native/input";

const [way, databasePath] = process.argv.slice(2);

async function begin(host, pace, recording = "codex/text-stream", permissionMode = "full_access") {
  const execution = await host.chat.prepareExecution("execution", {
    agent: { adapterId: "replay", installationId: recording, revisionId: "1" },
    model: { providerId: "recorded", modelId: "recorded", settings: [{ configId: "pace", value: pace }] },
    auth: { mode: "subscription", bindingId: "none" },
    tools: { revisionId: null, toolIds: [] },
    cwd: { path: process.cwd(), workspaceId: null, materializationRevision: null },
    permissionMode,
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

const open = (ownerUserId = "owner", native = {}) => createChatHost({ ownerUserId, databasePath, native });
const ask = (host) => begin(host, "instant", "codex/approval-command-accept", "ask");

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
  /** The callback has answered; it waits for further requests, and nothing was closed. */
  async idleWithCallback() {
    const onPermissionRequest = ({ options }) => ({ outcome: "selected", optionId: options[0].optionId });
    const turn = await (await ask(await open("owner", { onPermissionRequest }))).completion;
    console.log(turn.status);
  },
  /** The core waits for a callback that fails: it must not end the process. */
  async failingCallback() {
    const onPermissionRequest = () => Promise.reject(new Error("out of order"));
    const turn = await (await ask(await open("owner", { onPermissionRequest }))).completion;
    console.log(turn.status);
  },
  /** In a callback that never answers. */
  async exitWhileAsking() {
    const onPermissionRequest = () => {
      setImmediate(() => process.exit(7));
      return new Promise(() => undefined);
    };
    await ask(await open("owner", { onPermissionRequest }));
  },
  /** While a callback is asked that never answers. */
  async closeWhileAsking() {
    let asked;
    const whenAsked = new Promise((resolve) => (asked = resolve));
    const host = await open("owner", { onPermissionRequest: () => new Promise(asked) });
    const { completion } = await ask(host);
    await whenAsked;
    await host.close();
    console.log((await completion).status);
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
