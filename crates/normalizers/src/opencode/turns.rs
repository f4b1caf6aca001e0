//! Turns of the conversation's session: when one begins, and when it has ended.
//!
//! `session.idle` is neither unique nor last: after a failure or an abort it comes a first time, then what was open is closed, and it
//! comes again. And `session.error` need not be the end: an overflowing context is compacted, and a file that is missing is left out.

use super::compaction;
use super::errors::{self, Failure};
use super::messages::Role;
use super::normalize::OpenCode;
use super::sessions::Session;
use super::usage;
use super::wire::{ErrorBody, MessageInfo};
use crate::tools::ToolCalls;
use chat_grammar::event::{ChatEvent, ErrorEvent, EventKind, Stop};
use serde_json::Value;

/// A turn that runs.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The server took the prompt up. Until then, what says that a session is idle is about the turn before.
    pub begun: bool,
    /// The user's message that began it.
    pub user: Option<String>,
    /// The last message of the model.
    last: Option<Last>,
    /// What may turn out to be the turn's failure.
    failure: Option<ErrorEvent>,
    filtered: Option<String>,
    too_long: bool,
    aborted: bool,
    /// The host asked the server to stop.
    pub abort_asked: bool,
    /// The session was idle before everything of the turn had come.
    ending: bool,
}

#[derive(Debug)]
struct Last {
    id: String,
    completed: bool,
    failed: bool,
    finish: Option<String>,
}

impl Turn {
    /// A turn that the server began without a request of the host's that was seen.
    pub(super) fn begun() -> Self {
        Self { begun: true, ..Self::default() }
    }

    /// True where everything has come that comes before the session is idle for the last time.
    fn is_settled(&self) -> bool {
        let broken = self.failure.is_some() || self.aborted || self.filtered.is_some();
        !broken || self.last.as_ref().is_none_or(|last| last.completed)
    }

    /// How it ended, with the agent's own word.
    fn stop(&self) -> (Stop, Option<String>) {
        let finish = self.last.as_ref().and_then(|last| last.finish.clone());
        let last_failed = self.last.as_ref().is_none_or(|last| last.failed || !last.completed);
        let stop = match finish.as_deref() {
            _ if self.aborted => Stop::Cancelled,
            Some("content-filter") => Stop::Refusal,
            _ if self.filtered.is_some() => Stop::Refusal,
            // An error beside a message that ended well was not its end.
            _ if self.failure.is_some() && last_failed => Stop::Failed,
            Some("error") => Stop::Failed,
            Some("length") => Stop::MaxTokens,
            _ if self.too_long => Stop::MaxTokens,
            // An abort while the server waits for a retry leaves no other trace.
            None if self.abort_asked => Stop::Cancelled,
            _ => Stop::EndTurn,
        };
        (stop, finish)
    }
}

impl OpenCode {
    /// The host asks for a turn, or adds to the one that runs. True where it begins one.
    pub(super) fn turn_asked(&mut self, session_id: &str) -> bool {
        let session = self.sessions.open(session_id);
        if session.turn.is_some() {
            return false;
        }
        session.turn = Some(Turn::default());
        self.sessions.begin_turn(session_id);
        true
    }

    /// `session.status` busy.
    pub(super) fn busy(&mut self, session_id: &str, out: &mut Vec<ChatEvent>) {
        let own = self.sessions.is_own(session_id);
        let Some(session) = self.sessions.find(session_id) else { return };
        session.idle = false;
        if own && session.turn.is_none() {
            session.turn = Some(Turn::begun());
            self.sessions.begin_turn(session_id);
        } else {
            begin(session, out);
        }
    }

    /// A message was told of, and perhaps changed. It is the only sign that a turn goes on after an error.
    pub(super) fn message_in_turn(&mut self, info: &MessageInfo<'_>, role: Role, news: bool, out: &mut Vec<ChatEvent>) {
        let Some(session) = self.sessions.find(&info.session_id) else { return };
        if news && session.turn.is_some() {
            begin(session, out);
            goes_on(session, out);
        }
        let call = session.call.clone();
        let Some(turn) = &mut session.turn else { return };
        if role == Role::User {
            turn.user.get_or_insert_with(|| info.id.to_string());
            return;
        }
        if news {
            turn.last = Some(Last { id: info.id.to_string(), completed: false, failed: false, finish: None });
        }
        let Some(last) = turn.last.as_mut().filter(|last| last.id == *info.id) else { return };
        last.completed |= info.time.is_some_and(|time| time.completed.is_some());
        last.finish = info.finish.as_deref().map(str::to_owned).or(last.finish.take());
        if let Some(error) = &info.error {
            last.failed = true;
            failed(turn, error, &call, out);
        }
    }

    /// `session.error`.
    pub(super) fn session_error(&mut self, session_id: Option<&str>, error: Option<&ErrorBody<'_>>, out: &mut Vec<ChatEvent>) {
        let Some(error) = error else { return };
        let Some(session) = session_id.and_then(|id| self.sessions.find(id)) else {
            // An error of nobody's session, such as a plugin's.
            return match session_id {
                Some(_) => self.foreign(out),
                None => warn(error, &None, out),
            };
        };
        let call = session.call.clone();
        match &mut session.turn {
            // A sub-agent's end is no end of the turn.
            _ if session.parent.is_some() => warn(error, &call, out),
            Some(turn) if turn.begun => failed(turn, error, &call, out),
            Some(turn) => {
                failed(turn, error, &call, out);
                if errors::gives_up_prompt(error) {
                    self.end_turn(out);
                }
            }
            // It repeats what ended the turn.
            None => {}
        }
    }

    /// `session.idle`.
    pub(super) fn idle(&mut self, session_id: &str, out: &mut Vec<ChatEvent>) {
        let Some(session) = self.sessions.find(session_id) else { return };
        if session.parent.is_some() {
            return self.child_idle(session_id, out);
        }
        let Some(turn) = session.turn.as_mut().filter(|turn| turn.begun) else { return };
        if turn.is_settled() || turn.ending {
            self.end_turn_of(session_id, out);
        } else {
            turn.ending = true;
        }
    }

    /// The server says that no session is busy: an error that no idle followed was the end.
    pub(super) fn nothing_busy(&mut self, busy: impl Fn(&str) -> bool, out: &mut Vec<ChatEvent>) {
        let Some(id) = self.sessions.current().map(str::to_owned).filter(|id| !busy(id)) else { return };
        let Some(session) = self.sessions.find(&id) else { return };
        let torn = session.messages.torn;
        let over = |turn: &Turn| turn.begun && (turn.ending || turn.failure.is_some() || turn.aborted || torn);
        if session.turn.as_ref().is_some_and(over) {
            self.end_turn_of(&id, out);
        }
    }

    /// The turn of the conversation's session has ended.
    pub(super) fn end_turn(&mut self, out: &mut Vec<ChatEvent>) {
        if let Some(id) = self.sessions.current().map(str::to_owned) {
            self.end_turn_of(&id, out);
        }
    }

    fn end_turn_of(&mut self, session_id: &str, out: &mut Vec<ChatEvent>) {
        let Some(turn) = self.sessions.find(session_id).and_then(|session| session.turn.take()) else { return };
        let (stop, native_stop_reason) = turn.stop();
        let reason = match stop {
            Stop::Cancelled => "The turn was cancelled",
            Stop::Failed => "The turn failed",
            _ => "The turn ended without the end of this call",
        };
        self.close("The turn ended", reason, out);
        match (stop, turn.failure) {
            (Stop::Failed, failure) => out.push(EventKind::Error(failure.unwrap_or_else(errors::unexplained)).into()),
            (_, Some(failure)) => out.push(warning(failure.message, &None)),
            _ => {}
        }
        if let Some(message) = turn.filtered {
            out.push(warning(message, &None));
        }
        out.push(EventKind::Done { stop_reason: stop, native_stop_reason }.into());
    }

    /// Begins a turn that is refused before it began.
    pub(super) fn refused(&mut self, session_id: &str, failure: ErrorEvent, out: &mut Vec<ChatEvent>) {
        let turn = self.sessions.find(session_id).and_then(|session| session.turn.as_mut());
        let Some(turn) = turn.filter(|turn| !turn.begun) else { return };
        turn.failure = Some(failure);
        self.end_turn_of(session_id, out);
    }

    /// Closes everything that is open, whichever session has it.
    pub(super) fn close(&mut self, asked: &str, reason: &str, out: &mut Vec<ChatEvent>) {
        self.cancel_requests(asked, out);
        for session in self.sessions.all() {
            usage::unreported(session, out);
            compaction::abandon(session, out);
            session.messages.end_turn();
            session.tasks.clear();
        }
        self.tools.fail_every(reason, out);
    }

    /// A sub-agent has nothing more to do. A call that was made up for it ends with it.
    fn child_idle(&mut self, session_id: &str, out: &mut Vec<ChatEvent>) {
        let Some(session) = self.sessions.find(session_id) else { return };
        session.idle = true;
        usage::unreported(session, out);
        compaction::abandon(session, out);
        if std::mem::take(&mut session.made_up)
            && let Some(id) = session.call.clone()
        {
            complete(id, &mut self.tools, out);
        }
    }
}

fn complete(id: String, tools: &mut ToolCalls, out: &mut Vec<ChatEvent>) {
    tools.complete(super::calls::ended(id, false, Value::Null), out);
}

/// The server took the prompt up. What it complained about before was not the end.
fn begin(session: &mut Session, out: &mut Vec<ChatEvent>) {
    if session.turn.as_ref().is_some_and(|turn| !turn.begun) {
        goes_on(session, out);
        if let Some(turn) = &mut session.turn {
            turn.begun = true;
        }
    }
}

/// The turn goes on: an error that seemed to be its end was none.
fn goes_on(session: &mut Session, out: &mut Vec<ChatEvent>) {
    let call = session.call.clone();
    let Some(turn) = &mut session.turn else { return };
    turn.ending = false;
    if let Some(failure) = turn.failure.take() {
        out.push(warning(failure.message, &call));
    }
}

/// Takes note of an error. The first one says what happened; the same comes again with the message and, after the end, with a trace.
fn failed(turn: &mut Turn, error: &ErrorBody<'_>, call: &Option<String>, out: &mut Vec<ChatEvent>) {
    match errors::failure(error) {
        Failure::Aborted => turn.aborted = true,
        Failure::Length => turn.too_long = true,
        Failure::Filtered(message) => turn.filtered = Some(message),
        Failure::Failed(failure) => match &turn.failure {
            None => turn.failure = Some(failure),
            Some(known) if *known == failure || errors::gives_up_prompt(error) => {}
            Some(_) => {
                if let Some(before) = turn.failure.replace(failure) {
                    out.push(warning(before.message, call));
                }
            }
        },
    }
}

fn warn(error: &ErrorBody<'_>, call: &Option<String>, out: &mut Vec<ChatEvent>) {
    match errors::failure(error) {
        Failure::Aborted | Failure::Length => {}
        Failure::Filtered(message) => out.push(warning(message, call)),
        Failure::Failed(failure) => out.push(warning(failure.message, call)),
    }
}

fn warning(message: String, call: &Option<String>) -> ChatEvent {
    let kind = EventKind::Warning { message, detail: None, retry: None };
    ChatEvent { kind, parent_tool_call_id: call.clone() }
}
