//! The state machine: which rule reads which message.

use super::Malformed;
use super::calls::Calls;
use super::compaction::Compactions;
use super::dialogs::Dialogs;
use super::host_bash::HostCommands;
use super::messages::Messages;
use super::responses::Answered;
use super::session::Session;
use super::turn::Turn;
use super::usage::Ledger;
use super::wire::{ExtensionError, MessageLine, RetryStart, Tag, UiRequest, UpdateLine};
use crate::{Normalizer, Options};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The normalizer of Pi.
#[derive(Debug)]
pub(crate) struct Pi {
    pub(super) session: Session,
    pub(super) turn: Turn,
    pub(super) messages: Messages,
    pub(super) calls: Calls,
    pub(super) dialogs: Dialogs,
    pub(super) compactions: Compactions,
    pub(super) usage: Ledger,
    pub(super) host_commands: HostCommands,
    pub(super) answered: Answered,
    unmapped: BTreeMap<String, u64>,
}

/// What came of a message.
enum Read {
    Known,
    /// No rule knows it; its kind.
    Unknown(Cow<'static, str>),
}

impl Pi {
    pub(crate) fn new(options: Options) -> Self {
        let session = Session::new(options);
        let mut calls = Calls::default();
        calls.work_in(session.cwd());
        Self {
            session,
            turn: Turn::default(),
            messages: Messages::default(),
            calls,
            dialogs: Dialogs::default(),
            compactions: Compactions::default(),
            usage: Ledger::default(),
            host_commands: HostCommands::default(),
            answered: Answered::default(),
            unmapped: BTreeMap::new(),
        }
    }

    fn unmapped_event(&mut self, kind: &str, out: &mut Vec<ChatEvent>) {
        match self.unmapped.get_mut(kind) {
            Some(count) => *count = count.saturating_add(1),
            None => {
                self.unmapped.insert(kind.to_owned(), 1);
            }
        }
        out.push(EventKind::Unmapped { kind: kind.to_owned() }.into());
    }

    fn agent_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        // Nearly all lines begin with their kind, and are read in one pass.
        let kind = match leading_kind(line) {
            Some(kind) => Cow::Borrowed(kind),
            None => match serde_json::from_str::<Tag<'_>>(line) {
                Ok(tag) => tag.kind.0,
                Err(error) if error.is_data() => return self.unmapped_event("invalid_message", out),
                Err(_) => return self.unmapped_event("invalid_json", out),
            },
        };
        match self.event(&kind, line, out) {
            Ok(Read::Known) => {}
            Ok(Read::Unknown(kind)) => self.unmapped_event(&kind, out),
            Err(Malformed::OtherForm) => self.unmapped_event(&kind, out),
            Err(Malformed::NoJson) => self.unmapped_event("invalid_json", out),
        }
    }

    fn event(&mut self, kind: &str, line: &str, out: &mut Vec<ChatEvent>) -> Result<Read, Malformed> {
        match kind {
            "message_update" => {
                let UpdateLine { event } = serde_json::from_str(line)?;
                let name = event.kind.clone();
                if !self.message_updated(event, out)? {
                    return Ok(Read::Unknown(format!("message_update/{}", &*name).into()));
                }
            }
            "tool_execution_update" => self.execution_updated(&serde_json::from_str(line)?, line, out)?,
            "message_start" => {
                let MessageLine { message } = serde_json::from_str(line)?;
                if &*message.role == "assistant" {
                    self.message_started(&message, out)?;
                }
            }
            "message_end" => {
                let MessageLine { message } = serde_json::from_str(line)?;
                match &*message.role {
                    "assistant" => self.message_ended(&message, out)?,
                    "toolResult" => self.result_told(&message, out)?,
                    "system" => self.system_told(&message, out)?,
                    // What the host sent, and what Pi adds to the context by itself.
                    "user" | "bashExecution" | "branchSummary" | "compactionSummary" => {}
                    role => return Ok(Read::Unknown(format!("message/{role}").into())),
                }
            }
            "tool_execution_start" => self.execution_started(&serde_json::from_str(line)?, out)?,
            "tool_execution_end" => self.execution_ended(&serde_json::from_str(line)?, out)?,
            "agent_start" | "turn_start" => {
                self.turn.run();
                self.messages.begin_step();
            }
            "agent_end" => self.agent_ended(&serde_json::from_str(line)?, out),
            "agent_settled" => self.agent_settled(&serde_json::from_str(line)?, out),
            "auto_retry_start" => {
                self.messages.begin_step();
                self.retry_started(&serde_json::from_str(line)?, out);
            }
            "auto_retry_end" => self.retry_ended(&serde_json::from_str(line)?),
            "compaction_start" => self.compaction_started(&serde_json::from_str(line)?, out),
            "compaction_end" => self.compaction_ended(&serde_json::from_str(line)?, out)?,
            "response" => self.responded(&serde_json::from_str(line)?, out)?,
            "extension_ui_request" => {
                let request: UiRequest<'_> = serde_json::from_str(line)?;
                if !self.ui_requested(&request, out)? {
                    return Ok(Read::Unknown(format!("extension_ui_request/{}", &*request.method).into()));
                }
            }
            "extension_error" => extension_failed(&serde_json::from_str(line)?, out),
            "session_info_changed" => self.info_changed(&serde_json::from_str(line)?, out),
            "thinking_level_changed" => self.level_changed(&serde_json::from_str(line)?, out),
            "bash_execution_update" => self.host_bash_updated(serde_json::from_str(line)?, out),
            // Each repeats what its messages said, or is about what is stored and queued.
            "turn_end" | "queue_update" | "entry_appended" => {}
            kind if kind.starts_with("summarization_retry_") => {
                let retry: RetryStart<'_> = serde_json::from_str(line)?;
                if retry.error_message.is_some() {
                    self.retry_warning(&retry, out);
                }
            }
            kind => return Ok(Read::Unknown(kind.to_owned().into())),
        }
        Ok(Read::Known)
    }
}

impl Normalizer for Pi {
    fn push(&mut self, line: &str, from: Side, out: &mut Vec<ChatEvent>) {
        match from {
            Side::Agent => self.agent_line(line, out),
            Side::Host => match self.host_line(line, out) {
                Ok(()) => {}
                Err(Malformed::OtherForm) => self.unmapped_event("invalid_message", out),
                Err(Malformed::NoJson) => self.unmapped_event("invalid_json", out),
            },
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<ChatEvent>) {
        let reason = match reason {
            FinishReason::End => "The agent ended before this call did",
            FinishReason::Cancelled => "The turn was cancelled",
            FinishReason::Error => "The agent failed before this call ended",
        };
        self.close(reason, out);
        // The next process counts its requests anew.
        self.answered = Answered::default();
    }

    fn unmapped(&self) -> &BTreeMap<String, u64> {
        &self.unmapped
    }

    fn source(&self) -> &'static str {
        "pi.rpc"
    }
}

/// The kind of a line that begins with it.
fn leading_kind(line: &str) -> Option<&str> {
    let (kind, _) = line.strip_prefix("{\"type\":\"")?.split_once('"')?;
    (!kind.contains('\\')).then_some(kind)
}

/// An extension failed; the turn goes on.
fn extension_failed(error: &ExtensionError<'_>, out: &mut Vec<ChatEvent>) {
    let place = [error.extension_path.as_deref(), error.event.as_deref()];
    let place: Vec<&str> = place.into_iter().flatten().collect();
    let detail = Some(place.join(": ")).filter(|place| !place.is_empty());
    out.push(EventKind::Warning { message: error.error.to_string(), detail, retry: None }.into());
}
