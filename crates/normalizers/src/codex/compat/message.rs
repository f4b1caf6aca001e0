//! Notifications of older forms.

use super::item::modernize;
use super::{Object, fill, first, word};
use serde_json::{Value, json};

const ITEM_IDS: [&str; 4] = ["itemId", "id", "callId", "toolCallId"];

/// A notification whose params are where today's have them.
pub(super) struct Notice {
    pub(super) method: String,
    pub(super) params: Object,
}

impl Notice {
    /// Reads a notification; `None` for a request, an answer and anything else.
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut message: Object = serde_json::from_str(line).ok()?;
        let method = message.get("method")?.as_str()?.to_owned();
        if message.contains_key("id") && message.contains_key("params") {
            return None;
        }
        let params = ["params", "payload"].iter().find_map(|name| match message.remove(*name) {
            Some(Value::Object(params)) => Some(params),
            _ => None,
        });
        let mut params = params.unwrap_or_default();
        fill(&mut params, "textDelta", message.remove("textDelta"));
        Some(Self { method, params })
    }

    /// Puts it into today's form as far as that takes no memory. `turn` is the id of a turn that is not named.
    pub(super) fn modernize(&mut self, turn: &str) {
        match self.method.as_str() {
            "item/reasoning/delta" => {
                self.method = "item/reasoning/textDelta".to_owned();
                self.delta();
            }
            "item/agentMessage/delta"
            | "item/reasoning/textDelta"
            | "item/reasoning/summaryTextDelta"
            | "item/plan/delta"
            | "item/commandExecution/outputDelta"
            | "item/fileChange/outputDelta" => self.delta(),
            "item/commandExecution/terminalInteraction" | "item/mcpToolCall/progress" => self.item_id(),
            "item/started" | "item/updated" | "item/completed" => self.item(),
            "turn/started" | "turn/completed" => self.turn(turn),
            "turn/failed" | "turn/error" => self.turn_failed(turn),
            "error" => {
                let error = error_object(&self.params);
                self.params.insert("error".to_owned(), error);
            }
            _ => {}
        }
    }

    /// The agent goes on after this error.
    pub(super) fn is_retry(&self) -> bool {
        matches!(self.method.as_str(), "error" | "turn/error" | "turn/failed")
            && self.params.get("willRetry") == Some(&Value::Bool(true))
    }

    pub(super) fn thread_id(&self) -> Option<&str> {
        self.params.get("threadId")?.as_str()
    }

    pub(super) fn text(&self) -> String {
        json!({ "method": self.method, "params": self.params }).to_string()
    }

    fn delta(&mut self) {
        self.item_id();
        let delta = word(&self.params, &["textDelta", "delta", "outputDelta", "text"]);
        if let Some(delta) = delta {
            self.params.insert("delta".to_owned(), delta.into());
        }
    }

    fn item_id(&mut self) {
        let inner = self.params.get("item").and_then(Value::as_object).and_then(|item| word(item, &["id"]));
        let id = word(&self.params, &["itemId"]).or(inner).or_else(|| word(&self.params, &ITEM_IDS));
        self.params.insert("itemId".to_owned(), id.unwrap_or_default().into());
    }

    fn item(&mut self) {
        let item = match self.params.remove("item") {
            Some(Value::Object(item)) => Some(item),
            // The params are the item.
            _ if self.params.contains_key("type") => Some(self.params.clone()),
            _ => None,
        };
        let Some(mut item) = item else { return };
        let id = word(&item, &["id", "itemId", "callId", "toolCallId"]).or_else(|| word(&self.params, &ITEM_IDS));
        let kind = word(&item, &["type"]).unwrap_or_default();
        item.insert("id".to_owned(), id.unwrap_or(kind).into());
        modernize(&mut item);
        self.params.insert("item".to_owned(), Value::Object(item));
    }

    fn turn(&mut self, unnamed: &str) {
        let id = word(&self.params, &["turnId"]).unwrap_or_else(|| unnamed.to_owned());
        let status = word(&self.params, &["status"]);
        let error = first(&self.params, &["error"]);
        let Value::Object(turn) = self.params.entry("turn").or_insert_with(|| json!({})) else { return };
        fill(turn, "id", Some(id.into()));
        fill(turn, "status", status.map(Value::from));
        fill(turn, "error", error);
        if let Some(Value::String(message)) = turn.get("error").cloned() {
            turn.insert("error".to_owned(), json!({ "message": message }));
        }
    }

    fn turn_failed(&mut self, unnamed: &str) {
        let inner = self.params.get("turn").and_then(|turn| turn.get("error")).filter(|error| !error.is_null()).cloned();
        fill(&mut self.params, "error", inner);
        let error = error_object(&self.params);
        if self.is_retry() {
            self.method = "error".to_owned();
            self.params.insert("error".to_owned(), error);
            return;
        }
        self.method = "turn/completed".to_owned();
        self.turn(unnamed);
        if let Some(Value::Object(turn)) = self.params.get_mut("turn") {
            turn.insert("status".to_owned(), "failed".into());
            turn.insert("error".to_owned(), error);
        }
    }
}

/// The error of a notification as an object with a message.
fn error_object(params: &Object) -> Value {
    let mut error = match params.get("error") {
        Some(Value::Object(error)) => error.clone(),
        _ => Object::new(),
    };
    let message = super::error_message(params.get("error").unwrap_or(&Value::Null));
    let message = message.or_else(|| word(params, &["message"])).unwrap_or_else(|| "The turn failed".to_owned());
    if !error.get("message").is_some_and(Value::is_string) {
        error.insert("message".to_owned(), message.into());
    }
    Value::Object(error)
}
