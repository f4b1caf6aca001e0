//! The turn: from a prompt to the end of all runs, retries and compactions that it causes.

use super::errors;
use super::normalize::Pi;
use super::wire::{AgentEnd, AgentSettled, Message, RetryEnd, RetryStart};
use chat_grammar::event::{ChatEvent, ErrorEvent, EventKind, Retry, Stop};

/// Where the turn stands.
#[derive(Debug, Default)]
pub(super) struct Turn {
    phase: Phase,
    /// How many turns have begun.
    begun: u64,
    /// The host's prompt has no answer yet.
    unanswered: bool,
    /// The host asked for the end of this turn.
    abort_asked: bool,
    /// How the last message of the model ended.
    last: Option<MessageStop>,
    /// `agent_settled` will come. Pi 0.74 has no such message; its last word is `agent_end`.
    settles: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// The host sent a prompt.
    Asked,
    Running,
}

/// How a message of the model ended.
#[derive(Debug)]
struct MessageStop {
    word: String,
    /// The provider's own word.
    raw: Option<String>,
    error: Option<String>,
}

impl Turn {
    /// How many turns have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// True from a prompt, or the agent's own start, to the end of the turn.
    pub(super) fn is_open(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// The host sent a prompt.
    pub(super) fn ask(&mut self) {
        if self.phase == Phase::Idle {
            self.begin(Phase::Asked);
            self.unanswered = true;
        }
    }

    /// The agent works, also where it began by itself.
    pub(super) fn run(&mut self) {
        match self.phase {
            Phase::Idle => self.begin(Phase::Running),
            Phase::Asked | Phase::Running => self.phase = Phase::Running,
        }
    }

    /// The host asks for the end of the turn.
    pub(super) fn abort(&mut self) {
        self.abort_asked |= self.is_open();
    }

    /// This Pi ends its turns with `agent_settled`.
    pub(super) fn settles(&mut self) {
        self.settles = true;
    }

    /// A message of the model ended.
    pub(super) fn message_ended(&mut self, message: &Message<'_>) {
        // Messages of 0.74 have no duration.
        self.settles |= message.duration_ms.is_some();
        self.last = message.stop_reason.as_deref().map(|word| MessageStop {
            word: word.to_owned(),
            raw: message.raw_stop_reason.as_deref().map(str::to_owned),
            error: message.error_message.as_deref().map(str::to_owned),
        });
    }

    fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        self.begun = self.begun.saturating_add(1);
        self.unanswered = false;
        self.abort_asked = false;
        self.last = None;
    }

    fn end(&mut self) {
        self.phase = Phase::Idle;
        self.unanswered = false;
    }
}

impl Pi {
    /// The answer to a prompt.
    pub(super) fn prompt_answered(&mut self, disposition: Option<&str>, out: &mut Vec<ChatEvent>) {
        let awaited = std::mem::take(&mut self.turn.unanswered);
        if disposition.is_some() {
            self.turn.settles();
        }
        match (disposition, self.turn.phase) {
            (Some("queued"), _) | (Some("handled"), Phase::Running) => {}
            // A command of an extension: nothing follows.
            (Some("handled"), _) => self.end_turn(Stop::EndTurn, disposition, None, out),
            // A busy Pi starts nothing: this is a new process, and what the old one left open stays so.
            (_, Phase::Running) if !awaited => {
                self.close("The agent's process ended", out);
                self.turn.run();
            }
            _ => self.turn.run(),
        }
    }

    /// A prompt was refused: the end of the turn that it was to begin. One that came while a turn ran changes nothing.
    pub(super) fn prompt_refused(&mut self, error: Option<&str>, out: &mut Vec<ChatEvent>) {
        self.turn.unanswered = false;
        match self.turn.phase {
            Phase::Running => self.refused(error, out),
            Phase::Idle | Phase::Asked => {
                self.end_turn(Stop::Failed, None, Some(errors::refused_prompt(error)), out);
            }
        }
    }

    /// What the host wanted to add to the turn was refused.
    pub(super) fn refused(&mut self, error: Option<&str>, out: &mut Vec<ChatEvent>) {
        let message = error.map_or_else(|| "The message was refused".to_owned(), errors::sentence);
        out.push(EventKind::Warning { message, detail: None, retry: None }.into());
    }

    /// `agent_end`: the end of one run, and of the turn only where nothing else will say so.
    pub(super) fn agent_ended(&mut self, end: &AgentEnd, out: &mut Vec<ChatEvent>) {
        if self.turn.is_open() && end.will_retry != Some(true) && !self.turn.settles {
            self.settle(false, out);
        }
    }

    /// `agent_settled`: the end of the turn.
    pub(super) fn agent_settled(&mut self, settled: &AgentSettled, out: &mut Vec<ChatEvent>) {
        self.turn.settles();
        if self.turn.is_open() {
            self.settle(settled.aborted, out);
        }
    }

    fn settle(&mut self, aborted: bool, out: &mut Vec<ChatEvent>) {
        let last = self.turn.last.take();
        let (word, raw, error) = match &last {
            Some(last) => (Some(last.word.as_str()), last.raw.as_deref(), last.error.as_deref()),
            None => (None, None, None),
        };
        let cut = word == Some("aborted") || (aborted && word.is_none());
        let (stop, native, failure) = if self.turn.abort_asked && (aborted || cut) {
            (Stop::Cancelled, Some("aborted"), None)
        } else if cut {
            (Stop::Failed, Some("aborted"), Some(errors::aborted(error)))
        } else {
            match (word, raw) {
                (Some("error"), Some("refusal" | "content_filter" | "sensitive")) => {
                    let message = error.unwrap_or("The model refused").to_owned();
                    out.push(EventKind::Warning { message, detail: None, retry: None }.into());
                    (Stop::Refusal, raw, None)
                }
                (Some("error"), _) => (Stop::Failed, word, Some(errors::model_failure(error))),
                (Some("length"), _) => (Stop::MaxTokens, word, None),
                _ => (Stop::EndTurn, word, None),
            }
        };
        self.end_turn(stop, native, failure, out);
    }

    /// `auto_retry_start`.
    pub(super) fn retry_started(&mut self, retry: &RetryStart<'_>, out: &mut Vec<ChatEvent>) {
        self.turn.run();
        self.retry_warning(retry, out);
    }

    /// A warning that says which try follows, and after how long.
    pub(super) fn retry_warning(&mut self, retry: &RetryStart<'_>, out: &mut Vec<ChatEvent>) {
        let message =
            retry.error_message.as_deref().map_or_else(|| "The model call is tried again".to_owned(), errors::sentence);
        let told = retry.attempt.map(|attempt| Retry {
            attempt,
            limit: retry.max_attempts,
            delay_ms: retry.delay_ms.map(|milliseconds| milliseconds as u64),
        });
        out.push(EventKind::Warning { message, detail: None, retry: told }.into());
    }

    /// `auto_retry_end`: where it failed, the last message says why; its own word counts where that message is missing.
    pub(super) fn retry_ended(&mut self, end: &RetryEnd<'_>) {
        if end.success || !self.turn.is_open() || self.turn.last.is_some() {
            return;
        }
        let error = end.final_error.as_deref().map(str::to_owned);
        self.turn.last = Some(MessageStop { word: "error".to_owned(), raw: None, error });
    }

    fn end_turn(&mut self, stop: Stop, native: Option<&str>, failure: Option<ErrorEvent>, out: &mut Vec<ChatEvent>) {
        let reason = match stop {
            Stop::Cancelled => "The turn was interrupted",
            Stop::Failed => "The turn failed",
            _ => "The turn ended without the end of this call",
        };
        self.close_turn("The turn ended", reason, out);
        self.turn.end();
        out.extend(failure.map(|failure| EventKind::Error(failure).into()));
        out.push(EventKind::Done { stop_reason: stop, native_stop_reason: native.map(str::to_owned) }.into());
    }

    /// The native stream ended: nothing that is open will be closed by the agent.
    pub(super) fn close(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        self.close_turn(reason, reason, out);
        self.calls.fail_every(reason, out);
        self.forget_host_commands();
        self.turn.end();
    }

    fn close_turn(&mut self, dialogs: &str, calls: &str, out: &mut Vec<ChatEvent>) {
        self.dialogs.cancel(dialogs, out);
        self.message_left(out);
        self.messages.end_turn();
        self.abandon_compaction(out);
        self.calls.fail_turn(calls, out);
        self.usage.end_turn();
    }
}
