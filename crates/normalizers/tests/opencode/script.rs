//! A conversation of a few messages, for what no recording shows.

use crate::common::render;
use crate::normalizer;
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_normalizers::Normalizer;
use serde_json::{Value, json};

/// A conversation in the session `ses`.
pub(crate) struct Script {
    pub(crate) normalizer: Box<dyn Normalizer>,
    pub(crate) events: Vec<ChatEvent>,
    requests: u64,
}

impl Script {
    /// Nothing was said yet.
    pub(crate) fn empty() -> Self {
        Self { normalizer: normalizer(), events: Vec::new(), requests: 0 }
    }

    /// The host made the session and asked for a turn, and the server began to work on the message `u`.
    pub(crate) fn new() -> Self {
        let mut script = Self::empty();
        script.session("ses").prompt("ses").user("u").busy();
        script.assistant("m");
        script.events.clear();
        script
    }

    pub(crate) fn event(&mut self, kind: &str, properties: Value) -> &mut Self {
        let mut whole = json!({ "sessionID": "ses" });
        for (name, value) in properties.as_object().expect("properties") {
            whole[name] = value.clone();
        }
        // As the server writes it, so that the quick way of reading is taken.
        let line = format!(r#"{{"id":"evt","type":"{kind}","properties":{whole}}}"#);
        self.normalizer.push(&line, Side::Agent, &mut self.events);
        self
    }

    pub(crate) fn request(&mut self, method: &str, path: &str, body: Value) -> &mut Self {
        self.requests += 1;
        let request = json!({ "id": self.requests, "method": method, "path": format!("{path}?directory=%2Fw"), "body": body });
        self.normalizer.push(&request.to_string(), Side::Host, &mut self.events);
        self
    }

    /// The answer to the last request.
    pub(crate) fn answer(&mut self, status: u16, body: Value) -> &mut Self {
        let answer = json!({ "id": self.requests, "status": status, "body": body });
        self.normalizer.push(&answer.to_string(), Side::Agent, &mut self.events);
        self
    }

    pub(crate) fn session(&mut self, id: &str) -> &mut Self {
        self.request("POST", "/session", json!({ "title": "T" }));
        self.answer(200, json!({ "id": id, "title": "T", "directory": "/w" }))
    }

    pub(crate) fn prompt(&mut self, session: &str) -> &mut Self {
        self.request("POST", &format!("/session/{session}/prompt_async"), json!({ "parts": [] })).answer(204, json!(""))
    }

    pub(crate) fn busy(&mut self) -> &mut Self {
        self.event("session.status", json!({ "status": { "type": "busy" } }))
    }

    pub(crate) fn idle(&mut self) -> &mut Self {
        self.event("session.status", json!({ "status": { "type": "idle" } })).event("session.idle", json!({}))
    }

    pub(crate) fn message(&mut self, info: Value) -> &mut Self {
        let mut whole = json!({ "sessionID": "ses", "time": { "created": 1 } });
        for (name, value) in info.as_object().expect("info") {
            whole[name] = value.clone();
        }
        let session = whole["sessionID"].clone();
        self.event("message.updated", json!({ "sessionID": session, "info": whole }))
    }

    pub(crate) fn user(&mut self, id: &str) -> &mut Self {
        self.message(json!({ "id": id, "role": "user" }))
    }

    pub(crate) fn assistant(&mut self, id: &str) -> &mut Self {
        self.message(json!({ "id": id, "role": "assistant", "providerID": "p", "modelID": "big" }))
    }

    /// The model's message is whole.
    pub(crate) fn completed(&mut self, id: &str, finish: &str) -> &mut Self {
        let time = json!({ "created": 1, "completed": 2 });
        self.message(json!({ "id": id, "role": "assistant", "finish": finish, "time": time }))
    }

    /// A part of the message `m`, unless it says another.
    pub(crate) fn part(&mut self, part: Value) -> &mut Self {
        let mut whole = json!({ "messageID": "m", "sessionID": "ses" });
        for (name, value) in part.as_object().expect("a part") {
            whole[name] = value.clone();
        }
        let session = whole["sessionID"].clone();
        self.event("message.part.updated", json!({ "sessionID": session, "part": whole }))
    }

    pub(crate) fn text(&mut self, id: &str, text: &str) -> &mut Self {
        self.part(json!({ "id": id, "type": "text", "text": text, "time": { "start": 1 } }))
    }

    pub(crate) fn whole(&mut self, id: &str, text: &str) -> &mut Self {
        self.part(json!({ "id": id, "type": "text", "text": text, "time": { "start": 1, "end": 2 } }))
    }

    pub(crate) fn delta(&mut self, id: &str, delta: &str) -> &mut Self {
        self.event("message.part.delta", json!({ "messageID": "m", "partID": id, "field": "text", "delta": delta }))
    }

    /// A tool part whose call has the id of the part, unless the state says another.
    pub(crate) fn tool(&mut self, id: &str, tool: &str, state: Value) -> &mut Self {
        self.part(json!({ "id": id, "type": "tool", "tool": tool, "callID": id, "state": state }))
    }

    pub(crate) fn pending(&mut self, id: &str, tool: &str) -> &mut Self {
        self.tool(id, tool, json!({ "status": "pending", "input": {}, "raw": "" }))
    }

    pub(crate) fn finish(&mut self) -> &mut Self {
        self.normalizer.finish(FinishReason::End, &mut self.events);
        self
    }

    /// The events as lines, those of usage left out.
    pub(crate) fn shown(&self) -> Vec<String> {
        let events = self.events.iter().filter(|event| !matches!(event.kind, EventKind::UsageFinal { .. }));
        events.map(render::event).collect()
    }

    /// The model calls: id, and tokens of input.
    pub(crate) fn steps(&self) -> Vec<(String, Option<u64>)> {
        let steps = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::UsageFinal { usage } => Some((usage.id.clone(), usage.tokens.input_tokens)),
            _ => None,
        });
        steps.collect()
    }
}
