//! A normalizer that gives events as JSON.

use super::fields::{self, Fields};
use super::notes::Notes;
use super::raw;
use crate::codex::compat;
use crate::{Normalizer, Options, normalizer};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a native message says about an event beside what the event says itself.
type Annotate = fn(&Value, &EventKind, &mut Fields);

/// One native session's messages in, its events as JSON arrays out.
#[derive(Debug)]
pub struct JsonNormalizer {
    normalizer: Box<dyn Normalizer>,
    annotate: Option<Annotate>,
    session_id: Option<String>,
    notes: Notes,
    /// Nothing is remembered between the messages.
    alone: bool,
    events: Vec<ChatEvent>,
}

impl JsonNormalizer {
    /// The normalizer of an agent; `None` for an agent that this crate does not know.
    pub fn new(harness: &str, options: Options) -> Option<Self> {
        let session_id = options.provider_session_id.clone();
        Some(Self { session_id, ..Self::around(harness, normalizer(harness, options)?) })
    }

    /// The normalizer behind an agent's per-message function, which takes older forms of the agent's messages too. Where
    /// nothing is remembered between the messages (`alone`), the end of a call is told without its start: that the message
    /// before told.
    pub fn per_message(harness: &str, alone: bool) -> Option<Self> {
        let normalizer: Box<dyn Normalizer> = match harness {
            "codex" => Box::new(compat::PerMessage::new()),
            harness => normalizer(harness, Options::default())?,
        };
        Some(Self { alone, ..Self::around(harness, normalizer) })
    }

    fn around(harness: &str, normalizer: Box<dyn Normalizer>) -> Self {
        let annotate: Option<Annotate> = (harness == "codex").then_some(compat::annotate);
        Self { normalizer, annotate, session_id: None, notes: Notes::default(), alone: false, events: Vec::new() }
    }

    /// Reads one message. `session_id` is the caller's word for the native session, where it has one.
    pub fn push(&mut self, line: &str, from: Side, session_id: Option<&str>) -> String {
        let mut events = std::mem::take(&mut self.events);
        self.normalizer.push(line, from, &mut events);
        let json = self.write(&mut events, Some(line), session_id);
        self.events = events;
        json
    }

    /// Closes what the native stream left open when it ended.
    pub fn finish(&mut self, reason: FinishReason) -> String {
        let mut events = std::mem::take(&mut self.events);
        self.normalizer.finish(reason, &mut events);
        let json = self.write(&mut events, None, None);
        self.events = events;
        json
    }

    /// How many messages no rule knew, by kind.
    pub fn unmapped(&self) -> &BTreeMap<String, u64> {
        self.normalizer.unmapped()
    }

    fn write(&mut self, events: &mut Vec<ChatEvent>, line: Option<&str>, session_id: Option<&str>) -> String {
        if events.is_empty() {
            return "[]".to_owned();
        }
        let raw = line.map(|line| raw::json(line, self.normalizer.source()));
        // Only tool events say more than their event.
        let tells = events.iter().any(|event| event.kind.meaning().is_some_and(is_tool));
        let annotate = self.annotate.filter(|_| tells);
        let message = annotate.and_then(|annotate| Some((annotate, serde_json::from_str::<Value>(line?).ok()?)));
        let ended: Vec<String> = events.iter().filter_map(|event| ended(event).map(str::to_owned)).collect();
        let mut json = String::from("[");
        for event in events.drain(..) {
            if let Some(EventKind::SessionInit(init)) = event.kind.meaning() {
                self.session_id = init.provider_session_id.clone().or(self.session_id.take());
            }
            let mut fields = fields::of(&event);
            if let (Some((annotate, message)), Some(kind)) = (&message, event.kind.meaning()) {
                annotate(message, kind, &mut fields);
            }
            if let Some(kind) = event.kind.meaning() {
                self.notes.complete(kind, &mut fields);
            }
            if let Some(EventKind::ToolStarted(tool)) = event.kind.meaning()
                && self.alone
                && ended.contains(&tool.tool_call_id)
            {
                self.notes.keep_words(tool);
                continue;
            }
            let own = fields.0.remove("providerSessionId");
            let session = session_id.or(self.session_id.as_deref()).map(Value::from);
            fields.set("providerSessionId", session.or(own));
            if json.len() > 1 {
                json.push(',');
            }
            append(&event, fields, raw.as_deref(), &mut json);
        }
        json.push(']');
        json
    }
}

fn is_tool(kind: &EventKind) -> bool {
    matches!(kind, EventKind::ToolStarted(_) | EventKind::ToolUpdated(_) | EventKind::ToolCompleted(_))
}

fn ended(event: &ChatEvent) -> Option<&str> {
    match event.kind.meaning()? {
        EventKind::ToolCompleted(tool) => Some(&tool.tool_call_id),
        _ => None,
    }
}

/// Appends an event with its native message and the agent's own update, both as they were written.
fn append(event: &ChatEvent, fields: Fields, raw: Option<&str>, json: &mut String) {
    json.push_str(&Value::Object(fields.0).to_string());
    // Every event has its type, so that a comma may follow.
    json.pop();
    if let EventKind::Relayed(relayed) = &event.kind {
        json.push_str(r#","update":"#);
        json.push_str(&relayed.update.json());
    }
    if let Some(raw) = raw {
        json.push_str(r#","raw":"#);
        json.push_str(raw);
    }
    json.push('}');
}
