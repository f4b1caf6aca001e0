//! Notifications that are about no item.

use crate::rpc::Str;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A piece of streamed text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Delta<'a> {
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

/// `item/commandExecution/terminalInteraction`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct TerminalInteraction<'a> {
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
pub(in super::super) struct ToolProgress<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub item_id: Str<'a>,
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
}

/// `turn/started` and `turn/completed`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct TurnNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub turn: Turn<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Turn<'a> {
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
pub(in super::super) struct TurnError<'a> {
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
pub(in super::super) struct ErrorNotice<'a> {
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
pub(in super::super) struct PlanNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub plan: Vec<PlanStep<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct PlanStep<'a> {
    #[serde(borrow)]
    pub step: Str<'a>,
    #[serde(borrow)]
    pub status: Str<'a>,
}

/// `configWarning`, `warning`, `deprecationNotice` and `guardianWarning`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct WarningNotice<'a> {
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
pub(in super::super) struct NameNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub thread_name: Option<Str<'a>>,
}

/// `thread/settings/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct SettingsNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub thread_settings: Settings<'a>,
}

/// What a thread runs with: part of an answer to `thread/start` and the like, and of `thread/settings/updated`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in super::super) struct Settings<'a> {
    #[serde(borrow)]
    pub model: Option<Str<'a>>,
    #[serde(borrow)]
    pub model_provider: Option<Str<'a>>,
    #[serde(borrow)]
    pub cwd: Option<Str<'a>>,
    /// `Some(None)`: the usual one. `None`: nothing is said of it.
    #[serde(borrow, deserialize_with = "stated")]
    pub service_tier: Option<Option<Str<'a>>>,
}

/// Tells a null from what is not there.
fn stated<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// `model/rerouted`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ReroutedNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub to_model: Str<'a>,
}

/// `mcpServer/startupStatus/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct McpStatusNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow)]
    pub status: Str<'a>,
    #[serde(borrow, default)]
    pub error: Option<Str<'a>>,
}

/// `thread/tokenUsage/updated`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct UsageNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub token_usage: &'a RawValue,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct TokenUsage {
    pub total: Breakdown,
    pub last: Breakdown,
    #[serde(default)]
    pub model_context_window: Option<u64>,
}

/// Counts of one model call, or of all calls of a thread. Input includes the cache, output includes reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in super::super) struct Breakdown {
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
pub(in super::super) struct RawResponseNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub response_id: Str<'a>,
    #[serde(default)]
    pub usage: Option<Breakdown>,
}
