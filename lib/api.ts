// Types only, so that a browser can import this entry point: it loads no native code.
export type { AmalgmMeta, ChatUpdate } from "./acp.js";
export type {
  ConversationPage,
  ConversationRecord,
  ConversationSummary,
  ListOptions,
  MessagePart,
  MessageRecord,
  TurnRecord,
  TurnStatus,
} from "./conversations.js";
export type { ExecutionContract, ExecutionHandle } from "./execution.js";
export type { PromptInput } from "./input.js";
export type { TurnUsage, UsageStep } from "./usage.js";
