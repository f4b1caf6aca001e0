//! What Codex's own item says about a tool event, as existing hosts read it.

use super::describe_item;
use super::item::modernize;
use crate::public::Fields;
use chat_grammar::event::EventKind;
use serde_json::{Value, json};

/// Adds `data`, `detail` and the agent's members of `metadata` to the event of a tool that a message is about.
pub(crate) fn annotate(message: &Value, kind: &EventKind, fields: &mut Fields) {
    let params = message.get("params").or_else(|| message.get("payload"));
    let Some(Value::Object(params)) = params else { return };
    let item = match params.get("item") {
        Some(Value::Object(item)) => item,
        _ if params.contains_key("type") => params,
        _ => return,
    };
    let Some(item_type) = item.get("type").and_then(Value::as_str) else { return };
    fields.set("data", json!({ "providerItemType": item_type, "item": item }));
    fields.set_metadata("providerItemType", item_type);
    if let Some(status) = item.get("status").and_then(Value::as_str) {
        fields.set_metadata("providerStatus", status);
    }
    let mut today = item.clone();
    modernize(&mut today);
    if item_type == "mcpToolCall" {
        fields.set_metadata("mcp", json!({ "server": today.get("server"), "tool": today.get("tool") }));
    }
    if matches!(item_type, "collabAgentToolCall" | "subAgentActivity") {
        fields.set_metadata("subagent", true);
        for name in ["senderThreadId", "receiverThreadIds", "agentsStates", "agentThreadId", "agentPath"] {
            if let Some(value) = item.get(name).filter(|value| !value.is_null()) {
                fields.set_metadata(name, value.clone());
            }
        }
    }
    let described = describe_item(&Value::Object(today));
    if !described.detail.is_empty() {
        fields.set("detail", described.detail);
    }
    match kind {
        EventKind::ToolUpdated(_) => fields.set("output", described.output),
        EventKind::ToolCompleted(tool) if tool.is_error => fields.set_some("error", described.error),
        _ => {}
    }
}
