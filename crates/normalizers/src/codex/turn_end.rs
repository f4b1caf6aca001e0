//! The end of a turn, and of the whole native stream: what is open is closed, once.

use super::calls::{self, Background};
use super::normalize::Codex;
use super::threads::Thread;
use super::wire::TurnNotice;
use super::{compaction, errors, requests, usage};
use crate::tools::ToolCalls;
use chat_grammar::event::{ChatEvent, EventKind, Stop};

impl Codex {
    /// `turn/completed`: it ends the conversation's turn where it is about its thread, and only then.
    pub(super) fn turn_completed(&mut self, notice: &TurnNotice<'_>, out: &mut Vec<ChatEvent>) {
        let Some(thread) = self.threads.find(notice.thread_id.as_deref()) else { return };
        let turn = &notice.turn;
        if thread.ended.as_deref() == Some(&*turn.id) {
            return;
        }
        let status = turn.status.as_deref().unwrap_or("completed");
        let (stop, reason) = match status {
            "interrupted" => (Stop::Cancelled, Some("The turn was interrupted")),
            "failed" => (Stop::Failed, Some("The turn failed")),
            _ => (Stop::EndTurn, None),
        };
        let already_failed = thread.turn.as_ref().is_some_and(|turn| turn.failed);
        let own = thread.parent.is_none();
        // With the conversation's turn, its sub-agents' calls and requests end where it did not end well.
        let concerned = Some(thread.id.as_str()).filter(|_| !own || reason.is_none());
        requests::cancel(&mut self.requests, concerned, "The turn ended", out);
        end(thread, reason, &mut self.tools, out);
        thread.ended = Some(turn.id.to_string());
        if !own {
            let call = thread.parent.clone().filter(|call| *call == thread.id);
            return self.made_up_call_ended(call, reason, out);
        }
        if let Some(reason) = reason {
            for child in self.threads.all().into_iter().filter(|thread| thread.parent.is_some()) {
                let open = child.calls.end_turn(None);
                calls::fail(&open, reason, &mut self.tools, out);
            }
        }
        if stop == Stop::Failed && !already_failed {
            let error = turn.error.as_ref().map_or_else(errors::unexplained, errors::turn_failure);
            out.push(EventKind::Error(error).into());
        }
        out.push(EventKind::Done { stop_reason: stop, native_stop_reason: Some(status.to_owned()) }.into());
    }

    /// The native stream ended: nothing that is open will be closed by the agent.
    pub(super) fn close(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        requests::cancel(&mut self.requests, None, reason, out);
        for thread in self.threads.all() {
            if thread.turn.is_some() {
                usage::unreported(thread, out);
            }
            let running = thread.turn.take();
            compaction::abandon(thread, out);
            thread.messages.end_turn();
            thread.calls.end_turn(None);
            thread.review = None;
            thread.ended = running.map(|turn| turn.id).filter(|id| !id.is_empty()).or(thread.ended.take());
        }
        self.tools.fail_every(reason, out);
    }
}

/// Closes what the turn of one thread left open. A command may outlive a turn that ended well.
fn end(thread: &mut Thread, failure: Option<&str>, tools: &mut ToolCalls, out: &mut Vec<ChatEvent>) {
    usage::unreported(thread, out);
    let goes_on = failure.is_none().then_some(Background::Possible);
    let open = thread.calls.end_turn(goes_on);
    calls::fail(&open, failure.unwrap_or("The turn ended without the end of this call"), tools, out);
    compaction::abandon(thread, out);
    thread.messages.end_turn();
    thread.review = None;
    thread.turn = None;
}
