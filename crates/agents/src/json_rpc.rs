//! JSON-RPC with an agent over its pipes. Each side counts its own ids, so that an id alone says nothing: a message with a method
//! is the sender's own, one without is an answer.
//!
//! Everything that passes is shown to the agent's normalizer in the order in which it passed.

use crate::adapter::AgentMessage;
use crate::frame::Frame;
use crate::process::{AgentProcess, Exit};
use crate::secrets::Secrets;
use chat_grammar::event::{ChatEvent, ErrorEvent, EventKind, FinishReason, Side};
use chat_normalizers::Normalizer;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// JSON-RPC's code for a method that is not known.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// A message of the agent and what it means.
#[derive(Debug)]
pub(crate) struct Heard {
    /// `None` for a line that was too long to be read.
    pub(crate) line: Option<String>,
    pub(crate) events: Vec<ChatEvent>,
}

impl Heard {
    pub(crate) fn into_message(self, late: bool) -> AgentMessage {
        AgentMessage { native: self.line, events: self.events, late }
    }
}

/// What a line is.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// `None` for a line that is no message.
    pub(crate) fn read(line: &'a str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Whether this is the answer to a request of ours.
    pub(crate) fn answers(&self, id: u64) -> bool {
        self.method.is_none() && self.id.is_some_and(|given| given.get() == id.to_string())
    }
}

/// Why a request of ours has no result.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The agent refused it.
    Refused { message: String, native: Value },
    /// The agent's stream ended.
    Ended,
}

/// A running agent that speaks JSON-RPC.
#[derive(Debug)]
pub(crate) struct Connection {
    process: AgentProcess,
    normalizer: Box<dyn Normalizer>,
    secrets: Secrets,
    last_id: u64,
    /// What was heard while an answer was waited for.
    early: Vec<Heard>,
}

impl Connection {
    pub(crate) fn new(process: AgentProcess, normalizer: Box<dyn Normalizer>, secrets: Secrets) -> Self {
        Self { process, normalizer, secrets, last_id: 0, early: Vec::new() }
    }

    pub(crate) fn source(&self) -> &'static str {
        self.normalizer.source()
    }

    /// The id of the agent's process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The variables that every process which this agent starts must carry.
    pub(crate) fn marks(&self) -> &BTreeMap<String, String> {
        self.process.marks()
    }

    /// Sends a request and gives its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value, out: &mut Vec<ChatEvent>) -> u64 {
        let line = self.prepare_request(method, params, out);
        self.send(line);
        self.last_id
    }

    /// A request that is sent later.
    pub(crate) fn prepare_request(&mut self, method: &str, params: &Value, out: &mut Vec<ChatEvent>) -> String {
        self.last_id += 1;
        let line = json!({ "method": method, "id": self.last_id, "params": params }).to_string();
        self.mean(&line, out);
        line
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str) {
        let mut events = Vec::new();
        self.say(json!({ "method": method }).to_string(), &mut events);
        self.keep(events);
    }

    /// Sends a request and waits for its answer; what else is heard meanwhile comes from `hear` later. The wait may be given up.
    ///
    /// # Errors
    /// As `CallError` says.
    pub(crate) async fn call(&mut self, method: &str, params: &Value) -> Result<Value, CallError> {
        let mut events = Vec::new();
        let id = self.request(method, params, &mut events);
        self.keep(events);
        loop {
            let heard = self.read().await;
            if heard.is_empty() {
                return Err(CallError::Ended);
            }
            let answer = heard.iter().filter_map(|heard| heard.line.as_deref()).find_map(|line| answer_to(id, line));
            self.early.extend(heard);
            if let Some(answer) = answer {
                return answer;
            }
        }
    }

    /// Refuses a request of the agent.
    pub(crate) fn refuse(&mut self, id: &RawValue, message: &str, out: &mut Vec<ChatEvent>) {
        let error = json!({ "code": METHOD_NOT_FOUND, "message": message });
        self.say(json!({ "id": id, "error": error }).to_string(), out);
    }

    /// Says a line: to the normalizer, then to the agent.
    pub(crate) fn say(&mut self, line: String, out: &mut Vec<ChatEvent>) {
        self.mean(&line, out);
        self.send(line);
    }

    /// Takes what a line of ours means, before it is sent.
    pub(crate) fn mean(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        self.normalizer.push(line, Side::Host, out);
    }

    /// Sends a line whose meaning was taken.
    pub(crate) fn send(&mut self, line: String) {
        self.process.send(line);
    }

    /// The next messages, in order; empty once the agent's stream has ended. It may be dropped while it waits.
    pub(crate) async fn hear(&mut self) -> Vec<Heard> {
        if !self.early.is_empty() {
            return std::mem::take(&mut self.early);
        }
        self.read().await
    }

    /// What is to be told with what is heard next.
    pub(crate) fn keep(&mut self, events: Vec<ChatEvent>) {
        if !events.is_empty() {
            self.early.push(Heard { line: None, events });
        }
    }

    /// Takes out what was heard of a failure that another way was found for, or that is told otherwise.
    pub(crate) fn take_failure(&mut self) -> Option<ErrorEvent> {
        let mut failure = None;
        for heard in &mut self.early {
            heard.events.retain(|event| match &event.kind {
                EventKind::Error(error) => {
                    failure = Some(error.clone());
                    false
                }
                EventKind::Done { .. } => false,
                _ => true,
            });
        }
        failure
    }

    async fn read(&mut self) -> Vec<Heard> {
        let frames = self.process.read().await;
        frames.into_iter().map(|frame| self.understand(frame)).collect()
    }

    fn understand(&mut self, frame: Frame) -> Heard {
        match frame {
            Frame::Line { text, replaced } => {
                if replaced {
                    tracing::warn!(agent = self.source(), "invalid UTF-8 in a message was replaced");
                }
                let mut events = Vec::new();
                self.normalizer.push(&text, Side::Agent, &mut events);
                let line = if self.mask_failures(&mut events) { self.secrets.mask(&text).into_owned() } else { text };
                Heard { line: Some(line), events }
            }
            Frame::TooLong { bytes } => {
                tracing::warn!(agent = self.source(), bytes, "a message was too long to be read");
                let kind = format!("oversized message of {bytes} bytes");
                Heard { line: None, events: vec![EventKind::Unmapped { kind }.into()] }
            }
        }
    }

    /// Providers repeat a key that they refuse. True where there was something that may hold one.
    fn mask_failures(&self, events: &mut [ChatEvent]) -> bool {
        let mut masked = false;
        for event in events {
            let message = match &mut event.kind {
                EventKind::Error(error) => &mut error.message,
                EventKind::Warning { message, detail, .. } => {
                    if let Some(detail) = detail {
                        *detail = self.secrets.mask(detail).into_owned();
                    }
                    message
                }
                _ => continue,
            };
            *message = self.secrets.mask(message).into_owned();
            masked = true;
        }
        masked
    }

    /// Closes what the agent left open when it ended.
    pub(crate) fn finish(&mut self, reason: FinishReason, out: &mut Vec<ChatEvent>) {
        self.normalizer.finish(reason, out);
    }

    /// How the agent's process ended, and the end of what it wrote to stderr, without secrets.
    pub(crate) async fn exit(&mut self) -> (Exit, String) {
        let exit = self.process.exited().await;
        (exit, self.secrets.mask(&self.process.stderr_tail()).into_owned())
    }

    /// Ends the agent and all that it started.
    pub(crate) async fn end(&mut self) {
        self.process.end().await;
    }
}

fn answer_to(id: u64, line: &str) -> Option<Result<Value, CallError>> {
    let envelope = Envelope::read(line).filter(|envelope| envelope.answers(id))?;
    let parse = |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or(Value::Null);
    Some(match envelope.error {
        Some(error) => {
            let native: Value = parse(error);
            let message = native["message"].as_str().unwrap_or("the request was refused").to_owned();
            Err(CallError::Refused { message, native })
        }
        None => Ok(envelope.result.map_or(Value::Null, parse)),
    })
}
