//! Tool events in their public form, and the texts that are derived for them.

use super::fields::Fields;
use chat_grammar::acp::{ContentBlock, ToolCallContent};
use chat_grammar::event::{McpTool, ToolCompleted, ToolStarted, ToolUpdated};
use serde_json::{Value, json};

pub(super) fn started(tool: &ToolStarted, mut fields: Fields) -> Fields {
    fields.set("toolCallId", tool.tool_call_id.as_str());
    fields.set("toolName", tool.tool_name.as_str());
    fields.set("title", tool.title.as_str());
    fields.set_json("kind", &tool.kind);
    fields.set("status", if tool.pending { "pending" } else { "in_progress" });
    fields.set("input", tool.input.clone());
    fields.set_some("detail", detail(&tool.input));
    if !tool.content.is_empty() {
        fields.set_json("content", &tool.content);
    }
    if !tool.locations.is_empty() {
        fields.set_json("locations", &tool.locations);
    }
    mcp(tool.mcp.as_ref(), &mut fields);
    fields
}

pub(super) fn updated(tool: &ToolUpdated, mut fields: Fields) -> Fields {
    fields.set("toolCallId", tool.tool_call_id.as_str());
    fields.set_some("status", tool.in_progress.then_some("in_progress"));
    fields.set_some("toolName", tool.tool_name.as_deref());
    fields.set_some("title", tool.title.as_deref());
    fields.set_some("input", tool.input.clone());
    fields.set_some("detail", tool.input.as_ref().and_then(detail));
    fields.set_some("inputDelta", tool.input_delta.clone());
    fields.set_some("outputDelta", tool.output_delta.as_deref());
    if let Some(content) = &tool.content {
        fields.set_json("content", content);
    }
    if let Some(locations) = &tool.locations {
        fields.set_json("locations", locations);
    }
    mcp(tool.mcp.as_ref(), &mut fields);
    fields
}

pub(super) fn completed(tool: &ToolCompleted, mut fields: Fields) -> Fields {
    fields.set("toolCallId", tool.tool_call_id.as_str());
    fields.set_some("title", tool.title.as_deref());
    fields.set_some("input", tool.input.clone());
    fields.set_some("detail", tool.input.as_ref().and_then(detail));
    fields.set("output", tool.output.clone());
    fields.set("result", result(tool));
    fields.set("isError", tool.is_error);
    fields.set_some("error", error(tool));
    fields.set_some("timing", tool.duration_ms.map(|milliseconds| json!({ "elapsedMs": milliseconds })));
    fields.set_json("content", &tool.content);
    if let Some(locations) = &tool.locations {
        fields.set_json("locations", locations);
    }
    if let Some(milliseconds) = tool.duration_ms {
        fields.set_metadata("durationMs", milliseconds);
    }
    mcp(tool.mcp.as_ref(), &mut fields);
    fields
}

fn mcp(mcp: Option<&McpTool>, fields: &mut Fields) {
    if let Some(mcp) = mcp {
        fields.set_metadata("mcp", json!({ "server": mcp.server, "tool": mcp.tool }));
    }
}

/// What a result is as one text: its text blocks, or else what its output says.
fn result(tool: &ToolCompleted) -> String {
    let texts: Vec<&str> = tool.content.iter().filter_map(text).collect();
    if !texts.is_empty() {
        return texts.join("\n");
    }
    let said = match &tool.output {
        Value::String(text) => Some(text.as_str()),
        output => output.get("output").or_else(|| output.get("stdout")).and_then(Value::as_str),
    };
    said.unwrap_or_default().to_owned()
}

/// Why a call failed: what its content says last.
pub(crate) fn error(tool: &ToolCompleted) -> Option<String> {
    let said = || tool.content.iter().rev().find_map(text).filter(|text| !text.is_empty());
    tool.is_error.then(|| said().unwrap_or("The call failed").to_owned())
}

fn text(content: &ToolCallContent) -> Option<&str> {
    match content {
        ToolCallContent::Content(content) => match &content.content {
            ContentBlock::Text(text) => Some(&text.text),
            _ => None,
        },
        _ => None,
    }
}

/// The one member of an input that says most about the call.
fn detail(input: &Value) -> Option<&str> {
    let names = ["command", "file_path", "filePath", "path", "query", "pattern", "url", "prompt", "description"];
    names.iter().find_map(|name| input.get(name)?.as_str())
}
