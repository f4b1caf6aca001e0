//! The end of a turn, and of the whole native stream: what is open is closed, once.

use super::errors::{self, Failure};
use super::ledger::Settlement;
use super::messages::{Voice, WholePlace};
use super::normalize::ClaudeCode;
use super::wire::{ResultLine, Usage};
use chat_grammar::event::{ChatEvent, EventKind, Stop};

impl ClaudeCode {
    /// `result`.
    pub(super) fn result(&mut self, line: &ResultLine<'_>, out: &mut Vec<ChatEvent>) {
        if self.is_spurious(line) {
            return;
        }
        let end = self.turn_stop(line);
        let id = line.uuid.as_deref().map_or_else(|| self.made_up_id(line), str::to_owned);
        let ended_well = !matches!(end.stop, Stop::Cancelled | Stop::Failed);
        self.session.resumed();
        let how = Settlement { id: &id, model: self.session.model(), ended_well, compacted: self.turn.compacted };
        self.meter.settle(line, how, out);
        self.meter.speed.told(line.fast_mode_state.as_deref());
        // The text of the result repeats the last answer; only where there was none, as of some commands, is it one.
        let text = line.result.as_deref().filter(|text| !text.is_empty());
        if let Some(text) = text.filter(|_| line.is_error != Some(true) && !self.speaker(None).answered) {
            let place = WholePlace { message_id: Some(&id), alone: true };
            self.speaker(None).whole(place, Voice::Answer, text, out);
        }

        self.cancel_requests("The turn ended", out);
        let reason = match end.stop {
            Stop::Cancelled => "The turn was interrupted",
            Stop::Failed => "The turn failed",
            _ => "The turn ended without the end of this call",
        };
        // Calls of a subagent in the background go on.
        let concerned = |normalizer: &Self, call: &super::calls::Call| {
            call.parent.as_deref().is_none_or(|parent| !normalizer.calls.is_in_background(parent))
        };
        self.open_calls_failed(concerned, reason, out);
        self.compaction_abandoned(out);
        self.tell_failure(line, &end, out);
        self.speaker(None).end_turn();
        self.turn = super::normalize::Turn::default();
        out.push(EventKind::Done { stop_reason: end.stop, native_stop_reason: end.word }.into());
    }

    /// A result without anything before it: a resumed CLI first ends the turn of a task that ended while nobody watched. A
    /// command of the CLI's own may say nothing and still be the turn.
    fn is_spurious(&self, line: &ResultLine<'_>) -> bool {
        let usage = line.usage.and_then(|raw| serde_json::from_str::<Usage>(raw.get()).ok());
        let counts = usage.map(Usage::counts).unwrap_or_default();
        let nothing = [counts.input_tokens, counts.output_tokens].into_iter().all(|count| count.unwrap_or(0) == 0);
        let empty = line.num_turns == Some(0) && line.result.as_deref().is_none_or(str::is_empty) && nothing;
        let expected = self.turn.notified || self.turn.prompt.as_deref().is_some_and(|prompt| !prompt.starts_with('/'));
        empty && expected && !self.turn.acted && line.is_error != Some(true) && line.local_command.is_none()
    }

    fn turn_stop(&self, line: &ResultLine<'_>) -> TurnStop {
        let word = |word: Option<&str>| word.map(str::to_owned);
        let (subtype, terminal) = (line.subtype.as_deref(), line.terminal_reason.as_deref());
        let stop_reason = line.stop_reason.as_deref();
        if terminal.is_some_and(|reason| reason.starts_with("aborted"))
            || (subtype == Some("error_during_execution") && self.turn.interrupted)
        {
            return TurnStop { stop: Stop::Cancelled, word: word(terminal.or(subtype)) };
        }
        let error = self.turn.api_error.as_ref();
        let detail = line.api_error.as_deref().or(error.and_then(|error| error.detail.as_deref()));
        let too_long = detail == Some("max_output_tokens")
            || error.is_some_and(|error| error.word.as_deref() == Some("max_output_tokens"));
        let stop = match (subtype, stop_reason) {
            (Some("error_max_turns"), _) => Stop::MaxTurnRequests,
            (_, Some("refusal")) => Stop::Refusal,
            _ if line.is_error == Some(true) && too_long => Stop::MaxTokens,
            (Some(subtype), _) if subtype.starts_with("error") => Stop::Failed,
            _ if line.is_error == Some(true) => Stop::Failed,
            (_, Some("max_tokens" | "model_context_window_exceeded")) => Stop::MaxTokens,
            _ => Stop::EndTurn,
        };
        let word = match stop {
            Stop::MaxTurnRequests | Stop::Failed => word(subtype.filter(|subtype| subtype.starts_with("error")).or(terminal)),
            Stop::MaxTokens if too_long => Some("max_output_tokens".to_owned()),
            _ => word(stop_reason),
        };
        TurnStop { stop, word: word.or(subtype.map(str::to_owned)) }
    }

    /// Why the turn failed; or, where it ended in another way, what the CLI said about that.
    fn tell_failure(&mut self, line: &ResultLine<'_>, end: &TurnStop, out: &mut Vec<ChatEvent>) {
        let error = self.turn.api_error.take();
        let said = |text: Option<&str>| text.filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let listed = line.errors.iter().flatten().find_map(|error| said(Some(error)));
        let message =
            said(line.result.as_deref()).or(listed).or_else(|| error.as_ref().and_then(|error| said(Some(&error.message))));
        match end.stop {
            Stop::Failed => {
                let message = message.or_else(|| said(line.subtype.as_deref())).unwrap_or_else(|| "The turn failed".to_owned());
                let failure = Failure {
                    message: &message,
                    subtype: line.subtype.as_deref(),
                    terminal_reason: line.terminal_reason.as_deref(),
                    error: error.as_ref(),
                    detail: line.api_error.as_deref(),
                    status: line.api_error_status,
                };
                out.push(EventKind::Error(errors::event(&failure)).into());
            }
            Stop::Cancelled => {}
            _ => {
                let told = error.map(|error| error.message).or(message.filter(|_| line.is_error == Some(true)));
                if let Some(message) = told {
                    out.push(EventKind::Warning { message, detail: None, retry: None }.into());
                }
            }
        }
    }

    fn made_up_id(&mut self, line: &ResultLine<'_>) -> String {
        self.results = self.results.saturating_add(1);
        format!("{}:result-{}", line.session_id.as_deref().unwrap_or("session"), self.results)
    }

    /// The native stream ended: nothing that is open will be closed by the agent.
    pub(super) fn close(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        self.meter.abandon(out);
        self.cancel_requests(reason, out);
        self.open_calls_failed(|_, _| true, reason, out);
        self.compaction_abandoned(out);
        // The process ended before it could say that the turn did, but it had said why.
        if let Some(error) = self.turn.api_error.take() {
            let failure = Failure {
                message: &error.message,
                subtype: None,
                terminal_reason: None,
                error: Some(&error),
                detail: None,
                status: None,
            };
            out.push(EventKind::Error(errors::event(&failure)).into());
        }
        self.speakers.clear();
        self.tasks.clear();
        self.turn = super::normalize::Turn::default();
    }
}

/// How a turn stopped.
struct TurnStop {
    stop: Stop,
    /// The agent's own word.
    word: Option<String>,
}
