// The OpenAI Responses API, as far as agents use it: what a model says, as server-sent events.
import { eventStream, heldStream, json, startServer, type Answer, type HeldStream, type ReceivedRequest, type ServerSentEvent } from "./scripted.mjs";

export interface TokenUsage {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

export const USAGE: TokenUsage = { input: 100, cached: 0, output: 10, reasoning: 0 };

/** A piece of a model's response, with the events that stream it. */
export interface OutputItem {
  item: Record<string, unknown>;
  added: Record<string, unknown>;
  deltas: ServerSentEvent[];
}

let counter = 0;
const fresh = (prefix: string): string => `${prefix}_${String((counter += 1)).padStart(6, "0")}`;

const event = (type: string, data: Record<string, unknown>): ServerSentEvent => ({ event: type, data: { type, ...data } });

/** A message of the model; each piece is streamed by itself. */
export function message(...pieces: string[]): OutputItem {
  const id = fresh("msg");
  const content = (text: string): unknown[] => [{ type: "output_text", text, annotations: [] }];
  return {
    item: { type: "message", id, role: "assistant", status: "completed", content: content(pieces.join("")) },
    added: { type: "message", id, role: "assistant", status: "in_progress", content: [] },
    deltas: pieces.map((delta) => event("response.output_text.delta", { item_id: id, output_index: 0, content_index: 0, delta })),
  };
}

/** A summary of the model's reasoning, part by part. */
export function reasoning(...parts: string[]): OutputItem {
  const id = fresh("rs");
  const summary = parts.map((text) => ({ type: "summary_text", text }));
  return {
    item: { type: "reasoning", id, summary, encrypted_content: "opaque" },
    added: { type: "reasoning", id, summary: [] },
    deltas: parts.flatMap((text, summary_index) => [
      event("response.reasoning_summary_part.added", { item_id: id, output_index: 0, summary_index, part: { type: "summary_text", text: "" } }),
      event("response.reasoning_summary_text.delta", { item_id: id, output_index: 0, summary_index, delta: text }),
    ]),
  };
}

/** A call of a function; `namespace` where the agent offers the function inside one, as it does with MCP tools. */
export function functionCall(name: string, args: unknown, namespace?: string): OutputItem {
  const item = { type: "function_call", id: fresh("fc"), call_id: fresh("call"), name, arguments: JSON.stringify(args), ...(namespace === undefined ? {} : { namespace }) };
  return { item, added: { ...item, arguments: "" }, deltas: [] };
}

/** A call of a tool that takes free text. */
export function customToolCall(name: string, input: string): OutputItem {
  const item = { type: "custom_tool_call", id: fresh("ctc"), call_id: fresh("call"), name, input };
  return { item, added: { ...item, input: "" }, deltas: [] };
}

function begin(): { id: string; events: ServerSentEvent[] } {
  const id = fresh("resp");
  return { id, events: [event("response.created", { response: { id, status: "in_progress" } })] };
}

const stream = (items: OutputItem[]): ServerSentEvent[] =>
  items.flatMap(({ item, added, deltas }, output_index) => [
    event("response.output_item.added", { output_index, item: added }),
    ...deltas,
    event("response.output_item.done", { output_index, item }),
  ]);

function completed(id: string, usage: TokenUsage | null): ServerSentEvent {
  return event("response.completed", { response: { id, status: "completed", usage: usage === null ? null : providerUsage(usage) } });
}

const providerUsage = ({ input, cached, output, reasoning: thought }: TokenUsage): unknown => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: thought },
  total_tokens: input + output,
});

/** A whole response. */
export function respond(items: OutputItem[], usage: TokenUsage | null = USAGE): Answer {
  const { id, events } = begin();
  return eventStream([...events, ...stream(items), completed(id, usage)]);
}

/** A response whose message has begun and goes on when it is released. */
export function held(pieces: string[], rest: string[] = [], usage: TokenUsage = USAGE): HeldStream {
  const { id, events } = begin();
  const { item, added, deltas } = message(...pieces, ...rest);
  const first = [...events, event("response.output_item.added", { output_index: 0, item: added }), ...deltas.slice(0, pieces.length)];
  return heldStream(first, [...deltas.slice(pieces.length), event("response.output_item.done", { output_index: 0, item }), completed(id, usage)]);
}

/** A connection that ends after the first pieces of a message. */
export function cut(...pieces: string[]): Answer {
  const { events } = begin();
  const { added, deltas } = message(...pieces);
  return eventStream([...events, event("response.output_item.added", { output_index: 0, item: added }), ...deltas], "cut");
}

/** A response that the provider gives up in mid-stream. */
export function failed(code: string, text: string): Answer {
  const { id, events } = begin();
  return eventStream([...events, event("response.failed", { response: { id, status: "failed", error: { code, message: text } } })]);
}

/** A response that was cut short by the provider, such as for `max_output_tokens`. */
export function incomplete(reason: string, ...pieces: string[]): Answer {
  const { id, events } = begin();
  const end = event("response.incomplete", { response: { id, status: "incomplete", incomplete_details: { reason } } });
  return eventStream([...events, ...stream([message(...pieces)]), end]);
}

/** The provider's refusal of the request. */
export function refuse(status: number, error: { code?: string; type?: string; message: string }, headers: Record<string, string> = {}): Answer {
  return json(status, { error: { type: "invalid_request_error", ...error } }, headers);
}

export interface InputItem {
  type: string;
  role?: string;
  content?: Array<{ type: string; text?: string; image_url?: string }>;
  output?: unknown;
  call_id?: string;
  [field: string]: unknown;
}

/** What an agent asks a model. */
export interface ModelRequest {
  headers: ReceivedRequest["headers"];
  text: string;
  body: {
    model: string;
    instructions?: string;
    input: InputItem[];
    tools?: Array<Record<string, unknown>>;
    reasoning?: { effort?: string; summary?: string };
    service_tier?: string;
    [field: string]: unknown;
  };
}

/** Answers a request of the model; the test's own function where no answer is queued. */
export type Model = (request: ModelRequest) => Answer;

export interface ResponsesServer {
  /** What an agent takes as the API's base URL. */
  baseUrl: string;
  /** The requests for a response, in order. */
  requests: ModelRequest[];
  /** What was answered: the data of events, and whole answers. */
  sent: unknown[];
  /** Requests for anything else, such as the list of models. */
  others: ReceivedRequest[];
  /** Answers of the next requests, one each. */
  queue(...answers: Answer[]): void;
  /** Answers what finds the queue empty. */
  otherwise(model: Model): void;
  /** How many queued answers nobody has asked for. */
  readonly waiting: number;
  close(): Promise<void>;
}

/** A model server that answers from a queue. A request that nothing was queued for is refused, so that the test sees it. */
export async function startResponsesServer(): Promise<ResponsesServer> {
  const queued: Answer[] = [];
  const requests: ModelRequest[] = [];
  const others: ReceivedRequest[] = [];
  let model: Model = () => refuse(400, { message: "the test queued no answer for this request" });
  const server = await startServer((received) => {
    if (received.method !== "POST" || !received.path.endsWith("/responses")) {
      others.push(received);
      return received.path.endsWith("/models") ? json(200, { object: "list", data: [], models: [] }) : json(404, { error: { message: "not here" } });
    }
    const request = { headers: received.headers, text: received.text, body: JSON.parse(received.text) as ModelRequest["body"] };
    requests.push(request);
    return queued.shift() ?? model(request);
  });
  return {
    baseUrl: `${server.origin}/v1`,
    requests,
    sent: server.sent,
    others,
    queue: (...answers) => void queued.push(...answers),
    otherwise: (answer) => {
      model = answer;
    },
    get waiting() {
      return queued.length;
    },
    close: () => server.close(),
  };
}
