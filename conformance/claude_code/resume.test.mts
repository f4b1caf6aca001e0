import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { eventually, isAlive, processesWith } from "../processes.mjs";
import { held, respond, text } from "../server/messages.mjs";
import { ofKind, play, textOf } from "../support.mjs";
import { claude, claudeScene, contract, host, hostProcess, mcp, mcpServer, systemText } from "./support.mjs";

test("a new host process goes on where the last one ended", async () => {
  const at = await claudeScene();
  at.model.queue(respond([text("First answer.")]), respond([text("Second answer.")]));
  const first = await hostProcess(at);
  await (await first.send("First question.")).ended;
  await first.close();

  const second = await hostProcess(at, {}, { sessionId: first.sessionId });
  const { ended } = await second.send("Second question.");

  expect(await ended).toMatchObject({ status: "completed", ordinal: 2 });
  expect(second.recovered).toEqual([]);
  for (const said of ["First question.", "First answer.", "Second question."]) expect(at.model.requests[1]!.text).toContain(said);
});

test("a new host process goes on after the last one was killed in mid-turn", async () => {
  const at = await claudeScene();
  at.model.queue(respond([text("First answer.")]), held([text("Half an ans", "wer")], 1).answer, respond([text("Third answer.")]));
  const first = await hostProcess(at);
  await (await first.send("First question.")).ended;
  const { turnId } = await first.send("Second question.");
  await eventually("half an answer is there", () => first.updates.some((update) => update._meta.amalgm.turnId === turnId && update.sessionUpdate === "agent_message_chunk"));
  const agents = processesWith(at.folder).filter(({ environment }) => environment.CHAT_NATIVE_HOST !== undefined);
  expect(agents.length).toBeGreaterThan(0);
  await first.kill();

  const second = await hostProcess(at, {}, { sessionId: first.sessionId });
  expect(second.recovered).toMatchObject([{ id: turnId, status: "interrupted", error: { reason: "host_died" } }]);
  await eventually("the dead host's agents are gone", () => !agents.some(({ pid }) => isAlive(pid)));
  const { ended } = await second.send("Third question.");

  expect(await ended).toMatchObject({ status: "completed", ordinal: 3 });
  expect(at.model.requests.at(-1)!.text).toContain("First answer.");
});

test("the stored session of a new host: instructions and servers are there again", async () => {
  const options = { resolved: { instructions: "Keep it short.", mcpServers: [mcpServer("chosen")] } };
  const at = await claude(options, { toolIds: ["chosen"] });
  at.model.queue(respond([text("First.")]), respond([mcp("chosen", "echo", { text: "again" })]), respond([text("Second.")]));
  await play(at);
  await at.host.close();

  const again = await host(at, options);
  const { session, latestTurn } = await again.chat.resumeStoredSession(at.session.id);
  const { turn, parts } = await play({ host: again, session, execution: latestTurn!.execution });

  expect(turn.status).toBe("completed");
  expect(textOf(parts)).toBe("Second.");
  expect(at.model.requests[2]!.text).toContain("echo: again");
  expect(at.model.requests[2]!.text.split("Keep it short.")).toHaveLength(2);
});

test("other instructions reach the model", async () => {
  const at = await claude({ resolved: { instructions: "Speak like a lighthouse keeper." } });
  at.model.queue(respond([text("Aye.")]));
  await play(at);
  await at.host.close();

  const again = await host(at, { resolved: { instructions: "Speak like a librarian." } });
  const { session, latestTurn } = await again.chat.resumeStoredSession(at.session.id);
  at.model.otherwise(() => respond([text("Hush.")]));
  const { turn } = await play({ host: again, session, execution: latestTurn!.execution });

  expect(turn.status).toBe("completed");
  const last = at.model.requests.at(-1)!;
  expect(systemText(last)).toContain("Speak like a librarian.");
  expect(last.text).not.toContain("lighthouse keeper");
});

test.each([
  ["another binding", { bindingId: "another" }],
  ["another mode", { mode: "platform" as const }],
])("%s of the login opens a new session of the agent", async (_, auth) => {
  const at = await claude();
  at.model.queue(respond([text("For the first account.")]), respond([text("For the second account.")]));
  await play(at, "The first account's secret.");

  const execution = await at.host.chat.prepareExecution("other", contract(at, { auth }));
  const { turn } = await play({ ...at, execution }, "Who am I?");

  expect(turn.status).toBe("completed");
  expect(at.model.requests[1]!.text).not.toContain("The first account's secret.");
  expect(at.model.requests[1]!.text).not.toContain("For the first account.");
});

test("back at the first login, its session goes on", async () => {
  const at = await claude();
  at.model.queue(respond([text("One.")]), respond([text("Two.")]), respond([text("Three.")]));
  await play(at, "The first account's secret.");
  const other = await at.host.chat.prepareExecution("other", contract(at, { auth: { bindingId: "another" } }));
  await play({ ...at, execution: other }, "In between.");

  const { turn } = await play(at, "And now?");

  expect(turn.status).toBe("completed");
  expect(at.model.requests[2]!.text).toContain("The first account's secret.");
  expect(at.model.requests[2]!.text).not.toContain("In between.");
});

test("a session that the agent has lost: a notice, and a new one", async () => {
  const at = await claude();
  at.model.queue(respond([text("First.")]), respond([text("Second.")]));
  await play(at, "The first question.");
  await at.host.close();
  rmSync(at.stateDir, { recursive: true, force: true });

  const again = await host(at);
  const { session, latestTurn } = await again.chat.resumeStoredSession(at.session.id);
  const { turn, updates } = await play({ host: again, session, execution: latestTurn!.execution });

  expect(turn.status).toBe("completed");
  expect(JSON.stringify(ofKind(updates, "notice"))).toContain("without the earlier turns");
  expect(at.model.requests[1]!.text).not.toContain("The first question.");
});
