const BUCKETS = ["totalTokens", "inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningOutputTokens"];

/** Turns repeated reports with growing totals into one step for each model call. */
export class CodexUsage {
  #total = null;
  #steps = 0;

  /** The step behind a report, or null where nothing was spent since the last one. */
  step({ total, last, modelContextWindow }, turnId) {
    const previous = this.#total;
    this.#total = total;
    if (previous?.totalTokens === total.totalTokens) return null;
    const spent = previous ? difference(total, previous) : last;
    return {
      id: `${turnId}:${this.#steps}`, turnId, index: this.#steps++, operation: "chat_step", source: "codex_app_server", exact: true, billable: true,
      inputTokens: spent.inputTokens - spent.cachedInputTokens - spent.cacheWriteInputTokens, outputTokens: spent.outputTokens,
      cacheReadTokens: spent.cachedInputTokens, cacheWriteTokens: spent.cacheWriteInputTokens, reasoningTokens: spent.reasoningOutputTokens,
      context: { used: last.totalTokens, size: modelContextWindow }, raw: last,
    };
  }
}

function difference(total, previous) {
  return Object.fromEntries(BUCKETS.map((bucket) => [bucket, total[bucket] - previous[bucket]]));
}
