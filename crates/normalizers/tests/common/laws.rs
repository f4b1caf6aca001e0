//! The laws of events and of what is written of them, whatever an agent sends: a tool call begins once, ends once, and has no news
//! before or after; it leaves `pending` at most once; each request is resolved once; each compaction that begins ends.

use chat_grammar::event::{ChatEvent, EventKind};
use chat_grammar::update::{Place, UpdateMapper, write_update};
use serde::Deserialize;
use std::collections::HashMap;

/// How far a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Pending,
    Running,
    Ended,
}

/// What the laws look at in an update.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Update {
    session_update: String,
    tool_call_id: Option<String>,
    status: Option<String>,
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    amalgm: Amalgm,
}

#[derive(Deserialize)]
struct Amalgm {
    sequence: u64,
}

/// What was seen of a stream of events.
#[derive(Debug, Default)]
pub struct Laws {
    calls: HashMap<String, State>,
    written: HashMap<String, State>,
    sequence: u64,
    requests: Vec<String>,
    compactions: Vec<String>,
}

impl Laws {
    /// The next event.
    pub fn event(&mut self, event: &ChatEvent) -> Result<(), String> {
        let fine = match event.kind.meaning() {
            Some(EventKind::ToolStarted(tool)) => {
                let state = if tool.pending { State::Pending } else { State::Running };
                self.calls.insert(tool.tool_call_id.clone(), state).is_none()
            }
            Some(EventKind::ToolUpdated(tool)) => match self.calls.get_mut(&tool.tool_call_id) {
                Some(state @ State::Pending) if tool.in_progress => {
                    *state = State::Running;
                    true
                }
                Some(State::Pending | State::Running) => !tool.in_progress,
                _ => false,
            },
            Some(EventKind::ToolCompleted(tool)) => {
                let before = self.calls.insert(tool.tool_call_id.clone(), State::Ended);
                matches!(before, Some(State::Pending | State::Running))
            }
            Some(EventKind::PermissionRequested(request)) => begins(&mut self.requests, &request.request_id),
            Some(EventKind::QuestionAsked(request)) => begins(&mut self.requests, &request.request_id),
            Some(EventKind::PermissionResolved(resolved)) => ends(&mut self.requests, &resolved.request_id),
            Some(EventKind::QuestionAnswered(answer)) => ends(&mut self.requests, &answer.request_id),
            Some(EventKind::CompactionStarted { compaction_id, .. }) => begins(&mut self.compactions, compaction_id),
            // Agents may say no more of a compaction than its end.
            Some(EventKind::CompactionFinished(end)) => {
                self.compactions.retain(|open| *open != end.compaction_id);
                true
            }
            _ => true,
        };
        if fine { Ok(()) } else { Err(format!("out of order: {event:?}")) }
    }

    /// The next update, as the JSON that readers get.
    pub fn written(&mut self, json: &[u8]) -> Result<(), String> {
        let wrong = |why: &str| Err(format!("written {why}: {}", String::from_utf8_lossy(json)));
        let update: Update = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        self.sequence += 1;
        if update.meta.amalgm.sequence != self.sequence {
            return wrong("under another sequence");
        }
        let Some(id) = update.tool_call_id else { return Ok(()) };
        let status = match update.status.as_deref() {
            Some("pending") => Some(State::Pending),
            Some("in_progress") => Some(State::Running),
            Some("completed" | "failed") => Some(State::Ended),
            _ => None,
        };
        match (update.session_update.as_str(), self.written.get_mut(&id)) {
            ("tool_call", None) => {
                self.written.insert(id, status.unwrap_or(State::Pending));
            }
            ("tool_call_update", Some(state)) if *state != State::Ended && status.is_none_or(|status| status > *state) => {
                *state = status.unwrap_or(*state);
            }
            ("tool_call" | "tool_call_update", _) => return wrong("out of order"),
            _ => {}
        }
        Ok(())
    }

    /// The stream ended: nothing is open.
    pub fn closed(&self) -> Result<(), String> {
        let open = |calls: &HashMap<String, State>| -> Vec<String> {
            calls.iter().filter(|(_, state)| **state != State::Ended).map(|(id, _)| id.clone()).collect()
        };
        let left = [open(&self.calls), open(&self.written), self.requests.clone(), self.compactions.clone()].concat();
        if left.is_empty() { Ok(()) } else { Err(format!("left open: {left:?}")) }
    }
}

fn begins(open: &mut Vec<String>, id: &str) -> bool {
    open.push(id.to_owned());
    true
}

fn ends(open: &mut Vec<String>, id: &str) -> bool {
    let position = open.iter().position(|known| known == id);
    position.map(|position| open.remove(position)).is_some()
}

/// What the end of a stream makes closes what is open; the agent said nothing more.
pub fn says_nothing(events: &[ChatEvent]) -> Result<(), String> {
    let says = |event: &&ChatEvent| {
        matches!(
            event.kind.meaning(),
            Some(EventKind::TextDelta { .. } | EventKind::ReasoningDelta { .. } | EventKind::Done { .. })
        )
    };
    events.iter().find(says).map_or(Ok(()), |event| Err(format!("said at the end: {event:?}")))
}

/// All laws over the events of a stream that was finished.
pub fn calls_are_in_order(events: &[ChatEvent]) -> Result<(), String> {
    let mut laws = Laws::default();
    let mut mapper = UpdateMapper::new("conversation", "turn");
    let mut updates = Vec::new();
    for event in events {
        laws.event(event)?;
        mapper.push(event.clone(), &mut updates);
    }
    let mut json = Vec::new();
    for (update, sequence) in updates.iter().zip(1..) {
        json.clear();
        write_update(update, Place { conversation_id: "conversation", turn_id: "turn", sequence, at: 0 }, None, &mut json);
        laws.written(&json)?;
    }
    laws.closed()
}
