//! The tool calls of one thread: which of the agent's items is which call for readers.

use crate::tools::ToolCalls;
use chat_grammar::acp::ToolKind;
use chat_grammar::event::{ChatEvent, McpTool, ToolStarted};
use serde_json::Value;
use std::collections::HashMap;

/// Item ids repeat: in other threads, in later turns, and with some model servers even within a turn.
#[derive(Debug, Default)]
pub(super) struct Calls {
    by_item: HashMap<String, Vec<Call>>,
    /// The calls that were started in the running turn.
    this_turn: Vec<TurnCall>,
}

#[derive(Debug)]
struct TurnCall {
    item_id: String,
    id: String,
    background: Background,
}

#[derive(Debug)]
struct Call {
    id: String,
    turn: Option<String>,
    started_at_ms: Option<i64>,
    /// What a permission request about this call shows; `None` once the call ended.
    subject: Option<Subject>,
}

/// Whether a call may outlive its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Background {
    Possible,
    Impossible,
}

/// What a call wants to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subject {
    pub tool_name: String,
    pub title: String,
    pub kind: ToolKind,
    pub input: Value,
    pub mcp: Option<McpTool>,
}

/// Where an item stands among the messages of its thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemPlace<'a> {
    pub item_id: &'a str,
    pub turn_id: Option<&'a str>,
    pub started_at_ms: Option<i64>,
}

impl Calls {
    /// The call that an item of a turn is.
    pub(super) fn find(&self, item_id: &str, turn_id: Option<&str>) -> Option<&str> {
        let calls = self.by_item.get(item_id)?;
        calls.iter().rev().find(|call| turn_id.is_none() || call.turn.as_deref() == turn_id).map(|call| call.id.as_str())
    }

    /// What an item wants to do, as long as it has not ended.
    pub(super) fn subject(&self, item_id: &str, turn_id: Option<&str>) -> Option<(&str, &Subject)> {
        let calls = self.by_item.get(item_id)?;
        let call = calls.iter().rev().find(|call| turn_id.is_none() || call.turn.as_deref() == turn_id)?;
        Some((&call.id, call.subject.as_ref()?))
    }

    /// The newest call of an MCP tool that has not ended.
    pub(super) fn open_mcp(&self, server: &str, tool: &str, arguments: Option<&Value>) -> Option<(&str, &Subject)> {
        self.open().find(|(_, subject)| {
            let same_tool = subject.mcp.as_ref().is_some_and(|mcp| mcp.server == server && mcp.tool == tool);
            same_tool && arguments.is_none_or(|arguments| *arguments == subject.input)
        })
    }

    /// The call of an MCP server that has not ended, where it is the only one.
    pub(super) fn only_mcp(&self, server: &str) -> Option<&str> {
        let mut calls = self.open().filter(|(_, subject)| subject.mcp.as_ref().is_some_and(|mcp| mcp.server == server));
        let (id, _) = calls.next()?;
        calls.next().is_none().then_some(id)
    }

    /// The calls of this turn that have not ended, newest first.
    fn open(&self) -> impl Iterator<Item = (&str, &Subject)> {
        self.this_turn.iter().rev().filter_map(|turn_call| {
            let call = self.by_item.get(&turn_call.item_id)?.iter().find(|call| call.id == turn_call.id)?;
            Some((call.id.as_str(), call.subject.as_ref()?))
        })
    }

    /// True where a call stands for the item already.
    pub(super) fn knows(&self, place: ItemPlace<'_>, tools: &ToolCalls) -> bool {
        match place.started_at_ms {
            Some(_) => self.is_repeated(place, tools),
            // An end, or a start without its time.
            None => self.find(place.item_id, place.turn_id).is_some(),
        }
    }

    /// True where the start of an item only repeats an earlier one.
    fn is_repeated(&self, place: ItemPlace<'_>, tools: &ToolCalls) -> bool {
        let Some(known) = self.by_item.get(place.item_id).and_then(|calls| calls.last()) else { return false };
        let same_start = match (known.started_at_ms, place.started_at_ms) {
            (Some(known), Some(now)) => known == now,
            _ => true,
        };
        known.turn.as_deref() == place.turn_id && (same_start || tools.is_open(&known.id))
    }

    /// Makes the call of an item that starts, and says its id.
    pub(super) fn begin(
        &mut self,
        place: ItemPlace<'_>,
        background: Background,
        tools: &ToolCalls,
        subject: Subject,
    ) -> String {
        let id = tools.free_id(place.item_id);
        let call = Call {
            id: id.clone(),
            turn: place.turn_id.map(str::to_owned),
            started_at_ms: place.started_at_ms,
            subject: Some(subject),
        };
        self.by_item.entry(place.item_id.to_owned()).or_default().push(call);
        self.this_turn.push(TurnCall { item_id: place.item_id.to_owned(), id: id.clone(), background });
        id
    }

    /// The call ended: what it wanted need not be kept.
    pub(super) fn end(&mut self, item_id: &str, id: &str) {
        for call in self.by_item.get_mut(item_id).into_iter().flatten().filter(|call| call.id == id) {
            call.subject = None;
        }
    }

    /// The turn ended: its calls, for the caller to close, but for those of the kind that may go on.
    pub(super) fn end_turn(&mut self, goes_on: Option<Background>) -> Vec<String> {
        let calls = std::mem::take(&mut self.this_turn);
        calls.into_iter().filter(|call| Some(call.background) != goes_on).map(|call| call.id).collect()
    }
}

impl Subject {
    /// A purpose that ACP has no kind for.
    pub(super) fn other(tool_name: impl Into<String>, title: impl Into<String>, input: Value) -> Self {
        Self { tool_name: tool_name.into(), title: title.into(), kind: ToolKind::Other, input, mcp: None }
    }

    /// The start of a call with this purpose.
    pub(super) fn started(&self, tool_call_id: String) -> ToolStarted {
        ToolStarted {
            tool_call_id,
            tool_name: self.tool_name.clone(),
            title: self.title.clone(),
            kind: self.kind,
            input: self.input.clone(),
            pending: false,
            content: Vec::new(),
            locations: Vec::new(),
            mcp: self.mcp.clone(),
        }
    }
}

/// Fails the calls of a thread's turn that are still open.
pub(super) fn fail(ids: &[String], reason: &str, tools: &mut ToolCalls, out: &mut Vec<ChatEvent>) {
    tools.fail_all(ids.iter().map(String::as_str), reason, out);
}
