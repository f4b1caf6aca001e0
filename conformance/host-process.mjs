// A host in a process of its own, to be killed: takes commands as JSON lines `{id, call, args}` and answers `{id, result}` or
// `{id, error}`; what a turn streams comes between them as `{update}`, its end as `{ended}`.
import { createChatHost } from "@amalgm/chat-native/host";
import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

let host;
let session;
let execution;

const commands = {
  /** `resolved`: what every contract resolves to. Where `sessionId` is given, that conversation is picked up. */
  async open({ databasePath, native, resolved, contract, sessionId }) {
    host = await createChatHost({ ownerUserId: "owner", databasePath, native: { ...native, resolve: () => resolved } });
    execution = await host.chat.prepareExecution("execution", contract);
    session = await (sessionId === undefined ? host.chat.startSession({ execution }) : host.chat.resumeSession({ sessionId, execution }));
    return { sessionId: session.id, recovered: host.recoveredTurns };
  },
  async send({ text }) {
    const stream = await session.send({ execution, prompt: { parts: [{ type: "text", text }] } });
    void follow(stream);
    return { turnId: stream.turnId };
  },
  interrupt: () => session.interrupt(),
  close: () => host.close(),
};

async function follow(stream) {
  try {
    for await (const update of stream) say({ update });
  } catch {
    // The completion tells how it failed.
  }
  say({ ended: await stream.completion });
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, call, args } = JSON.parse(line);
  try {
    say({ id, result: (await commands[call](args)) ?? null });
  } catch (error) {
    say({ id, error: { code: error.code ?? null, message: error.message } });
  }
});
