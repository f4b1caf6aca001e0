//! The tool calls of a session: which of the agent's parts is which call for readers.

use super::sessions::{Session, Sessions};
use super::subjects::Subject;
use crate::tools::ToolCalls;
use chat_grammar::acp::ToolKind;
use chat_grammar::event::{ChatEvent, ToolCompleted, ToolStarted};
use serde_json::{Value, json};

/// A tool part as readers know it. Parts are told apart by their own id: the id of the call is the model provider's, which repeats.
#[derive(Debug)]
pub(super) struct Call {
    /// The id that readers know.
    pub id: String,
    /// The model provider's.
    pub call_id: String,
    /// OpenCode's own name of the tool.
    pub tool: String,
    pub subject: Subject,
    pub title: String,
    pub input: Value,
    /// The output of a command that runs, as its last snapshot told it.
    pub output: Option<String>,
    /// Requests about it that nobody answered yet.
    pub waits: u32,
    /// The agent began to run it while it still waited for leave.
    pub runs: bool,
}

impl Session {
    /// The call that a request names. Some providers repeat their ids: that of its message is meant, else one that has not ended, the
    /// newest where there are more.
    pub(super) fn call_of(&mut self, message_id: Option<&str>, call_id: &str, tools: &ToolCalls) -> Option<&mut Call> {
        let named = self.messages.calls().filter(|(_, call)| call.call_id == call_id);
        let named = named.map(|(message, call)| (message_id == Some(message), tools.ordinal(&call.id), call.id.clone()));
        let (.., id) = named.filter(|(same, open, _)| *same || open.is_some()).max()?;
        self.call_by_id(&id)
    }

    /// The call with an id that readers know.
    pub(super) fn call_by_id(&mut self, id: &str) -> Option<&mut Call> {
        self.messages.calls().find(|(_, call)| call.id == id).map(|(_, call)| call)
    }
}

/// The call of a sub-agent's session: what the agent said, else the oldest `task` of its session that has no sub-agent yet, else one
/// that is made up. Nothing to do for the conversation's own session.
pub(super) fn bind(sessions: &mut Sessions, id: &str, tools: &mut ToolCalls, out: &mut Vec<ChatEvent>) {
    let Some(session) = sessions.get(id) else { return };
    let Some(parent_id) = session.parent.clone().filter(|_| session.call.is_none()) else { return };
    let title = session.title.clone();
    bind(sessions, &parent_id, tools, out);
    let Some(parent) = sessions.find(&parent_id) else { return };
    let grandparent = parent.call.clone();
    let free = parent.tasks.iter_mut().find(|task| task.child.is_none());
    let (call, made_up) = match free {
        Some(task) => {
            task.child = Some(id.to_owned());
            (task.call.clone(), false)
        }
        None => {
            let call = tools.free_id(id);
            let tool = ToolStarted {
                tool_call_id: call.clone(),
                tool_name: "Agent".to_owned(),
                title: title.unwrap_or_else(|| "Sub-agent".to_owned()),
                kind: ToolKind::Other,
                input: json!({ "sessionId": id }),
                pending: false,
                content: Vec::new(),
                locations: Vec::new(),
                mcp: None,
            };
            tools.start(tool, grandparent, out);
            (call, true)
        }
    };
    if let Some(session) = sessions.find(id) {
        session.call = Some(call);
        session.made_up = made_up;
    }
}

/// The end of a call without content.
pub(super) fn ended(id: String, is_error: bool, output: Value) -> ToolCompleted {
    ToolCompleted {
        tool_call_id: id,
        is_error,
        title: None,
        input: None,
        output,
        content: Vec::new(),
        locations: None,
        mcp: None,
        duration_ms: None,
    }
}
