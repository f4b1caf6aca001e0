//! What is read of the messages of `codex app-server`, named after its protocol. Everything else stays in the raw text.

use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A piece of streamed text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub item_id: Str<'a>,
    #[serde(borrow)]
    pub delta: Str<'a>,
    /// Which part of a reasoning summary.
    #[serde(default)]
    pub summary_index: Option<u64>,
    /// Which part of raw reasoning.
    #[serde(default)]
    pub content_index: Option<u64>,
}

/// `item/started` and `item/completed`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ItemNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub item: &'a RawValue,
    #[serde(default)]
    pub started_at_ms: Option<i64>,
    #[serde(default)]
    pub completed_at_ms: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ItemTag<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow)]
    pub id: Str<'a>,
}

/// An `agentMessage` or a `plan`.
#[derive(Debug, Deserialize)]
pub(super) struct TextItem<'a> {
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReasoningItem<'a> {
    #[serde(borrow, default)]
    pub summary: Option<Vec<Str<'a>>>,
    #[serde(borrow, default)]
    pub content: Option<Vec<Str<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommandItem<'a> {
    #[serde(borrow)]
    pub command: Str<'a>,
    #[serde(borrow, default)]
    pub cwd: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub process_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub source: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub command_actions: Option<Vec<CommandAction<'a>>>,
    #[serde(borrow, default)]
    pub aggregated_output: Option<Str<'a>>,
    #[serde(default)]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub duration_ms: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommandAction<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub path: Option<Str<'a>>,
}

/// `item/commandExecution/terminalInteraction`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TerminalInteraction<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub item_id: Str<'a>,
    #[serde(borrow, default)]
    pub stdin: Option<Str<'a>>,
}

/// `item/mcpToolCall/progress`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolProgress<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub item_id: Str<'a>,
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FileChangeItem<'a> {
    #[serde(borrow)]
    pub changes: &'a RawValue,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FileChange<'a> {
    #[serde(borrow)]
    pub path: Str<'a>,
    #[serde(borrow)]
    pub kind: FileChangeKind<'a>,
    #[serde(borrow, default)]
    pub diff: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FileChangeKind<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub move_path: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct McpItem<'a> {
    #[serde(borrow)]
    pub server: Str<'a>,
    #[serde(borrow)]
    pub tool: Str<'a>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<Message<'a>>,
    #[serde(default)]
    pub duration_ms: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub message: Str<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct McpResult<'a> {
    #[serde(borrow, default)]
    pub content: Option<Vec<&'a RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DynamicItem<'a> {
    #[serde(borrow, default)]
    pub namespace: Option<Str<'a>>,
    #[serde(borrow)]
    pub tool: Str<'a>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub content_items: Option<&'a RawValue>,
    #[serde(default)]
    pub success: Option<bool>,
    #[serde(default)]
    pub duration_ms: Option<i64>,
}

/// `inputText {text}` or `inputImage {imageUrl}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContentItem<'a> {
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub image_url: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WebSearchItem<'a> {
    #[serde(borrow, default)]
    pub query: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub results: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WebSearchAction<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub url: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub pattern: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ImageViewItem<'a> {
    #[serde(borrow)]
    pub path: Str<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReviewItem<'a> {
    #[serde(borrow, default)]
    pub review: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CollabItem<'a> {
    #[serde(borrow)]
    pub tool: Str<'a>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub receiver_thread_ids: Option<Vec<Str<'a>>>,
    #[serde(borrow, default)]
    pub prompt: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub model: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub agents_states: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SubAgentItem<'a> {
    #[serde(borrow)]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub agent_thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub agent_path: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub model: Option<Str<'a>>,
}

/// An item of a type that this version of ours does not know.
#[derive(Debug, Deserialize)]
pub(super) struct UnknownItem<'a> {
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
}

/// `turn/started` and `turn/completed`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub turn: Turn<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Turn<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, default)]
    pub root_turn_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub error: Option<TurnError<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnError<'a> {
    #[serde(borrow)]
    pub message: Str<'a>,
    #[serde(borrow, default)]
    pub codex_error_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub additional_details: Option<Str<'a>>,
}

/// The `error` notification.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ErrorNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub error: TurnError<'a>,
    #[serde(default)]
    pub will_retry: Option<bool>,
}

/// `turn/plan/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlanNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub plan: Vec<PlanStep<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PlanStep<'a> {
    #[serde(borrow)]
    pub step: Str<'a>,
    #[serde(borrow)]
    pub status: Str<'a>,
}

/// `configWarning`, `warning`, `deprecationNotice` and `guardianWarning`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WarningNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub summary: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub details: Option<Str<'a>>,
}

/// `thread/name/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NameNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub thread_name: Option<Str<'a>>,
}

/// `thread/settings/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SettingsNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub thread_settings: Settings<'a>,
}

/// What a thread runs with: part of an answer to `thread/start` and the like, and of `thread/settings/updated`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Settings<'a> {
    #[serde(borrow)]
    pub model: Option<Str<'a>>,
    #[serde(borrow)]
    pub model_provider: Option<Str<'a>>,
    #[serde(borrow)]
    pub cwd: Option<Str<'a>>,
}

/// `model/rerouted`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReroutedNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub to_model: Str<'a>,
}

/// `mcpServer/startupStatus/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct McpStatusNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow)]
    pub status: Str<'a>,
    #[serde(borrow, default)]
    pub error: Option<Str<'a>>,
}

/// The answer to `thread/start`, `thread/resume` and `thread/fork`.
#[derive(Debug, Deserialize)]
pub(super) struct ThreadAnswer<'a> {
    #[serde(borrow)]
    pub thread: ThreadRef<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ThreadRef<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
}

/// The answer to `turn/start` and `review/start`.
#[derive(Debug, Deserialize)]
pub(super) struct TurnAnswer<'a> {
    #[serde(borrow)]
    pub turn: Turn<'a>,
}

/// What the host's requests say about their thread.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HostParams<'a> {
    #[serde(borrow)]
    pub thread_id: Option<Str<'a>>,
}

/// `thread/tokenUsage/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub token_usage: &'a RawValue,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenUsage {
    pub total: Breakdown,
    pub last: Breakdown,
    #[serde(default)]
    pub model_context_window: Option<u64>,
}

/// Counts of one model call, or of all calls of a thread. Input includes the cache, output includes reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Breakdown {
    pub total_tokens: Option<u64>,
    pub input_tokens: Option<u64>,
    pub cached_input_tokens: Option<u64>,
    pub cache_write_input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub reasoning_output_tokens: Option<u64>,
}

/// `rawResponse/completed`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawResponseNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub response_id: Str<'a>,
    #[serde(default)]
    pub usage: Option<Breakdown>,
}

/// The params of every request of the agent that is a permission request or a question, together: few share a field's name
/// with another type.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentRequest<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub item_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub reason: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub command: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub cwd: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub available_decisions: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub permissions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub questions: Option<Vec<Question<'a>>>,
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub mode: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub server_name: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub requested_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub url: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub elicitation_id: Option<Str<'a>>,
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<ElicitationMeta<'a>>,
}

/// `_meta` of an elicitation that asks for leave to call a tool.
#[derive(Debug, Deserialize)]
pub(super) struct ElicitationMeta<'a> {
    #[serde(borrow, default)]
    pub codex_approval_kind: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tool_name: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tool_params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub persist: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Question<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, default)]
    pub header: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub question: Option<Str<'a>>,
    #[serde(default)]
    pub is_other: Option<bool>,
    #[serde(default)]
    pub is_secret: Option<bool>,
    #[serde(borrow, default)]
    pub options: Option<Vec<QuestionOption<'a>>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct QuestionOption<'a> {
    #[serde(borrow)]
    pub label: Str<'a>,
    #[serde(borrow, default)]
    pub description: Option<Str<'a>>,
}

/// The host's answer to any request of the agent.
#[derive(Debug, Deserialize)]
pub(super) struct HostAnswer<'a> {
    #[serde(borrow, default)]
    pub decision: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub permissions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub scope: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub answers: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub action: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<&'a RawValue>,
}

/// `serverRequest/resolved`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResolvedNotice<'a> {
    #[serde(borrow)]
    pub request_id: &'a RawValue,
}
