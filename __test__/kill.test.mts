import { createChatHost } from "@amalgm/chat-native/host";
import { expect, test } from "vitest";
import { collect, countTo, longRecording, runProgram, sequenceOf, temporaryDatabase } from "./support.mjs";

const ROUNDS = 100;

// A round is a process that starts, streams and dies, and a host that opens the file after it.
test(`kill -9 in mid-turn, ${String(ROUNDS)} times: nothing that was seen is lost, and the turn is sealed once`, { timeout: 600_000 }, async () => {
  const fast = longRecording(2000);
  // At the agent's own pace a commit holds one update instead of many.
  const slow = longRecording(300, 2);
  const databasePath = temporaryDatabase();
  let interrupted = 0;

  for (let round = 0; round < ROUNDS; round += 1) {
    const [{ path, replayDirs }, pace, most] = round % 2 === 0 ? ([fast, "instant", 1500] as const) : ([slow, "recorded", 290] as const);
    const killAt = Math.floor(Math.random() * most);
    const lines: string[] = [];
    const { signal, stderr } = await runProgram("victim.mjs", [databasePath, path, replayDirs[0]!, pace], (line, kill) => {
      lines.push(line);
      if (lines.length > killAt) kill();
    });
    const context = `round ${String(round)}, killed at ${String(killAt)}: ${stderr}`;
    expect(stderr, context).toBe("");
    const [conversationId, turnId] = lines[0]!.split(" ") as [string, string];
    const seen = lines.slice(1).map(Number);

    const host = await createChatHost({ ownerUserId: "owner", databasePath });
    const journal = await collect(host.chat.replayTurn(conversationId, turnId));
    expect(journal.map(sequenceOf), context).toEqual(countTo(journal.length));
    expect(seen, context).toEqual(countTo(seen.length));
    expect(journal.length, context).toBeGreaterThanOrEqual(seen.length);

    const turn = await host.chat.latestTurn(conversationId);
    expect(turn, context).toMatchObject({ id: turnId, lastSequence: journal.length });
    // A process that was quick enough had its turn sealed before the signal came.
    if (turn!.status === "completed") {
      expect(host.recoveredTurns, context).toEqual([]);
    } else {
      expect(signal, context).toBe("SIGKILL");
      expect(host.recoveredTurns, context).toEqual([turn]);
      expect(turn, context).toMatchObject({ status: "interrupted", error: { code: "TURN_INTERRUPTED", reason: "host_died" } });
      interrupted += 1;
    }
    expect(await host.chat.recoverInterruptedTurns(), context).toEqual([]);
    await host.close();
  }
  expect(interrupted).toBeGreaterThan(ROUNDS / 2);
});
