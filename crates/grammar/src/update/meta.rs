//! `_meta.amalgm`: what our stream adds to an ACP update beside its place in the turn.

use crate::event::{FailureClass, McpTool, Retry, Trigger, Visibility};
use crate::usage::UsageStep;
use serde::Serialize;
use serde_json::Value;

/// The members that depend on the event; each is left out where it has nothing to say.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Extra {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Visibility>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpTool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<Delta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionMeta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init: Option<InitMeta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageStep>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorMeta>,
}

/// The part of a tool call that is new.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Delta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Where a compaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionPhase {
    Started,
    Finished,
}

/// The numbers of a compaction that ACP has no field for: tokens and milliseconds.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionMeta {
    pub phase: CompactionPhase,
    pub trigger: Option<Trigger>,
    pub pre_tokens: Option<u64>,
    pub post_tokens: Option<u64>,
    pub duration_ms: Option<u64>,
}

/// The start of a native session.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitMeta {
    pub provider_session_id: Option<String>,
    pub cwd: Option<String>,
    pub model: Option<String>,
    pub tools: Vec<String>,
    pub mcp_servers: Vec<McpServerStatus>,
}

/// An MCP server as the agent reports it.
#[derive(Debug, Clone, Serialize)]
pub struct McpServerStatus {
    pub name: String,
    pub status: String,
}

/// Output that was streamed and is too long to repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Truncated {
    /// The length of the whole, in bytes.
    pub bytes: u64,
}

/// What failed.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorMeta {
    pub class: FailureClass,
    pub reason: String,
    pub retryable: bool,
}
