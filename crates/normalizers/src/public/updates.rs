//! ACP updates without a place in a turn: what a single event means.

use super::read::{self, Fault};
use chat_grammar::acp::{SessionUpdate, ToolCallId};
use chat_grammar::event::ChatEvent;
use chat_grammar::update::{Body, ExtensionUpdate, Update, UpdateMapper};
use serde_json::{Map, Value, json};

/// The updates of one event in its public JSON form, as a JSON array.
///
/// # Errors
/// Which member is not as the event's type asks.
pub fn session_updates(event_json: &str) -> Result<String, Fault> {
    let read::Read { event, session_id, output } = read::event(event_json)?;
    let mut writer = Writer::new(session_id.as_deref().unwrap_or_default());
    writer.push(event, output);
    Ok(writer.end())
}

struct Writer {
    mapper: UpdateMapper,
    updates: Vec<Update>,
    json: String,
}

impl Writer {
    fn new(session_id: &str) -> Self {
        Self { mapper: UpdateMapper::new(session_id, ""), updates: Vec::new(), json: String::from("[") }
    }

    fn push(&mut self, event: ChatEvent, output: Option<Value>) {
        self.mapper.push(event, &mut self.updates);
        for mut update in self.updates.drain(..) {
            if let (Body::Official(body), Some(output)) = (&mut update.body, &output)
                && let SessionUpdate::ToolCallUpdate(call) = body.as_mut()
            {
                call.fields.raw_output = Some(output.clone());
            }
            if self.json.len() > 1 {
                self.json.push(',');
            }
            self.json.push_str(&text(update));
        }
    }

    fn end(mut self) -> String {
        self.json.push(']');
        self.json
    }
}

/// The update's JSON. `_meta.amalgm` holds what the event says, and is left out where it says nothing.
pub(super) fn text(mut update: Update) -> String {
    if let Body::Extension(body) = &mut update.body {
        without_turn(body);
    }
    let json = match &update.body {
        Body::Official(body) => serde_json::to_string(body).unwrap_or_default(),
        Body::Extension(body) => serde_json::to_string(body).unwrap_or_default(),
        Body::Relayed(body) => body.json(),
    };
    let extra = serde_json::to_value(&update.extra).unwrap_or_default();
    if extra.as_object().is_none_or(Map::is_empty) {
        return json;
    }
    // Numbers that JavaScript cannot hold are no loss: it reads the text next.
    let Ok(Value::Object(mut members)) = serde_json::from_str::<Value>(&json) else { return json };
    match members.get_mut("_meta") {
        Some(Value::Object(meta)) => drop(meta.insert("amalgm".to_owned(), extra)),
        _ => drop(members.insert("_meta".to_owned(), json!({ "amalgm": extra }))),
    }
    Value::Object(members).to_string()
}

/// The ids of requests are made unique by their turn's id; without a turn they are the agent's own.
fn without_turn(update: &mut ExtensionUpdate) {
    let own = |id: &str| id.strip_prefix(':').unwrap_or(id).to_owned();
    match update {
        ExtensionUpdate::PermissionRequest { request_id, tool_call_id, tool_call, .. } => {
            *request_id = own(request_id);
            if tool_call_id.is_none() {
                tool_call.tool_call_id = ToolCallId::new(request_id.as_str());
            }
        }
        ExtensionUpdate::PermissionResponse { request_id, .. }
        | ExtensionUpdate::ElicitationRequest { request_id, .. }
        | ExtensionUpdate::ElicitationResponse { request_id, .. } => *request_id = own(request_id),
        ExtensionUpdate::UsageStep { .. } => {}
    }
}
