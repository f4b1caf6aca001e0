//! The control protocol: requests and answers between the lines of the conversation.

use crate::line_connection::LineConnection;
use chat_grammar::event::ChatEvent;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

/// Why a request of ours has no result.
#[derive(Debug)]
pub(super) enum CallError {
    /// Claude Code refused it, with what it said.
    Refused(String),
    /// Its stream ended.
    Ended,
}

/// A running Claude Code.
#[derive(Debug)]
pub(super) struct Control {
    lines: LineConnection,
    last_id: u64,
}

// What is no request is as on any line.
impl Deref for Control {
    type Target = LineConnection;

    fn deref(&self) -> &LineConnection {
        &self.lines
    }
}

impl DerefMut for Control {
    fn deref_mut(&mut self) -> &mut LineConnection {
        &mut self.lines
    }
}

impl Control {
    pub(super) fn new(lines: LineConnection) -> Self {
        Self { lines, last_id: 0 }
    }

    /// Sends a request and gives its id. `request` holds its `subtype` and fields.
    pub(super) fn request(&mut self, request: &Value, out: &mut Vec<ChatEvent>) -> String {
        self.last_id += 1;
        let id = format!("host-{}", self.last_id);
        let line = json!({ "type": "control_request", "request_id": id, "request": request });
        self.say(line.to_string(), out);
        id
    }

    /// Sends a request and waits for its answer; what else is heard meanwhile comes from `hear` later. The wait may be given up.
    ///
    /// # Errors
    /// As `CallError` says.
    pub(super) async fn call(&mut self, request: &Value) -> Result<Value, CallError> {
        let mut events = Vec::new();
        let id = self.request(request, &mut events);
        self.keep(events);
        self.wait_for(|line| answer_to(&id, line)).await.unwrap_or(Err(CallError::Ended))
    }

    /// Refuses a request of Claude Code.
    pub(super) fn refuse(&mut self, request_id: &str, message: &str, out: &mut Vec<ChatEvent>) {
        let response = json!({ "subtype": "error", "request_id": request_id, "error": message });
        self.say(json!({ "type": "control_response", "response": response }).to_string(), out);
    }
}

/// An answer of ours.
pub(super) fn response(request_id: &str, response: &Value) -> String {
    let response = json!({ "subtype": "success", "request_id": request_id, "response": response });
    json!({ "type": "control_response", "response": response }).to_string()
}

fn answer_to(id: &str, line: &str) -> Option<Result<Value, CallError>> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
        #[serde(borrow, default)]
        response: Option<Answer<'a>>,
    }
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        subtype: Cow<'a, str>,
        #[serde(borrow)]
        request_id: Cow<'a, str>,
        #[serde(borrow, default)]
        response: Option<&'a RawValue>,
        #[serde(borrow, default)]
        error: Option<Cow<'a, str>>,
    }
    let Line { kind, response } = serde_json::from_str(line).ok()?;
    let answer = response.filter(|answer| kind == "control_response" && answer.request_id == id)?;
    Some(match &*answer.subtype {
        "success" => Ok(answer.response.map_or(Value::Null, |raw| serde_json::from_str(raw.get()).unwrap_or(Value::Null))),
        _ => Err(CallError::Refused(answer.error.as_deref().unwrap_or("the request was refused").to_owned())),
    })
}
