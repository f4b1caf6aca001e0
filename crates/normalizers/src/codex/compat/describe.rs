//! What an item is to a reader, in words.

use super::item::{failure, modernize};
use crate::codex::normalize::Codex;
use crate::public::tool_error;
use crate::{Normalizer, Options};
use chat_grammar::event::{ChatEvent, EventKind, Side};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A tool item of Codex as its events show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ItemDescription {
    /// False where the item is no tool call; everything else is empty then.
    pub tool: bool,
    pub name: String,
    pub title: String,
    /// What the call is about, in one line at best; empty where the input says nothing of the kind.
    pub detail: String,
    pub input: Map<String, Value>,
    pub output: Value,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Describes an item of today's or of an older form. Anything else is no tool.
pub fn describe_item(item: &Value) -> ItemDescription {
    let Value::Object(item) = item else { return ItemDescription::default() };
    let mut item = item.clone();
    if !item.get("id").is_some_and(Value::is_string) {
        item.insert("id".to_owned(), "item".into());
    }
    modernize(&mut item);
    let mut codex = Codex::new(Options::default());
    let mut events: Vec<ChatEvent> = Vec::new();
    for method in ["item/started", "item/completed"] {
        codex.push(&json!({ "method": method, "params": { "item": item } }).to_string(), Side::Agent, &mut events);
    }
    let mut description = ItemDescription::default();
    for event in events {
        match event.kind {
            EventKind::ToolStarted(tool) => {
                description = ItemDescription { tool: true, name: tool.tool_name, title: tool.title, ..description };
                description.input = object(tool.input);
            }
            EventKind::ToolCompleted(tool) => {
                description.error = tool_error(&tool).map(|error| failure(&item).unwrap_or(error));
                description.title = tool.title.unwrap_or(description.title);
                description.input = tool.input.map_or(description.input, object);
                description.output = tool.output;
            }
            _ => {}
        }
    }
    description.detail = detail(&item, &description);
    description
}

fn object(input: Value) -> Map<String, Value> {
    match input {
        Value::Object(members) => members,
        Value::Null => Map::new(),
        other => Map::from_iter([("input".to_owned(), other)]),
    }
}

fn detail(item: &super::Object, description: &ItemDescription) -> String {
    match item.get("type").and_then(Value::as_str).unwrap_or_default() {
        // The script without the shell around it.
        "commandExecution" => description.title.clone(),
        "fileChange" => {
            let changes = description.input.get("changes").and_then(Value::as_array).into_iter().flatten();
            let paths: Vec<&str> = changes.filter_map(|change| change.get("path")?.as_str()).collect();
            paths.join(", ")
        }
        _ => {
            let names = ["command", "query", "path", "url", "prompt", "pattern", "description", "review"];
            let said = names.iter().find_map(|name| description.input.get(*name)?.as_str());
            said.unwrap_or_default().to_owned()
        }
    }
}

/// The sentence for a person in an error of any form; `None` where there is none.
pub fn error_message(error: &Value) -> Option<String> {
    let said = match error {
        Value::String(text) => Some(text.as_str()),
        error => ["/message", "/error/message", "/error", "/detail"].iter().find_map(|path| error.pointer(path)?.as_str()),
    };
    said.map(crate::failures::unwrap_message).filter(|text| !text.trim().is_empty())
}
