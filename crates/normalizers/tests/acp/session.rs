//! A session as tests play it: messages of both sides, and what came of them.

use crate::support::{self, meanings};
use chat_grammar::event::{ChatEvent, EventKind, Relayed, Side, ToolCompleted, ToolStarted, ToolUpdated};
use chat_grammar::usage::UsageRecord;
use chat_normalizers::Normalizer;
use serde_json::{Value, json};

/// A session that was opened and prompted.
pub(crate) struct Session {
    pub(crate) normalizer: Box<dyn Normalizer>,
    pub(crate) events: Vec<ChatEvent>,
    prompts: u64,
}

impl Session {
    pub(crate) fn new(harness: &str) -> Self {
        let mut session = Self { normalizer: support::normalizer(harness), events: Vec::new(), prompts: 10 };
        session
            .host(json!({ "id": 1, "method": "session/new", "params": { "cwd": "/w", "mcpServers": [{ "name": "tiny" }] } }));
        session.agent(json!({ "id": 1, "result": { "sessionId": "s" } }));
        session.prompt();
        session
    }

    pub(crate) fn host(&mut self, message: Value) {
        self.normalizer.push(&message.to_string(), Side::Host, &mut self.events);
    }

    pub(crate) fn agent(&mut self, message: Value) {
        self.normalizer.push(&message.to_string(), Side::Agent, &mut self.events);
    }

    pub(crate) fn prompt(&mut self) {
        self.prompts += 1;
        self.host(json!({ "id": self.prompts, "method": "session/prompt", "params": { "sessionId": "s", "prompt": [] } }));
    }

    pub(crate) fn update(&mut self, update: Value) {
        self.agent(json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } }));
    }

    pub(crate) fn call(&mut self, id: &str, more: Value) {
        self.tool("tool_call", id, more);
    }

    pub(crate) fn news(&mut self, id: &str, more: Value) {
        self.tool("tool_call_update", id, more);
    }

    fn tool(&mut self, kind: &str, id: &str, more: Value) {
        let mut update = json!({ "sessionUpdate": kind, "toolCallId": id });
        update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.update(update);
    }

    pub(crate) fn ask(&mut self, id: u64, call: Value) {
        let options = json!([
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ]);
        self.agent(json!({ "id": id, "method": "session/request_permission", "params": { "sessionId": "s", "toolCall": call, "options": options } }));
    }

    pub(crate) fn choose(&mut self, id: u64, option: &str) {
        self.host(json!({ "id": id, "result": { "outcome": { "outcome": "selected", "optionId": option } } }));
    }

    pub(crate) fn stop(&mut self, more: Value) {
        let mut result = json!({ "stopReason": "end_turn" });
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.agent(json!({ "id": self.prompts, "result": result }));
    }

    pub(crate) fn relayed(&self) -> Vec<&Relayed> {
        self.events
            .iter()
            .filter_map(|event| if let EventKind::Relayed(relayed) = &event.kind { Some(&**relayed) } else { None })
            .collect()
    }

    /// The last update of the agent's that was passed on.
    pub(crate) fn last(&self) -> (Value, bool) {
        let relayed = self.relayed();
        let update = &relayed.last().unwrap().update;
        (serde_json::from_str(&update.json()).unwrap(), update.is_changed())
    }

    pub(crate) fn started(&self) -> Vec<&ToolStarted> {
        meanings(&self.events)
            .filter_map(|kind| if let EventKind::ToolStarted(tool) = kind { Some(tool) } else { None })
            .collect()
    }

    pub(crate) fn completed(&self) -> Vec<&ToolCompleted> {
        meanings(&self.events)
            .filter_map(|kind| if let EventKind::ToolCompleted(tool) = kind { Some(tool) } else { None })
            .collect()
    }

    pub(crate) fn updated(&self) -> Vec<&ToolUpdated> {
        meanings(&self.events)
            .filter_map(|kind| if let EventKind::ToolUpdated(tool) = kind { Some(tool) } else { None })
            .collect()
    }

    pub(crate) fn steps(&self) -> Vec<&UsageRecord> {
        meanings(&self.events)
            .filter_map(|kind| match kind {
                EventKind::UsageFinal { usage } if usage.billable => Some(usage),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn count(&self, kind: &str) -> u64 {
        self.normalizer.unmapped().get(kind).copied().unwrap_or(0)
    }
}
