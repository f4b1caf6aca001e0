import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startHttpMcpServer } from "../mcp-server.mjs";
import { eventually, processesWith } from "../processes.mjs";
import { refuse, respond, text } from "../server/messages.mjs";
import { KEY, partsOf, play, send, toolsOf, type ModelServer, type Scene } from "../support.mjs";
import { pathsUnder } from "../traps.mjs";
import { claude, mcp, mcpServer, shell } from "./support.mjs";

const HEADER = "header-secret-7f3a91";
const ENVIRONMENT = "environment-secret-2c84d0";
const SECRETS = [KEY, HEADER, ENVIRONMENT];

const holds = (text: string): string[] => SECRETS.filter((secret) => text.includes(secret));

/** Which files below a folder hold which secret. */
function leaks(folder: string): string[] {
  return pathsUnder(folder).flatMap((path) => {
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return [];
    return holds(readFileSync(path, "latin1")).map((secret) => `${path}: ${secret}`);
  });
}

/** A conversation that has a key and two servers with secrets. */
async function secretive(record?: { dir: string }) {
  const server = await startHttpMcpServer();
  onTestFinished(() => server.close());
  const remote = { type: "http" as const, name: "remote", url: server.url, headers: [{ name: "authorization", value: `Bearer ${HEADER}` }] };
  const local = mcpServer("local", [{ name: "CONFORMANCE_MCP_SECRET", value: ENVIRONMENT }]);
  const at = await claude({ resolved: { mcpServers: [remote, local] }, ...(record === undefined ? {} : { record }) }, { toolIds: ["remote", "local"] });
  return { ...at, server };
}

const argumentsOf = ({ folder }: Scene<ModelServer>): string[] => processesWith(folder).map((running) => running.arguments.join(" "));

test("no secret stands in an argument, a file, an update or a record", async () => {
  const at = await secretive();
  at.model.queue(
    respond([mcp("remote", "echo", { text: "hello" })]),
    respond([mcp("local", "secret")]),
    respond([shell("touch running; while [ ! -e seen ]; do sleep 0.05; done; rm -f seen running")]),
    respond([text("Done.")]),
  );

  const turn = await send(at);
  await eventually("the command runs", () => existsSync(join(at.project, "running")));
  // While the agent, its servers and its command run.
  const seen = argumentsOf(at);
  const { writeFileSync } = await import("node:fs");
  writeFileSync(join(at.project, "seen"), "");

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(seen.some((line) => line.includes("--input-format=stream-json"))).toBe(true);
  expect(seen.flatMap(holds)).toEqual([]);
  // They did reach those that need them.
  expect(at.model.requests[0]!.headers["x-api-key"]).toBe(KEY);
  expect(at.server.headers[0]?.authorization).toBe(`Bearer ${HEADER}`);
  expect(JSON.stringify(toolsOf(await partsOf(at.session, turn.id)))).toContain("has its secret");
  expect(holds(JSON.stringify(turn.updates))).toEqual([]);
  expect(holds(JSON.stringify([await at.session.messages(), await at.session.inspect()]))).toEqual([]);
  expect(leaks(at.folder)).toEqual([]);
  await at.host.close();
  expect(leaks(at.folder)).toEqual([]);
  expect(at.traps.changes()).toEqual([]);
});

test("the commands of the agent do not inherit the key", async () => {
  const at = await secretive();
  at.model.queue(respond([shell("env; cat /proc/self/environ | tr '\\0' '\\n'")]), respond([text("Done.")]));

  const { parts } = await play(at);

  const [tool] = toolsOf(parts);
  expect(tool?.status).toBe("completed");
  expect(JSON.stringify(tool?.output)).toContain("HOME=");
  expect(holds(JSON.stringify(tool))).toEqual([]);
});

test("no error message repeats the key", async () => {
  const at = await secretive();
  at.model.otherwise(({ headers }) => refuse(401, "authentication_error", `invalid x-api-key: ${String(headers["x-api-key"])}`));

  const { turn, updates, parts } = await play(at);

  expect(turn).toMatchObject({ status: "failed", error: { class: "auth" } });
  expect({ turn: holds(JSON.stringify(turn)), updates: holds(JSON.stringify(updates)), parts: holds(JSON.stringify(parts)) }).toEqual({ turn: [], updates: [], parts: [] });
  await at.host.close();
  // Claude Code itself notes down in its home what the provider said.
  expect(leaks(at.folder).filter((leak) => !leak.startsWith(at.stateDir))).toEqual([]);
});

test("no recording holds a secret", async () => {
  const { mkdtempSync } = await import("node:fs");
  const dir = mkdtempSync(join(process.env.HOME!, "..", "recording-"));
  onTestFinished(async () => {
    const { rmSync } = await import("node:fs");
    rmSync(dir, { recursive: true, force: true });
  });
  const at = await secretive({ dir });
  at.model.queue(respond([mcp("remote", "echo", { text: "hello" })]), respond([text("Done.")]));
  await play(at);
  await at.host.close();

  const recordings = pathsUnder(dir);
  expect(recordings.length).toBeGreaterThan(0);
  expect(readFileSync(recordings[0]!, "utf8")).toContain('"type":"user"');
  expect(leaks(dir)).toEqual([]);
});

test("private homes, databases and what lies in them are the owner's only", async () => {
  const at = await claude();
  at.model.queue(respond([text("Hello.")]));
  await play(at);

  // A folder that nobody else may enter closes all that lies in it.
  expect(statSync(at.stateDir).mode & 0o077).toBe(0);
  expect(statSync(at.databasePath).mode & 0o077).toBe(0);
});
