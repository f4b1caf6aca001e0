import { expect, onTestFinished, test } from "vitest";
import { startHttpMcpServer } from "../mcp-server.mjs";
import { respond, text } from "../server/messages.mjs";
import { play, toolsOf } from "../support.mjs";
import { claude, mcp, mcpServer, toolResults } from "./support.mjs";

const SELECTED = { toolIds: ["chosen"] };

test("the tools of a selected server: text, several blocks, a failure", async () => {
  const { model, ...conversation } = await claude({ resolved: { mcpServers: [mcpServer("chosen")] } }, SELECTED);
  model.queue(
    respond([mcp("chosen", "echo", { text: "hello" })]),
    respond([mcp("chosen", "several")]),
    respond([mcp("chosen", "broken")]),
    respond([text("Used.")]),
  );

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  const [echo, several, broken] = toolsOf(parts);
  const blocks = (tool: typeof echo): unknown[] => (tool?.content ?? []).map((block) => (block.type === "content" ? block.content : block));
  expect(echo).toMatchObject({ status: "completed", mcp: { server: "chosen", tool: "echo" }, input: { text: "hello" } });
  expect(blocks(echo)).toEqual([{ type: "text", text: "echo: hello" }]);
  // Behind an image Claude Code names the file where it has put it.
  expect(blocks(several)).toMatchObject([{ type: "text", text: "first block" }, { type: "image", mimeType: "image/png" }, { type: "text" }, { type: "text", text: "third block" }]);
  expect(broken).toMatchObject({ status: "failed", mcp: { server: "chosen", tool: "broken" } });
  expect(JSON.stringify(blocks(broken))).toContain("the tool failed as it should");
  expect(toolResults(model.requests[1]!)).toContain("echo: hello");
});

test("the environment of a selected server reaches it", async () => {
  const server = mcpServer("chosen", [{ name: "CONFORMANCE_MCP_SECRET", value: "mcp-secret-value-42" }]);
  const { model, ...conversation } = await claude({ resolved: { mcpServers: [server] } }, SELECTED);
  model.queue(respond([mcp("chosen", "secret")]), respond([text("Used.")]));

  const { parts } = await play(conversation);

  expect(JSON.stringify(toolsOf(parts))).toContain("has its secret");
});

test("a server over HTTP, with its headers", async () => {
  const server = await startHttpMcpServer();
  onTestFinished(() => server.close());
  const selected = { type: "http" as const, name: "remote", url: server.url, headers: [{ name: "x-conformance", value: "header-value-42" }] };
  const { model, ...conversation } = await claude({ resolved: { mcpServers: [selected] } }, SELECTED);
  model.queue(respond([mcp("remote", "echo", { text: "over http" })]), respond([text("Used.")]));

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  expect(toolsOf(parts)).toMatchObject([{ status: "completed", mcp: { server: "remote", tool: "echo" } }]);
  expect(server.headers.length).toBeGreaterThan(0);
  expect(server.headers.map((headers) => headers["x-conformance"])).toEqual(server.headers.map(() => "header-value-42"));
});

test("a selected server that does not start: the turn says so, and goes on", async () => {
  const broken = { name: "chosen", command: "/nonexistent/server", args: [], env: [] };
  const { model, ...conversation } = await claude({ resolved: { mcpServers: [broken] } }, SELECTED);
  model.otherwise(() => respond([text("Without it.")]));

  const { turn, updates } = await play(conversation);

  expect(turn.status).toBe("completed");
  const servers = updates.flatMap(({ _meta }) => _meta.amalgm.init?.mcpServers ?? []);
  expect(servers).toContainEqual({ name: "chosen", status: "failed" });
});
