//! JSON-RPC with an agent over its pipes. Each side counts its own ids, so that an id alone says nothing: a message with a method
//! is the sender's own, one without is an answer.

use crate::line_connection::LineConnection;
use crate::process::AgentProcess;
use crate::secrets::Secrets;
use chat_grammar::event::ChatEvent;
use chat_normalizers::Normalizer;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

/// JSON-RPC's code for a method that is not known.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

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
    lines: LineConnection,
    last_id: u64,
}

// What is no request is as on any line.
impl Deref for Connection {
    type Target = LineConnection;

    fn deref(&self) -> &LineConnection {
        &self.lines
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut LineConnection {
        &mut self.lines
    }
}

impl Connection {
    pub(crate) fn new(process: AgentProcess, normalizer: Box<dyn Normalizer>, secrets: Secrets) -> Self {
        Self { lines: LineConnection::new(process, normalizer, secrets), last_id: 0 }
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
        self.wait_for(|line| answer_to(id, line)).await.unwrap_or(Err(CallError::Ended))
    }

    /// Refuses a request of the agent.
    pub(crate) fn refuse(&mut self, id: &RawValue, message: &str, out: &mut Vec<ChatEvent>) {
        let error = json!({ "code": METHOD_NOT_FOUND, "message": message });
        self.say(json!({ "id": id, "error": error }).to_string(), out);
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
