//! The state machine: what a message of either side is.

use super::Malformed;
use super::http::Http;
use super::info::Info;
use super::requests::Requests;
use super::sessions::Sessions;
use super::wire::{Envelope, Request};
use crate::rpc::NoMessage;
use crate::tools::ToolCalls;
use crate::{Normalizer, Options};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use std::collections::BTreeMap;

/// The normalizer of OpenCode.
#[derive(Debug)]
pub(crate) struct OpenCode {
    pub(super) sessions: Sessions,
    pub(super) tools: ToolCalls,
    pub(super) requests: Requests,
    pub(super) http: Http,
    pub(super) info: Info,
    unmapped: BTreeMap<String, u64>,
}

impl OpenCode {
    pub(crate) fn new(options: Options) -> Self {
        let mut sessions = Sessions::default();
        if let Some(id) = &options.provider_session_id {
            sessions.open(id);
        }
        Self {
            sessions,
            tools: ToolCalls::default(),
            requests: Requests::default(),
            http: Http::default(),
            info: Info::new(options.cwd, options.model),
            unmapped: BTreeMap::new(),
        }
    }

    pub(super) fn unmapped_event(&mut self, kind: &str, out: &mut Vec<ChatEvent>) {
        match self.unmapped.get_mut(kind) {
            Some(count) => *count = count.saturating_add(1),
            None => {
                self.unmapped.insert(kind.to_owned(), 1);
            }
        }
        out.push(EventKind::Unmapped { kind: kind.to_owned() }.into());
    }

    /// What another session of the directory says is counted and left out.
    pub(super) fn foreign(&mut self, out: &mut Vec<ChatEvent>) {
        self.unmapped_event("foreign_session", out);
    }

    fn agent_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        if self.frequent_line(line, out) || self.server_output(line, out) {
            return;
        }
        let envelope: Envelope<'_> = match serde_json::from_str(line) {
            Ok(envelope) => envelope,
            Err(error) => {
                let problem = if error.is_data() { NoMessage::InvalidMessage } else { NoMessage::InvalidJson };
                return self.unmapped_event(problem.kind(), out);
            }
        };
        let (read, kind) = match (envelope.kind.as_deref(), envelope.id, envelope.status) {
            (Some(kind), _, _) => {
                let properties = envelope.properties.map_or("{}", |properties| properties.get());
                (self.event(kind, properties, out), kind)
            }
            (None, Some(id), Some(status)) => (self.answered(id, status, envelope.body, out), "response"),
            _ => (Err(Malformed), NoMessage::InvalidMessage.kind()),
        };
        if read != Ok(true) {
            self.unmapped_event(kind, out);
        }
    }

    /// What the server prints when it starts, which recordings have beside its events. A server that listens is a new one: nothing of
    /// an old one goes on.
    fn server_output(&mut self, line: &str, out: &mut Vec<ChatEvent>) -> bool {
        let listens = line.starts_with("opencode server listening on ");
        if listens {
            self.close("The server was started again", "The server ended before this call did", out);
            for session in self.sessions.all() {
                session.turn = None;
            }
            self.http.clear();
        }
        listens || line.starts_with("Warning: OPENCODE_SERVER_PASSWORD ")
    }

    fn host_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        self.sessions.hosted = true;
        match serde_json::from_str::<Request<'_>>(line) {
            Ok(request) => self.host_request(&request, out),
            Err(error) => {
                let problem = if error.is_data() { NoMessage::InvalidMessage } else { NoMessage::InvalidJson };
                self.unmapped_event(problem.kind(), out);
            }
        }
    }
}

impl Normalizer for OpenCode {
    fn push(&mut self, line: &str, from: Side, out: &mut Vec<ChatEvent>) {
        match from {
            Side::Agent => self.agent_line(line, out),
            Side::Host => self.host_line(line, out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<ChatEvent>) {
        let reason = match reason {
            FinishReason::End => "The agent ended before this call did",
            FinishReason::Cancelled => "The turn was cancelled",
            FinishReason::Error => "The agent failed before this call ended",
        };
        self.close("The agent ended", reason, out);
        for session in self.sessions.all() {
            session.turn = None;
        }
    }

    fn unmapped(&self) -> &BTreeMap<String, u64> {
        &self.unmapped
    }

    fn source(&self) -> &'static str {
        "opencode.event"
    }
}
