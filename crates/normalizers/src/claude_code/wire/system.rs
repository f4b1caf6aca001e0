//! `system` lines, and other news about the session.

use crate::numbers::{count, milliseconds};
use crate::rpc::Str;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(in super::super) struct InitLine<'a> {
    #[serde(borrow, default)]
    pub session_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub cwd: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub model: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub fast_mode_state: Option<Str<'a>>,
    #[serde(borrow, rename = "permissionMode", default)]
    pub permission_mode: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tools: Option<Vec<Str<'a>>>,
    #[serde(borrow, default)]
    pub mcp_servers: Option<Vec<ServerStatus<'a>>>,
    #[serde(borrow, default)]
    pub slash_commands: Option<Vec<Str<'a>>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ServerStatus<'a> {
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct StatusLine<'a> {
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, rename = "permissionMode", default)]
    pub permission_mode: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub compact_result: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub compact_error: Option<Str<'a>>,
}

/// Stored sessions spell the names in camel case.
#[derive(Debug, Deserialize)]
pub(in super::super) struct BoundaryLine<'a> {
    #[serde(borrow, alias = "compactMetadata")]
    pub compact_metadata: BoundaryMetadata<'a>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct BoundaryMetadata<'a> {
    #[serde(borrow, default)]
    pub trigger: Option<Str<'a>>,
    #[serde(deserialize_with = "count", alias = "preTokens", default)]
    pub pre_tokens: Option<u64>,
    #[serde(deserialize_with = "count", alias = "postTokens", default)]
    pub post_tokens: Option<u64>,
    #[serde(deserialize_with = "milliseconds", alias = "durationMs", default)]
    pub duration_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct RetryLine<'a> {
    #[serde(deserialize_with = "count", default)]
    pub attempt: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub max_retries: Option<u64>,
    #[serde(deserialize_with = "milliseconds", default)]
    pub retry_delay_ms: Option<u64>,
    /// Null where there was no response.
    #[serde(deserialize_with = "count", default)]
    pub error_status: Option<u64>,
    #[serde(borrow, default)]
    pub error: Option<Str<'a>>,
}

/// `task_started`, `task_progress`, `task_updated` and `task_notification`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct TaskLine<'a> {
    #[serde(borrow, default)]
    pub task_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tool_use_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub summary: Option<Str<'a>>,
}

/// Lines that are a text for a person: `informational`, `notification`, `model_fallback` and their like.
#[derive(Debug, Deserialize)]
pub(in super::super) struct TextLine<'a> {
    #[serde(borrow, default)]
    pub content: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub title: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub priority: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub retracted_message_uuids: Option<Vec<Str<'a>>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct HookLine<'a> {
    #[serde(borrow, default)]
    pub hook_name: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub outcome: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub stderr: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct RateLimitLine<'a> {
    #[serde(borrow)]
    pub rate_limit_info: RateLimit<'a>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct RateLimit<'a> {
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, rename = "rateLimitType", default)]
    pub limit: Option<Str<'a>>,
    #[serde(default)]
    pub utilization: Option<f64>,
}

/// A heartbeat of a running call. `parent_tool_use_id` is the call itself here.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ProgressLine<'a> {
    #[serde(borrow, default)]
    pub tool_use_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub parent_tool_use_id: Option<Str<'a>>,
}
