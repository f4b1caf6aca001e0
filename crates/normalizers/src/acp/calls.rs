//! The tool calls of a session: each is announced once, never goes backwards, and ends exactly once.

use super::outcome::Terminal;
use super::wire::Malformed;
use crate::tools::text_content;
use chat_grammar::acp::{ToolCallContent, ToolKind};
use chat_grammar::event::{ChatEvent, EventKind, McpTool, ToolCompleted};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// All calls by the agent's own id.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: HashMap<String, Call>,
    /// The ids that readers have seen.
    shown: HashSet<String>,
    announced: u64,
    /// Which turn it is. An id that comes again in a later turn is another call.
    turn: u64,
}

#[derive(Debug)]
struct Call {
    /// The id that readers see.
    shown: String,
    /// How many calls had this id before.
    before: u64,
    turn: u64,
    /// `None` once it ended.
    open: Option<Box<OpenCall>>,
}

/// A call that has not ended.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub shown: String,
    /// For an order that does not depend on hashing.
    ordinal: u64,
    pub running: bool,
    pub title: String,
    pub kind: ToolKind,
    pub name: Option<String>,
    /// The name is only what calls of the kind are usually called.
    pub named_by_kind: bool,
    pub mcp: Option<McpTool>,
    pub input: Option<Box<RawValue>>,
    pub content: Option<Box<RawValue>>,
    /// The text that the content was, where it was nothing else.
    pub snapshot: Option<String>,
    /// That text grew: it is output.
    pub streams: bool,
    pub terminal: Terminal,
    /// Why it must not run, where the host said so.
    pub declined: Option<String>,
}

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody spoke of it in this turn.
    Unknown,
    Open,
    /// It ended in this turn.
    Ended,
}

impl Calls {
    pub(super) fn standing(&self, id: &str) -> Standing {
        match self.calls.get(id) {
            Some(Call { open: Some(_), .. }) => Standing::Open,
            Some(call) if call.turn == self.turn => Standing::Ended,
            _ => Standing::Unknown,
        }
    }

    pub(super) fn open(&mut self, id: &str) -> Option<&mut OpenCall> {
        self.calls.get_mut(id)?.open.as_deref_mut()
    }

    /// Makes a call known, and says which id it has for readers: the agent's own, or `id#2` and so on where earlier turns had it.
    pub(super) fn announce(&mut self, id: &str) -> Option<&mut OpenCall> {
        let before = self.calls.get(id).map_or(0, |call| call.before + 1);
        let mut names = (before..).map(|n| if n == 0 { id.to_owned() } else { format!("{id}#{}", n + 1) });
        // The agent may call another call so, before or after.
        let shown = names.find(|name| !self.shown.contains(name) && (name == id || !self.calls.contains_key(name)));
        let shown = shown.unwrap_or_default();
        self.shown.insert(shown.clone());
        let open = OpenCall {
            shown: shown.clone(),
            ordinal: self.announced,
            running: false,
            title: String::new(),
            kind: ToolKind::Other,
            name: None,
            named_by_kind: true,
            mcp: None,
            input: None,
            content: None,
            snapshot: None,
            streams: false,
            terminal: Terminal::default(),
            declined: None,
        };
        self.announced += 1;
        let call = Call { shown, before, turn: self.turn, open: Some(Box::new(open)) };
        self.calls.insert(id.to_owned(), call);
        self.open(id)
    }

    /// The id that readers know an open call by.
    pub(super) fn shown(&self, id: &str) -> Option<&str> {
        self.calls.get(id).filter(|call| call.open.is_some()).map(|call| call.shown.as_str())
    }

    /// The open call of a kind, where it is the only one.
    pub(super) fn only_of_kind(&self, kind: ToolKind) -> Option<&str> {
        let of_kind = |call: &Call| call.open.as_ref().is_some_and(|open| open.kind == kind);
        let mut calls = self.calls.iter().filter(|(_, call)| of_kind(call));
        let (id, _) = calls.next()?;
        calls.next().is_none().then_some(id.as_str())
    }

    /// The call ended.
    pub(super) fn close(&mut self, id: &str) {
        if let Some(call) = self.calls.get_mut(id) {
            call.open = None;
            call.turn = self.turn;
        }
    }

    /// Ends as failed what the agent left open, in the order in which it was announced.
    pub(super) fn fail_all(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        let mut open: Vec<Box<OpenCall>> = self.calls.values_mut().filter_map(|call| call.open.take()).collect();
        open.sort_unstable_by_key(|call| call.ordinal);
        for call in open {
            out.push(EventKind::ToolCompleted(call.abandoned(reason)).into());
        }
    }

    /// The turn ended.
    pub(super) fn end_turn(&mut self) {
        self.turn += 1;
    }
}

impl OpenCall {
    /// The end of a call that its agent does not end. What it showed so far stays.
    fn abandoned(self, reason: &str) -> ToolCompleted {
        let streamed = match self.snapshot.filter(|_| self.streams) {
            Some(text) => text,
            None => self.terminal.output.text(),
        };
        let mut content: Vec<ToolCallContent> = match streamed.is_empty() {
            false => vec![text_content(streamed.clone())],
            true => self.content.as_deref().map(contents).unwrap_or_default(),
        };
        // A terminal that the host does not have shows nothing.
        content.retain(|content| !matches!(content, ToolCallContent::Terminal(_)));
        content.push(text_content(self.declined.as_deref().unwrap_or(reason)));
        let output = match (self.kind, self.mcp.is_some(), streamed.is_empty()) {
            (ToolKind::Execute, false, true) => json!({ "exitCode": null }),
            (ToolKind::Execute, false, false) => json!({ "exitCode": null, "output": streamed }),
            _ => Value::Null,
        };
        ToolCompleted {
            tool_call_id: self.shown,
            is_error: true,
            title: None,
            input: None,
            output,
            content,
            locations: None,
            mcp: self.mcp,
            duration_ms: None,
        }
    }
}

/// A list of contents as far as the official types know them.
pub(super) fn contents(content: &RawValue) -> Vec<ToolCallContent> {
    let items: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    items.into_iter().filter_map(|item| serde_json::from_str(item.get()).ok()).collect()
}

/// Any JSON as a value.
pub(super) fn value(json: Option<&RawValue>) -> Result<Value, Malformed> {
    Ok(json.map(|json| serde_json::from_str(json.get())).transpose()?.unwrap_or(Value::Null))
}
