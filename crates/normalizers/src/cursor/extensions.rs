//! Cursor's own methods. Some builds send what is a notification as a request; it means the same.

use super::requests;
use super::wire::{CallParams, Todo, TodosParams};
use crate::acp::{Acp, Malformed, Read};
use chat_grammar::acp::{
    ContentBlock, PlanEntry, PlanEntryPriority, PlanEntryStatus, ResourceLink, ToolCallContent, ToolCallLocation,
};
use chat_grammar::event::{ChatEvent, ToolUpdated};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// More entries than a list has that anybody reads.
const TODO_LIMIT: usize = 1000;

/// The agent's list of things to do, which it tells as a whole or by its changes.
#[derive(Debug, Default)]
pub(super) struct Todos {
    /// Id, words and status.
    list: Vec<(String, String, PlanEntryStatus)>,
}

impl Todos {
    fn take(&mut self, params: &TodosParams<'_>) {
        if params.merge != Some(true) {
            self.list.clear();
        }
        for todo in &params.todos {
            let id = todo.id.as_deref().or(todo.content.as_deref()).unwrap_or_default();
            let has_room = self.list.len() < TODO_LIMIT;
            match self.list.iter_mut().find(|(known, ..)| known == id) {
                Some((_, content, status)) => {
                    if let Some(words) = todo.content.as_deref() {
                        words.clone_into(content);
                    }
                    if todo.status.is_some() {
                        *status = todo_status(todo);
                    }
                }
                None if has_room => {
                    let content = todo.content.as_deref().unwrap_or(id);
                    self.list.push((id.to_owned(), content.to_owned(), todo_status(todo)));
                }
                None => {}
            }
        }
    }

    fn entries(&self) -> Vec<PlanEntry> {
        self.list.iter().map(|(_, content, status)| entry(content, status.clone())).collect()
    }
}

/// The entries of a plan that is to be accepted.
pub(super) fn plan_entries(todos: &[Todo<'_>]) -> Vec<PlanEntry> {
    todos.iter().filter_map(|todo| Some(entry(todo.content.as_deref()?, todo_status(todo)))).collect()
}

fn entry(content: &str, status: PlanEntryStatus) -> PlanEntry {
    PlanEntry::new(content, PlanEntryPriority::Medium, status)
}

/// What was cancelled is pending, as in the plans that Cursor itself makes of its lists: ACP has no word for it.
fn todo_status(todo: &Todo<'_>) -> PlanEntryStatus {
    match todo.status.as_deref() {
        Some("completed") => PlanEntryStatus::Completed,
        Some("in_progress") => PlanEntryStatus::InProgress,
        _ => PlanEntryStatus::Pending,
    }
}

/// Reads a message that ACP does not know.
pub(super) fn message(
    acp: &mut Acp,
    todos: &mut Todos,
    method: &str,
    id: Option<&RawValue>,
    params: &RawValue,
    out: &mut Vec<ChatEvent>,
) -> Result<Read, Malformed> {
    match (method, id) {
        ("cursor/ask_question", Some(id)) => requests::question(acp, id, params, out)?,
        ("cursor/create_plan", Some(id)) => requests::plan(acp, id, params, out)?,
        ("cursor/update_todos", _) => {
            todos.take(&serde_json::from_str(params.get())?);
            acp.plan_is(todos.entries(), out);
        }
        ("cursor/task" | "cursor/generate_image", _) => return call(acp, params, out),
        _ => return Ok(Read::Unknown),
    }
    Ok(Read::Known)
}

/// What a call's own update does not say: the task that a subagent got, or the image that was made.
fn call(acp: &mut Acp, params: &RawValue, out: &mut Vec<ChatEvent>) -> Result<Read, Malformed> {
    let call: CallParams<'_> = serde_json::from_str(params.get())?;
    let mut input: Map<String, Value> = serde_json::from_str(params.get())?;
    for known in ["toolCallId", "filePath", "durationMs"] {
        input.remove(known);
    }
    let path = call.file_path.as_deref().filter(|path| !path.is_empty());
    let news = ToolUpdated {
        input: Some(Value::Object(input)),
        content: path.map(|path| vec![file(path)]),
        locations: path.map(|path| vec![ToolCallLocation::new(path)]),
        ..ToolUpdated::default()
    };
    Ok(match acp.tool_news(&call.tool_call_id, news, out) {
        true => Read::Known,
        false => Read::Unknown,
    })
}

fn file(path: &str) -> ToolCallContent {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let slash = if path.starts_with('/') { "" } else { "/" };
    ToolCallContent::from(ContentBlock::ResourceLink(ResourceLink::new(name, format!("file://{slash}{path}"))))
}
