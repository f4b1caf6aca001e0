// Nothing that lies around has an effect, and nothing of it is changed.
import { expect, test } from "vitest";
import { respond, text, toolUse } from "../server/messages.mjs";
import { play } from "../support.mjs";
import { TRAP_WORD } from "../traps.mjs";
import { claude, contract, mcp, mcpServer, shell, type ClaudeScene, type ContractChanges } from "./support.mjs";

function expectUntouched({ model, traps }: ClaudeScene): void {
  for (const { text } of model.requests) expect(text.toUpperCase()).not.toContain(TRAP_WORD);
  expect(traps.sprung()).toEqual([]);
  expect(traps.changes()).toEqual([]);
}

const onPermissionRequest = () => Promise.resolve({ outcome: "selected" as const, optionId: "allow" });

const MODES: ContractChanges["permissionMode"][] = ["full_access", "ask"];

test.each(MODES)("no server, instruction, skill or hook of the user or the project, in %s", async (permissionMode) => {
  const at = await claude({ resolved: { mcpServers: [mcpServer("chosen")] }, onPermissionRequest }, { permissionMode, toolIds: ["chosen"] });
  at.model.queue(respond([mcp("chosen", "echo", { text: "hello" })]), respond([text("Done.")]), respond([text("Again.")]));

  expect((await play(at)).turn.status).toBe("completed");
  expect((await play(at)).turn.status).toBe("completed");

  const servers = at.model.requests.map(({ text }) => [...new Set(text.match(/mcp__\w+/g))].filter((name) => !name.startsWith("mcp__chosen")));
  expect(servers).toEqual([[], [], []]);
  await at.host.close();
  expectUntouched(at);
});

test("the agent's own changes are the only ones in the project", async () => {
  const at = await claude();
  at.model.queue(respond([shell("echo one > by-command.txt")]), respond([toolUse("Write", { file_path: `${at.project}/by-tool.txt`, content: "two\n" })]), respond([text("Done.")]));

  await play(at);
  await at.host.close();

  expect(at.traps.changes()).toEqual([`new: ${at.project}/by-command.txt`, `new: ${at.project}/by-tool.txt`]);
  expect(at.traps.sprung()).toEqual([]);
});

test("nor after the session was picked up by a new host", async () => {
  const at = await claude();
  at.model.queue(respond([text("First.")]), respond([text("Second.")]));
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
