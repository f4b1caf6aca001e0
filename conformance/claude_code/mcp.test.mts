import { expect, onTestFinished, test } from "vitest";
import { startHttpMcpServer, startSseMcpServer } from "../mcp-server.mjs";
import { respond, text } from "../server/messages.mjs";
import { KEY, ofKind, partsOf, play, send, toolsOf } from "../support.mjs";
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
  // Behind an image newer versions name the file where they have put it.
  const [first, image, ...rest] = blocks(several);
  expect([first, image, rest.at(-1)]).toMatchObject([{ type: "text", text: "first block" }, { type: "image", mimeType: "image/png" }, { type: "text", text: "third block" }]);
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

test("a selected server does not inherit what pays for the model", async () => {
  const { model, ...at } = await claude({ resolved: { mcpServers: [mcpServer("chosen")] } }, SELECTED);
  model.queue(respond([mcp("chosen", "environment")]), respond([text("Used.")]));

  const { parts } = await play(at);

  const [tool] = toolsOf(parts);
  expect(tool).toMatchObject({ status: "completed" });
  expect(JSON.stringify(tool)).toContain("CHAT_NATIVE_HOST");
  expect(JSON.stringify(tool)).not.toContain(KEY);
});

test.each([
  ["http", startHttpMcpServer],
  ["sse", startSseMcpServer],
] as const)("a server over %s, with its headers", async (type, start) => {
  const server = await start();
  onTestFinished(() => server.close());
  const selected = { type, name: "remote", url: server.url, headers: [{ name: "x-conformance", value: "header-value-42" }] };
  const { model, ...conversation } = await claude({ resolved: { mcpServers: [selected] } }, SELECTED);
  model.queue(respond([mcp("remote", "echo", { text: "from afar" })]), respond([text("Used.")]));

  const { turn, parts } = await play(conversation);

  expect(turn.status).toBe("completed");
  expect(toolsOf(parts)).toMatchObject([{ status: "completed", mcp: { server: "remote", tool: "echo" } }]);
  expect(JSON.stringify(toolsOf(parts))).toContain("echo: from afar");
  expect(server.headers.length).toBeGreaterThan(0);
  expect(server.headers.map((headers) => headers["x-conformance"])).toEqual(server.headers.map(() => "header-value-42"));
});

test.each([
  [{ action: "accept" as const, content: { colour: "green", loud: true } }, "completed"],
  [{ action: "decline" as const }, "completed"],
])("a question of a server is a form, and its answer reaches the server: %j", async (response, status) => {
  const { model, session, ...at } = await claude({ resolved: { mcpServers: [mcpServer("chosen")] } }, SELECTED);
  model.queue(respond([mcp("chosen", "ask")]), respond([text("Asked.")]));

  const turn = await send({ session, ...at });
  const { requestId, request } = await turn.first("elicitation_request");
  expect(request).toMatchObject({ mode: "form", message: "Which colour?", requestedSchema: { required: ["colour"] } });
  expect((await session.inspect()).pendingRequests).toMatchObject([{ requestId, kind: "elicitation" }]);
  await session.respondToElicitation(requestId, response);

  expect(await turn.ended).toMatchObject({ status: "completed" });
  expect(ofKind(turn.updates, "elicitation_response")).toMatchObject([{ requestId, response }]);
  expect(toolsOf(await partsOf(session, turn.id))).toMatchObject([{ status }]);
  const heard = response.action === "accept" ? `accept ${JSON.stringify(response.content)}` : "decline null";
  expect(toolResults(model.requests[1]!)).toContain(JSON.stringify(`answered: ${heard}`).slice(1, -1));
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
