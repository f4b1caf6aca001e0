// A model server that says what a test tells it to, and remembers what it was asked. Knows HTTP and server-sent events, and
// nothing of any provider's API.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedRequest {
  method: string;
  /** Without the query. */
  path: string;
  headers: IncomingHttpHeaders;
  /** The body as it came. */
  text: string;
}

export interface Exchange {
  request: ReceivedRequest;
  response: ServerResponse;
  /** Aborted when the client has gone away. */
  gone: AbortSignal;
  /** Gets what is sent. */
  sent: unknown[];
}

/** What the server does with a request: writes to the response, and ends or cuts it. */
export type Answer = (exchange: Exchange) => void | Promise<void>;

export interface Server {
  /** Such as `http://127.0.0.1:4711`. */
  origin: string;
  /** All requests, in the order in which they came. */
  requests: ReceivedRequest[];
  /** The data of all events, and whole answers in JSON, in the order in which they were sent. */
  sent: unknown[];
  close(): Promise<void>;
}

/** Listens on a free port of the loopback interface. `choose` is asked for each request when its body is there. */
export async function startServer(choose: (request: ReceivedRequest) => Answer): Promise<Server> {
  const requests: ReceivedRequest[] = [];
  const sent: unknown[] = [];
  const server = createServer((incoming, response) => {
    const gone = new AbortController();
    response.on("close", () => {
      gone.abort();
    });
    const body: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => body.push(chunk));
    incoming.on("end", () => {
      const path = new URL(incoming.url ?? "/", "http://server").pathname;
      const text = Buffer.concat(body).toString("utf8");
      const request = { method: incoming.method ?? "GET", path, headers: incoming.headers, text };
      requests.push(request);
      void Promise.resolve()
        .then(() => choose(request)({ request, response, gone: gone.signal, sent }))
        // A mistake in a test's script is no silence: the agent's failure shows it.
        .catch((error: unknown) => {
          if (!response.headersSent) response.writeHead(418, { "content-type": "application/json" });
          response.end(JSON.stringify({ error: { message: `the test's script failed: ${String(error)}` } }));
        });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    requests,
    sent,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/** A whole answer in JSON. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return ({ response, sent }) => {
    sent.push(body);
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
}

export interface ServerSentEvent {
  event: string;
  data: unknown;
}

/** How a stream of events ends: as it should, or with the connection cut in its midst. */
export type StreamEnd = "whole" | "cut";

/** A stream of events, all at once. */
export function eventStream(events: ServerSentEvent[], end: StreamEnd = "whole", headers: Record<string, string> = {}): Answer {
  return (exchange) => {
    openStream(exchange, headers);
    writeEvents(exchange, events);
    endStream(exchange, end);
  };
}

export interface HeldStream {
  answer: Answer;
  /** Resolves when the first events have been written. */
  begun: Promise<void>;
  /** Resolves when the client has gone away without having got the rest. */
  abandoned: Promise<void>;
  /** Writes the rest and ends the stream. */
  release(): void;
}

/** A stream that stops after its first events until it is released. */
export function heldStream(first: ServerSentEvent[], rest: ServerSentEvent[], end: StreamEnd = "whole"): HeldStream {
  const begun = deferred();
  const released = deferred();
  const abandoned = deferred();
  return {
    answer: async (exchange) => {
      openStream(exchange);
      writeEvents(exchange, first);
      begun.resolve();
      exchange.gone.addEventListener("abort", () => {
        abandoned.resolve();
      });
      await Promise.race([released.promise, abandoned.promise]);
      if (exchange.gone.aborted) return;
      writeEvents(exchange, rest);
      endStream(exchange, end);
    },
    begun: begun.promise,
    abandoned: abandoned.promise,
    release: released.resolve,
  };
}

interface Deferred {
  promise: Promise<void>;
  resolve: () => void;
}

function deferred(): Deferred {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

function openStream({ response }: Exchange, headers: Record<string, string> = {}): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", ...headers });
  response.flushHeaders();
}

function writeEvents({ response, sent }: Exchange, events: ServerSentEvent[]): void {
  sent.push(...events.map(({ data }) => data));
  for (const { event, data } of events) response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

function endStream({ response }: Exchange, end: StreamEnd): void {
  if (end === "whole") response.end();
  // What was written must reach the client first: destroying at once would take it back.
  else response.write("", () => response.destroy());
}
