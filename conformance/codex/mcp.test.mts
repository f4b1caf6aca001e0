import { expect, onTestFinished, test } from "vitest";
import { startHttpMcpServer } from "../mcp-server.mjs";
import { message, respond } from "../server/responses.mjs";
import { KEY, play, toolsOf } from "../support.mjs";
import { codex, mcp, mcpServer, toolOutputs } from "./support.mjs";

const SELECTED = { toolIds: ["chosen"] };

test("the tools of a selected server: text, several blocks, a failure", async () => {
  const { model, ...conversation } = await codex({ resolved: { mcpServers: [mcpServer("chosen")] } }, SELECTED);
  model.queue(
    respond([mcp("chosen", "echo", { text: "hello" })]),
    respond([mcp("chosen", "several")]),
    respond([mcp("chosen", "broken")]),
    respond([message("Used.")]),
  );

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  const [echo, several, broken] = toolsOf(parts);
  const blocks = (tool: typeof echo): unknown[] => (tool?.content ?? []).map((block) => (block.type === "content" ? block.content : block));
  expect(echo).toMatchObject({ status: "completed", mcp: { server: "chosen", tool: "echo" }, input: { text: "hello" } });
  expect(blocks(echo)).toEqual([{ type: "text", text: "echo: hello" }]);
  expect(blocks(several)).toMatchObject([{ type: "text", text: "first block" }, { type: "image", mimeType: "image/png" }, { type: "text", text: "third block" }]);
  expect(broken).toMatchObject({ status: "failed", mcp: { server: "chosen", tool: "broken" } });
  expect(JSON.stringify(blocks(broken))).toContain("the tool failed as it should");
  expect(toolOutputs(model.requests[1]!)).toContain("echo: hello");
});

test("the environment of a selected server reaches it", async () => {
  const server = mcpServer("chosen", [{ name: "CONFORMANCE_MCP_SECRET", value: "mcp-secret-value-42" }]);
  const { model, ...conversation } = await codex({ resolved: { mcpServers: [server] } }, SELECTED);
  model.queue(respond([mcp("chosen", "secret")]), respond([message("Used.")]));

  const { parts } = await play(conversation);

  expect(JSON.stringify(toolsOf(parts))).toContain("has its secret");
});

test("a selected server does not inherit what pays for the model", async () => {
  const { model, ...conversation } = await codex({ resolved: { mcpServers: [mcpServer("chosen")] } }, SELECTED);
  model.queue(respond([mcp("chosen", "environment")]), respond([message("Used.")]));

  const { parts } = await play(conversation);

  const [tool] = toolsOf(parts);
  expect(tool).toMatchObject({ status: "completed" });
  expect(JSON.stringify(tool)).toContain("CHAT_NATIVE_HOST");
  expect(JSON.stringify(tool)).not.toContain(KEY);
});

test("a server over HTTP, with its headers", async () => {
  const server = await startHttpMcpServer();
  onTestFinished(() => server.close());
  const selected = { type: "http" as const, name: "remote", url: server.url, headers: [{ name: "x-conformance", value: "header-value-42" }] };
  const { model, ...conversation } = await codex({ resolved: { mcpServers: [selected] } }, SELECTED);
  model.queue(respond([mcp("remote", "echo", { text: "over http" })]), respond([message("Used.")]));

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  expect(toolsOf(parts)).toMatchObject([{ status: "completed", mcp: { server: "remote", tool: "echo" } }]);
  expect(server.headers.length).toBeGreaterThan(0);
  expect(server.headers.map((headers) => headers["x-conformance"])).toEqual(server.headers.map(() => "header-value-42"));
});

test("a selected server that does not start: the turn says so, and goes on", async () => {
  const broken = { name: "chosen", command: "/nonexistent/server", args: [], env: [] };
  const { model, ...conversation } = await codex({ resolved: { mcpServers: [broken] } }, SELECTED);
  model.otherwise(() => respond([message("Without it.")]));

  const { turn, updates } = await play(conversation);

  expect(turn.status).toBe("completed");
  const servers = updates.flatMap(({ _meta }) => _meta.amalgm.init?.mcpServers ?? []);
  expect(servers).toContainEqual({ name: "chosen", status: "failed" });
});
