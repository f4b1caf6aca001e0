// Turns that end in every way, each with a command of the agent's that would run for ten minutes: when a new host has
// recovered, nothing that was started is left.
import { expect, test } from "vitest";
import { eventually, processesWith } from "../processes.mjs";
import { respond } from "../server/messages.mjs";
import { kill } from "../support.mjs";
import { claudeScene, hostProcess, shell } from "./support.mjs";

const TURNS = 30;
const SEED = 20261130;

const WAYS = ["interrupt", "kill the host", "kill the agent", "interrupt and kill the host"] as const;

/** mulberry32: small, and the same on every machine. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test(`${String(TURNS)} turns that are interrupted or killed leave no process`, { timeout: 600_000 }, async () => {
  const at = await claudeScene();
  const random = randoms(SEED);
  let sessionId: string | undefined;
  let host: Awaited<ReturnType<typeof hostProcess>> | null = null;
  let turn = 0;
  at.model.otherwise(() => {
    turn += 1;
    // One in the foreground, and one that the shell leaves behind.
    return respond([shell(`touch begun; sleep 604.${String(turn)} & sleep 605.${String(turn)}; true`)]);
  });
  const ours = (text: string) => processesWith(at.folder).filter((running) => running.arguments[0] === "sleep" && running.arguments[1] === text);
  const seen = new Set<string>();

  for (let round = 0; round < TURNS; round += 1) {
    host ??= await hostProcess(at, {}, { sessionId });
    sessionId = host.sessionId;
    const way = WAYS[Math.floor(random() * WAYS.length)]!;
    const context = `round ${String(round)}: ${way}`;
    const before = turn;
    const { ended } = await host.send(`Round ${String(round)}.`);
    // Now and then at once, mostly when the command runs.
    if (random() < 0.8) {
      await eventually(`${context}: the command runs`, () => turn > before && ours(`605.${String(turn)}`).length > 0 && ours(`604.${String(turn)}`).length > 0);
      seen.add(way);
    }
    if (way.startsWith("interrupt")) {
      const interrupted = host.interrupt();
      if (way === "interrupt") {
        await interrupted;
        expect((await ended).status, context).toBe("cancelled");
      } else {
        interrupted.catch(() => undefined);
      }
    }
    if (way === "kill the agent") {
      for (const { pid } of processesWith(at.folder).filter((running) => running.arguments.includes("--input-format=stream-json"))) kill(pid);
      expect(["failed", "completed"], context).toContain((await ended).status);
    }
    if (way.endsWith("kill the host")) {
      await host.kill();
      host = null;
    }
  }

  host ??= await hostProcess(at, {}, { sessionId });
  await host.close();
  const left = () => processesWith(at.folder).filter(({ pid }) => pid !== host?.pid);
  await eventually("nothing is left", () => left().length === 0, () => left().map((running) => running.arguments), 30_000);
  expect([...seen].sort()).toEqual([...WAYS].sort());
});
