//! `assistant` and `user` lines: finished blocks of the model, results of tools, and texts that the CLI puts in.

use crate::numbers::{count, milliseconds};
use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, Deserialize)]
pub(in super::super) struct AssistantLine<'a> {
    #[serde(borrow)]
    pub message: AssistantMessage<'a>,
    #[serde(borrow, default)]
    pub parent_tool_use_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub thinking_display: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tool_use_meta: Option<Vec<ToolUseMeta<'a>>>,
    /// The CLI's word for what went wrong, such as `rate_limit`.
    #[serde(borrow, default)]
    pub error: Option<Str<'a>>,
    #[serde(default)]
    pub is_api_error_message: Option<bool>,
    #[serde(borrow, default)]
    pub api_error: Option<Str<'a>>,
    #[serde(deserialize_with = "count", default)]
    pub api_error_status: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct AssistantMessage<'a> {
    #[serde(borrow, default)]
    pub id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub model: Option<Str<'a>>,
    #[serde(borrow)]
    pub content: &'a RawValue,
    #[serde(borrow, default)]
    pub stop_reason: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

/// Which MCP server and tool a call is for.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ToolUseMeta<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, default)]
    pub tool_name: Option<Str<'a>>,
}

/// One block of content, of any kind.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub thinking: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub name: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub server_name: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tool_use_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(default)]
    pub is_error: Option<bool>,
    #[serde(borrow, default)]
    pub source: Option<Source<'a>>,
    #[serde(borrow, default)]
    pub title: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub url: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tool_name: Option<Str<'a>>,
}

/// Where an image or a document comes from.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Source<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub media_type: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub data: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub url: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct UserLine<'a> {
    #[serde(borrow)]
    pub message: UserMessage<'a>,
    #[serde(borrow, default)]
    pub tool_use_result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tool_result_meta: Option<Vec<ToolResultMeta<'a>>>,
    #[serde(rename = "isReplay", default)]
    pub is_replay: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct UserMessage<'a> {
    #[serde(borrow)]
    pub content: &'a RawValue,
}

/// How a call was not executed.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ToolResultMeta<'a> {
    #[serde(borrow, default, alias = "tool_use_id")]
    pub id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub non_execution_kind: Option<Str<'a>>,
}

/// The structured result of Bash.
#[derive(Debug, Default, Deserialize)]
pub(in super::super) struct ShellResult<'a> {
    #[serde(borrow, default)]
    pub stdout: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub stderr: Option<Str<'a>>,
    #[serde(default)]
    pub interrupted: Option<bool>,
    #[serde(borrow, rename = "backgroundTaskId", default)]
    pub background_task_id: Option<Str<'a>>,
    /// Set where the exit code is not 0 and still no failure, as of a `grep` that finds nothing.
    #[serde(borrow, rename = "returnCodeInterpretation", default)]
    pub return_code_interpretation: Option<Str<'a>>,
    #[serde(borrow, rename = "persistedOutputPath", default)]
    pub persisted_output_path: Option<Str<'a>>,
    #[serde(deserialize_with = "count", rename = "persistedOutputSize", default)]
    pub persisted_output_size: Option<u64>,
}

/// The structured result of Write and Edit.
#[derive(Debug, Default, Deserialize)]
pub(in super::super) struct EditResult<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Option<Str<'a>>,
    #[serde(borrow, rename = "filePath", default)]
    pub file_path: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub content: Option<Str<'a>>,
    #[serde(borrow, rename = "originalFile", default)]
    pub original_file: Option<Str<'a>>,
    #[serde(borrow, rename = "oldString", default)]
    pub old_string: Option<Str<'a>>,
    #[serde(borrow, rename = "newString", default)]
    pub new_string: Option<Str<'a>>,
    #[serde(borrow, rename = "structuredPatch", default)]
    pub structured_patch: Option<Vec<Hunk<'a>>>,
}

/// One hunk of a patch; a line begins with `+`, `-` or a space.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Hunk<'a> {
    #[serde(deserialize_with = "count", rename = "newStart", default)]
    pub new_start: Option<u64>,
    #[serde(borrow, default)]
    pub lines: Vec<Str<'a>>,
}

/// What the structured results of other tools have in common.
#[derive(Debug, Default, Deserialize)]
pub(in super::super) struct AnyResult<'a> {
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow, rename = "resourceLinks", default)]
    pub resource_links: Option<Vec<Link<'a>>>,
    #[serde(deserialize_with = "milliseconds", rename = "totalDurationMs", default)]
    pub total_duration_ms: Option<u64>,
    #[serde(deserialize_with = "milliseconds", rename = "durationMs", default)]
    pub duration_ms: Option<u64>,
}

/// A resource that an MCP tool points to.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Link<'a> {
    #[serde(borrow)]
    pub uri: Str<'a>,
    #[serde(borrow, default)]
    pub name: Option<Str<'a>>,
    #[serde(borrow, rename = "mimeType", default)]
    pub mime_type: Option<Str<'a>>,
}
