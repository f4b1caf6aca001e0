import { ChatSessionError, TurnStreamError } from "@amalgm/chat-native/sessions";
import { SqliteConversationStore } from "@amalgm/chat-native/sqlite";
import { describe, expect, test } from "vitest";
import { collect, failure, openSession, playTurn, prompt, temporaryDatabase, TEXT } from "./support.mjs";

describe("after the end of a chat", () => {
  test("a stream that nobody looked at before still tells what became of its turn", async () => {
    const { host, session, execution } = await openSession(TEXT, "recorded");
    const sent = session.send({ execution, prompt });
    const interrupted = session.interrupt();
    await Promise.all([sent, interrupted, session.close(), host.close()]);
    expect(await (await sent).completion).toMatchObject({ status: expect.stringMatching(/cancelled|interrupted/) as string });
  });

  test("a turn that its close interrupted is interrupted for everyone, also for who comes later", async () => {
    const { host, session, execution } = await openSession(TEXT, "recorded");
    const stream = await session.send({ execution, prompt });
    const other = session.reconnect(stream.turnId);
    await host.close();
    for (const error of [await failure(collect(stream)), await failure(collect(other))]) {
      expect(error).toBeInstanceOf(TurnStreamError);
      expect(error).toMatchObject({ code: "TURN_INTERRUPTED", turn: { status: "interrupted", error: { reason: "host_closed" } } });
    }
    expect(await stream.completion).toEqual(await other.completion);
  });

  test.each(["closes too", "stays open"])("whose store %s, older turns cannot be read through it: CHAT_CLOSED", async (store) => {
    const options = store === "stays open" ? { conversations: new SqliteConversationStore(temporaryDatabase()) } : {};
    const opened = await openSession(TEXT, "instant", options);
    const { stream } = await playTurn(opened);
    const { host, session } = opened;
    const turn = await stream.completion;
    await host.close();
    expect(await stream.completion).toEqual(turn);
    const late = session.reconnect(stream.turnId);
    const attempts = [collect(stream), collect(late), late.completion, collect(host.chat.replayTurn(session.id, stream.turnId))];
    for (const error of await Promise.all(attempts.map(failure))) {
      expect(error).toBeInstanceOf(ChatSessionError);
      expect(error).toMatchObject({ code: "CHAT_CLOSED" });
    }
  });
});
