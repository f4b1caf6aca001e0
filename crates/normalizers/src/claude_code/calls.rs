//! The tool calls of the session, by the agent's own ids.

use super::input::PartialInput;
use super::normalize::ClaudeCode;
use super::subject::{self, Subject};
use chat_grammar::event::{ChatEvent, McpTool, ToolStarted, ToolUpdated};
use serde_json::{Value, json};
use std::collections::HashMap;

/// All calls by the agent's id of them.
#[derive(Debug, Default)]
pub(super) struct Calls {
    by_id: HashMap<String, Call>,
}

/// A tool call that has not ended, or one that has, of which only the names are kept.
#[derive(Debug)]
pub(super) struct Call {
    /// The id that readers know.
    pub id: String,
    /// Canonical.
    pub name: String,
    pub mcp: Option<McpTool>,
    pub parent: Option<String>,
    /// The model's message that made it.
    pub message_id: Option<String>,
    /// As far as readers know it.
    pub input: Value,
    partial: Option<PartialInput>,
    subject: Option<Subject>,
    /// The user said no.
    pub denied: bool,
    /// A subagent that runs on after the call ended.
    pub background: bool,
}

/// A call as it is first heard of.
#[derive(Debug)]
pub(super) struct NewCall<'a> {
    pub id: &'a str,
    /// The agent's own name of the tool.
    pub name: &'a str,
    pub mcp: Option<McpTool>,
    pub parent: Option<&'a str>,
    pub message_id: Option<&'a str>,
}

impl Calls {
    pub(super) fn get(&self, id: &str) -> Option<&Call> {
        self.by_id.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Call> {
        self.by_id.get_mut(id)
    }

    /// The call that readers know by this id.
    fn shown(&self, id: &str) -> Option<&Call> {
        self.by_id.get(id).filter(|call| call.id == id).or_else(|| self.by_id.values().find(|call| call.id == id))
    }

    /// True for a call whose parent runs on in the background.
    pub(super) fn is_in_background(&self, parent: &str) -> bool {
        self.shown(parent).is_some_and(|call| call.background)
    }

    /// The call ended: what it wanted need not be kept.
    pub(super) fn end(&mut self, id: &str) {
        if let Some(call) = self.by_id.get_mut(id) {
            call.input = Value::Null;
            call.partial = None;
            call.subject = None;
        }
    }
}

impl Call {
    /// The text of an input that never closed.
    pub(super) fn cut_input(&self) -> Option<&str> {
        self.partial.as_ref().map(PartialInput::text).filter(|text| !text.is_empty())
    }
}

impl ClaudeCode {
    /// A call is heard of. One that is known stays as it is, unless it ended and another message makes one with the same id.
    pub(super) fn call_began(&mut self, new: &NewCall<'_>, out: &mut Vec<ChatEvent>) {
        if let Some(known) = self.calls.get(new.id) {
            let another = new.message_id.is_some() && known.message_id.as_deref() != new.message_id;
            if !another || self.tools.is_open(&known.id) {
                return;
            }
        }
        let id = self.tools.free_id(new.id);
        let mcp = new.mcp.clone().or_else(|| subject::mcp(new.name, None, &self.session.mcp_servers));
        let name = mcp.as_ref().map_or_else(|| subject::canonical(new.name).to_owned(), |mcp| mcp.tool.clone());
        let input = json!({});
        let subject = subject::subject(&name, mcp.as_ref(), &input, self.session.cwd());
        let tool = ToolStarted {
            tool_call_id: id.clone(),
            tool_name: name.clone(),
            title: subject.title.clone(),
            kind: subject.kind,
            input: input.clone(),
            pending: true,
            content: Vec::new(),
            locations: Vec::new(),
            mcp: mcp.clone(),
        };
        self.tools.start(tool, new.parent.map(str::to_owned), out);
        let call = Call {
            id,
            name,
            mcp,
            parent: new.parent.map(str::to_owned),
            message_id: new.message_id.map(str::to_owned),
            input,
            partial: None,
            subject: Some(subject),
            denied: false,
            background: false,
        };
        self.calls.by_id.insert(new.id.to_owned(), call);
    }

    /// A piece of a call's input.
    pub(super) fn input_grew(&mut self, id: &str, piece: &str, out: &mut Vec<ChatEvent>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        if let Some(input) = call.partial.get_or_insert_default().push(piece) {
            self.tell_input(id, input, out);
        }
    }

    /// The events of a call's input ended. True where the input is whole.
    pub(super) fn input_closed(&mut self, id: &str, out: &mut Vec<ChatEvent>) -> bool {
        let Some(input) = self.calls.get(id).and_then(|call| call.partial.as_ref()?.whole()) else { return false };
        self.input_whole(id, input, out);
        true
    }

    /// The whole input of a call.
    pub(super) fn input_whole(&mut self, id: &str, input: Value, out: &mut Vec<ChatEvent>) {
        if let Some(call) = self.calls.get_mut(id) {
            call.partial = None;
        }
        self.tell_input(id, input, out);
        // Where nothing needs leave, the call runs as soon as it is known.
        if self.session.asks_nothing() {
            self.call_runs(id, out);
        }
    }

    /// An MCP call's server and tool, told by the line of the whole call.
    pub(super) fn call_is_mcp(&mut self, id: &str, tool_name: &str, out: &mut Vec<ChatEvent>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        let Some(known) = &call.mcp else { return };
        let name = format!("mcp__{}__{}", known.server, known.tool);
        let mcp = subject::mcp(&name, Some(tool_name), &self.session.mcp_servers);
        if mcp.is_some() && mcp != call.mcp && self.tools.is_open(&call.id) {
            call.mcp.clone_from(&mcp);
            self.tools.update(ToolUpdated { tool_call_id: call.id.clone(), mcp, ..ToolUpdated::default() }, out);
        }
    }

    fn tell_input(&mut self, id: &str, input: Value, out: &mut Vec<ChatEvent>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        if call.input == input || !self.tools.is_open(&call.id) {
            return;
        }
        let before = call.subject.take();
        let subject = subject::subject(&call.name, call.mcp.as_ref(), &input, self.session.cwd());
        let changed = before.as_ref() != Some(&subject);
        let news = changed.then(|| subject.clone());
        call.subject = Some(subject);
        call.input = input.clone();
        let (title, content, locations) = match news {
            Some(subject) => (Some(subject.title), Some(subject.content), Some(subject.locations)),
            None => (None, None, None),
        };
        let tool = ToolUpdated {
            tool_call_id: call.id.clone(),
            title: title.filter(|title| before.as_ref().is_none_or(|before| before.title != *title)),
            input: Some(input),
            content: content.filter(|content| !content.is_empty()),
            locations: locations.filter(|locations| !locations.is_empty()),
            ..ToolUpdated::default()
        };
        self.tools.update(tool, out);
    }

    /// A call that waited is running now.
    pub(super) fn call_runs(&mut self, id: &str, out: &mut Vec<ChatEvent>) {
        if let Some(call) = self.calls.get(id) {
            self.tools.run(&call.id, out);
        }
    }

    /// Ends calls that will have no result. An input that never closed is kept as the text that it is.
    pub(super) fn calls_failed(&mut self, ids: &[String], reason: &str, out: &mut Vec<ChatEvent>) {
        for id in ids {
            let Some(call) = self.calls.get(id) else { continue };
            match call.cut_input().filter(|_| self.tools.is_open(&call.id)) {
                Some(text) => {
                    let failed = super::results::cut(call, text, reason);
                    self.tools.complete(failed, out);
                }
                None => self.tools.fail(&call.id, reason, out),
            }
            self.calls.end(id);
        }
    }

    /// Ends every open call that `concerned` names, in the order in which they were started.
    pub(super) fn open_calls_failed(
        &mut self,
        concerned: impl Fn(&Self, &Call) -> bool,
        reason: &str,
        out: &mut Vec<ChatEvent>,
    ) {
        let open = self.calls.by_id.iter().filter(|(_, call)| self.tools.is_open(&call.id) && concerned(self, call));
        let mut open: Vec<(u64, String)> =
            open.map(|(id, call)| (self.tools.ordinal(&call.id).unwrap_or(u64::MAX), id.clone())).collect();
        open.sort_unstable();
        let ids: Vec<String> = open.into_iter().map(|(_, id)| id).collect();
        self.calls_failed(&ids, reason, out);
    }
}
