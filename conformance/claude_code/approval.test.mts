import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { respond, text, toolUse } from "../server/messages.mjs";
import { failure, follow, ofKind, partsOf, send, toolsOf, type AnyUpdate, type Conversation, type Turn } from "../support.mjs";
import type { HostOptions } from "../support.mjs";
import { claude, mcp, mcpServer, shell, toolResults, type ClaudeScene, type ContractChanges } from "./support.mjs";

const asking = (options: HostOptions = {}, changes: ContractChanges = {}): Promise<ClaudeScene & Conversation> => claude(options, { permissionMode: "ask", ...changes });

type Choice = "allow_once" | "allow_always" | "reject_once";

/** Answers the turn's next open request with a choice of this kind. */
async function choose({ session }: Conversation, turn: Turn, kind: Choice, reason?: string) {
  const isOpen = ({ requestId }: { requestId: string }): boolean => !ofKind(turn.updates, "permission_response").some((answer) => answer.requestId === requestId);
  const request = await turn.first("permission_request", isOpen);
  const option = request.options.find((candidate) => candidate.kind === kind);
  if (option === undefined) throw new Error(`no ${kind} among ${JSON.stringify(request.options)}`);
  await session.respondToPermission(request.requestId, { outcome: "selected", optionId: option.optionId }, reason);
  return request;
}

const requests = (updates: AnyUpdate[]) => ofKind(updates, "permission_request");
const responses = (updates: AnyUpdate[]) => ofKind(updates, "permission_response");
const write = (project: string, name: string, content = "written\n") => toolUse("Write", { file_path: join(project, name), content });

test("a command that is allowed once runs, and the next one asks again", async () => {
  const at = await asking();
  at.model.queue(respond([shell("rm -f gone; touch allowed.txt")]), respond([shell("rm -f gone; touch allowed.txt")]), respond([text("Done.")]));

  const turn = await send(at);
  const request = await choose(at, turn, "allow_once");
  expect(existsSync(join(at.project, "allowed.txt"))).toBe(false);
  await turn.first("permission_request", ({ requestId }) => requestId !== request.requestId);
  await choose(at, turn, "allow_once");

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(request).toMatchObject({ action: "Bash" });
  expect(JSON.stringify(request.args)).toContain("touch allowed.txt");
  expect(requests(turn.updates)).toHaveLength(2);
  expect(responses(turn.updates)).toMatchObject([{ approved: true, by: "host" }, { approved: true, by: "host" }]);
  expect(existsSync(join(at.project, "allowed.txt"))).toBe(true);
  const tools = toolsOf(await partsOf(at.session, turn.id));
  expect(tools).toMatchObject([{ status: "completed", toolCallId: request.toolCallId }, { status: "completed" }]);
});

test("a command that is allowed with another input runs with that one", async () => {
  const at = await asking();
  at.model.queue(respond([shell("touch original.txt")]), respond([text("Done.")]));
  const updatedInput = { command: "touch changed.txt; echo it was changed", description: "A changed command" };
  const outcome = { outcome: "selected" as const, optionId: "allow", _meta: { amalgm: { updatedInput } } };

  const turn = await send(at);
  const { requestId } = await turn.first("permission_request");
  const denial = { ...outcome, optionId: "reject" };
  expect(await failure(at.session.respondToPermission(requestId, denial))).toMatchObject({ code: "INVALID_OPTIONS", path: "outcome._meta.amalgm.updatedInput" });
  expect((await at.session.inspect()).pendingRequests).toMatchObject([{ requestId }]);
  await at.session.respondToPermission(requestId, outcome);

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(at.traps.changes()).toEqual([`new: ${at.project}/changed.txt`]);
  expect(responses(turn.updates)).toMatchObject([{ requestId, outcome, approved: true, by: "host" }]);
  const [tool] = toolsOf(await partsOf(at.session, turn.id));
  expect(tool).toMatchObject({ status: "completed", input: updatedInput, permission: outcome });
  expect(toolResults(at.model.requests[1]!)).toContain("it was changed");
});

test("code of the host may change the input as well", async () => {
  const updatedInput = { command: "touch changed.txt", description: "A changed command" };
  const onPermissionRequest = () => ({ outcome: "selected" as const, optionId: "allow_always", _meta: { amalgm: { updatedInput } } });
  const at = await asking({ onPermissionRequest });
  at.model.queue(respond([shell("touch original.txt")]), respond([text("Done.")]));

  const turn = await send(at);

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(at.traps.changes()).toEqual([`new: ${at.project}/changed.txt`]);
  expect(toolsOf(await partsOf(at.session, turn.id))).toMatchObject([{ status: "completed", input: updatedInput }]);
});

test("edits that are allowed always do not ask again, and nothing is written down in the project", async () => {
  const at = await asking();
  at.model.queue(respond([write(at.project, "one.txt")]), respond([write(at.project, "two.txt")]), respond([text("Done.")]));

  const turn = await send(at);
  await choose(at, turn, "allow_always");

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(requests(turn.updates)).toHaveLength(1);
  expect(toolsOf(await partsOf(at.session, turn.id)).map(({ status }) => status)).toEqual(["completed", "completed"]);
  await at.host.close();
  expect(at.traps.changes()).toEqual([`new: ${at.project}/one.txt`, `new: ${at.project}/two.txt`]);
});

test("a tool that is denied does not run; the model learns why, and the turn goes on", async () => {
  const at = await asking();
  at.model.queue(respond([shell("touch denied.txt")]), respond([text("Then not.")]));

  const turn = await send(at);
  await choose(at, turn, "reject_once", "That folder is sacred.");

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(existsSync(join(at.project, "denied.txt"))).toBe(false);
  expect(responses(turn.updates)).toMatchObject([{ approved: false, reason: "That folder is sacred.", by: "host" }]);
  expect(toolsOf(await partsOf(at.session, turn.id))).toMatchObject([{ status: "failed" }]);
  expect(toolResults(at.model.requests[1]!)).toContain("That folder is sacred.");
});

test("a request that is cancelled ends the turn, and the command does not run", async () => {
  const at = await asking();
  at.model.queue(respond([shell("touch cancelled.txt")]));

  const turn = await send(at);
  const { requestId } = await turn.first("permission_request");
  await at.session.respondToPermission(requestId, { outcome: "cancelled" });

  expect(await turn.ended).toMatchObject({ status: "cancelled", stopReason: "cancelled" });
  expect(existsSync(join(at.project, "cancelled.txt"))).toBe(false);
  expect(toolsOf(await partsOf(at.session, turn.id))).toMatchObject([{ status: "failed", permission: { outcome: "cancelled" } }]);
});

test.each([["allow_once", true], ["reject_once", false]] as const)("a file change with %s", async (kind, isMade) => {
  const at = await asking();
  at.model.queue(respond([write(at.project, "written.txt", "by the tool\n")]), respond([text("Done.")]));

  const turn = await send(at);
  const request = await choose(at, turn, kind);

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(request.action).toBe("Write");
  // Who decides must see what would be written.
  expect(JSON.stringify(request)).toContain("by the tool");
  expect(existsSync(join(at.project, "written.txt"))).toBe(isMade);
  expect(toolsOf(await partsOf(at.session, turn.id))).toMatchObject([{ status: isMade ? "completed" : "failed" }]);
});

test.each([["allow_once", "erased: disk"], ["reject_once", "declined"]] as const)("a destructive tool of an MCP server with %s", async (kind, outcome) => {
  const at = await asking({ resolved: { mcpServers: [mcpServer("chosen")] } }, { toolIds: ["chosen"] });
  at.model.queue(respond([mcp("chosen", "erase", { target: "disk" })]), respond([text("Done.")]));

  const turn = await send(at);
  const request = await choose(at, turn, kind);

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(request.args).toEqual({ target: "disk" });
  const [tool] = toolsOf(await partsOf(at.session, turn.id));
  expect(tool).toMatchObject({ toolCallId: request.toolCallId, mcp: { server: "chosen", tool: "erase" }, status: kind === "allow_once" ? "completed" : "failed" });
  expect(toolResults(at.model.requests[1]!)).toContain(outcome);
});

test("in full_access nothing waits", async () => {
  const at = await claude({ resolved: { mcpServers: [mcpServer("chosen")] } }, { toolIds: ["chosen"] });
  at.model.queue(respond([mcp("chosen", "erase", { target: "disk" })]), respond([shell("rm -rf gone; touch made.txt")]), respond([text("Done.")]));

  const turn = await send(at);

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(responses(turn.updates).map(({ by }) => by)).toEqual(requests(turn.updates).map(() => "full_access"));
  expect(toolsOf(await partsOf(at.session, turn.id)).map(({ status }) => status)).toEqual(["completed", "completed"]);
});

test("who comes later sees what waits: in inspect() and in the replay", async () => {
  const at = await asking();
  at.model.queue(respond([shell("touch later.txt")]), respond([text("Done.")]));

  const turn = await send(at);
  const request = await turn.first("permission_request");
  const late = follow(at.session.reconnect(turn.id));
  expect(await late.first("permission_request")).toEqual(request);
  const { activeTurn, pendingRequests } = await at.session.inspect();
  expect(activeTurn?.id).toBe(turn.id);
  expect(pendingRequests).toEqual([
    { requestId: request.requestId, kind: "permission", turnId: turn.id, sequence: request._meta.amalgm.sequence },
  ]);

  await choose(at, late, "allow_once");

  expect(await late.ended).toMatchObject({ status: "completed" });
  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect((await at.session.inspect()).pendingRequests).toEqual([]);
  expect(existsSync(join(at.project, "later.txt"))).toBe(true);
});

test("a request that is open when the turn is interrupted is answered for good", async () => {
  const at = await asking();
  at.model.queue(respond([shell("touch never.txt")]));

  const turn = await send(at);
  const { requestId } = await turn.first("permission_request");
  await at.session.interrupt();

  expect(await turn.ended).toMatchObject({ status: "cancelled" });
  expect(responses(turn.updates)).toMatchObject([{ requestId, approved: false, by: "turn_end", outcome: { outcome: "cancelled" } }]);
  expect((await at.session.inspect()).pendingRequests).toEqual([]);
  await expect(at.session.respondToPermission(requestId, { outcome: "cancelled" })).rejects.toMatchObject({ code: "REQUEST_NOT_PENDING" });
  expect(existsSync(join(at.project, "never.txt"))).toBe(false);
});

test("a plan is a request; its approval lets edits through", async () => {
  const at = await asking();
  at.model.queue(
    respond([toolUse("EnterPlanMode", {})]),
    respond([toolUse("ExitPlanMode", { plan: "# Plan\n\n1. Write one file\n" })]),
    respond([write(at.project, "planned.txt")]),
    respond([text("Done.")]),
  );

  const turn = await send(at);
  const request = await turn.first("permission_request", ({ action }) => action === "ExitPlanMode").catch(async () => turn.first("permission_request"));
  if (request.action !== "ExitPlanMode") await choose(at, turn, "allow_once");
  await turn.first("permission_request", ({ action }) => action === "ExitPlanMode");
  await choose(at, turn, "allow_always");

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(requests(turn.updates).filter(({ action }) => action === "Write")).toEqual([]);
  expect(existsSync(join(at.project, "planned.txt"))).toBe(true);
});
