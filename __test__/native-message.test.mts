import { SqliteConversationStore } from "@amalgm/chat-native/sqlite";
import { describe, expect, test } from "vitest";
import type { ChatUpdate } from "@amalgm/chat-native/acp";
import { openSession, playTurn, sequenceOf, temporaryDatabase, TOOL } from "./support.mjs";

// The agent's own message is parsed when somebody looks at it; nobody may notice.
async function streamed(): Promise<{ updates: ChatUpdate[]; journal: ChatUpdate[] }> {
  const conversations = new SqliteConversationStore(temporaryDatabase());
  const opened = await openSession(TOOL, "instant", { conversations });
  const { stream, updates } = await playTurn(opened);
  const entries = await conversations.readUpdates("owner", opened.session.id, stream.turnId, 0, 1000);
  return { updates, journal: entries.map(({ json }) => JSON.parse(json) as ChatUpdate) };
}

const messageOf = (update: ChatUpdate): unknown => {
  const { native } = update._meta.amalgm;
  return native !== undefined && "message" in native ? native.message : undefined;
};

describe("a native message", () => {
  test("is what the journal holds, read directly, copied or as text", async () => {
    const { updates, journal } = await streamed();
    expect(updates.filter((update) => messageOf(update) !== undefined).length).toBeGreaterThan(5);
    expect(updates.map((update) => JSON.stringify(update))).toEqual(journal.map((update) => JSON.stringify(update)));
    expect(updates).toStrictEqual(journal);
    expect(structuredClone(updates)).toStrictEqual(journal);
    const spread = updates.map((update) => ({ ...update._meta.amalgm.native }));
    expect(spread).toStrictEqual(journal.map((update) => ({ ...update._meta.amalgm.native })));
  });

  test("stays the same object, and can be replaced", async () => {
    const { updates } = await streamed();
    const update = updates.find((candidate) => messageOf(candidate) !== undefined)!;
    expect(messageOf(update)).toBe(messageOf(update));
    Object.assign(update._meta.amalgm.native!, { message: "masked" });
    expect(messageOf(update)).toBe("masked");
    expect(JSON.stringify(update)).toContain('"message":"masked"');
  });

  test("can be read after the update was frozen, and after later batches", async () => {
    const { updates, journal } = await streamed();
    for (const update of updates) Object.freeze(update._meta.amalgm.native);
    for (const update of updates.toReversed()) {
      expect(messageOf(update)).toEqual(messageOf(journal[sequenceOf(update) - 1]!));
    }
  });
});
