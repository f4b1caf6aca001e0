//! The parts of a stored message, and how tool calls and compactions come together from their updates.

use super::moment;
use super::wire::WireUpdate;
use crate::bounded::HeadAndTail;
use crate::event::{McpTool, Trigger, Visibility};
use crate::time::parse_iso8601;
use crate::update::CompactionPhase;
use serde::Serialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;

/// A part of a message, in the shape of the public type `MessagePart`.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagePart<'a> {
    Text { text: &'a str },
    Reasoning { text: &'a str, visibility: Visibility },
    Content { block: &'a RawValue },
    Tool(Box<Cow<'a, ToolPart>>),
    Plan { entries: &'a RawValue },
    Compaction(&'a CompactionPart),
    Notice { severity: &'a str, title: &'a str, description: Option<&'a str> },
}

/// A tool call as it stands.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPart {
    tool_call_id: String,
    name: Option<String>,
    title: String,
    kind: String,
    pub(super) status: String,
    input: Option<Box<RawValue>>,
    output: Option<Box<RawValue>>,
    content: Box<RawValue>,
    mcp: Option<McpTool>,
    parent_tool_call_id: Option<String>,
    pub(super) permission: Option<Box<RawValue>>,
    started_at: Option<String>,
    finished_at: Option<String>,
    duration_ms: Option<i64>,
}

impl ToolPart {
    pub(super) fn new(id: &str) -> Self {
        Self {
            tool_call_id: id.to_owned(),
            name: None,
            title: String::new(),
            // What ACP means where a call says neither.
            kind: "other".to_owned(),
            status: "pending".to_owned(),
            input: None,
            output: None,
            content: empty_list(),
            mcp: None,
            parent_tool_call_id: None,
            permission: None,
            started_at: None,
            finished_at: None,
            duration_ms: None,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed")
    }

    pub(super) fn apply(&mut self, update: &WireUpdate<'_>) {
        let meta = &update.meta.amalgm;
        if self.started_at.is_none() {
            self.started_at = moment(meta.at);
        }
        replace_text(&mut self.title, update.title.as_deref());
        replace_text(&mut self.kind, update.tool_kind.as_deref());
        if let Some(name) = update.name.as_deref() {
            self.name = Some(name.to_owned());
        }
        if let Some(content) = update.content {
            content.clone_into(&mut self.content);
        }
        replace_raw(&mut self.input, update.raw_input);
        replace_raw(&mut self.output, update.raw_output);
        if meta.mcp.is_some() {
            self.mcp.clone_from(&meta.mcp);
        }
        if let Some(parent) = meta.parent_tool_call_id.as_deref() {
            self.parent_tool_call_id = Some(parent.to_owned());
        }
        if !self.has_ended() {
            replace_text(&mut self.status, update.status.as_deref());
            if self.has_ended() {
                self.finished_at = moment(meta.at);
                self.duration_ms = duration(self.started_at.as_deref(), self.finished_at.as_deref());
            }
        }
    }

    /// The call with its streamed output in place of the content that an end would have brought.
    pub(super) fn shown(&self, streamed: &HeadAndTail) -> Cow<'_, Self> {
        if streamed.bytes() == 0 || self.output.is_some() || self.content.get() != "[]" {
            return Cow::Borrowed(self);
        }
        let content = json!([{ "type": "content", "content": { "type": "text", "text": streamed.text() } }]);
        match to_raw_value(&content) {
            Ok(content) => Cow::Owned(Self { content, ..self.clone() }),
            Err(_) => Cow::Borrowed(self),
        }
    }
}

/// A compaction as it stands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionPart {
    compaction_id: String,
    phase: CompactionPhase,
    trigger: Option<Trigger>,
    pre_tokens: Option<u64>,
    post_tokens: Option<u64>,
    started_at: Option<String>,
    finished_at: Option<String>,
    duration_ms: Option<i64>,
    summary: Option<String>,
}

impl CompactionPart {
    pub(super) fn new(id: &str) -> Self {
        Self {
            compaction_id: id.to_owned(),
            phase: CompactionPhase::Started,
            trigger: None,
            pre_tokens: None,
            post_tokens: None,
            started_at: None,
            finished_at: None,
            duration_ms: None,
            summary: None,
        }
    }

    pub(super) fn apply(&mut self, update: &WireUpdate<'_>) {
        let meta = &update.meta.amalgm;
        if self.started_at.is_none() {
            self.started_at = moment(meta.at);
        }
        let reported = meta.compaction.as_ref();
        if let Some(compaction) = reported {
            self.trigger = compaction.trigger.or(self.trigger);
            self.pre_tokens = compaction.pre_tokens.or(self.pre_tokens);
            self.post_tokens = compaction.post_tokens.or(self.post_tokens);
        }
        if let Some(summary) = update.summary {
            self.summary = summary_text(summary);
        }
        if matches!(update.status.as_deref(), Some("completed" | "failed" | "cancelled")) {
            self.phase = CompactionPhase::Finished;
            self.finished_at = moment(meta.at);
            let measured = reported.and_then(|compaction| compaction.duration_ms).and_then(|ms| i64::try_from(ms).ok());
            self.duration_ms = measured.or_else(|| duration(self.started_at.as_deref(), self.finished_at.as_deref()));
        }
    }
}

fn summary_text(blocks: &RawValue) -> Option<String> {
    let blocks: serde_json::Value = serde_json::from_str(blocks.get()).ok()?;
    let texts = blocks.as_array()?.iter().filter_map(|block| block.get("text")?.as_str());
    Some(texts.collect::<Vec<_>>().join("\n"))
}

fn replace_text(text: &mut String, new: Option<&str>) {
    if let Some(new) = new {
        new.clone_into(text);
    }
}

fn replace_raw(value: &mut Option<Box<RawValue>>, new: Option<&RawValue>) {
    if let Some(new) = new {
        *value = Some(new.to_owned());
    }
}

fn empty_list() -> Box<RawValue> {
    // `[]` is JSON, so the fallback is never taken; it would be shown as null.
    RawValue::from_string("[]".to_owned()).unwrap_or_default()
}

fn duration(start: Option<&str>, end: Option<&str>) -> Option<i64> {
    Some((parse_iso8601(end?)? - parse_iso8601(start?)?).max(0))
}
