//! The life of tool calls.

use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// `tool_execution_start`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ExecutionStart<'a> {
    #[serde(borrow)]
    pub tool_call_id: Str<'a>,
    #[serde(borrow)]
    pub tool_name: Str<'a>,
    #[serde(borrow, default)]
    pub args: Option<&'a RawValue>,
}

/// `tool_execution_update`. It repeats the arguments, which are not read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ExecutionUpdate<'a> {
    #[serde(borrow)]
    pub tool_call_id: Str<'a>,
    #[serde(borrow)]
    pub partial_result: PartialResult<'a>,
}

/// The whole output so far, or its tail where it is long.
#[derive(Debug, Deserialize)]
pub(in super::super) struct PartialResult<'a> {
    #[serde(borrow, default)]
    pub content: Vec<ResultBlock<'a>>,
    #[serde(default)]
    pub details: Option<PartialDetails>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ResultBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct PartialDetails {
    #[serde(default)]
    pub truncation: Option<Truncation>,
}

/// What a long output is the tail of.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Truncation {
    #[serde(default)]
    pub truncated: bool,
    /// The length of the whole, in bytes.
    #[serde(default)]
    pub total_bytes: u64,
}

/// `tool_execution_end`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ExecutionEnd<'a> {
    #[serde(borrow)]
    pub tool_call_id: Str<'a>,
    #[serde(borrow, default)]
    pub tool_name: Option<Str<'a>>,
    #[serde(borrow)]
    pub result: ToolResult<'a>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(default)]
    pub duration_ms: Option<f64>,
}

/// What a tool gave.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ToolResult<'a> {
    #[serde(borrow, default)]
    pub content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub structured_content: Option<&'a RawValue>,
}

/// The structured result of `bash`. Its output is complete where the text is only the tail.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ShellResult<'a> {
    #[serde(borrow, default)]
    pub output: Option<Str<'a>>,
    #[serde(default)]
    pub exit_code: Option<i64>,
}

/// The details of an MCP tool's result.
#[derive(Debug, Deserialize)]
pub(in super::super) struct McpDetails<'a> {
    #[serde(borrow)]
    pub server: Str<'a>,
    #[serde(borrow)]
    pub tool: Str<'a>,
}

/// The details of an edit.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct EditDetails {
    #[serde(default)]
    pub first_changed_line: Option<u32>,
}

/// `bash_execution_update`: a piece of the output of a command that the host runs.
#[derive(Debug, Deserialize)]
pub(in super::super) struct HostBashUpdate<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub delta: Str<'a>,
}
