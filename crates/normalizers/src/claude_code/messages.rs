//! What the model says. With partial messages every block comes twice, in deltas and then whole; a stream that was cut is
//! begun again under another id.

use crate::text::{Piece, TextStream};
use chat_grammar::event::{ChatEvent, EventKind, Visibility};
use std::borrow::Cow;
use std::collections::VecDeque;

/// Somebody who speaks: the main loop, or a subagent.
#[derive(Debug, Default)]
pub(super) struct Speaker {
    /// The subagent's tool call; `None` for the main loop.
    pub parent: Option<String>,
    /// The message that comes in events.
    streaming: Option<Message>,
    /// The newest message that came without events.
    standalone: Option<Message>,
    /// Texts that a lost connection cut off. The model begins them again, in the same order.
    cut: VecDeque<Words>,
    /// The reader knows that an answer of this turn was begun again.
    restart_told: bool,
    /// Something was answered in this turn.
    pub answered: bool,
}

#[derive(Debug)]
struct Message {
    id: Option<String>,
    blocks: Vec<Block>,
    /// The model said why it stopped.
    stopped: bool,
}

#[derive(Debug)]
struct Block {
    index: Option<u64>,
    body: Body,
    /// Its events have ended.
    closed: bool,
    /// It was told as a whole.
    whole: bool,
}

#[derive(Debug)]
enum Body {
    Words(Words),
    /// The agent's own id of the call.
    Call(String),
    Redacted,
}

#[derive(Debug)]
struct Words {
    voice: Voice,
    /// The id that readers know; after a restart that of the first try.
    id: Option<String>,
    stream: TextStream,
    /// It repeats what a lost connection cut off.
    again: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Answer,
    Thought(Visibility),
}

impl Voice {
    /// The voice of a thought; newer models show a summary of it where the host asks for one.
    pub(super) fn thought(display: Option<&str>) -> Self {
        match display {
            Some("summarized") => Self::Thought(Visibility::Summary),
            _ => Self::Thought(Visibility::Full),
        }
    }

    fn same(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// How a text arrives.
#[derive(Debug)]
pub(super) enum Told<'a> {
    Delta(Cow<'a, str>),
    Whole(&'a str),
}

/// Where the whole of a text belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct WholePlace<'a> {
    pub message_id: Option<&'a str>,
    /// The line holds this block only, as those of the CLI do: it is the block that is open.
    pub alone: bool,
}

impl Speaker {
    pub(super) fn new(parent: Option<&str>) -> Self {
        Self { parent: parent.map(str::to_owned), ..Self::default() }
    }

    /// `message_start`. Returns the calls whose input a lost connection cut off.
    pub(super) fn begin(&mut self, id: Option<&str>) -> Vec<String> {
        let repeated = self.streaming.as_ref().is_some_and(|message| message.id.is_some() && message.id.as_deref() == id);
        if repeated {
            return Vec::new();
        }
        let cut = self.cut_unless_stopped();
        self.streaming = Some(Message::new(id));
        cut
    }

    /// An event of a block came. Where it belongs to another message than the one that comes in events, the beginning of that
    /// message was lost. Returns the calls whose input was cut off.
    pub(super) fn block_of(&mut self, id: Option<&str>) -> Vec<String> {
        match (&self.streaming, id) {
            (Some(Message { id: Some(known), .. }), Some(id)) if known != id => self.begin(Some(id)),
            (None, Some(id)) => self.begin(Some(id)),
            // 2.1.197 names no message; none goes on after it stopped.
            (Some(Message { stopped: true, .. }), None) => self.begin(None),
            _ => Vec::new(),
        }
    }

    /// The id of the message that comes in events.
    pub(super) fn streaming_id(&self) -> Option<&str> {
        self.streaming.as_ref()?.id.as_deref()
    }

    /// The model stopped of its own: what it said is complete.
    pub(super) fn stop(&mut self) {
        if let Some(message) = &mut self.streaming {
            message.stopped = true;
        }
    }

    /// A message comes without events; what comes in events under another id was cut off then, unless the model had stopped.
    pub(super) fn stands_alone(&mut self, id: Option<&str>) -> Vec<String> {
        match self.streaming_id() == id {
            true => Vec::new(),
            false => self.cut_unless_stopped(),
        }
    }

    fn cut_unless_stopped(&mut self) -> Vec<String> {
        match &self.streaming {
            Some(message) if !message.stopped => self.cut_from(0),
            _ => Vec::new(),
        }
    }

    /// The blocks from this one on will never be whole. Returns the calls among them.
    pub(super) fn cut_from(&mut self, index: u64) -> Vec<String> {
        let Some(message) = &mut self.streaming else { return Vec::new() };
        let mut calls = Vec::new();
        let cut = message.blocks.extract_if(.., |block| !block.whole && block.index.unwrap_or(0) >= index);
        for block in cut {
            match block.body {
                Body::Words(words) if !words.stream.shown().is_empty() => self.cut.push_back(words),
                Body::Call(id) => calls.push(id),
                Body::Words(_) | Body::Redacted => {}
            }
        }
        calls
    }

    /// What the message that comes in events said is taken back; another model will say it again.
    pub(super) fn retract(&mut self) {
        let Some(message) = &mut self.streaming else { return };
        for block in message.blocks.extract_if(.., |block| matches!(block.body, Body::Words(_))) {
            if let Body::Words(words) = block.body
                && !words.stream.shown().is_empty()
            {
                self.cut.push_back(words);
            }
        }
        self.restart_told = true;
    }

    /// The turn ended: what was cut off stays so.
    pub(super) fn end_turn(&mut self) {
        self.streaming = None;
        self.standalone = None;
        self.cut.clear();
        self.restart_told = false;
        self.answered = false;
    }

    /// `content_block_start` of a call.
    pub(super) fn call_began(&mut self, index: Option<u64>, call_id: &str) {
        let body = Body::Call(call_id.to_owned());
        let message = self.streaming.get_or_insert_with(|| Message::new(None));
        if !message.blocks.iter().any(|block| block.index == index) {
            message.blocks.push(Block { index, body, closed: false, whole: false });
        }
    }

    /// The call whose input a delta is a piece of.
    pub(super) fn call_at(&self, index: Option<u64>) -> Option<&str> {
        let block = self.streaming.as_ref()?.blocks.iter().find(|block| block.index == index)?;
        match &block.body {
            Body::Call(id) => Some(id),
            Body::Words(_) | Body::Redacted => None,
        }
    }

    /// The whole input of a call is known.
    pub(super) fn call_whole(&mut self, call_id: &str) {
        let blocks = self.streaming.iter_mut().flat_map(|message| &mut message.blocks);
        blocks.filter(|block| matches!(&block.body, Body::Call(id) if id == call_id)).for_each(|block| block.whole = true);
    }

    /// `content_block_stop`.
    pub(super) fn block_closed(&mut self, index: Option<u64>) {
        let mut blocks = self.streaming.iter_mut().flat_map(|message| &mut message.blocks);
        if let Some(block) = blocks.find(|block| block.index == index) {
            block.closed = true;
        }
    }

    /// A thought that is not shown. `index` is its place among the events; a whole block has none.
    pub(super) fn redacted(&mut self, index: Option<u64>, message_id: Option<&str>, out: &mut Vec<ChatEvent>) {
        let message = match index {
            Some(_) => self.streaming.get_or_insert_with(|| Message::new(message_id)),
            None => message_of(&mut self.streaming, &mut self.standalone, message_id),
        };
        let known = message.blocks.iter_mut().find(|block| {
            matches!(block.body, Body::Redacted) && if index.is_some() { block.index == index } else { !block.whole }
        });
        if let Some(block) = known {
            block.whole |= index.is_none();
            return;
        }
        message.blocks.push(Block { index, body: Body::Redacted, closed: false, whole: index.is_none() });
        let message_id = message.id.clone();
        let kind = EventKind::ReasoningDelta { text: String::new(), message_id, visibility: Visibility::Redacted };
        out.push(ChatEvent { kind, parent_tool_call_id: self.parent.clone() });
    }

    /// A piece of a text.
    pub(super) fn delta(&mut self, index: Option<u64>, voice: Voice, text: Cow<'_, str>, out: &mut Vec<ChatEvent>) {
        let message = self.streaming.get_or_insert_with(|| Message::new(None));
        let position = match message.blocks.iter().position(|block| block.index == index) {
            Some(position) => position,
            None => {
                let words = Words::begin(voice, &message.id, &mut self.cut);
                message.blocks.push(Block { index, body: Body::Words(words), closed: false, whole: false });
                message.blocks.len() - 1
            }
        };
        let Some(Block { body: Body::Words(words), .. }) = message.blocks.get_mut(position) else { return };
        let fresh = &message.id;
        let told = words.tell(Told::Delta(text), fresh, &mut self.restart_told, &self.parent, out);
        self.answered |= told && matches!(voice, Voice::Answer);
    }

    /// A text as a whole.
    pub(super) fn whole(&mut self, place: WholePlace<'_>, voice: Voice, text: &str, out: &mut Vec<ChatEvent>) {
        let message = message_of(&mut self.streaming, &mut self.standalone, place.message_id);
        let open = |block: &Block| !block.whole && matches!(&block.body, Body::Words(words) if words.voice.same(voice));
        let by_state = place.alone.then(|| message.blocks.iter().position(|block| open(block) && !block.closed)).flatten();
        let known = by_state.or_else(|| message.blocks.iter().position(open));
        let position = known.unwrap_or_else(|| {
            let words = Words::begin(voice, &message.id, &mut self.cut);
            message.blocks.push(Block { index: None, body: Body::Words(words), closed: false, whole: false });
            message.blocks.len() - 1
        });
        let Some(block) = message.blocks.get_mut(position) else { return };
        block.whole = true;
        let Body::Words(words) = &mut block.body else { return };
        let told = words.tell(Told::Whole(text), &message.id, &mut self.restart_told, &self.parent, out);
        self.answered |= told && matches!(voice, Voice::Answer);
    }
}

impl Message {
    fn new(id: Option<&str>) -> Self {
        Self { id: id.map(str::to_owned), blocks: Vec::new(), stopped: false }
    }
}

/// The message that a whole block belongs to: the one that comes in events, or one without.
fn message_of<'a>(
    streaming: &'a mut Option<Message>,
    standalone: &'a mut Option<Message>,
    id: Option<&str>,
) -> &'a mut Message {
    match streaming {
        // Events whose `message_start` was lost have no id.
        Some(message) if message.id.as_deref() == id || message.id.is_none() => message,
        _ => {
            if standalone.as_ref().is_none_or(|message| message.id.as_deref() != id) {
                *standalone = None;
            }
            standalone.get_or_insert_with(|| Message::new(id))
        }
    }
}

impl Words {
    /// A text begins; where one of this voice was cut off, it is that one again.
    fn begin(voice: Voice, message_id: &Option<String>, cut: &mut VecDeque<Self>) -> Self {
        let position = cut.iter().position(|words| words.voice.same(voice));
        if let Some(mut words) = position.and_then(|position| cut.remove(position)) {
            words.stream.restart();
            words.again = true;
            return words;
        }
        Self { voice, id: message_id.clone(), stream: TextStream::default(), again: false }
    }

    /// Shows what is new. True where something was.
    fn tell(
        &mut self,
        told: Told<'_>,
        message_id: &Option<String>,
        restart_told: &mut bool,
        parent: &Option<String>,
        out: &mut Vec<ChatEvent>,
    ) -> bool {
        let piece = match &told {
            Told::Delta(text) => self.stream.push(text),
            Told::Whole(text) => self.stream.whole(text),
        };
        let mut differs = false;
        let text = match (piece, &told) {
            (Piece::Nothing, _) => String::new(),
            // The usual case: the piece is new as it is, and need not be copied where it was unescaped.
            (Piece::Next(text), Told::Delta(whole)) if text.len() == whole.len() => match told {
                Told::Delta(whole) => whole.into_owned(),
                Told::Whole(whole) => whole.to_owned(),
            },
            (Piece::Next(text), _) => text.to_owned(),
            (Piece::Contradiction(text), _) => {
                differs = true;
                text.into_owned()
            }
        };
        let again = self.again;
        if differs {
            // A version that differs is a message of its own, so that the reader has it whole.
            self.id = match again {
                true => message_id.clone(),
                false => self.id.as_ref().map(|id| format!("{id}#2")),
            };
            self.again = false;
        }
        if again && !std::mem::replace(restart_told, true) {
            warn(parent, "The connection was lost, and the agent began its answer again", out);
        } else if differs && !again {
            warn(parent, "The agent's whole text differs from what it streamed", out);
        }
        if text.is_empty() {
            return false;
        }
        let message_id = self.id.clone();
        let kind = match self.voice {
            Voice::Answer => EventKind::TextDelta { text, message_id },
            Voice::Thought(visibility) => EventKind::ReasoningDelta { text, message_id, visibility },
        };
        out.push(ChatEvent { kind, parent_tool_call_id: parent.clone() });
        true
    }
}

fn warn(parent: &Option<String>, message: &str, out: &mut Vec<ChatEvent>) {
    let kind = EventKind::Warning { message: message.to_owned(), detail: None, retry: None };
    out.push(ChatEvent { kind, parent_tool_call_id: parent.clone() });
}
