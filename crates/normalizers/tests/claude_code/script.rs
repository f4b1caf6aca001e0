//! A conversation written by hand, message by message.

use crate::common::render;
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_normalizers::Normalizer;
use serde_json::{Value, json};

/// A session in the mode `default` whose message `m` comes in events.
pub(crate) struct Script {
    pub(crate) normalizer: Box<dyn Normalizer>,
    pub(crate) events: Vec<ChatEvent>,
}

impl Script {
    pub(crate) fn new() -> Self {
        let mut script = Self::bare();
        script.begins("m");
        script
    }

    /// A session in which nothing was said.
    pub(crate) fn bare() -> Self {
        Self { normalizer: super::normalizer(), events: Vec::new() }
    }

    pub(crate) fn agent(&mut self, message: Value) -> &mut Self {
        self.normalizer.push(&message.to_string(), Side::Agent, &mut self.events);
        self
    }

    pub(crate) fn host(&mut self, message: Value) -> &mut Self {
        self.normalizer.push(&message.to_string(), Side::Host, &mut self.events);
        self
    }

    pub(crate) fn stream(&mut self, event: Value) -> &mut Self {
        self.agent(json!({ "type": "stream_event", "event": event, "parent_tool_use_id": null }))
    }

    pub(crate) fn begins(&mut self, id: &str) -> &mut Self {
        let usage = json!({ "input_tokens": 10, "output_tokens": 1 });
        self.stream(json!({ "type": "message_start", "message": { "id": id, "model": "claude-x", "usage": usage } }))
    }

    /// The model stopped by itself.
    pub(crate) fn stops(&mut self, reason: &str) -> &mut Self {
        let usage = json!({ "output_tokens": 7 });
        self.stream(json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": usage }));
        self.stream(json!({ "type": "message_stop" }))
    }

    pub(crate) fn says(&mut self, index: u64, text: &str) -> &mut Self {
        let delta = json!({ "type": "text_delta", "text": text });
        self.stream(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    }

    pub(crate) fn call_begins(&mut self, index: u64, id: &str, name: &str) -> &mut Self {
        let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
        self.stream(json!({ "type": "content_block_start", "index": index, "content_block": block }))
    }

    pub(crate) fn input(&mut self, index: u64, piece: &str) -> &mut Self {
        let delta = json!({ "type": "input_json_delta", "partial_json": piece });
        self.stream(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    }

    pub(crate) fn block_stops(&mut self, index: u64) -> &mut Self {
        self.stream(json!({ "type": "content_block_stop", "index": index }))
    }

    /// A whole block of a message.
    pub(crate) fn whole(&mut self, id: &str, block: Value) -> &mut Self {
        let message = json!({ "id": id, "model": "claude-x", "content": [block], "stop_reason": null });
        self.agent(json!({ "type": "assistant", "message": message, "parent_tool_use_id": null }))
    }

    /// A call that is told as a whole.
    pub(crate) fn call(&mut self, id: &str, name: &str, input: Value) -> &mut Self {
        self.whole("m", json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
    }

    pub(crate) fn result_of(&mut self, id: &str, content: Value, is_error: bool, structured: Value) -> &mut Self {
        let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error });
        let message = json!({ "role": "user", "content": [block] });
        self.agent(json!({ "type": "user", "message": message, "tool_use_result": structured }))
    }

    pub(crate) fn prompt(&mut self, text: &str) -> &mut Self {
        self.host(json!({ "type": "user", "message": { "role": "user", "content": text } }))
    }

    pub(crate) fn interrupt(&mut self) -> &mut Self {
        self.host(json!({ "type": "control_request", "request_id": "i", "request": { "subtype": "interrupt" } }))
    }

    pub(crate) fn asks(&mut self, request: &str, call: &str, name: &str, input: Value) -> &mut Self {
        let request_body = json!({ "subtype": "can_use_tool", "tool_name": name, "input": input, "tool_use_id": call });
        self.agent(json!({ "type": "control_request", "request_id": request, "request": request_body }))
    }

    pub(crate) fn answers(&mut self, request: &str, answer: Value) -> &mut Self {
        let response = json!({ "subtype": "success", "request_id": request, "response": answer });
        self.host(json!({ "type": "control_response", "response": response }))
    }

    pub(crate) fn ends(&mut self) -> &mut Self {
        self.agent(json!({ "type": "result", "subtype": "success", "is_error": false, "stop_reason": "end_turn" }))
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
}
