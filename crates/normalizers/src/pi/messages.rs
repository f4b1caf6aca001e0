//! What the model says: a message of blocks, streamed block by block and then told whole.

use super::wire::{Message, Usage};
use crate::partial_json::PartialJson;
use crate::rpc::Str;
use crate::text::{Piece, TextStream};
use chat_grammar::event::{ChatEvent, EventKind, Visibility};
use chat_grammar::usage::UsageModel;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

/// What Pi puts in the place of thoughts that the provider encrypts.
pub(super) const REDACTED: &str = "[Reasoning redacted]";

/// The messages of the model.
#[derive(Debug, Default)]
pub(super) struct Messages {
    open: Option<OpenMessage>,
    /// What a failed try has shown. The next try says it again, from its beginning.
    cut: VecDeque<Shown>,
    /// The reader knows that an answer of this turn was begun again.
    restart_told: bool,
    /// The message that ended last in this step, so that its repetition is known as one.
    ended: Option<Identity>,
    /// When the newest message was made, in milliseconds since 1970.
    newest: Option<i64>,
    begun: u64,
}

/// By what a message is known again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    response_id: Option<String>,
    timestamp: Option<i64>,
}

#[derive(Debug)]
pub(super) struct OpenMessage {
    identity: Identity,
    pub id: String,
    thoughts: Visibility,
    pub model: UsageModel,
    /// What was counted when it began.
    pub usage: Usage,
    blocks: BTreeMap<u64, Part>,
}

/// A block of a message.
#[derive(Debug)]
pub(super) enum Part {
    Said(Shown),
    /// A tool call that is being written.
    Call {
        native_id: String,
        input: PartialJson,
    },
}

/// A text or a thought.
#[derive(Debug)]
pub(super) struct Shown {
    voice: Voice,
    /// The id that readers know; after a restart it is the id of the first try.
    id: String,
    stream: TextStream,
    /// It repeats what a failed try has shown.
    again: bool,
    /// The reader knows that there is a thought which cannot be shown.
    redacted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Text,
    Thought,
}

/// How a text arrives.
#[derive(Debug)]
pub(super) enum Told<'a> {
    Delta(Cow<'a, str>),
    Whole(&'a str),
}

impl Identity {
    /// The marks of a message.
    pub(super) fn of(message: &Message<'_>) -> Self {
        Self { response_id: message.response_id.as_deref().map(str::to_owned), timestamp: message.timestamp }
    }

    /// True where no mark that both have differs. The response's id is missing at the start of a message from some providers.
    fn same(&self, other: &Self) -> bool {
        fn differ<T: PartialEq>(left: Option<&T>, right: Option<&T>) -> bool {
            left.zip(right).is_some_and(|(left, right)| left != right)
        }
        !differ(self.timestamp.as_ref(), other.timestamp.as_ref())
            && !differ(self.response_id.as_ref(), other.response_id.as_ref())
    }
}

impl Messages {
    /// The turn ended: what was cut off stays so.
    pub(super) fn end_turn(&mut self) {
        self.cut.clear();
        self.restart_told = false;
    }

    /// The next model call begins: what is told from now on is no repetition.
    pub(super) fn begin_step(&mut self) {
        self.ended = None;
    }

    /// When the newest message was made, in milliseconds since 1970.
    pub(super) fn newest(&self) -> Option<i64> {
        self.newest
    }

    /// The open message; one whose start is missing begins with what is said of it first.
    fn open(&mut self) -> &mut OpenMessage {
        let number = &mut self.begun;
        self.open.get_or_insert_with(|| {
            *number = number.saturating_add(1);
            OpenMessage::new(Identity { response_id: None, timestamp: None }, *number)
        })
    }

    /// A message begins.
    pub(super) fn begin(&mut self, identity: Identity) -> &mut OpenMessage {
        self.begun = self.begun.saturating_add(1);
        self.newest = identity.timestamp.or(self.newest);
        self.open.insert(OpenMessage::new(identity, self.begun))
    }

    /// Takes a piece of a block and tells what is new to the reader.
    pub(super) fn tell(&mut self, index: u64, voice: Voice, told: Told<'_>, out: &mut Vec<ChatEvent>) {
        self.open();
        let (Some(message), cut) = (self.open.as_mut(), &mut self.cut) else { return };
        let own_id = message.block_id(index);
        let thoughts = message.thoughts;
        let part = message.blocks.entry(index).or_insert_with(|| Part::Said(Shown::new(voice, &own_id, cut)));
        let Part::Said(shown) = part else { return };
        let was_again = shown.again;
        let Some((text, differs)) = shown.take(told, &own_id) else { return };
        if was_again && !std::mem::replace(&mut self.restart_told, true) {
            warn("The connection was lost, and the agent began its answer again", out);
        } else if differs && !was_again {
            warn("The agent's whole text differs from what it streamed", out);
        }
        if text.is_empty() {
            return;
        }
        let message_id = Some(shown.id.clone());
        let kind = match voice {
            Voice::Text => EventKind::TextDelta { text, message_id },
            Voice::Thought => EventKind::ReasoningDelta { text, message_id, visibility: thoughts },
        };
        out.push(kind.into());
    }

    /// A thought that cannot be shown: told once, as an empty one.
    pub(super) fn tell_redacted(&mut self, index: u64, out: &mut Vec<ChatEvent>) {
        self.open();
        let (Some(message), cut) = (self.open.as_mut(), &mut self.cut) else { return };
        let id = message.block_id(index);
        let part = message.blocks.entry(index).or_insert_with(|| Part::Said(Shown::new(Voice::Thought, &id, cut)));
        if let Part::Said(shown) = part
            && !std::mem::replace(&mut shown.redacted, true)
        {
            let message_id = Some(shown.id.clone());
            out.push(EventKind::ReasoningDelta { text: String::new(), message_id, visibility: Visibility::Redacted }.into());
        }
    }
}

impl OpenMessage {
    fn new(identity: Identity, number: u64) -> Self {
        let id = match (&identity.response_id, identity.timestamp) {
            (Some(id), _) => id.clone(),
            (None, Some(timestamp)) => format!("message:{timestamp}"),
            (None, None) => format!("message:{number}"),
        };
        Self {
            identity,
            id,
            thoughts: Visibility::Full,
            model: UsageModel::default(),
            usage: Usage::default(),
            blocks: BTreeMap::new(),
        }
    }

    fn block_id(&self, index: u64) -> String {
        format!("{}:{index}", self.id)
    }

    /// Takes over which model speaks.
    pub(super) fn describe(&mut self, message: &Message<'_>) {
        // The responses API of OpenAI gives summaries of thoughts only.
        if message.api.as_deref().is_some_and(|api| api.ends_with("responses")) {
            self.thoughts = Visibility::Summary;
        }
        let text = |text: &Option<Str<'_>>| text.as_deref().map(str::to_owned);
        self.model =
            UsageModel { provider_id: text(&message.provider), model_id: text(&message.model), ..UsageModel::default() };
    }

    /// True where the provider began to answer.
    pub(super) fn was_spoken(&self) -> bool {
        self.identity.response_id.is_some() || !self.blocks.is_empty()
    }
}

impl Shown {
    /// A block that begins. Where a try failed, it begins again what that one has shown.
    fn new(voice: Voice, id: &str, cut: &mut VecDeque<Self>) -> Self {
        let position = cut.iter().position(|shown| shown.voice == voice);
        if let Some(mut shown) = position.and_then(|position| cut.remove(position)) {
            shown.stream.restart();
            shown.again = true;
            return shown;
        }
        Self { voice, id: id.to_owned(), stream: TextStream::default(), again: false, redacted: false }
    }

    /// What is new of a text, and whether it differs from what was shown. A version that differs is a message of its own, so that
    /// the reader has it whole.
    fn take(&mut self, told: Told<'_>, own_id: &str) -> Option<(String, bool)> {
        let piece = match &told {
            Told::Delta(text) => self.stream.push(text),
            Told::Whole(text) => self.stream.whole(text),
        };
        let text = match (piece, &told) {
            (Piece::Nothing, _) if self.again => return Some((String::new(), false)),
            (Piece::Nothing, _) => return None,
            // The usual case: the piece is new as it is, and need not be copied where it was unescaped.
            (Piece::Next(text), Told::Delta(whole)) if text.len() == whole.len() => match told {
                Told::Delta(whole) => whole.into_owned(),
                Told::Whole(whole) => whole.to_owned(),
            },
            (Piece::Next(text), _) => text.to_owned(),
            (Piece::Contradiction(text), _) => {
                let text = text.into_owned();
                self.id = match self.again {
                    true => own_id.to_owned(),
                    false => format!("{}#2", self.id),
                };
                self.again = false;
                return Some((text, true));
            }
        };
        Some((text, false))
    }
}

fn warn(message: &str, out: &mut Vec<ChatEvent>) {
    out.push(EventKind::Warning { message: message.to_owned(), detail: None, retry: None }.into());
}

/// Which block of the whole message is which of those that streamed: the first text is the first text and so on. Their numbers do
/// not tell, since a message that was cut off leaves empty blocks out.
#[derive(Debug)]
pub(super) struct Places {
    texts: VecDeque<u64>,
    thoughts: VecDeque<u64>,
    redacted: VecDeque<u64>,
}

impl Messages {
    /// The blocks of the open message that the reader has seen.
    pub(super) fn places(&self) -> Places {
        let mut places = Places { texts: VecDeque::new(), thoughts: VecDeque::new(), redacted: VecDeque::new() };
        for (index, part) in self.open.iter().flat_map(|open| &open.blocks) {
            if let Part::Said(shown) = part {
                let places = match shown.voice {
                    _ if shown.redacted => &mut places.redacted,
                    _ if shown.stream.shown().is_empty() => continue,
                    Voice::Text => &mut places.texts,
                    Voice::Thought => &mut places.thoughts,
                };
                places.push_back(*index);
            }
        }
        places
    }

    /// Tells a whole text or thought, the next one of its kind.
    pub(super) fn tell_whole(&mut self, places: &mut Places, voice: Voice, text: &str, out: &mut Vec<ChatEvent>) {
        if text.is_empty() {
            return;
        }
        let next = match voice {
            Voice::Text => places.texts.pop_front(),
            Voice::Thought => places.thoughts.pop_front(),
        };
        let index = next.unwrap_or_else(|| self.open().free_index());
        self.tell(index, voice, Told::Whole(text), out);
    }

    /// Tells the next thought that cannot be shown.
    pub(super) fn tell_next_redacted(&mut self, places: &mut Places, out: &mut Vec<ChatEvent>) {
        if places.redacted.pop_front().is_none() {
            let index = self.open().free_index();
            self.tell_redacted(index, out);
        }
    }

    /// True where a message has begun and not ended.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// True where something of a block was shown.
    pub(super) fn has_said(&self, index: u64) -> bool {
        let part = self.open.as_ref().and_then(|open| open.blocks.get(&index));
        matches!(part, Some(Part::Said(shown)) if !shown.stream.shown().is_empty())
    }

    /// The tool call that a block writes.
    pub(super) fn call(&mut self, index: u64) -> Option<(&str, &mut PartialJson)> {
        match self.open.as_mut()?.blocks.get_mut(&index)? {
            Part::Call { native_id, input } => Some((native_id, input)),
            Part::Said(_) => None,
        }
    }

    /// The open message writes a tool call.
    pub(super) fn add_call(&mut self, index: Option<u64>, native_id: &str) {
        let open = self.open();
        if open.calls().all(|known| known != native_id) {
            let index = index.filter(|index| !open.blocks.contains_key(index)).unwrap_or_else(|| open.free_index());
            open.blocks.insert(index, Part::Call { native_id: native_id.to_owned(), input: PartialJson::default() });
        }
    }

    /// True where a message is open or ended just now that has this identity.
    pub(super) fn is_repeated_start(&self, identity: &Identity) -> bool {
        let open = self.open.as_ref().map(|open| &open.identity);
        // A start without any mark is never taken for a repetition.
        identity.timestamp.is_some() && self.ended.iter().chain(open).any(|known| known.same(identity))
    }

    /// True where the message that ended last has this identity.
    pub(super) fn is_repeated_end(&self, identity: &Identity) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.same(identity))
    }

    /// True where the open message is another one.
    pub(super) fn is_left(&self, identity: &Identity) -> bool {
        let another = |open: &OpenMessage| open.identity.timestamp.is_some() && !open.identity.same(identity);
        self.open.as_ref().is_some_and(another)
    }

    /// The open message ended. What it has shown is kept where another try will say it again.
    pub(super) fn end(&mut self, identity: Identity) -> Option<OpenMessage> {
        self.ended = Some(identity);
        self.open.take()
    }

    /// The open message, where its end did not come.
    pub(super) fn leave(&mut self) -> Option<OpenMessage> {
        self.open.take()
    }

    /// Keeps what a failed message has shown, for the next try.
    pub(super) fn cut(&mut self, failed: Option<OpenMessage>) {
        let Some(open) = failed else { return self.cut.clear() };
        let shown = open.blocks.into_values().filter_map(|part| match part {
            Part::Said(shown) if !shown.stream.shown().is_empty() => Some(shown),
            _ => None,
        });
        self.cut = shown.chain(std::mem::take(&mut self.cut)).collect();
    }
}

impl OpenMessage {
    /// The tool calls that it wrote, by the agent's ids.
    pub(super) fn calls(&self) -> impl Iterator<Item = &str> {
        self.blocks.values().filter_map(|part| match part {
            Part::Call { native_id, .. } => Some(native_id.as_str()),
            Part::Said(_) => None,
        })
    }

    fn free_index(&self) -> u64 {
        self.blocks.last_key_value().map_or(0, |(index, _)| index.saturating_add(1))
    }
}
