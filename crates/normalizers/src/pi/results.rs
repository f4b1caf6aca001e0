//! The end of tool calls: what they gave, and whether they failed.

use super::Malformed;
use super::answers::value;
use super::calls::Call;
use super::wire::{EditDetails, McpDetails, ResultBlock, ShellResult, ToolResult};
use crate::tools::text_content;
use chat_grammar::acp::{ContentBlock, ToolCallContent};
use chat_grammar::event::{McpTool, ToolCompleted};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// How an execution ended.
#[derive(Debug)]
pub(super) struct Ended<'a> {
    pub result: &'a ToolResult<'a>,
    pub is_error: bool,
    pub duration_ms: Option<f64>,
}

/// The end of a call whose output was streamed as far as `streamed`.
pub(super) fn completed(call: &Call, ended: &Ended<'_>, streamed: &str, cwd: Option<&str>) -> Result<ToolCompleted, Malformed> {
    let mut content = blocks(ended.result);
    let mut locations = None;
    let (output, is_error) = match call.tool.is_shell() {
        true => shell(ended, streamed)?,
        false => (raw(call, ended.result)?, ended.is_error),
    };
    if is_error && content.is_empty() {
        content.push(text_content("The call failed"));
    }
    if !is_error {
        content.extend(call.tool.diffs(&call.input, cwd));
        // A number that is none is no reason to lose the end of the call.
        let details: Option<EditDetails> = ended.result.details.and_then(|details| serde_json::from_str(details.get()).ok());
        let line = details.and_then(|details| details.first_changed_line);
        locations = line.map(|line| call.tool.locations(&call.input, Some(line), cwd)).filter(|places| !places.is_empty());
    }
    Ok(ToolCompleted {
        tool_call_id: call.id.clone(),
        is_error,
        title: None,
        input: None,
        output,
        content,
        locations,
        mcp: mcp(call, ended.result),
        duration_ms: ended.duration_ms.map(|milliseconds| milliseconds as u64),
    })
}

/// The blocks of a result, which are ACP's own. One that ACP does not know is shown as its JSON.
pub(super) fn blocks(result: &ToolResult<'_>) -> Vec<ToolCallContent> {
    let known = |block: &RawValue| {
        serde_json::from_str::<ContentBlock>(block.get()).map_or_else(|_| text_content(block.get()), Into::into)
    };
    result.content.iter().flatten().map(|block| known(block)).collect()
}

/// The raw output of a tool that is no shell: the structured result where there is one, else what is beside the text, else the text.
fn raw(call: &Call, result: &ToolResult<'_>) -> Result<Value, Malformed> {
    let structured = value(result.structured_content)?;
    if !structured.is_null() {
        return Ok(structured);
    }
    let details = value(result.details)?;
    let says_something = details.as_object().is_none_or(|details| !details.is_empty()) && !details.is_null();
    match says_something && call.tool.mcp.is_none() {
        true => Ok(details),
        false => Ok(Value::String(text(result))),
    }
}

fn text(result: &ToolResult<'_>) -> String {
    let blocks = result.content.iter().flatten();
    let texts: Vec<String> = blocks
        .filter_map(|block| Some(serde_json::from_str::<ResultBlock<'_>>(block.get()).ok()?.text?.0.into_owned()))
        .collect();
    texts.join("\n")
}

/// The raw output of a shell, and whether the command failed. The structured output is complete where the text is a tail with a
/// remark; where it is missing, the command did not end by itself, or Pi is of version 0.74.
fn shell(ended: &Ended<'_>, streamed: &str) -> Result<(Value, bool), Malformed> {
    let structured: Option<ShellResult<'_>> = match ended.result.structured_content {
        Some(structured) => Some(serde_json::from_str(structured.get())?),
        None => None,
    };
    if let Some(ShellResult { output: Some(output), exit_code }) = &structured {
        let failed = ended.is_error || exit_code.is_some_and(|code| code != 0);
        return Ok((json!({ "exitCode": exit_code, "output": &**output }), failed));
    }
    let text = text(ended.result);
    if !ended.is_error {
        return Ok((json!({ "exitCode": null, "output": text }), false));
    }
    let (output, remark) = remark(&text).unwrap_or((streamed, ""));
    let code = remark.strip_prefix("Command exited with code ").and_then(|code| code.parse::<i64>().ok());
    Ok((json!({ "exitCode": code, "output": output }), true))
}

/// The output before Pi's remark on how the command ended, and the remark.
fn remark(text: &str) -> Option<(&str, &str)> {
    let (output, remark) = text.rsplit_once("\n\n").unwrap_or(("", text));
    let known = ["Command exited with code ", "Command timed out after ", "Command aborted"];
    known.iter().any(|start| remark.starts_with(start)).then_some((output, remark))
}

/// The server and tool of an MCP call: as the result says, else as the name does.
fn mcp(call: &Call, result: &ToolResult<'_>) -> Option<McpTool> {
    let named = call.tool.mcp.as_ref()?;
    let details = result.details.and_then(|details| serde_json::from_str::<McpDetails<'_>>(details.get()).ok());
    let told = details.map(|details| McpTool { server: details.server.to_string(), tool: details.tool.to_string() });
    Some(told.unwrap_or_else(|| named.clone()))
}
