// Nothing that lies around has an effect, and nothing of it is changed.
import { expect, test } from "vitest";
import { message, respond } from "../server/responses.mjs";
import { play } from "../support.mjs";
import { TRAP_WORD } from "../traps.mjs";
import { codex, contract, mcp, mcpServer, patch, shell, type ContractChanges } from "./support.mjs";
import type { Scene } from "../support.mjs";

function expectUntouched({ model, traps }: Scene): void {
  for (const { text } of model.requests) expect(text.toUpperCase()).not.toContain(TRAP_WORD);
  expect(traps.sprung()).toEqual([]);
  expect(traps.changes()).toEqual([]);
}

const MODES: ContractChanges["permissionMode"][] = ["full_access", "ask"];

test.each(MODES)("no server, instruction, skill or hook of the user or the project, in %s", async (permissionMode) => {
  const at = await codex({ resolved: { mcpServers: [mcpServer("chosen")] } }, { permissionMode, toolIds: ["chosen"] });
  at.model.queue(respond([mcp("chosen", "echo", { text: "hello" })]), respond([message("Done.")]), respond([message("Again.")]));

  expect((await play(at)).turn.status).toBe("completed");
  expect((await play(at)).turn.status).toBe("completed");

  const servers = at.model.requests.map(({ text }) => [...new Set(text.match(/mcp__\w+/g))].filter((name) => !name.startsWith("mcp__chosen")));
  expect(servers).toEqual([[], [], []]);
  await at.host.close();
  expectUntouched(at);
});

test("the agent's own changes are the only ones in the project", async () => {
  const at = await codex();
  at.model.queue(respond([shell("echo one > by-command.txt")]), respond([patch("*** Add File: by-patch.txt", "+two")]), respond([message("Done.")]));

  await play(at);
  await at.host.close();

  expect(at.traps.changes()).toEqual([`new: ${at.project}/by-command.txt`, `new: ${at.project}/by-patch.txt`]);
  expect(at.traps.sprung()).toEqual([]);
});

test("nor after the session was picked up by a new host", async () => {
  const at = await codex();
  at.model.queue(respond([message("First.")]), respond([message("Second.")]));
  await play(at);
  await at.host.close();

  const { host } = await import("./support.mjs");
  const again = await host(at);
  const execution = await again.chat.prepareExecution("again", contract(at));
  const session = await again.chat.resumeSession({ sessionId: at.session.id, execution });
  expect((await play({ host: again, session, execution })).turn.status).toBe("completed");
  await again.close();

  expect(at.model.requests).toHaveLength(2);
  expectUntouched(at);
});
