import { expect, test } from "vitest";
import { eventually, processesWith } from "../processes.mjs";
import { held, respond, text, toolUse } from "../server/messages.mjs";
import { errorNotices, partsOf, play, send, textOf, toolsOf } from "../support.mjs";
import { claude, shell } from "./support.mjs";

test("while the model speaks: the turn is cancelled, its text kept, and the next turn works", async () => {
  const { model, ...at } = await claude();
  const answer = held([text("What was said", " and what not")], 1);
  model.queue(answer.answer);

  const turn = await send(at);
  await turn.first("agent_message_chunk");
  await at.session.interrupt();

  expect(await turn.ended).toMatchObject({ status: "cancelled", stopReason: "cancelled", error: null });
  await answer.abandoned;
  expect(textOf(await partsOf(at.session, turn.id))).toBe("What was said");
  expect(errorNotices(turn.updates)).toEqual([]);
  model.queue(respond([text("Here again.")]));
  expect((await play(at)).turn.status).toBe("completed");
});

test("while a command runs: its process is gone when the turn is over, and its call has failed", async () => {
  const { model, ...at } = await claude();
  const marker = "sleep 601";
  model.queue(respond([shell(`touch running; ${marker}`)]));

  const turn = await send(at);
  const sleeping = () => processesWith(at.folder).filter((running) => running.arguments.join(" ") === marker);
  await eventually("the command runs", () => sleeping().length === 1);
  await turn.first("tool_call");
  await at.session.interrupt();

  expect(await turn.ended).toMatchObject({ status: "cancelled", stopReason: "cancelled" });
  await eventually("the command is gone", () => sleeping().length === 0, sleeping, 10_000);
  expect(toolsOf(await partsOf(at.session, turn.id))).toMatchObject([{ status: "failed" }]);
  model.queue(respond([text("Here again.")]));
  const next = await play(at);
  expect(next.turn.status).toBe("completed");
  expect(toolsOf(next.parts)).toEqual([]);
});

test("a command that stays behind a finished turn does not outlive its host", async () => {
  const { model, ...at } = await claude();
  const marker = "sleep 602";
  model.queue(respond([shell(marker, { run_in_background: true })]), respond([text("It runs in the background.")]));

  expect((await play(at)).turn.status).toBe("completed");
  await at.host.close();

  await eventually("nothing is left", () => processesWith(at.folder).length === 0, () => processesWith(at.folder).map((running) => running.arguments), 15_000);
});

test("where no turn runs, an interrupt changes nothing", async () => {
  const { model, ...at } = await claude();
  model.queue(respond([text("One.")]), respond([text("Two.")]));
  await play(at);
  await at.session.interrupt();
  expect((await play(at)).turn.status).toBe("completed");
});

test("in the midst of a tool's input: the call has failed and nothing of it ran", async () => {
  const { model, ...at } = await claude();
  const answer = held([toolUse("Write", { file_path: `${at.project}/never.txt`, content: "never\n" }, 6)], 3);
  model.queue(answer.answer);

  const turn = await send(at);
  await turn.first("tool_call");
  await at.session.interrupt();

  expect(await turn.ended).toMatchObject({ status: "cancelled", stopReason: "cancelled", error: null });
  expect(toolsOf(await partsOf(at.session, turn.id))).toMatchObject([{ status: "failed" }]);
  model.queue(respond([text("Here again.")]));
  expect((await play(at)).turn.status).toBe("completed");
  expect(at.traps.changes()).toEqual([]);
});

test("before anything was said: the turn is cancelled, and the next one works", async () => {
  const { model, ...at } = await claude();
  model.otherwise(() => respond([text("Here again.")]));

  const turn = await send(at);
  await at.session.interrupt();

  expect(["cancelled", "completed"]).toContain((await turn.ended).status);
  expect((await play(at)).turn.status).toBe("completed");
});
