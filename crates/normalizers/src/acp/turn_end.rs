//! The end of a turn, and of the whole native stream: what is open is closed, once.

use super::errors;
use super::normalize::Acp;
use super::wire::{Malformed, PromptAnswer, WireError};
use chat_grammar::event::{ChatEvent, EventKind, Stop};

const CANCELLED: &str = "The turn was cancelled";

impl Acp {
    /// The answer to `session/prompt`.
    pub(super) fn prompt_answered(&mut self, answer: &PromptAnswer<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let word = answer.stop_reason.as_deref();
        let stop = match word {
            Some("max_tokens") => Stop::MaxTokens,
            Some("max_turn_requests") => Stop::MaxTurnRequests,
            Some("refusal") => Stop::Refusal,
            Some("cancelled") => Stop::Cancelled,
            _ => Stop::EndTurn,
        };
        let reason = match stop {
            Stop::Cancelled => CANCELLED,
            _ => "The turn ended without the end of this call",
        };
        self.close_turn(reason, out);
        let usage = self.prompt_usage(answer, out);
        out.push(EventKind::Done { stop_reason: stop, native_stop_reason: word.map(str::to_owned) }.into());
        usage
    }

    /// A request without which there is no turn failed.
    pub(super) fn failed(&mut self, error: &WireError<'_>, out: &mut Vec<ChatEvent>) {
        let cancelled = error.code == Some(errors::CANCELLED);
        self.close_turn(if cancelled { CANCELLED } else { "The turn failed" }, out);
        self.ledger.abandon();
        let stop_reason = match cancelled {
            true => Stop::Cancelled,
            false => {
                out.push(EventKind::Error(errors::failure(error)).into());
                Stop::Failed
            }
        };
        out.push(EventKind::Done { stop_reason, native_stop_reason: None }.into());
    }

    fn close_turn(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        self.close(reason, out);
        self.calls.end_turn();
    }

    /// Closes what is open.
    pub(super) fn close(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        self.cancel_requests("The turn ended", out);
        self.calls.fail_all(reason, out);
        self.abandon_compactions(out);
    }
}
