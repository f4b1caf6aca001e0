// The Anthropic Messages API, as far as agents use it: what a model says, as server-sent events, or whole where it is asked so.
import { eventStream, heldStream, json, startServer, type Answer, type HeldStream, type ReceivedRequest, type ServerSentEvent } from "./scripted.mjs";

export interface TokenUsage {
  /** Without what was read from the cache or written to it. */
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

export const USAGE: TokenUsage = { input: 100, cacheRead: 0, cacheWrite: 0, output: 10 };

/** A block of a model's message, with the events that stream it. */
export interface Block {
  block: Record<string, unknown>;
  start: Record<string, unknown>;
  deltas: Array<Record<string, unknown>>;
}

let counter = 0;
const fresh = (prefix: string): string => `${prefix}_${String((counter += 1)).padStart(6, "0")}`;

const event = (type: string, data: Record<string, unknown> = {}): ServerSentEvent => ({ event: type, data: { type, ...data } });

/** Text; each piece is streamed by itself. */
export function text(...pieces: string[]): Block {
  return {
    block: { type: "text", text: pieces.join("") },
    start: { type: "text", text: "" },
    deltas: pieces.map((piece) => ({ type: "text_delta", text: piece })),
  };
}

/** Thoughts, piece by piece. */
export function thinking(...pieces: string[]): Block {
  const signature = "c2lnbmF0dXJl";
  return {
    block: { type: "thinking", thinking: pieces.join(""), signature },
    start: { type: "thinking", thinking: "", signature: "" },
    deltas: [...pieces.map((piece) => ({ type: "thinking_delta", thinking: piece })), { type: "signature_delta", signature }],
  };
}

/** Thoughts that nobody may read. */
export function redactedThinking(): Block {
  const block = { type: "redacted_thinking", data: "b3BhcXVl" };
  return { block, start: block, deltas: [] };
}

/** A call of a tool, its input in pieces. */
export function toolUse(name: string, input: unknown, pieces = 3): Block {
  const id = fresh("toolu");
  const whole = JSON.stringify(input);
  const size = Math.max(1, Math.ceil(whole.length / pieces));
  const parts = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) => whole.slice(index * size, (index + 1) * size));
  return {
    block: { type: "tool_use", id, name, input },
    start: { type: "tool_use", id, name, input: {} },
    deltas: parts.map((partial_json) => ({ type: "input_json_delta", partial_json })),
  };
}

const providerUsage = ({ input, cacheRead, cacheWrite }: TokenUsage, output: number): Record<string, unknown> => ({
  input_tokens: input,
  cache_read_input_tokens: cacheRead,
  cache_creation_input_tokens: cacheWrite,
  cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: 0 },
  output_tokens: output,
  service_tier: "standard",
});

interface Body {
  model: string;
  stream?: boolean;
}

const bodyOf = (request: ReceivedRequest): Body => JSON.parse(request.text) as Body;

const stopReason = (blocks: Block[]): string => (blocks.some(({ block }) => block.type === "tool_use") ? "tool_use" : "end_turn");

function begin(model: string, usage: TokenUsage): ServerSentEvent {
  const message = { id: fresh("msg"), type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage: providerUsage(usage, 1) };
  return event("message_start", { message });
}

const opened = ({ start }: Block, index: number): ServerSentEvent => event("content_block_start", { index, content_block: start });

const streamed = ({ deltas }: Block, index: number): ServerSentEvent[] => deltas.map((delta) => event("content_block_delta", { index, delta }));

const blockEvents = (blocks: Block[]): ServerSentEvent[] =>
  blocks.flatMap((block, index) => [opened(block, index), ...streamed(block, index), event("content_block_stop", { index })]);

const end = (stop: string, usage: TokenUsage): ServerSentEvent[] => [
  event("message_delta", { delta: { stop_reason: stop, stop_sequence: null }, usage: providerUsage(usage, usage.output) }),
  event("message_stop"),
];

/** A whole message. */
export function respond(blocks: Block[], usage: TokenUsage = USAGE, stop = stopReason(blocks)): Answer {
  return (exchange) => {
    const { model, stream } = bodyOf(exchange.request);
    if (stream === true) return eventStream([begin(model, usage), ...blockEvents(blocks), ...end(stop, usage)])(exchange);
    const content = blocks.map(({ block }) => block);
    const message = { id: fresh("msg"), type: "message", role: "assistant", model, content, stop_reason: stop, stop_sequence: null };
    return json(200, { ...message, usage: providerUsage(usage, usage.output) })(exchange);
  };
}

/** A message whose last block has begun and goes on when it is released. `shown`: how many of its pieces come before. */
export function held(blocks: Block[], shown: number, usage: TokenUsage = USAGE): HeldStream {
  const last = blocks.length - 1;
  const pieces = streamed(blocks[last]!, last);
  const first = [begin("held", usage), ...blockEvents(blocks.slice(0, last)), opened(blocks[last]!, last), ...pieces.slice(0, shown)];
  return heldStream(first, [...pieces.slice(shown), event("content_block_stop", { index: last }), ...end(stopReason(blocks), usage)]);
}

/** A connection that ends after the first pieces of a text. */
export function cut(...pieces: string[]): Answer {
  const block = text(...pieces);
  return eventStream([begin("cut", USAGE), opened(block, 0), ...streamed(block, 0)], "cut");
}

/** The provider's refusal of the request. */
export function refuse(status: number, type: string, message: string, headers: Record<string, string> = {}): Answer {
  return json(status, { type: "error", error: { type, message } }, headers);
}

export interface ContentBlock {
  type: string;
  text?: string;
  content?: unknown;
  source?: Record<string, unknown>;
  [field: string]: unknown;
}

/** What an agent asks a model. */
export interface ModelRequest {
  headers: ReceivedRequest["headers"];
  text: string;
  body: {
    model: string;
    system?: string | ContentBlock[];
    messages: Array<{ role: string; content: string | ContentBlock[] }>;
    tools?: Array<{ name: string; [field: string]: unknown }>;
    stream?: boolean;
    output_config?: { effort?: string };
    speed?: string;
    thinking?: Record<string, unknown>;
    [field: string]: unknown;
  };
}

/** Answers a request of the model; the test's own function where no answer is queued. */
export type Model = (request: ModelRequest) => Answer;

export interface MessagesServer {
  /** What an agent takes as the API's base URL. */
  baseUrl: string;
  /** The requests for a message, in order. */
  requests: ModelRequest[];
  /** What was answered: the data of events, and whole answers. */
  sent: unknown[];
  /** Requests for anything else. */
  others: ReceivedRequest[];
  /** Answers of the next requests, one each. */
  queue(...answers: Answer[]): void;
  /** Answers what finds the queue empty. */
  otherwise(model: Model): void;
  close(): Promise<void>;
}

/** A model server that answers from a queue. A request that nothing was queued for is refused, so that the test sees it. */
export async function startMessagesServer(): Promise<MessagesServer> {
  const queued: Answer[] = [];
  const requests: ModelRequest[] = [];
  const others: ReceivedRequest[] = [];
  let model: Model = () => refuse(400, "invalid_request_error", "the test queued no answer for this request");
  const server = await startServer((received) => {
    if (received.method !== "POST" || !received.path.endsWith("/v1/messages")) {
      others.push(received);
      return received.path.endsWith("/count_tokens") ? json(200, { input_tokens: 100 }) : json(404, { type: "error", error: { type: "not_found_error", message: "not here" } });
    }
    const request = { headers: received.headers, text: received.text, body: JSON.parse(received.text) as ModelRequest["body"] };
    requests.push(request);
    return queued.shift() ?? model(request);
  });
  return {
    baseUrl: server.origin,
    requests,
    sent: server.sent,
    others,
    queue: (...answers) => void queued.push(...answers),
    otherwise: (answer) => {
      model = answer;
    },
    close: () => server.close(),
  };
}
