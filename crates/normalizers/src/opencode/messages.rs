//! What the model says: answers and thoughts. A part does not say whose message it is in, nor a delta what it is a piece of; what
//! comes too early waits until that is known.

use super::calls::Call;
use super::sessions::Session;
use super::stream::{News, PartStream};
use super::wire::{Delta, MessageInfo, Part};
use chat_grammar::event::{ChatEvent, EventKind, Visibility};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

/// How many bytes of text wait at most in a session for the word that says what they are.
const HELD_LIMIT: usize = 1024 * 1024;

/// The messages of one session.
#[derive(Debug, Default)]
pub(super) struct Messages {
    by_id: HashMap<String, Message>,
    /// Texts that a lost connection to the model cut off. It begins them again in new parts, in the same order.
    cut: VecDeque<Told>,
    /// The reader knows that an answer of this turn was begun again.
    restart_told: bool,
    /// Parts of messages whose role is not known yet.
    held: Vec<HeldText>,
    held_bytes: usize,
    begun: u64,
    /// The event stream was opened again within this turn: pieces may be missing.
    pub torn: bool,
}

/// One message of a session.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// `None` as long as nothing said so.
    pub role: Option<Role>,
    /// It belongs to an earlier turn: what comes of it is a repetition.
    pub closed: bool,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub parts: HashMap<String, PartState>,
    /// The model call that runs, by the id of the part that began it.
    pub step: Option<String>,
    /// The texts after this one belong to the model call that runs.
    step_begun: u64,
}

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    /// The summary of a compaction.
    Summary,
}

/// What is known of a part.
#[derive(Debug)]
pub(super) enum PartState {
    /// Deltas came, and nothing said yet what they are pieces of.
    Untyped(String),
    Told(Box<Told>),
    Call(Box<Call>),
    /// It was read, and says nothing more.
    Seen,
}

/// A text that the reader sees.
#[derive(Debug)]
pub(super) struct Told {
    ordinal: u64,
    kind: TextKind,
    /// The id that readers know; after a restart it is that of the first try.
    id: String,
    stream: PartStream,
    /// It repeats what a lost connection cut off.
    again: bool,
    /// The server said that it is whole.
    whole: bool,
    /// Pieces may be missing: only the whole is to be trusted.
    torn: bool,
    redacted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Answer,
    Thought,
}

#[derive(Debug)]
struct HeldText {
    message_id: String,
    part_id: String,
    text: String,
    last: bool,
}

impl Messages {
    pub(super) fn get(&self, id: &str) -> Option<&Message> {
        self.by_id.get(id)
    }

    /// A message by its id, known or not.
    pub(super) fn entry(&mut self, id: &str) -> &mut Message {
        self.by_id.entry(id.to_owned()).or_default()
    }

    /// A turn begins: what comes of earlier messages is a repetition.
    pub(super) fn begin_turn(&mut self) {
        for message in self.by_id.values_mut() {
            message.closed = true;
            message.parts = HashMap::new();
            message.step = None;
        }
        self.cut.clear();
        self.restart_told = false;
        self.torn = false;
        self.held.clear();
        self.held_bytes = 0;
    }

    /// The turn ended: what was cut off stays so.
    pub(super) fn end_turn(&mut self) {
        self.cut.clear();
        self.torn = false;
    }

    /// The model calls that run, in an order that does not depend on hashing.
    pub(super) fn open_steps(&mut self) -> Vec<(String, String)> {
        let mut steps: Vec<(String, String)> =
            self.by_id.iter_mut().filter_map(|(id, message)| Some((id.clone(), message.step.take()?))).collect();
        steps.sort_unstable();
        steps
    }

    /// The connection to the model was lost: what its call said will be said again.
    pub(super) fn cut(&mut self) {
        for message in self.by_id.values_mut().filter(|message| !message.closed) {
            let of_step = message.step_begun;
            for part in message.parts.values_mut() {
                let goes = matches!(part, PartState::Told(told) if told.ordinal > of_step && !told.stream.is_empty());
                if goes && let PartState::Told(told) = std::mem::replace(part, PartState::Seen) {
                    self.cut.push_back(*told);
                }
            }
        }
        self.cut.make_contiguous().sort_by_key(|told| told.ordinal);
    }

    /// The event stream was opened again, and pieces may be missing.
    pub(super) fn tear(&mut self) {
        self.torn = true;
        for message in self.by_id.values_mut() {
            for part in message.parts.values_mut() {
                if let PartState::Told(told) = part
                    && !told.whole
                {
                    told.torn = true;
                }
            }
        }
    }

    /// A model call begins in a message.
    pub(super) fn step_started(&mut self, message_id: &str, part_id: &str) {
        let begun = self.begun;
        let message = self.entry(message_id);
        message.step = Some(part_id.to_owned());
        message.step_begun = begun;
    }

    /// A model call ended: its whole texts need not be kept for another try.
    pub(super) fn step_finished(&mut self, message_id: &str) {
        let message = self.entry(message_id);
        message.step = None;
        for part in message.parts.values_mut() {
            if matches!(part, PartState::Told(told) if told.whole) {
                *part = PartState::Seen;
            }
        }
    }

    /// The calls of all messages.
    pub(super) fn calls(&mut self) -> impl Iterator<Item = (&str, &mut Call)> {
        self.by_id.iter_mut().flat_map(|(id, message)| {
            message.parts.values_mut().filter_map(move |part| match part {
                PartState::Call(call) => Some((id.as_str(), call.as_mut())),
                _ => None,
            })
        })
    }
}

/// The session knows whose message it is.
pub(super) fn announced(session: &mut Session, info: &MessageInfo<'_>, role: Role, out: &mut Vec<ChatEvent>) {
    let message = session.messages.entry(&info.id);
    message.role = Some(role);
    for (known, told) in [(&mut message.provider, &info.provider_id), (&mut message.model, &info.model_id)] {
        if let Some(told) = told.as_deref().filter(|_| known.is_none()) {
            *known = Some(told.to_owned());
        }
    }
    if session.messages.held.is_empty() {
        return;
    }
    let held = session.messages.held.extract_if(.., |held| held.message_id == *info.id).collect::<Vec<_>>();
    for HeldText { message_id, part_id, text, last } in held {
        session.messages.held_bytes = session.messages.held_bytes.saturating_sub(text.len());
        match role {
            Role::Assistant => snapshot(session, &message_id, &part_id, TextKind::Answer, &text, last, out),
            Role::Summary => super::compaction::summarized(session, &text),
            Role::User => {}
        }
    }
}

/// A piece of a text.
pub(super) fn delta(session: &mut Session, delta: Delta<'_>, out: &mut Vec<ChatEvent>) {
    let messages = &mut session.messages;
    if !messages.by_id.contains_key(&*delta.message_id) {
        messages.entry(&delta.message_id);
    }
    let Some(message) = messages.by_id.get_mut(&*delta.message_id) else { return };
    // Only the model's messages are told in pieces.
    if message.closed || !matches!(message.role, None | Some(Role::Assistant)) {
        return;
    }
    match message.parts.get_mut(&*delta.part_id) {
        Some(PartState::Told(told)) if told.torn || told.whole => {}
        Some(PartState::Told(told)) => {
            let news = told.stream.push(delta.delta.0);
            show(told, news, &delta.part_id, &session.call, out);
        }
        Some(PartState::Untyped(held)) if messages.held_bytes + delta.delta.len() <= HELD_LIMIT => {
            messages.held_bytes += delta.delta.len();
            held.push_str(&delta.delta);
        }
        Some(_) => {}
        None if messages.held_bytes + delta.delta.len() > HELD_LIMIT => {}
        None => {
            messages.held_bytes += delta.delta.len();
            message.parts.insert(delta.part_id.to_string(), PartState::Untyped(delta.delta.0.into_owned()));
        }
    }
}

/// A text of a message whose role is not known yet.
pub(super) fn hold(session: &mut Session, part: &Part<'_>) {
    let Some(text) = part.text.as_deref().filter(|text| !text.is_empty()) else { return };
    let messages = &mut session.messages;
    let last = ended(part);
    if let Some(held) = messages.held.iter_mut().find(|held| held.part_id == *part.id) {
        messages.held_bytes = messages.held_bytes.saturating_sub(held.text.len()) + text.len();
        held.last = last;
        text.clone_into(&mut held.text);
    } else if messages.held_bytes + text.len() <= HELD_LIMIT {
        messages.held_bytes += text.len();
        let (message_id, part_id) = (part.message_id.to_string(), part.id.to_string());
        messages.held.push(HeldText { message_id, part_id, text: text.to_owned(), last });
    }
}

/// A text of the model as it stands.
pub(super) fn text(session: &mut Session, part: &Part<'_>, out: &mut Vec<ChatEvent>) {
    let text = part.text.as_deref().unwrap_or_default();
    snapshot(session, &part.message_id, &part.id, TextKind::Answer, text, ended(part), out);
}

/// A thought of the model as it stands.
pub(super) fn thought(session: &mut Session, part: &Part<'_>, out: &mut Vec<ChatEvent>) {
    let text = part.text.as_deref().unwrap_or_default();
    snapshot(session, &part.message_id, &part.id, TextKind::Thought, text, ended(part), out);
    if text.is_empty()
        && is_redacted(part.metadata)
        && let Some(message) = session.messages.by_id.get_mut(&*part.message_id)
        && let Some(PartState::Told(told)) = message.parts.get_mut(&*part.id)
        && !std::mem::replace(&mut told.redacted, true)
    {
        let message_id = Some(told.id.clone());
        let kind = EventKind::ReasoningDelta { text: String::new(), message_id, visibility: Visibility::Redacted };
        out.push(ChatEvent { kind, parent_tool_call_id: session.call.clone() });
    }
}

fn ended(part: &Part<'_>) -> bool {
    part.time.is_some_and(|time| time.end.is_some())
}

/// The providers' own metadata stands under the provider's name; Anthropic's holds `redactedData`.
fn is_redacted(metadata: Option<&RawValue>) -> bool {
    let by_provider: Option<HashMap<String, HashMap<String, &RawValue>>> =
        metadata.and_then(|metadata| serde_json::from_str(metadata.get()).ok());
    by_provider.into_iter().flat_map(HashMap::into_values).any(|own| own.contains_key("redactedData"))
}

fn snapshot(
    session: &mut Session,
    message_id: &str,
    part_id: &str,
    kind: TextKind,
    text: &str,
    last: bool,
    out: &mut Vec<ChatEvent>,
) {
    let messages = &mut session.messages;
    let torn = messages.torn;
    let Some(message) = messages.by_id.get_mut(message_id) else { return };
    let known = message.parts.get_mut(part_id);
    let held = match known {
        Some(PartState::Told(_)) => String::new(),
        Some(PartState::Untyped(held)) => std::mem::take(held),
        Some(_) => return,
        None => String::new(),
    };
    if !matches!(message.parts.get(part_id), Some(PartState::Told(_))) {
        messages.begun = messages.begun.saturating_add(1);
        let ordinal = messages.begun;
        let cut = messages.cut.iter().position(|cut| cut.kind == kind).and_then(|position| messages.cut.remove(position));
        let told = match cut {
            Some(mut told) => {
                told.stream.restart();
                if !std::mem::replace(&mut messages.restart_told, true) {
                    warn(&session.call, "The connection to the model was lost, and it began its answer again", out);
                }
                Told { ordinal, again: true, whole: false, ..told }
            }
            None => Told {
                ordinal,
                kind,
                id: part_id.to_owned(),
                stream: PartStream::default(),
                again: false,
                whole: false,
                // Its beginning was not seen: what was held may lack pieces.
                torn: torn && !held.is_empty(),
                redacted: false,
            },
        };
        message.parts.insert(part_id.to_owned(), PartState::Told(Box::new(told)));
    }
    let Some(PartState::Told(told)) = message.parts.get_mut(part_id) else { return };
    messages.held_bytes = messages.held_bytes.saturating_sub(held.len());
    if !held.is_empty() && !told.torn {
        let news = told.stream.push(Cow::Owned(held));
        show(told, news, part_id, &session.call, out);
    }
    let news = told.stream.snapshot(text, last);
    show(told, news, part_id, &session.call, out);
    told.whole |= last;
}

fn show(told: &mut Told, news: News<'_>, part_id: &str, parent: &Option<String>, out: &mut Vec<ChatEvent>) {
    let text = match news {
        News::Nothing => return,
        News::More(text) => text.into_owned(),
        News::Differs(text) => {
            if !std::mem::take(&mut told.again) {
                warn(parent, "The agent's whole text differs from what it streamed", out);
            }
            // A version that differs is a message of its own, so that the reader has it whole.
            told.id = if told.id == part_id { format!("{part_id}#2") } else { part_id.to_owned() };
            text
        }
    };
    let message_id = Some(told.id.clone());
    let kind = match told.kind {
        TextKind::Answer => EventKind::TextDelta { text, message_id },
        TextKind::Thought => EventKind::ReasoningDelta { text, message_id, visibility: Visibility::Full },
    };
    out.push(ChatEvent { kind, parent_tool_call_id: parent.clone() });
}

fn warn(parent: &Option<String>, message: &str, out: &mut Vec<ChatEvent>) {
    let kind = EventKind::Warning { message: message.to_owned(), detail: None, retry: None };
    out.push(ChatEvent { kind, parent_tool_call_id: parent.clone() });
}
