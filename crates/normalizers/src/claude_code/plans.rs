//! Todos and tasks. There is no plan on the wire: it is built from the calls that change it.

use super::calls::Call;
use chat_grammar::acp::{PlanEntry, PlanEntryPriority, PlanEntryStatus};
use chat_grammar::event::{ChatEvent, EventKind};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// The task lists: the main loop's, and each subagent's under its call.
#[derive(Debug, Default)]
pub(super) struct Plans {
    lists: HashMap<Option<String>, Vec<Task>>,
}

#[derive(Debug, Clone)]
struct Task {
    id: String,
    subject: String,
    status: PlanEntryStatus,
}

impl Plans {
    /// The plan after a call of a todo tool that went well; `None` where it says nothing about the plan.
    pub(super) fn changed(&mut self, call: &Call, structured: Option<&RawValue>) -> Option<ChatEvent> {
        let result = || structured.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let entries = match call.name.as_str() {
            "TodoWrite" => todos(call.input.get("todos")?)?,
            "TaskCreate" => {
                let result = result()?;
                let task = result.get("task")?;
                let task = Task {
                    id: text(task, "id")?,
                    subject: text(task, "subject").or_else(|| text(&call.input, "subject"))?,
                    status: PlanEntryStatus::Pending,
                };
                let tasks = self.list(call);
                tasks.retain(|known| known.id != task.id);
                tasks.push(task);
                entries(tasks)
            }
            "TaskUpdate" => {
                let id = text(&call.input, "taskId")?;
                let tasks = self.list(call);
                let position = tasks.iter().position(|task| task.id == id)?;
                if call.input.get("status").is_some_and(|status| status == "deleted") {
                    tasks.remove(position);
                } else if let Some(task) = tasks.get_mut(position) {
                    task.status = call.input.get("status").map_or_else(|| task.status.clone(), status);
                    task.subject = text(&call.input, "subject").unwrap_or_else(|| task.subject.clone());
                }
                entries(tasks)
            }
            "TaskList" => {
                let result = result()?;
                let told = result.get("tasks")?.as_array()?.iter().filter_map(|task| {
                    Some(Task { id: text(task, "id")?, subject: text(task, "subject")?, status: status(task.get("status")?) })
                });
                let told: Vec<Task> = told.collect();
                let tasks = self.list(call);
                tasks.clone_from(&told);
                entries(tasks)
            }
            _ => return None,
        };
        Some(ChatEvent { kind: EventKind::Plan { entries }, parent_tool_call_id: call.parent.clone() })
    }

    /// The conversation begins anew.
    pub(super) fn clear(&mut self) {
        self.lists.clear();
    }

    fn list(&mut self, call: &Call) -> &mut Vec<Task> {
        self.lists.entry(call.parent.clone()).or_default()
    }
}

fn entries(tasks: &[Task]) -> Vec<PlanEntry> {
    tasks.iter().map(|task| PlanEntry::new(task.subject.clone(), PlanEntryPriority::Medium, task.status.clone())).collect()
}

fn todos(todos: &Value) -> Option<Vec<PlanEntry>> {
    let entry = |todo: &Value| {
        let priority = match todo.get("priority").and_then(Value::as_str) {
            Some("high") => PlanEntryPriority::High,
            Some("low") => PlanEntryPriority::Low,
            _ => PlanEntryPriority::Medium,
        };
        Some(PlanEntry::new(text(todo, "content")?, priority, todo.get("status").map_or(PlanEntryStatus::Pending, status)))
    };
    Some(todos.as_array()?.iter().filter_map(entry).collect())
}

fn status(status: &Value) -> PlanEntryStatus {
    match status.as_str() {
        Some("completed") => PlanEntryStatus::Completed,
        Some("in_progress") => PlanEntryStatus::InProgress,
        _ => PlanEntryStatus::Pending,
    }
}

/// A text, or a number as its digits.
fn text(value: &Value, member: &str) -> Option<String> {
    match value.get(member)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
