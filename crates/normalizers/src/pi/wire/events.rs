//! What happens around the messages: the run, retries, compaction, extensions.

use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The kind of a line, where it does not begin with it.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Tag<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
}

/// `agent_end`; 0.74 does not say whether a retry follows.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AgentEnd {
    #[serde(default)]
    pub will_retry: Option<bool>,
}

/// `agent_settled`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct AgentSettled {
    #[serde(default)]
    pub aborted: bool,
}

/// `auto_retry_start`, and `summarization_retry_*`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct RetryStart<'a> {
    #[serde(default)]
    pub attempt: Option<u64>,
    #[serde(default)]
    pub max_attempts: Option<u64>,
    #[serde(default)]
    pub delay_ms: Option<f64>,
    #[serde(borrow, default)]
    pub error_message: Option<Str<'a>>,
}

/// `auto_retry_end`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct RetryEnd<'a> {
    #[serde(default)]
    pub success: bool,
    #[serde(borrow, default)]
    pub final_error: Option<Str<'a>>,
}

/// `compaction_start`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct CompactionStart<'a> {
    #[serde(borrow, default)]
    pub reason: Option<Str<'a>>,
}

/// `compaction_end`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct CompactionEnd<'a> {
    #[serde(borrow, default)]
    pub reason: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub result: Option<CompactionResult<'a>>,
    #[serde(borrow, default)]
    pub error_message: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct CompactionResult<'a> {
    #[serde(borrow, default)]
    pub summary: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub first_kept_entry_id: Option<Str<'a>>,
    #[serde(default)]
    pub tokens_before: Option<u64>,
    #[serde(default)]
    pub estimated_tokens_after: Option<u64>,
    /// Of all model calls that the compaction made.
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

/// `extension_ui_request`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct UiRequest<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub method: Str<'a>,
    #[serde(borrow, default)]
    pub title: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub options: Option<Vec<Str<'a>>>,
    #[serde(borrow, default)]
    pub placeholder: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub prefill: Option<Str<'a>>,
}

/// `extension_error`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ExtensionError<'a> {
    #[serde(borrow, default)]
    pub extension_path: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub event: Option<Str<'a>>,
    #[serde(borrow)]
    pub error: Str<'a>,
}

/// `session_info_changed`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct SessionInfo<'a> {
    #[serde(borrow, default)]
    pub name: Option<Str<'a>>,
}

/// `thinking_level_changed`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct LevelChanged<'a> {
    #[serde(borrow)]
    pub level: Str<'a>,
}
