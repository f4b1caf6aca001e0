//! How agents and provider APIs spell what they count.

/// Names of one count; a dot leads into an object.
pub(super) type Names = &'static [&'static str];

/// Input without what was read from or written to a cache, unless the cache is spelled as a part of it.
pub(super) const INPUT: Names = &["inputTokens", "input_tokens", "input"];
/// Input with all of it (OpenAI chat, Gemini).
pub(super) const WHOLE_INPUT: Names =
    &["totalInputTokens", "total_input_tokens", "prompt_tokens", "promptTokens", "promptTokenCount", "prompt_token_count"];
/// Input that Gemini counts apart.
pub(super) const TOOL_INPUT: Names = &["toolUsePromptTokenCount", "tool_use_prompt_token_count"];
pub(super) const OUTPUT: Names = &[
    "outputTokens",
    "output_tokens",
    "completion_tokens",
    "completionTokens",
    "candidatesTokenCount",
    "candidates_token_count",
    "output",
];
/// Beside the input (Anthropic, ACP, Pi, OpenCode, and records of our own).
pub(super) const CACHE_READ: Names = &[
    "cacheReadTokens",
    "cache_read_tokens",
    "cache_read_input_tokens",
    "cacheReadInputTokens",
    "cachedReadTokens",
    "cached_read_tokens",
    "cacheRead",
    "cache.read",
];
/// Within the input (OpenAI, Codex, Gemini, DeepSeek).
pub(super) const READ_OF_INPUT: Names = &[
    "cachedInputTokens",
    "cached_input_tokens",
    "cached_tokens",
    "input_tokens_details.cached_tokens",
    "prompt_tokens_details.cached_tokens",
    "inputTokensDetails.cachedTokens",
    "promptTokensDetails.cachedTokens",
    "inputTokenDetails.cacheReadTokens",
    "cachedContentTokenCount",
    "cached_content_token_count",
    "prompt_cache_hit_tokens",
];
pub(super) const CACHE_WRITE: Names = &[
    "cacheWriteTokens",
    "cache_write_tokens",
    "cache_creation_input_tokens",
    "cacheCreationInputTokens",
    "cacheCreationTokens",
    "cachedWriteTokens",
    "cached_write_tokens",
    "cacheWrite",
    "cache.write",
];
pub(super) const WRITE_OF_INPUT: Names = &[
    "cacheWriteInputTokens",
    "cache_write_input_tokens",
    "input_tokens_details.cache_write_tokens",
    "prompt_tokens_details.cache_write_tokens",
    "inputTokenDetails.cacheWriteTokens",
];
pub(super) const WRITE_5M: Names = &["cache_creation.ephemeral_5m_input_tokens", "cacheCreationEphemeral5mInputTokens"];
pub(super) const WRITE_1H: Names =
    &["cacheWrite1hTokens", "cache_creation.ephemeral_1h_input_tokens", "cacheCreationEphemeral1hInputTokens", "cacheWrite1h"];
pub(super) const REASONING: Names = &[
    "reasoningTokens",
    "reasoning_tokens",
    "reasoningOutputTokens",
    "reasoning_output_tokens",
    "output_tokens_details.reasoning_tokens",
    "output_tokens_details.thinking_tokens",
    "completion_tokens_details.reasoning_tokens",
    "outputTokensDetails.reasoningTokens",
    "outputTokenDetails.reasoningTokens",
    "thoughtTokens",
    "thought_tokens",
    "thinkingTokens",
    "thoughtsTokenCount",
    "thoughts_token_count",
    "reasoning",
];
pub(super) const TOTAL: Names = &["totalTokens", "total_tokens", "totalTokenCount", "total_token_count", "total"];
pub(super) const CONTEXT_USED: Names = &["inputContextSize", "context.used", "contextUsage.tokens", "used"];
pub(super) const CONTEXT_SIZE: Names = &[
    "contextLimit",
    "context_limit",
    "modelContextWindow",
    "model_context_window",
    "contextWindow",
    "context_window",
    "context.size",
    "contextUsage.contextWindow",
    "size",
];
/// The agent's own cost of the call in USD. Running totals (`total_cost_usd`, the cost of an ACP `usage_update`) are none.
pub(super) const COST: Names = &["nativeCostUsd", "costUsd", "costUSD", "cost.total", "cost"];

/// Where counts stand within what an agent sends, the most telling first.
pub(super) const WRAPPERS: [&str; 18] = [
    "usage",
    "usageMetadata",
    "usage_metadata",
    "tokens",
    "tokenUsage",
    "token_usage",
    "tokenList",
    "last",
    "last_token_usage",
    "token_count",
    "quota",
    "message",
    "response",
    "result",
    "info",
    "payload",
    "params",
    "_meta",
];
pub(super) const RUNNING_TOTAL: &str = "cumulativeTokenList";
pub(super) const DEEPEST: usize = 6;
