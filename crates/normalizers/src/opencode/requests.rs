//! Requests of the agent that wait for an answer: for leave, and questions.

use super::normalize::OpenCode;
use super::questions;
use chat_grammar::event::{ChatEvent, DecidedBy, EventKind, PermissionResolved, QuestionAnswered};
use std::collections::HashSet;

/// The requests of all sessions.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// In the order in which they were asked.
    pub open: Vec<Pending>,
    /// Every request that was told, so that none is told twice.
    known: HashSet<String>,
}

/// A request that nobody answered yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub id: String,
    pub session_id: String,
    pub parent: Option<String>,
    pub asks: Asks,
}

#[derive(Debug)]
pub(super) enum Asks {
    /// May it do this? With the call that it is about.
    Leave(Option<String>),
    Question(Vec<questions::Asked>),
}

impl Requests {
    /// A request is asked. False where it was told before.
    pub(super) fn ask(&mut self, pending: Pending) -> bool {
        let news = self.known.insert(pending.id.clone());
        if news {
            self.open.push(pending);
        }
        news
    }

    pub(super) fn is_known(&self, id: &str) -> bool {
        self.known.contains(id)
    }

    fn take(&mut self, id: &str) -> Option<Pending> {
        let position = self.open.iter().position(|pending| pending.id == id)?;
        Some(self.open.remove(position))
    }
}

impl OpenCode {
    /// The answer to a request for leave: `once`, `always` or `reject`. Only the first counts: the host's own request is seen before
    /// the server says so, and another client may have answered.
    pub(super) fn permission_answered(&mut self, id: &str, reply: &str, reason: Option<&str>, out: &mut Vec<ChatEvent>) {
        let Some(Pending { id: request_id, session_id, parent, asks: Asks::Leave(tool_call_id) }) = self.requests.take(id)
        else {
            return;
        };
        let approved = reply != "reject";
        let resolved = PermissionResolved {
            request_id,
            tool_call_id: tool_call_id.clone(),
            option_id: Some(reply.to_owned()),
            approved,
            reason: reason.filter(|reason| !reason.is_empty()).map(str::to_owned),
            updated_input: None,
            by: DecidedBy::Host,
        };
        out.push(ChatEvent { kind: EventKind::PermissionResolved(resolved), parent_tool_call_id: parent });
        if let Some(call) = tool_call_id {
            self.stop_waiting(&session_id, &call, approved, out);
        }
    }

    /// The answer to a question: the labels for each of its questions; `None` where it was dismissed.
    pub(super) fn question_answered(&mut self, id: &str, answers: Option<&[Vec<&str>]>, out: &mut Vec<ChatEvent>) {
        let Some(Pending { id: request_id, parent, asks: Asks::Question(asked), .. }) = self.requests.take(id) else { return };
        let content = answers.and_then(|answers| questions::content(&asked, answers));
        let action = if content.is_some() { "accept" } else { "decline" }.to_owned();
        let kind = EventKind::QuestionAnswered(QuestionAnswered { request_id, action, content });
        out.push(ChatEvent { kind, parent_tool_call_id: parent });
    }

    /// Nobody will answer what is asked.
    pub(super) fn cancel_requests(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        for Pending { id: request_id, parent, asks, .. } in std::mem::take(&mut self.requests.open) {
            let kind = match asks {
                Asks::Question(_) => {
                    EventKind::QuestionAnswered(QuestionAnswered { request_id, action: "cancel".to_owned(), content: None })
                }
                Asks::Leave(tool_call_id) => EventKind::PermissionResolved(PermissionResolved {
                    request_id,
                    tool_call_id,
                    option_id: None,
                    approved: false,
                    reason: Some(reason.to_owned()),
                    updated_input: None,
                    by: DecidedBy::TurnEnd,
                }),
            };
            out.push(ChatEvent { kind, parent_tool_call_id: parent });
        }
    }

    /// A call may need leave for several things at once.
    fn stop_waiting(&mut self, session_id: &str, id: &str, approved: bool, out: &mut Vec<ChatEvent>) {
        let Some(call) = self.sessions.find(session_id).and_then(|session| session.call_by_id(id)) else { return };
        call.waits = call.waits.saturating_sub(1);
        if approved && call.waits == 0 && call.runs {
            self.tools.run(id, out);
        }
    }
}
