//! The updates of a whole recording in the form in which JavaScript makes objects of them fastest.

use super::long_texts::{LongText, take_long_texts};
use super::updates::text;
use chat_grammar::acp::SessionUpdate;
use chat_grammar::event::{ChatEvent, EventKind};
use chat_grammar::update::{Body, PieceForm, Update, UpdateMapper};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;

/// A text is cut from its block without a copy and keeps it alive, so that blocks are small: in bytes.
const BLOCK: usize = 256 * 1024;

/// Updates as parts: nearly all are a piece of text, for which the engine needs no parser.
#[derive(Debug, Default)]
pub struct UpdateParts {
    /// Five numbers an update: its form; the place of its id in `ids`; the place of its text's block in `blocks`; and where the text
    /// begins and ends there, in UTF-16 units. Form 6 is an update that stands in `whole`, in their order; the other numbers are 0.
    pub items: Vec<u32>,
    /// Ids of messages and tool calls, each once.
    pub ids: Vec<String>,
    /// Texts, one behind the other.
    pub blocks: Vec<String>,
    /// A JSON array of the updates that are more than a piece of text. One whose long texts stand in blocks is an array: the update,
    /// and four members a text: the path of the empty string that stands for it, its block, its beginning and its end.
    pub whole: String,
}

/// Behind the numbers of [`PieceForm`]: an update that is more than a piece.
const WHOLE: u32 = 6;

#[derive(Debug)]
pub(super) struct PartsBuilder {
    mapper: UpdateMapper,
    updates: Vec<Update>,
    parts: UpdateParts,
    places: HashMap<String, u32>,
    last_id: u32,
    /// Of the last block, in UTF-16 units.
    block_length: u32,
}

impl PartsBuilder {
    pub(super) fn new() -> Self {
        Self {
            mapper: UpdateMapper::new("", ""),
            updates: Vec::new(),
            parts: UpdateParts::default(),
            places: HashMap::new(),
            last_id: 0,
            block_length: 0,
        }
    }

    pub(super) fn push(&mut self, event: ChatEvent) {
        match piece(&event) {
            Some((form, text, id)) => self.push_piece(form, text, id),
            None => {
                let mut updates = std::mem::take(&mut self.updates);
                self.mapper.push(event, &mut updates);
                for update in updates.drain(..) {
                    match tool_output(&update) {
                        Some((text, id)) => self.push_piece(PieceForm::ToolOutput, text, id),
                        None => self.push_whole(update),
                    }
                }
                self.updates = updates;
            }
        }
    }

    fn push_piece(&mut self, form: PieceForm, text: &str, id: &str) {
        let id = self.id(id);
        let (block, start, end) = self.text(text);
        self.parts.items.extend([u32::from(form.number()), id, block, start, end]);
    }

    fn push_whole(&mut self, mut update: Update) {
        let long = take_long_texts(&mut update);
        self.parts.items.extend([WHOLE, 0, 0, 0, 0]);
        self.parts.whole.push(if self.parts.whole.is_empty() { '[' } else { ',' });
        if long.is_empty() {
            self.parts.whole.push_str(&text(update));
            return;
        }
        self.parts.whole.push('[');
        self.parts.whole.push_str(&text(update));
        let mut last: Option<(&str, (u32, u32, u32))> = None;
        for LongText { path, text } in &long {
            // The output of a command stands in its content and in what it gave.
            let place = last.filter(|(same, _)| same == text).map_or_else(|| self.text(text), |(_, place)| place);
            last = Some((text, place));
            let (block, start, end) = place;
            let _ = write!(self.parts.whole, ",{},{block},{start},{end}", Value::from(path.as_slice()));
        }
        self.parts.whole.push(']');
    }

    pub(super) fn finish(mut self) -> UpdateParts {
        if self.parts.whole.is_empty() {
            self.parts.whole.push('[');
        }
        self.parts.whole.push(']');
        self.parts
    }

    fn id(&mut self, id: &str) -> u32 {
        // Most pieces follow one of the same message.
        if self.parts.ids.get(self.last_id as usize).is_some_and(|last| last == id) {
            return self.last_id;
        }
        self.last_id = match self.places.get(id) {
            Some(place) => *place,
            None => {
                let place = count(self.parts.ids.len());
                self.parts.ids.push(id.to_owned());
                self.places.insert(id.to_owned(), place);
                place
            }
        };
        self.last_id
    }

    fn text(&mut self, text: &str) -> (u32, u32, u32) {
        if self.parts.blocks.last().is_none_or(|block| block.len() >= BLOCK) {
            self.parts.blocks.push(String::with_capacity(BLOCK));
            self.block_length = 0;
        }
        let length = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
        if let Some(block) = self.parts.blocks.last_mut() {
            block.push_str(text);
        }
        let start = self.block_length;
        self.block_length += count(length);
        (count(self.parts.blocks.len()) - 1, start, self.block_length)
    }
}

/// An event whose update is nothing but a piece of text: its form, its text, and its id.
fn piece(event: &ChatEvent) -> Option<(PieceForm, &str, &str)> {
    if event.parent_tool_call_id.is_some() {
        return None;
    }
    match &event.kind {
        EventKind::TextDelta { text, message_id } => Some((PieceForm::Text, text, message_id.as_deref()?)),
        EventKind::ReasoningDelta { text, message_id, visibility } => {
            Some((PieceForm::Reasoning(*visibility), text, message_id.as_deref()?))
        }
        _ => None,
    }
}

/// The text and the call of an update that is nothing but a piece of output. How much of it a call may have is the mapper's affair.
fn tool_output(update: &Update) -> Option<(&str, &str)> {
    match &update.body {
        Body::Official(body) => match body.as_ref() {
            SessionUpdate::ToolCallUpdate(call) if PieceForm::of(body, &update.extra) == Some(PieceForm::ToolOutput) => {
                Some((update.extra.delta.as_ref()?.output.as_deref()?, &call.tool_call_id.0))
            }
            _ => None,
        },
        _ => None,
    }
}

/// What does not fit is more than the engine can hold in one array or string.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
