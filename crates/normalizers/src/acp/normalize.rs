//! The state machine: which rule reads which message.

use super::calls::Calls;
use super::dialect::{Dialect, PLAIN};
use super::requests::Requests;
use super::session::{HostRequest, Session};
use super::usage::Ledger;
use super::wire::{self, CancelParams, HostParams, Malformed, PromptAnswer, SessionAnswer, WireError};
use crate::rpc::{self, Envelope};
use crate::unmapped::Unmapped;
use crate::{Normalizer, Options};
use chat_grammar::event::{ChatEvent, FinishReason, Side};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap};

/// The normalizer of ACP agents.
#[derive(Debug)]
pub(crate) struct Acp {
    pub(super) dialect: &'static Dialect,
    pub(super) session: Session,
    pub(super) calls: Calls,
    pub(super) requests: Requests,
    pub(super) ledger: Ledger,
    /// Those that run.
    pub(super) compactions: Vec<String>,
    /// Requests of the host that wait for an answer, by the text of their id.
    host: HashMap<String, HostRequest>,
    /// Whether the host's messages are shown too.
    sees_host: bool,
    unmapped: Unmapped,
}

/// What came of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Known,
    Unknown,
}

impl Acp {
    /// For an agent that speaks the protocol as it is written.
    pub(crate) fn new(options: Options) -> Self {
        Self::with(options, &PLAIN)
    }

    /// For an agent with ways of its own.
    pub(crate) fn with(options: Options, dialect: &'static Dialect) -> Self {
        Self {
            dialect,
            session: Session::new(options),
            calls: Calls::default(),
            requests: Requests::default(),
            ledger: Ledger::default(),
            compactions: Vec::new(),
            host: HashMap::new(),
            sees_host: false,
            unmapped: Unmapped::default(),
        }
    }

    /// Counts a message of which nothing else comes.
    pub(crate) fn count(&mut self, kind: &str, out: &mut Vec<ChatEvent>) {
        self.unmapped.event(kind, out);
    }

    pub(super) fn counted(&mut self, kind: &str) {
        self.unmapped.count(kind);
    }

    /// True for a session of this conversation; what another session says is counted and left out.
    pub(super) fn ours(&mut self, session_id: Option<&str>, out: &mut Vec<ChatEvent>) -> bool {
        let foreign = session_id.is_some_and(|id| !self.session.knows(id));
        if foreign {
            self.count("foreign_session", out);
        }
        !foreign
    }

    /// The id of an open call for readers.
    pub(crate) fn shown_call(&self, id: &str) -> Option<&str> {
        self.calls.shown(id)
    }

    /// A message of the agent. `extension` reads the methods that are the agent's own.
    pub(crate) fn agent_line(
        &mut self,
        line: &str,
        extension: impl FnOnce(&mut Self, &str, Option<&RawValue>, &RawValue, &mut Vec<ChatEvent>) -> Result<Read, Malformed>,
        out: &mut Vec<ChatEvent>,
    ) {
        if let Some((session_id, update)) = wire::leading_update(line) {
            if self.ours(Some(session_id), out) && self.updated(update, out).is_err() {
                self.count("session/update", out);
            }
            return;
        }
        let envelope = match rpc::envelope(line) {
            Ok(envelope) => envelope,
            // Agents print on stdout what they should not.
            Err(problem) => return self.count(problem.kind(), out),
        };
        let Envelope { id, method, params, result, error } = envelope;
        let (read, kind) = match (method.as_deref(), id) {
            (Some(method), id) => {
                let read = params.ok_or(Malformed).and_then(|params| match self.message(method, id, params, out)? {
                    Read::Known => Ok(Read::Known),
                    Read::Unknown => extension(self, method, id, params, out),
                });
                (read, method)
            }
            (None, Some(id)) => (self.agent_answer(id, result, error, out), "response"),
            (None, None) => (Err(Malformed), "invalid_message"),
        };
        if read != Ok(Read::Known) {
            self.count(kind, out);
        }
    }

    fn message(
        &mut self,
        method: &str,
        id: Option<&RawValue>,
        params: &RawValue,
        out: &mut Vec<ChatEvent>,
    ) -> Result<Read, Malformed> {
        match (method, id) {
            ("session/update", _) => self.update(params, out)?,
            ("session/request_permission", Some(id)) => self.permission(id, params, out)?,
            ("elicitation/create", Some(id)) => self.elicitation(id, params, out)?,
            ("$/cancel_request", None) => {
                let params: CancelParams<'_> = serde_json::from_str(params.get())?;
                self.withdrawn(params.request_id, out);
            }
            (method, _) if is_silent(method) => {}
            _ => return Ok(Read::Unknown),
        }
        Ok(Read::Known)
    }

    /// The agent's answer to a request of the host.
    fn agent_answer(
        &mut self,
        id: &RawValue,
        result: Option<&RawValue>,
        error: Option<&RawValue>,
        out: &mut Vec<ChatEvent>,
    ) -> Result<Read, Malformed> {
        let Some(request) = self.host.remove(id.get()) else { return self.unasked_answer(result, out) };
        self.session.answered(&request);
        if let Some(error) = error {
            if request.is_vital() {
                // Whatever form the error has, the request failed.
                let error: WireError<'_> = serde_json::from_str(error.get()).unwrap_or_default();
                self.failed(&error, out);
            }
            return Ok(Read::Known);
        }
        let result = result.map_or("null", RawValue::get);
        match request {
            // What it advertises is the adapter's affair.
            HostRequest::Initialize => self.session.agent_is(&serde_json::from_str(result).unwrap_or_default()),
            HostRequest::Authenticate | HostRequest::Other => {}
            HostRequest::NewSession { cwd } => self.session_opened(None, cwd, &serde_json::from_str(result)?, out)?,
            HostRequest::OldSession { id, cwd } => {
                let answer: Option<SessionAnswer<'_>> = serde_json::from_str(result)?;
                let answer = answer.unwrap_or_default();
                self.session_opened(id.as_deref(), cwd, &answer, out)?;
            }
            // Whatever form the answer has, the turn ended.
            HostRequest::Prompt => match serde_json::from_str::<PromptAnswer<'_>>(result) {
                Ok(answer) => self.prompt_answered(&answer, out)?,
                Err(_) => {
                    self.prompt_answered(&PromptAnswer::default(), out)?;
                    return Err(Malformed);
                }
            },
            HostRequest::Mode { id } => id.iter().for_each(|id| self.mode_is(id, out)),
            HostRequest::Model { id } => id.iter().for_each(|id| self.model_is(id, out)),
            HostRequest::ConfigOption => {
                let answer: Option<SessionAnswer<'_>> = serde_json::from_str(result)?;
                if let Some(options) = answer.and_then(|answer| answer.config_options) {
                    self.config_is(options, out);
                }
            }
        }
        Ok(Read::Known)
    }

    /// Where the host's side is not shown, a prompt's answer is known by its stop reason.
    fn unasked_answer(&mut self, result: Option<&RawValue>, out: &mut Vec<ChatEvent>) -> Result<Read, Malformed> {
        let answer: Option<PromptAnswer<'_>> = result.and_then(|result| serde_json::from_str(result.get()).ok());
        match answer.filter(|answer| answer.stop_reason.is_some()) {
            Some(answer) if !self.sees_host => {
                self.prompt_answered(&answer, out)?;
                Ok(Read::Known)
            }
            _ => Ok(Read::Unknown),
        }
    }

    /// A message of the host.
    pub(crate) fn host_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        let envelope = match rpc::envelope(line) {
            Ok(envelope) => envelope,
            Err(problem) => return self.count(problem.kind(), out),
        };
        let Envelope { id: Some(id), method, params, result, .. } = envelope else { return };
        let Some(method) = method.as_deref() else { return self.host_answer(id, result, out) };
        self.sees_host = true;
        // A new process: ids begin again, and nothing of the old one will be answered.
        if method == "initialize" {
            self.close("The agent's process ended", out);
            self.host.clear();
            self.session.restart();
        }
        let params: HostParams<'_> = params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
        let request = HostRequest::of(method, &params);
        self.session.requested(&request, &params);
        self.host.insert(id.get().to_owned(), request);
    }

    /// Closes what the native stream left open when it ended.
    pub(crate) fn finished(&mut self, reason: FinishReason, out: &mut Vec<ChatEvent>) {
        let reason = match reason {
            FinishReason::End => "The agent ended before this call did",
            FinishReason::Cancelled => "The turn was cancelled",
            FinishReason::Error => "The agent failed before this call ended",
        };
        self.close(reason, out);
    }
}

impl Normalizer for Acp {
    fn push(&mut self, line: &str, from: Side, out: &mut Vec<ChatEvent>) {
        match from {
            Side::Agent => self.agent_line(line, |_, _, _, _, _| Ok(Read::Unknown), out),
            Side::Host => self.host_line(line, out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<ChatEvent>) {
        self.finished(reason, out);
    }

    fn unmapped(&self) -> &BTreeMap<String, u64> {
        self.unmapped.counts()
    }

    fn source(&self) -> &'static str {
        "acp.session_update"
    }
}

/// Messages that say nothing a reader of the conversation needs. The host answers the requests among them by itself.
fn is_silent(method: &str) -> bool {
    matches!(
        method,
        "fs/read_text_file"
            | "fs/write_text_file"
            | "terminal/create"
            | "terminal/output"
            | "terminal/wait_for_exit"
            | "terminal/kill"
            | "terminal/release"
            | "elicitation/complete"
            | "auth/status_update"
            | "_auth/status_update"
    )
}
