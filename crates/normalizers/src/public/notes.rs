//! What later events of a tool call repeat from its start, so that each of them can be read alone.

use super::fields::Fields;
use chat_grammar::event::{EventKind, ToolStarted};
use serde_json::Value;
use std::collections::HashMap;

/// By tool call, from its start to its end.
#[derive(Debug, Default)]
pub(super) struct Notes(HashMap<String, Note>);

#[derive(Debug)]
struct Note {
    tool_name: String,
    kind: Value,
    /// The members of `metadata` that stay the same over the whole call.
    metadata: Vec<(&'static str, Value)>,
    /// Title and input, where the end has to tell them.
    words: Option<(String, Value)>,
}

const LASTING: [&str; 3] = ["mcp", "subagent", "providerItemType"];

impl Notes {
    /// Completes the event of a call by what is known of the call, and notes what is new.
    pub(super) fn complete(&mut self, kind: &EventKind, fields: &mut Fields) {
        match kind {
            EventKind::ToolStarted(tool) => {
                if is_subagent(tool) {
                    fields.set_metadata("subagent", true);
                }
                let metadata = fields.0.get("metadata");
                let lasting = LASTING.iter().filter_map(|name| Some((*name, metadata?.get(name)?.clone())));
                let note = Note {
                    tool_name: tool.tool_name.clone(),
                    kind: fields.0.get("kind").cloned().unwrap_or_default(),
                    metadata: lasting.collect(),
                    words: None,
                };
                self.0.insert(tool.tool_call_id.clone(), note);
            }
            EventKind::ToolUpdated(tool) => {
                if let Some(note) = self.0.get_mut(&tool.tool_call_id) {
                    if let Some(name) = &tool.tool_name {
                        note.tool_name.clone_from(name);
                    }
                    note.repeat(fields);
                }
            }
            EventKind::ToolCompleted(tool) => {
                if let Some(note) = self.0.remove(&tool.tool_call_id) {
                    note.repeat(fields);
                }
            }
            _ => {}
        }
    }

    /// The start of the call is not told: its end says what the start would have said.
    pub(super) fn keep_words(&mut self, tool: &ToolStarted) {
        if let Some(note) = self.0.get_mut(&tool.tool_call_id) {
            note.words = Some((tool.title.clone(), tool.input.clone()));
        }
    }
}

impl Note {
    fn repeat(&self, fields: &mut Fields) {
        fields.set("toolName", self.tool_name.as_str());
        fields.set("kind", self.kind.clone());
        if let Some((title, input)) = &self.words {
            fields.0.entry("title").or_insert_with(|| title.as_str().into());
            fields.0.entry("input").or_insert_with(|| input.clone());
        }
        for (name, value) in &self.metadata {
            if fields.0.get("metadata").and_then(|metadata| metadata.get(name)).is_none() {
                fields.set_metadata(name, value.clone());
            }
        }
    }
}

fn is_subagent(tool: &ToolStarted) -> bool {
    tool.mcp.is_none() && tool.tool_name == "Agent"
}
