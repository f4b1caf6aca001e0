//! The end of a tool call: what it returned, and whether it failed.

use super::Malformed;
use super::calls::{Call, ended};
use super::info::Info;
use super::tool_parts::metadata;
use super::wire::{EditMetadata, ShellMetadata, ToolState};
use super::{blocks, edits, subjects};
use crate::tools::{ToolCalls, text_content};
use chat_grammar::acp::ToolCallContent;
use chat_grammar::event::ToolCompleted;
use serde_json::{Map, Value, json};

/// What a shell command's output ends with where the command did not end by itself.
const SHELL_NOTE: &str = "<shell_metadata>";

/// The end of a call. `tool` is the tool that ran in the end: `invalid` where there is none of the name.
pub(super) fn completed(
    call: &Call,
    tool: &str,
    state: &ToolState<'_>,
    input: &Value,
    info: &Info,
    tools: &ToolCalls,
) -> Result<ToolCompleted, Malformed> {
    let mut end = match (&*state.status, call.tool.as_str()) {
        ("error", "bash") => shell_error(call, state, tools),
        ("error", _) => error(call, state)?,
        (_, "bash") if tool == "bash" => shell(call, state, tools),
        (_, "bash") => shell_refused(call, state),
        _ => returned(call, tool, state, input)?,
    };
    let title = state.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    let kept = subjects::keeps_title(&call.tool) || subjects::keeps_title(tool);
    let made = || subjects::title(&call.tool, &call.subject, input, info);
    let title = match title {
        Some(title) if !kept => title.lines().next().unwrap_or(title).to_owned(),
        _ if *input == json!({}) || tool == "invalid" => call.title.clone(),
        _ => made(),
    };
    end.title = (title != call.title).then_some(title);
    end.duration_ms = duration(state);
    Ok(end)
}

/// A command ended, or was ended. The server calls that completed whatever the exit code.
fn shell(call: &Call, state: &ToolState<'_>, tools: &ToolCalls) -> ToolCompleted {
    let metadata: Option<ShellMetadata<'_>> = metadata(state.metadata);
    let output = state.output.as_deref().map_or_else(|| tools.streamed(&call.id), str::to_owned);
    let exit = metadata.as_ref().and_then(|metadata| metadata.exit);
    let failure = match exit {
        Some(Some(0)) | None => None,
        Some(Some(code)) => Some(format!("Exit code {code}")),
        // The output says why.
        Some(None) if output.contains(SHELL_NOTE) => Some(String::new()),
        Some(None) => Some("The command did not end by itself".to_owned()),
    };
    let mut content = text(&output);
    content.extend(failure.iter().filter(|reason| !reason.is_empty()).map(text_content));
    let raw = json!({ "exitCode": exit.flatten(), "output": output });
    ToolCompleted { content, ..ended(call.id.clone(), failure.is_some(), raw) }
}

fn shell_error(call: &Call, state: &ToolState<'_>, tools: &ToolCalls) -> ToolCompleted {
    let output = tools.streamed(&call.id);
    let mut content = text(&output);
    content.push(text_content(reason(state)));
    ToolCompleted { content, ..ended(call.id.clone(), true, json!({ "exitCode": null, "output": output })) }
}

/// A command that the session does not offer, or whose arguments are none.
fn shell_refused(call: &Call, state: &ToolState<'_>) -> ToolCompleted {
    let output = state.output.as_deref().unwrap_or_default();
    let raw = json!({ "exitCode": null, "output": output });
    ToolCompleted { content: text(output), ..ended(call.id.clone(), true, raw) }
}

fn error(call: &Call, state: &ToolState<'_>) -> Result<ToolCompleted, Malformed> {
    let mut raw = Map::new();
    raw.insert("error".to_owned(), reason(state).into());
    insert_metadata(&mut raw, state)?;
    Ok(ToolCompleted { content: vec![text_content(reason(state))], ..ended(call.id.clone(), true, Value::Object(raw)) })
}

fn reason<'a>(state: &'a ToolState<'_>) -> &'a str {
    state.error.as_deref().filter(|error| !error.is_empty()).unwrap_or("The call failed")
}

/// A call of any other tool returned.
fn returned(call: &Call, tool: &str, state: &ToolState<'_>, input: &Value) -> Result<ToolCompleted, Malformed> {
    let output = state.output.as_deref().unwrap_or_default();
    let input = if *input == json!({}) { &call.input } else { input };
    let edit: EditMetadata<'_> = metadata(state.metadata).unwrap_or_default();
    let changed = edits::made(tool, input, &edit);
    let mut content = changed.content;
    content.extend(text(if tool == "task" { task_result(output) } else { output }));
    for file in state.attachments.iter().flatten() {
        content.push(blocks::file(&file.url, &file.mime, file.filename.as_deref()).into());
    }
    let mut raw = Map::new();
    raw.insert("output".to_owned(), output.into());
    insert_metadata(&mut raw, state)?;
    // A tool that does not exist, or arguments that are none.
    let is_error = tool == "invalid";
    let locations = (!changed.locations.is_empty()).then_some(changed.locations);
    Ok(ToolCompleted { content, locations, ..ended(call.id.clone(), is_error, Value::Object(raw)) })
}

fn insert_metadata(raw: &mut Map<String, Value>, state: &ToolState<'_>) -> Result<(), Malformed> {
    if let Some(metadata) = state.metadata {
        raw.insert("metadata".to_owned(), serde_json::from_str(metadata.get())?);
    }
    Ok(())
}

fn text(text: &str) -> Vec<ToolCallContent> {
    if text.is_empty() { Vec::new() } else { vec![text_content(text)] }
}

/// The last words of a sub-agent, which the output wraps for the model.
fn task_result(output: &str) -> &str {
    let inner = output.split_once("<task_result>\n").and_then(|(_, rest)| rest.rsplit_once("\n</task_result>"));
    inner.map_or(output, |(result, _)| result)
}

fn duration(state: &ToolState<'_>) -> Option<u64> {
    let time = state.time?;
    let took = time.end? - time.start?;
    (took >= 0.0).then_some(took as u64)
}
