//! Shell commands.

use super::calls::Subject;
use super::shell;
use super::wire::{CommandAction, CommandItem};
use crate::tools::{ToolCalls, text_content};
use chat_grammar::acp::{ToolCallLocation, ToolKind};
use chat_grammar::event::{ToolCompleted, ToolStarted};
use serde_json::{Map, Value, json};

pub(super) const TOOL_NAME: &str = "Bash";

/// What a command line wants to do.
pub(super) fn subject(command: &str, cwd: Option<&str>, actions: &[CommandAction<'_>]) -> Subject {
    let mut input = Map::new();
    input.insert("command".to_owned(), command.into());
    if let Some(cwd) = cwd {
        input.insert("cwd".to_owned(), cwd.into());
    }
    Subject {
        tool_name: TOOL_NAME.to_owned(),
        title: shell::unwrap(command),
        kind: kind(actions),
        input: Value::Object(input),
        mcp: None,
    }
}

/// What the command of an item wants to do.
pub(super) fn item_subject(item: &CommandItem<'_>) -> Subject {
    subject(&item.command, item.cwd.as_deref(), item.command_actions.as_deref().unwrap_or_default())
}

/// The start of a command. One that is not yet a process waits for leave.
pub(super) fn started(item: &CommandItem<'_>, subject: &Subject, id: String) -> ToolStarted {
    let waits = item.process_id.is_none() && item.source.as_deref() == Some("agent");
    let paths = item.command_actions.iter().flatten().filter(|action| &*action.kind == "read").filter_map(|action| {
        let path = action.path.as_deref()?;
        match path.starts_with('/') {
            true => Some(path.to_owned()),
            false => Some(format!("{}/{path}", item.cwd.as_deref()?.trim_end_matches('/'))),
        }
    });
    ToolStarted { pending: waits, locations: paths.map(ToolCallLocation::new).collect(), ..subject.started(id) }
}

/// The end of a command. Its deltas are not complete, so that the whole output comes with it; what was streamed where it does not.
pub(super) fn completed(item: &CommandItem<'_>, id: String, tools: &ToolCalls) -> ToolCompleted {
    let output = item.aggregated_output.as_deref().map_or_else(|| tools.streamed(&id), str::to_owned);
    let status = item.status.as_deref();
    let failure = match (status, item.exit_code) {
        (Some("declined"), _) => Some("The command was declined".to_owned()),
        (_, Some(code)) if code != 0 => Some(format!("Exit code {code}")),
        (Some("failed"), _) => Some("The command failed".to_owned()),
        _ => None,
    };
    let mut content = Vec::with_capacity(2);
    if !output.is_empty() {
        content.push(text_content(output.as_str()));
    }
    content.extend(failure.as_deref().map(text_content));
    ToolCompleted {
        tool_call_id: id,
        is_error: failure.is_some(),
        title: None,
        input: None,
        output: json!({ "exitCode": item.exit_code, "output": output }),
        content,
        locations: None,
        mcp: None,
        duration_ms: super::items::duration(item.duration_ms),
    }
}

fn kind(actions: &[CommandAction<'_>]) -> ToolKind {
    let all = |kinds: &[&str]| !actions.is_empty() && actions.iter().all(|action| kinds.contains(&&*action.kind));
    if all(&["read"]) {
        ToolKind::Read
    } else if all(&["search", "listFiles"]) {
        ToolKind::Search
    } else {
        ToolKind::Execute
    }
}
