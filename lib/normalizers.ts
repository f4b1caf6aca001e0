/** The agents whose own messages this package understands. */
export type Harness = "claude_code" | "codex" | "cursor" | "opencode" | "pi" | "acp";
