//! What the model says: answers, thoughts and proposed plans.

use super::threads::Thread;
use super::wire::{Delta, ReasoningItem, TextItem};
use crate::text::{Piece, TextStream};
use chat_grammar::event::{ChatEvent, EventKind, Visibility};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

/// The messages of one thread.
#[derive(Debug, Default)]
pub(super) struct Messages {
    by_item: HashMap<String, Message>,
    /// Messages that a lost connection cut off. The agent begins them again under other ids, in the same order.
    cut: VecDeque<Message>,
    /// The model began to speak, and no token count has come since.
    unreported: bool,
    /// The reader knows that an answer of this turn was begun again.
    restart_told: bool,
    begun: u64,
}

#[derive(Debug)]
struct Message {
    /// Which message of the thread this is.
    ordinal: u64,
    /// The id that readers know; after a restart it is the id of the first try.
    id: String,
    kind: MessageKind,
    parts: Vec<Part>,
    started_at_ms: Option<i64>,
    /// It repeats what a lost connection cut off.
    again: bool,
    /// The agent said that it is whole.
    whole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    Answer,
    Thought,
    Plan,
}

impl MessageKind {
    /// What a streamed piece is a piece of, by the method that brings it.
    pub(super) fn of_delta(method: &str) -> Option<Self> {
        match method {
            "item/agentMessage/delta" => Some(Self::Answer),
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => Some(Self::Thought),
            "item/plan/delta" => Some(Self::Plan),
            _ => None,
        }
    }
}

#[derive(Debug)]
struct Part {
    key: PartKey,
    stream: TextStream,
}

/// A thought has several parts: of its summary, and of its raw text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKey {
    Text,
    Summary(u64),
    Raw(u64),
}

impl PartKey {
    fn visibility(self, kind: MessageKind) -> Visibility {
        match (self, kind) {
            (_, MessageKind::Plan) => Visibility::Plan,
            (Self::Summary(_), _) => Visibility::Summary,
            (Self::Text | Self::Raw(_), _) => Visibility::Full,
        }
    }

    fn same_voice(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl Messages {
    /// A message begins. False where it began before.
    pub(super) fn begin(&mut self, item_id: &str, kind: MessageKind, started_at_ms: Option<i64>) -> bool {
        if let Some(known) = self.by_item.get(item_id) {
            let another = known.whole && known.started_at_ms.zip(started_at_ms).is_some_and(|(left, right)| left != right);
            if !another {
                return false;
            }
        }
        let message = self.message(item_id, kind, started_at_ms);
        self.unreported = true;
        self.by_item.insert(item_id.to_owned(), message);
        true
    }

    /// The connection was lost: what is open will be begun again.
    pub(super) fn cut(&mut self) {
        let open = self.by_item.extract_if(|_, message| !message.whole).map(|(_, message)| message);
        let mut open: Vec<Message> = open.filter(Message::was_shown).collect();
        open.sort_by_key(|message| message.ordinal);
        self.cut.extend(open);
    }

    /// A turn begins. What the turn before said is kept until now, so that its repetition is known as one.
    pub(super) fn begin_turn(&mut self) {
        self.by_item.clear();
        self.cut.clear();
        self.restart_told = false;
    }

    /// The turn ended: what was cut off stays so.
    pub(super) fn end_turn(&mut self) {
        self.cut.clear();
    }

    /// The model spoke, and nobody said yet how many tokens that cost.
    pub(super) fn unreported(&mut self) {
        self.unreported = true;
    }

    /// True once where the model spoke and nobody said how many tokens that cost.
    pub(super) fn take_unreported(&mut self) -> bool {
        std::mem::take(&mut self.unreported)
    }

    fn message(&mut self, item_id: &str, kind: MessageKind, started_at_ms: Option<i64>) -> Message {
        self.begun = self.begun.saturating_add(1);
        if let Some(position) = self.cut.iter().position(|message| message.kind == kind)
            && let Some(mut message) = self.cut.remove(position)
        {
            message.parts.iter_mut().for_each(|part| part.stream.restart());
            message.again = true;
            message.ordinal = self.begun;
            message.started_at_ms = started_at_ms;
            return message;
        }
        // The same id again within a turn is another message.
        let id = match self.by_item.contains_key(item_id) {
            true => format!("{item_id}#2"),
            false => item_id.to_owned(),
        };
        Message { ordinal: self.begun, id, kind, parts: Vec::new(), started_at_ms, again: false, whole: false }
    }
}

impl Message {
    fn was_shown(&self) -> bool {
        self.parts.iter().any(|part| !part.stream.shown().is_empty())
    }

    /// The stream of a part, and whether the part follows another part of the same voice.
    fn part(&mut self, key: PartKey) -> (usize, bool) {
        let position = self.parts.iter().position(|part| part.key == key);
        let spoken = |part: &Part| part.key != key && part.key.same_voice(key) && !part.stream.shown().is_empty();
        let follows = self.parts.iter().any(spoken);
        let position = position.unwrap_or_else(|| {
            self.parts.push(Part { key, stream: TextStream::default() });
            self.parts.len() - 1
        });
        (position, follows)
    }

    /// The id under which a part is shown. A thought of two voices is two messages.
    fn shown_id(&self, key: PartKey) -> String {
        let first = self.parts.iter().find(|part| !part.stream.shown().is_empty()).map_or(key, |part| part.key);
        match key {
            key if first.same_voice(key) => self.id.clone(),
            PartKey::Raw(_) => format!("{}#full", self.id),
            _ => format!("{}#summary", self.id),
        }
    }
}

/// How a text arrives.
#[derive(Debug)]
enum Told<'a> {
    Delta(Cow<'a, str>),
    Whole(&'a str),
}

/// A piece of an answer, a thought or a plan.
pub(super) fn delta(thread: &mut Thread, delta: Delta<'_>, kind: MessageKind, key: PartKey, out: &mut Vec<ChatEvent>) {
    if !thread.messages.by_item.contains_key(&*delta.item_id) {
        thread.messages.begin(&delta.item_id, kind, None);
    }
    tell(thread, &delta.item_id, key, Told::Delta(delta.delta.0), out);
}

/// An answer or a plan starts, perhaps with text.
pub(super) fn text_started(
    thread: &mut Thread,
    item_id: &str,
    item: &TextItem<'_>,
    kind: MessageKind,
    started_at_ms: Option<i64>,
    out: &mut Vec<ChatEvent>,
) {
    let text = item.text.as_deref().filter(|text| !text.is_empty());
    if thread.messages.begin(item_id, kind, started_at_ms)
        && let Some(text) = text
    {
        tell(thread, item_id, PartKey::Text, Told::Delta(Cow::Borrowed(text)), out);
    }
}

/// An answer or a plan is whole.
pub(super) fn text_completed(
    thread: &mut Thread,
    item_id: &str,
    item: &TextItem<'_>,
    kind: MessageKind,
    out: &mut Vec<ChatEvent>,
) {
    thread.messages.begin(item_id, kind, None);
    if let Some(text) = item.text.as_deref() {
        tell(thread, item_id, PartKey::Text, Told::Whole(text), out);
    }
    end(thread, item_id);
}

/// A thought is whole.
pub(super) fn thought_completed(thread: &mut Thread, item_id: &str, item: &ReasoningItem<'_>, out: &mut Vec<ChatEvent>) {
    thread.messages.begin(item_id, MessageKind::Thought, None);
    let summary = item.summary.iter().flatten().zip(0..).map(|(text, index)| (PartKey::Summary(index), text));
    let raw = item.content.iter().flatten().zip(0..).map(|(text, index)| (PartKey::Raw(index), text));
    for (key, text) in summary.chain(raw) {
        tell(thread, item_id, key, Told::Whole(text), out);
    }
    end(thread, item_id);
}

/// A message as far as it is told, of which more may come.
pub(super) fn so_far(
    thread: &mut Thread,
    item_id: &str,
    item: &Map<String, Value>,
    kind: MessageKind,
    out: &mut Vec<ChatEvent>,
) {
    thread.messages.begin(item_id, kind, None);
    if kind != MessageKind::Thought {
        let text = item.get("text").and_then(Value::as_str).unwrap_or_default();
        return tell(thread, item_id, PartKey::Text, Told::Whole(text), out);
    }
    let texts = |name: &str| item.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let summary = texts("summary").zip(0..).map(|(text, index)| (PartKey::Summary(index), text));
    let raw = texts("content").zip(0..).map(|(text, index)| (PartKey::Raw(index), text));
    for (key, text) in summary.chain(raw) {
        tell(thread, item_id, key, Told::Whole(text), out);
    }
}

fn end(thread: &mut Thread, item_id: &str) {
    if let Some(message) = thread.messages.by_item.get_mut(item_id) {
        message.whole = true;
        message.parts = Vec::new();
    }
}

fn tell(thread: &mut Thread, item_id: &str, key: PartKey, told: Told<'_>, out: &mut Vec<ChatEvent>) {
    let Some(message) = thread.messages.by_item.get_mut(item_id) else { return };
    // What comes after the whole only repeats it.
    if message.whole {
        return;
    }
    let kind = message.kind;
    let again = message.again && message.was_shown();
    let (position, follows) = message.part(key);
    let mut id = message.shown_id(key);
    let Some(part) = message.parts.get_mut(position) else { return };
    let begins = part.stream.shown().is_empty();
    let piece = match &told {
        Told::Delta(text) => part.stream.push(text),
        Told::Whole(text) => part.stream.whole(text),
    };
    let mut differs = false;
    let mut text = match (piece, &told) {
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
    if begins && follows && !differs && !text.is_empty() {
        text.insert_str(0, "\n\n");
    }
    if differs {
        // A version that differs is a message of its own, so that the reader has it whole.
        id = if again { item_id.to_owned() } else { format!("{}#2", message.id) };
        message.id.clone_from(&id);
        message.again = false;
    }
    let parent = &thread.parent;
    if again && !std::mem::replace(&mut thread.messages.restart_told, true) {
        warn(parent, "The connection was lost, and the agent began its answer again", out);
    } else if differs && !again {
        warn(parent, "The agent's whole text differs from what it streamed", out);
    }
    if text.is_empty() {
        return;
    }
    let message_id = Some(id);
    let kind = match kind {
        MessageKind::Answer => EventKind::TextDelta { text, message_id },
        MessageKind::Thought | MessageKind::Plan => {
            EventKind::ReasoningDelta { text, message_id, visibility: key.visibility(kind) }
        }
    };
    out.push(ChatEvent { kind, parent_tool_call_id: parent.clone() });
}

fn warn(parent: &Option<String>, message: &str, out: &mut Vec<ChatEvent>) {
    let kind = EventKind::Warning { message: message.to_owned(), detail: None, retry: None };
    out.push(ChatEvent { kind, parent_tool_call_id: parent.clone() });
}
