// An MCP server of our own with one tool for each thing that a result can be: `node mcp-server.mjs [name]` speaks over stdio,
// `startHttpMcpServer()` over streamable HTTP, `startSseMcpServer()` over the older pair of an event stream and posts.
// CONFORMANCE_MCP_SECRET, where it is set, shows up in the answer of `secret`.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const text = (value) => ({ type: "text", text: value });
const input = (properties) => ({ type: "object", properties, required: Object.keys(properties) });

/** `call` gets the arguments and a function that asks the client; what it gives is the result. */
const TOOLS = {
  echo: {
    description: "Says it again.",
    inputSchema: input({ text: { type: "string" } }),
    annotations: { readOnlyHint: true },
    call: ({ text: said }) => ({ content: [text(`echo: ${said}`)] }),
  },
  picture: {
    description: "A picture of one pixel.",
    inputSchema: input({}),
    annotations: { readOnlyHint: true },
    call: () => ({ content: [{ type: "image", data: PIXEL, mimeType: "image/png" }] }),
  },
  several: {
    description: "Three blocks.",
    inputSchema: input({}),
    annotations: { readOnlyHint: true },
    call: () => ({ content: [text("first block"), { type: "image", data: PIXEL, mimeType: "image/png" }, text("third block")] }),
  },
  broken: {
    description: "Always fails.",
    inputSchema: input({}),
    annotations: { readOnlyHint: true },
    call: () => ({ content: [text("the tool failed as it should")], isError: true }),
  },
  erase: {
    description: "Destroys what it is given.",
    inputSchema: input({ target: { type: "string" } }),
    annotations: { readOnlyHint: false, destructiveHint: true },
    call: ({ target }) => ({ content: [text(`erased: ${target}`)] }),
  },
  ask: {
    description: "Asks the user which colour.",
    inputSchema: input({}),
    annotations: { readOnlyHint: true },
    async call(_, client) {
      const requestedSchema = {
        type: "object",
        properties: { colour: { type: "string", title: "Colour", enum: ["red", "green"] }, loud: { type: "boolean", default: false } },
        required: ["colour"],
      };
      const { action, content } = await client("elicitation/create", { message: "Which colour?", requestedSchema });
      return { content: [text(`answered: ${action} ${JSON.stringify(content ?? null)}`)] };
    },
  },
  secret: {
    description: "Tells whether the server was given its secret.",
    inputSchema: input({}),
    annotations: { readOnlyHint: true },
    call: () => ({ content: [text(process.env.CONFORMANCE_MCP_SECRET === undefined ? "no secret" : "has its secret")] }),
  },
  environment: {
    description: "Tells what the server's environment holds.",
    inputSchema: input({}),
    annotations: { readOnlyHint: true },
    call: () => ({ content: [text(JSON.stringify(process.env))] }),
  },
};

/** One session: `send` takes messages to the client; the function it gives takes those of the client. */
function session(name, send) {
  const asked = new Map();
  let nextId = 1;
  const client = (method, params) =>
    new Promise((resolve, reject) => {
      const id = `server-${nextId++}`;
      asked.set(id, { resolve, reject });
      send({ jsonrpc: "2.0", id, method, params });
    });

  const methods = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name, version: "1.0.0" } }),
    ping: () => ({}),
    "tools/list": () => ({ tools: Object.entries(TOOLS).map(([tool, declared]) => ({ name: tool, ...declared, call: undefined })) }),
    "tools/call": ({ name: tool, arguments: given }) => TOOLS[tool].call(given ?? {}, client),
  };

  return async ({ id, method, params, result, error }) => {
    if (method === undefined) {
      const waiting = asked.get(id);
      asked.delete(id);
      return error === undefined ? waiting?.resolve(result) : waiting?.reject(new Error(error.message));
    }
    if (id === undefined) return;
    try {
      const known = methods[method];
      if (known === undefined) throw Object.assign(new Error(`unknown method ${method}`), { code: -32601 });
      send({ jsonrpc: "2.0", id, result: await known(params ?? {}) });
    } catch (failure) {
      send({ jsonrpc: "2.0", id, error: { code: failure.code ?? -32603, message: failure.message } });
    }
  };
}

/**
 * @typedef {{ url: string, headers: import("node:http").IncomingHttpHeaders[], close(): Promise<void> }} HttpServer `headers`: of
 *   every request, in order
 */

/**
 * The same tools over HTTP, without requests to the client.
 * @param {{ name?: string }} [options]
 * @returns {Promise<HttpServer>}
 */
export const startHttpMcpServer = ({ name = "over-http" } = {}) =>
  listen("/mcp", async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(await bodyOf(request));
    if (message.id === undefined) return response.writeHead(202).end();
    const answer = (sent) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(sent));
    return session(name, answer)(message);
  });

/**
 * The same tools over the transport of MCP 2024-11-05: the client reads an event stream, whose first event says where to post.
 * @param {{ name?: string }} [options]
 * @returns {Promise<HttpServer>}
 */
export function startSseMcpServer({ name = "over-sse" } = {}) {
  const sessions = new Map();
  return listen("/sse", async (request, response) => {
    if (request.method === "GET") {
      const id = String(sessions.size + 1);
      response.writeHead(200, { "content-type": "text/event-stream" }).write(`event: endpoint\ndata: /messages?session=${id}\n\n`);
      return sessions.set(id, session(name, (sent) => response.write(`event: message\ndata: ${JSON.stringify(sent)}\n\n`)));
    }
    const receive = sessions.get(new URL(request.url, "http://server").searchParams.get("session"));
    if (receive === undefined) return response.writeHead(404).end();
    const message = JSON.parse(await bodyOf(request));
    response.writeHead(202).end();
    return receive(message);
  });
}

/** Listens on a free port of the loopback interface. */
async function listen(path, answer) {
  const headers = [];
  const server = createServer((request, response) => {
    headers.push(request.headers);
    void answer(request, response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const close = () =>
    new Promise((resolve) => {
      server.close(() => resolve(undefined));
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${server.address().port}${path}`, headers, close };
}

async function bodyOf(request) {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  return body;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const receive = session(process.argv[2] ?? "conformance", (message) => process.stdout.write(`${JSON.stringify(message)}\n`));
  createInterface({ input: process.stdin }).on("line", (line) => void receive(JSON.parse(line)));
}
