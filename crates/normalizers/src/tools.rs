//! Tool calls as a reader sees them: each is started once, never goes backwards, and ends exactly once.

use chat_grammar::acp::{ContentBlock, TextContent, ToolCallContent};
use chat_grammar::bounded::HeadAndTail;
use chat_grammar::event::{ChatEvent, EventKind, ToolCompleted, ToolStarted, ToolUpdated};
use serde_json::{Value, json};
use std::collections::HashMap;

/// All tool calls of a native session by the id that readers see.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls {
    calls: HashMap<String, Call>,
    started: u64,
}

#[derive(Debug)]
enum Call {
    Open(Box<OpenCall>),
    Closed,
}

#[derive(Debug)]
struct OpenCall {
    /// Which call of the session this is, for an order that does not depend on hashing.
    ordinal: u64,
    pending: bool,
    parent: Option<String>,
    /// A shell command's raw output has its own form.
    shell: bool,
    output: HeadAndTail,
}

impl ToolCalls {
    /// An id for readers: the agent's own where no call has it, else with `#2`, `#3` and so on.
    pub(crate) fn free_id(&self, id: &str) -> String {
        if !self.calls.contains_key(id) {
            return id.to_owned();
        }
        (2_u64..).map(|n| format!("{id}#{n}")).find(|id| !self.calls.contains_key(id)).unwrap_or_default()
    }

    /// True from a call's start to its end.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        matches!(self.calls.get(id), Some(Call::Open(_)))
    }

    /// True where the call was started, whether or not it ended.
    pub(crate) fn is_known(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// True as long as an open call waits: for its input, or for leave.
    pub(crate) fn is_pending(&self, id: &str) -> bool {
        matches!(self.calls.get(id), Some(Call::Open(call)) if call.pending)
    }

    /// Starts a call; a call that was started before stays as it is.
    pub(crate) fn start(&mut self, tool: ToolStarted, parent: Option<String>, out: &mut Vec<ChatEvent>) {
        if self.is_known(&tool.tool_call_id) {
            return;
        }
        let open = OpenCall {
            ordinal: self.started,
            pending: tool.pending,
            parent: parent.clone(),
            shell: tool.tool_name == "Bash",
            output: HeadAndTail::default(),
        };
        self.started += 1;
        self.calls.insert(tool.tool_call_id.clone(), Call::Open(Box::new(open)));
        out.push(ChatEvent { kind: EventKind::ToolStarted(tool), parent_tool_call_id: parent });
    }

    /// News of an open call; news of any other call is late and means nothing.
    pub(crate) fn update(&mut self, mut tool: ToolUpdated, out: &mut Vec<ChatEvent>) {
        let Some(Call::Open(call)) = self.calls.get_mut(&tool.tool_call_id) else { return };
        tool.in_progress = call.pending && tool.in_progress;
        call.pending &= !tool.in_progress;
        if let Some(piece) = &tool.output_delta {
            call.output.push(piece);
        }
        out.push(ChatEvent { kind: EventKind::ToolUpdated(tool), parent_tool_call_id: call.parent.clone() });
    }

    /// An open call that waited is running now.
    pub(crate) fn run(&mut self, id: &str, out: &mut Vec<ChatEvent>) {
        if self.is_pending(id) {
            self.update(ToolUpdated { tool_call_id: id.to_owned(), in_progress: true, ..ToolUpdated::default() }, out);
        }
    }

    /// The output of an open call that was streamed so far; empty where there is none.
    pub(crate) fn streamed(&self, id: &str) -> String {
        match self.calls.get(id) {
            Some(Call::Open(call)) => call.output.text(),
            _ => String::new(),
        }
    }

    /// Ends an open call; the end of any other call is a repetition or late, and means nothing.
    pub(crate) fn complete(&mut self, tool: ToolCompleted, out: &mut Vec<ChatEvent>) {
        let Some(call) = self.calls.get_mut(&tool.tool_call_id) else { return };
        let Call::Open(open) = std::mem::replace(call, Call::Closed) else { return };
        out.push(ChatEvent { kind: EventKind::ToolCompleted(tool), parent_tool_call_id: open.parent });
    }

    /// Ends an open call that its agent left behind as failed. Its output so far stays.
    pub(crate) fn fail(&mut self, id: &str, reason: &str, out: &mut Vec<ChatEvent>) {
        let Some(Call::Open(call)) = self.calls.get(id) else { return };
        let streamed = call.output.text();
        let output = match call.shell {
            true => json!({ "exitCode": null, "output": streamed }),
            false if streamed.is_empty() => Value::Null,
            false => json!({ "output": streamed }),
        };
        let mut content = Vec::with_capacity(2);
        if !streamed.is_empty() {
            content.push(text_content(streamed));
        }
        content.push(text_content(reason));
        let tool = ToolCompleted {
            tool_call_id: id.to_owned(),
            is_error: true,
            title: None,
            input: None,
            output,
            content,
            locations: None,
            mcp: None,
            duration_ms: None,
        };
        self.complete(tool, out);
    }

    /// Ends the open calls among `ids` as failed, in the order in which they were started.
    pub(crate) fn fail_all<'a>(&mut self, ids: impl Iterator<Item = &'a str>, reason: &str, out: &mut Vec<ChatEvent>) {
        let mut open: Vec<(u64, String)> = ids.filter_map(|id| Some((self.ordinal(id)?, id.to_owned()))).collect();
        open.sort_unstable();
        for (_, id) in open {
            self.fail(&id, reason, out);
        }
    }

    /// Ends every open call as failed.
    pub(crate) fn fail_every(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        let ids: Vec<String> = self.calls.keys().cloned().collect();
        self.fail_all(ids.iter().map(String::as_str), reason, out);
    }

    /// Which call of the session an open call is.
    pub(crate) fn ordinal(&self, id: &str) -> Option<u64> {
        match self.calls.get(id)? {
            Call::Open(call) => Some(call.ordinal),
            Call::Closed => None,
        }
    }
}

/// A text block as content of a tool call.
pub(crate) fn text_content(text: impl Into<String>) -> ToolCallContent {
    ToolCallContent::from(ContentBlock::Text(TextContent::new(text)))
}

#[cfg(test)]
mod tests {
    use super::ToolCalls;
    use chat_grammar::acp::ToolKind;
    use chat_grammar::event::{EventKind, ToolStarted, ToolUpdated};
    use serde_json::{Value, json};

    fn started(id: &str) -> ToolStarted {
        ToolStarted {
            tool_call_id: id.to_owned(),
            tool_name: "Bash".to_owned(),
            title: "ls".to_owned(),
            kind: ToolKind::Execute,
            input: Value::Null,
            pending: true,
            content: Vec::new(),
            locations: Vec::new(),
            mcp: None,
        }
    }

    #[test]
    fn a_call_starts_once_runs_once_and_ends_once() {
        let (mut tools, mut out) = (ToolCalls::default(), Vec::new());
        tools.start(started("a"), None, &mut out);
        tools.start(started("a"), None, &mut out);
        tools.run("a", &mut out);
        tools.run("a", &mut out);
        tools.fail("a", "stopped", &mut out);
        tools.fail("a", "stopped", &mut out);
        assert_eq!(out.len(), 3);
        assert_eq!(tools.free_id("a"), "a#2");
    }

    #[test]
    fn a_call_that_is_left_behind_keeps_its_output() {
        let (mut tools, mut out) = (ToolCalls::default(), Vec::new());
        tools.start(started("a"), Some("parent".to_owned()), &mut out);
        let piece = ToolUpdated { tool_call_id: "a".to_owned(), output_delta: Some("tick\n".to_owned()), ..Default::default() };
        tools.update(piece, &mut out);
        tools.fail_every("stopped", &mut out);
        let last = out.pop().unwrap();
        assert_eq!(last.parent_tool_call_id.as_deref(), Some("parent"));
        let EventKind::ToolCompleted(tool) = last.kind else { panic!("not an end") };
        assert!(tool.is_error);
        assert_eq!(tool.output, json!({ "exitCode": null, "output": "tick\n" }));
        assert_eq!(tool.content.len(), 2);
    }
}
