// What a model server told an agent about its tokens, whichever API it speaks.

/** In tokens. Input is without the cache. */
export interface Counted {
  inputTokens: number;
  cacheReadTokens: number;
  outputTokens: number;
}

interface OpenAiUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
}

interface AnthropicUsage {
  input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
}

interface Sent {
  type?: string;
  response?: { usage?: OpenAiUsage | null };
  delta?: { stop_reason?: string | null };
  usage?: AnthropicUsage;
}

/** The sum of all calls that were answered to their end. `sent` holds the data of events, and whole answers. */
export function counted(sent: unknown[]): Counted {
  const calls = sent.map((data) => callIn(data as Sent)).filter((call) => call !== undefined);
  const sum = (bucket: keyof Counted): number => calls.reduce((all, call) => all + call[bucket], 0);
  return { inputTokens: sum("inputTokens"), cacheReadTokens: sum("cacheReadTokens"), outputTokens: sum("outputTokens") };
}

function callIn({ type, response, delta, usage }: Sent): Counted | undefined {
  if (type === "response.completed" && response?.usage != null) {
    const { input_tokens: input, input_tokens_details: details, output_tokens: outputTokens } = response.usage;
    return { inputTokens: input - details.cached_tokens, cacheReadTokens: details.cached_tokens, outputTokens };
  }
  // The last event with counts of a stream, or a message that was asked for whole.
  if (usage !== undefined && (type === "message" || (type === "message_delta" && delta?.stop_reason != null))) {
    return { inputTokens: usage.input_tokens, cacheReadTokens: usage.cache_read_input_tokens, outputTokens: usage.output_tokens };
  }
  return undefined;
}
