//! Updates to message parts: the reduction behind the stored assistant message. It reads the text that was journaled, so that
//! a live turn, a recovered turn and a client all come to the same parts.

mod part;
mod wire;

pub use part::MessagePart;

use crate::acp::{ContentBlock, SessionUpdate, ToolCallUpdateFields};
use crate::bounded::HeadAndTail;
use crate::event::Visibility;
use crate::records::JsonText;
use crate::time::iso8601;
use crate::update::{Body, Delta, Extra, Update};
use part::{CompactionPart, ToolPart};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use wire::{Block, WireUpdate};

/// The parts of a turn's message so far. Updates may be added again: one whose sequence was seen changes nothing.
#[derive(Debug, Default)]
pub struct Transcript {
    parts: Vec<Slot>,
    tools: HashMap<String, usize>,
    compactions: HashMap<String, usize>,
    plan: Option<usize>,
    last_sequence: u64,
}

#[derive(Debug)]
enum Slot {
    Text { text: String, message_id: Option<String> },
    Reasoning { text: String, message_id: Option<String>, visibility: Visibility },
    Content(Box<RawValue>),
    Tool(Box<ToolPart>, HeadAndTail),
    Plan(Box<RawValue>),
    Compaction(Box<CompactionPart>),
    Notice { severity: String, title: String, description: Option<String> },
}

impl Transcript {
    /// An empty transcript.
    pub fn new() -> Self {
        Self::default()
    }

    /// The highest sequence that was added; 0 before the first.
    pub fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// Adds one update, as its JSON text. A text that is no update, or a variant that adds nothing to a message, changes nothing.
    pub fn add(&mut self, json: &str) {
        let Ok(update) = serde_json::from_str::<WireUpdate<'_>>(json) else { return };
        let meta = &update.meta.amalgm;
        if let Some(sequence) = meta.sequence {
            if sequence <= self.last_sequence {
                return;
            }
            self.last_sequence = sequence;
        }
        match update.kind.as_ref() {
            // A subagent's words are no words of the parent's message.
            "agent_message_chunk" | "agent_thought_chunk" if meta.parent_tool_call_id.is_some() => {}
            "agent_message_chunk" => self.add_text(&update),
            "agent_thought_chunk" => self.add_reasoning(&update),
            "tool_call" | "tool_call_update" => self.add_tool(&update),
            "plan" if meta.parent_tool_call_id.is_none() => self.add_plan(&update),
            "compaction_update" => self.add_compaction(&update),
            "notice" => self.parts.push(Slot::Notice {
                severity: owned(update.severity.as_ref()).unwrap_or_else(|| "info".to_owned()),
                title: owned(update.title.as_ref()).unwrap_or_default(),
                description: owned(update.description.as_ref()),
            }),
            "permission_response" => self.add_permission(&update),
            _ => {}
        }
    }

    /// Adds an update of which the journal holds this text. The same as `add`, but the pieces of text that make up most of a turn
    /// are taken from the update itself instead of being read again.
    pub fn add_written(&mut self, update: &Update, sequence: u64, json: &str) {
        let is_piece = match (&update.body, &update.extra.parent_tool_call_id) {
            (Body::Official(official), None) => self.add_piece(official, &update.extra),
            _ => false,
        };
        if is_piece {
            self.last_sequence = sequence;
        } else {
            self.add(json);
        }
    }

    // Whether the update was a piece of text that goes on with what is there; only those are taken.
    fn add_piece(&mut self, update: &SessionUpdate, extra: &Extra) -> bool {
        match (update, &extra.delta) {
            (SessionUpdate::AgentMessageChunk(chunk), None) => {
                let (ContentBlock::Text(piece), Some(Slot::Text { text, message_id })) = (&chunk.content, self.last_said())
                else {
                    return false;
                };
                let goes_on = message_id.as_deref() == chunk.message_id.as_ref().map(|id| id.0.as_ref());
                if goes_on {
                    text.push_str(&piece.text);
                }
                goes_on
            }
            (SessionUpdate::ToolCallUpdate(call), Some(Delta { input: None, output: Some(piece) })) => {
                let position = self.tools.get(call.tool_call_id.0.as_ref()).copied();
                let slot = position.and_then(|position| self.parts.get_mut(position));
                match slot {
                    Some(Slot::Tool(_, streamed)) if call.fields == ToolCallUpdateFields::default() && extra.mcp.is_none() => {
                        streamed.push(piece);
                        true
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Tool calls that have not ended are shown as failed: nobody is left to end them.
    pub fn close_open_tools(&mut self) {
        for slot in &mut self.parts {
            if let Slot::Tool(tool, _) = slot
                && !tool.has_ended()
            {
                "failed".clone_into(&mut tool.status);
            }
        }
    }

    /// Whether the message would have no part.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The parts, in the order of their first appearance.
    pub fn parts(&self) -> Vec<MessagePart<'_>> {
        self.parts.iter().map(Slot::part).collect()
    }

    /// The parts as a JSON array.
    pub fn parts_json(&self) -> JsonText {
        let text = serde_json::value::to_raw_value(&self.parts());
        // Parts hold strings, numbers and JSON that was parsed: they always have a JSON form.
        Arc::from(text.unwrap_or_default())
    }

    /// The last part but for notices: a retry in the middle of a message does not cut it in two.
    fn last_said(&mut self) -> Option<&mut Slot> {
        self.parts.iter_mut().rev().find(|slot| !matches!(slot, Slot::Notice { .. }))
    }

    fn add_text(&mut self, update: &WireUpdate<'_>) {
        let Some(block) = update.block() else { return };
        let Block::Text(text) = block else {
            if let Some(content) = update.content {
                self.parts.push(Slot::Content(content.to_owned()));
            }
            return;
        };
        if let Some(Slot::Text { text: so_far, message_id }) = self.last_said()
            && message_id.as_deref() == update.message_id.as_deref()
        {
            so_far.push_str(&text);
            return;
        }
        self.parts.push(Slot::Text { text: text.into_owned(), message_id: owned(update.message_id.as_ref()) });
    }

    fn add_reasoning(&mut self, update: &WireUpdate<'_>) {
        let Some(Block::Text(text)) = update.block() else { return };
        let visibility = update.meta.amalgm.reasoning.unwrap_or(Visibility::Full);
        if let Some(Slot::Reasoning { text: so_far, message_id, visibility: same }) = self.last_said()
            && *same == visibility
            && visibility != Visibility::Redacted
            && message_id.as_deref() == update.message_id.as_deref()
        {
            so_far.push_str(&text);
            return;
        }
        let message_id = owned(update.message_id.as_ref());
        self.parts.push(Slot::Reasoning { text: text.into_owned(), message_id, visibility });
    }

    fn add_tool(&mut self, update: &WireUpdate<'_>) {
        let Some(id) = update.tool_call_id.as_deref() else { return };
        let position = match self.tools.get(id) {
            Some(position) => *position,
            None => {
                self.parts.push(Slot::Tool(Box::new(ToolPart::new(id)), HeadAndTail::default()));
                self.tools.insert(id.to_owned(), self.parts.len() - 1);
                self.parts.len() - 1
            }
        };
        if let Some(Slot::Tool(tool, streamed)) = self.parts.get_mut(position) {
            if let Some(output) = &update.meta.amalgm.delta.output {
                streamed.push(output);
            }
            tool.apply(update);
        }
    }

    fn add_plan(&mut self, update: &WireUpdate<'_>) {
        let Some(entries) = update.entries else { return };
        match self.plan.and_then(|position| self.parts.get_mut(position)) {
            Some(slot) => *slot = Slot::Plan(entries.to_owned()),
            None => {
                self.plan = Some(self.parts.len());
                self.parts.push(Slot::Plan(entries.to_owned()));
            }
        }
    }

    fn add_compaction(&mut self, update: &WireUpdate<'_>) {
        let Some(id) = update.compaction_id.as_deref() else { return };
        let position = *self.compactions.entry(id.to_owned()).or_insert_with(|| {
            self.parts.push(Slot::Compaction(Box::new(CompactionPart::new(id))));
            self.parts.len() - 1
        });
        if let Some(Slot::Compaction(compaction)) = self.parts.get_mut(position) {
            compaction.apply(update);
        }
    }

    fn add_permission(&mut self, update: &WireUpdate<'_>) {
        let position = update.tool_call_id.as_deref().and_then(|id| self.tools.get(id));
        if let (Some(position), Some(outcome)) = (position, update.outcome)
            && let Some(Slot::Tool(tool, _)) = self.parts.get_mut(*position)
        {
            tool.permission = Some(outcome.to_owned());
        }
    }
}

impl Slot {
    fn part(&self) -> MessagePart<'_> {
        match self {
            Self::Text { text, .. } => MessagePart::Text { text },
            Self::Reasoning { text, visibility, .. } => MessagePart::Reasoning { text, visibility: *visibility },
            Self::Content(block) => MessagePart::Content { block },
            Self::Tool(tool, streamed) => MessagePart::Tool(Box::new(tool.shown(streamed))),
            Self::Plan(entries) => MessagePart::Plan { entries },
            Self::Compaction(compaction) => MessagePart::Compaction(compaction),
            Self::Notice { severity, title, description } => {
                MessagePart::Notice { severity, title, description: description.as_deref() }
            }
        }
    }
}

fn owned(text: Option<&Cow<'_, str>>) -> Option<String> {
    text.map(|text| text.clone().into_owned())
}

fn moment(at: Option<i64>) -> Option<String> {
    at.map(iso8601)
}
