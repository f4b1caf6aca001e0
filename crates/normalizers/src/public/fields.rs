//! A `ChatEvent` as the members of its public JSON form. `raw`, and what only the native message says, is added by the caller.

use super::tools;
use chat_grammar::event::{ChatEvent, EventKind, PermissionRequested, PermissionResolved, QuestionAsked, Visibility};
use chat_grammar::usage::held;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The members of a JSON object, in the order in which they were set.
#[derive(Debug, Default)]
pub(crate) struct Fields(pub(crate) Map<String, Value>);

impl Fields {
    fn of(kind: &str) -> Self {
        let mut fields = Self::default();
        fields.set("type", kind);
        fields
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Sets a member that is left out where there is nothing to say.
    pub(crate) fn set_some(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    pub(crate) fn set_json(&mut self, name: &str, value: &impl Serialize) {
        // None of our types has a map with keys that are no strings.
        self.set(name, serde_json::to_value(value).unwrap_or_default());
    }

    /// Sets a member of the object `metadata`.
    pub(crate) fn set_metadata(&mut self, name: &str, value: impl Into<Value>) {
        if let Value::Object(metadata) = self.0.entry("metadata").or_insert_with(|| json!({})) {
            metadata.insert(name.to_owned(), value.into());
        }
    }
}

/// The members of an event. Where the agent's own update says it, they are those of what it means.
pub(super) fn of(event: &ChatEvent) -> Fields {
    let mut fields = event.kind.meaning().map_or_else(|| untold(&event.kind), of_kind);
    fields.set_some("parentToolCallId", event.parent_tool_call_id.as_deref());
    fields
}

/// An update of the agent's own that no other event has a word for.
fn untold(kind: &EventKind) -> Fields {
    let mut fields = Fields::of("unmapped");
    if let EventKind::Relayed(relayed) = kind {
        let update: Value = serde_json::from_str(&relayed.update.json()).unwrap_or_default();
        fields.set("kind", update.get("sessionUpdate").cloned().unwrap_or_else(|| "update".into()));
    }
    fields
}

fn of_kind(kind: &EventKind) -> Fields {
    match kind {
        EventKind::TextDelta { text, message_id } => {
            let mut fields = Fields::of("text.delta");
            fields.set("text", text.as_str());
            fields.set("messageId", id(message_id));
            fields
        }
        EventKind::ReasoningDelta { text, message_id, visibility } => {
            let mut fields = Fields::of("reasoning.delta");
            fields.set("text", text.as_str());
            fields.set("messageId", id(message_id));
            fields.set_json("visibility", visibility);
            fields.set_some("streamKind", (*visibility == Visibility::Plan).then_some("plan"));
            fields
        }
        EventKind::Content { block, message_id } => {
            let mut fields = Fields::of("content");
            fields.set_json("block", block);
            fields.set("messageId", id(message_id));
            fields
        }
        EventKind::ToolStarted(tool) => tools::started(tool, Fields::of("tool.started")),
        EventKind::ToolUpdated(tool) => tools::updated(tool, Fields::of("tool.updated")),
        EventKind::ToolCompleted(tool) => tools::completed(tool, Fields::of("tool.completed")),
        EventKind::Plan { entries } => {
            let mut fields = Fields::of("plan");
            fields.set_json("entries", entries);
            fields
        }
        EventKind::PermissionRequested(request) => permission_requested(request),
        EventKind::PermissionResolved(response) => permission_resolved(response),
        EventKind::QuestionAsked(question) => question_asked(question),
        EventKind::QuestionAnswered(answer) => {
            let mut fields = Fields::of("question.answered");
            fields.set("requestId", answer.request_id.as_str());
            fields.set("action", answer.action.as_str());
            fields.set_some("content", answer.content.clone());
            fields
        }
        EventKind::UsageFinal { usage } => {
            let mut fields = Fields::of("usage.final");
            fields.set_json("usage", &usage.clone().bounded());
            fields
        }
        EventKind::CompactionStarted { compaction_id, trigger, pre_tokens } => {
            let mut fields = Fields::of("compaction.started");
            fields.set("compactionId", compaction_id.as_str());
            fields.set_json("trigger", trigger);
            fields.set("preTokens", held(*pre_tokens));
            fields
        }
        EventKind::CompactionFinished(compaction) => {
            let mut fields = Fields::of("compaction.finished");
            fields.set("compactionId", compaction.compaction_id.as_str());
            fields.set_json("trigger", &compaction.trigger);
            fields.set("preTokens", held(compaction.pre_tokens));
            fields.set("postTokens", held(compaction.post_tokens));
            fields.set("durationMs", compaction.duration_ms);
            fields.set("summary", compaction.summary.as_deref());
            fields.set("failed", compaction.failed);
            fields
        }
        EventKind::SessionInit(init) => {
            let mut fields = Fields::of("session.init");
            fields.set_some("providerSessionId", init.provider_session_id.as_deref());
            fields.set("cwd", init.cwd.as_deref());
            fields.set("model", init.model.as_deref());
            fields.set("tools", init.tools.clone());
            let servers = init.mcp_servers.iter().map(|(name, status)| json!({ "name": name, "status": status }));
            fields.set("mcpServers", servers.collect::<Vec<_>>());
            fields
        }
        EventKind::Title { title } => {
            let mut fields = Fields::of("title");
            fields.set("title", title.as_str());
            fields
        }
        EventKind::Mode { mode_id } => {
            let mut fields = Fields::of("mode");
            fields.set("modeId", mode_id.as_str());
            fields
        }
        EventKind::Commands { commands } => {
            let mut fields = Fields::of("commands");
            fields.set_json("commands", commands);
            fields
        }
        EventKind::Config { options } => {
            let mut fields = Fields::of("config");
            fields.set_json("configOptions", options);
            fields
        }
        EventKind::Error(error) => {
            let mut fields = Fields::of("error");
            fields.set("message", error.message.as_str());
            fields.set_json("class", &error.class);
            fields.set("reason", error.reason.as_str());
            fields.set("retryable", error.retryable);
            fields
        }
        EventKind::Warning { message, detail, retry } => {
            let mut fields = Fields::of("warning");
            fields.set("message", message.as_str());
            fields.set_some("detail", detail.as_deref());
            if let Some(retry) = retry {
                fields.set_json("retry", retry);
            }
            fields
        }
        EventKind::Debug { message, detail } => {
            let mut fields = Fields::of("warning");
            fields.set("message", message.as_str());
            fields.set("severity", "debug");
            fields.set_some("detail", detail.as_deref());
            fields
        }
        EventKind::Done { stop_reason, native_stop_reason } => {
            let mut fields = Fields::of("done");
            fields.set("stopReason", stop_reason.as_acp().unwrap_or("failed"));
            fields.set("nativeStopReason", native_stop_reason.as_deref());
            fields
        }
        EventKind::Relayed(_) => untold(kind),
        EventKind::Unmapped { kind } => {
            let mut fields = Fields::of("unmapped");
            fields.set("kind", kind.as_str());
            fields
        }
    }
}

fn permission_requested(request: &PermissionRequested) -> Fields {
    let mut fields = Fields::of("permission.requested");
    fields.set("requestId", request.request_id.as_str());
    fields.set("toolCallId", request.tool_call_id.as_deref());
    fields.set("title", request.title.as_str());
    fields.set("action", request.action.as_str());
    fields.set_json("kind", &request.kind);
    fields.set("input", request.input.clone());
    let options = request.options.iter();
    let options = options.map(|option| json!({ "optionId": option.option_id, "name": option.name, "kind": option.kind }));
    fields.set("options", options.collect::<Vec<_>>());
    fields
}

fn permission_resolved(response: &PermissionResolved) -> Fields {
    let mut fields = Fields::of("permission.resolved");
    fields.set("requestId", response.request_id.as_str());
    fields.set("toolCallId", response.tool_call_id.as_deref());
    fields.set("optionId", response.option_id.as_deref());
    fields.set("approved", response.approved);
    fields.set_some("reason", response.reason.as_deref());
    fields.set_some("updatedInput", response.updated_input.clone());
    fields.set_json("by", &response.by);
    fields
}

fn question_asked(question: &QuestionAsked) -> Fields {
    let mut fields = Fields::of("question.asked");
    fields.set("requestId", question.request_id.as_str());
    fields.set("toolCallId", question.tool_call_id.as_deref());
    fields.set("message", question.message.as_str());
    fields.set("schema", question.form.clone());
    let page = question.url.as_ref();
    fields.set_some("url", page.map(|page| json!({ "url": page.url, "elicitationId": page.elicitation_id })));
    fields
}

// Older messages name no message: they have an empty id on their way through a normalizer.
fn id(id: &Option<String>) -> Option<&str> {
    id.as_deref().filter(|id| !id.is_empty())
}
