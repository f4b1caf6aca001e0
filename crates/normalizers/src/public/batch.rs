//! The updates of a whole recording in the form in which JavaScript makes objects of them fastest.

use super::updates::text;
use chat_grammar::acp::{ContentBlock, SessionUpdate};
use chat_grammar::event::Visibility;
use chat_grammar::update::{Body, PieceForm, Update};
use std::collections::HashMap;

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
    /// A JSON array of the updates that are more than a piece of text.
    pub whole: String,
}

const WHOLE: u32 = 6;

#[derive(Debug, Default)]
pub(super) struct PartsBuilder {
    parts: UpdateParts,
    places: HashMap<String, u32>,
    last_id: u32,
    /// Of the last block, in UTF-16 units.
    block_length: u32,
}

impl PartsBuilder {
    pub(super) fn push(&mut self, update: Update) {
        match piece(&update) {
            Some((form, text, id)) => {
                let id = self.id(id);
                let (block, start, end) = self.text(text);
                self.parts.items.extend([form, id, block, start, end]);
            }
            None => {
                self.parts.items.extend([WHOLE, 0, 0, 0, 0]);
                self.parts.whole.push(if self.parts.whole.is_empty() { '[' } else { ',' });
                self.parts.whole.push_str(&text(update));
            }
        }
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

/// An update that is nothing but a piece of text: its form as `lib/native.ts` tells them apart, its text, and its id.
fn piece(update: &Update) -> Option<(u32, &str, &str)> {
    let Body::Official(body) = &update.body else { return None };
    let form = match PieceForm::of(body, &update.extra)? {
        PieceForm::Text => 0,
        PieceForm::ToolOutput => 1,
        PieceForm::Reasoning(Visibility::Full) => 2,
        PieceForm::Reasoning(Visibility::Summary) => 3,
        PieceForm::Reasoning(Visibility::Redacted) => 4,
        PieceForm::Reasoning(Visibility::Plan) => 5,
    };
    match body.as_ref() {
        SessionUpdate::ToolCallUpdate(call) => {
            Some((form, update.extra.delta.as_ref()?.output.as_deref()?, &call.tool_call_id.0))
        }
        SessionUpdate::AgentMessageChunk(chunk) | SessionUpdate::AgentThoughtChunk(chunk) => match &chunk.content {
            ContentBlock::Text(content) => Some((form, &content.text, &chunk.message_id.as_ref()?.0)),
            _ => None,
        },
        _ => None,
    }
}

/// What does not fit is more than the engine can hold in one array or string.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
