//! What the host asks for, and the answers to it.

use super::Malformed;
use super::normalize::Pi;
use super::wire::{Accepted, ContextUsage, HostLine, Response, Stats};
use chat_grammar::event::ChatEvent;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::VecDeque;

/// How many answers are remembered, to know one that comes again.
const REMEMBERED: usize = 64;

/// The newest requests that were answered.
#[derive(Debug, Default)]
pub(super) struct Answered {
    ids: VecDeque<String>,
}

impl Answered {
    /// A new request; a new process counts its requests anew.
    fn asked(&mut self, id: &str) {
        self.ids.retain(|answered| answered != id);
    }

    /// True for the first answer to a request.
    fn is_first(&mut self, id: &str) -> bool {
        if self.ids.iter().any(|answered| answered == id) {
            return false;
        }
        self.ids.truncate(REMEMBERED - 1);
        self.ids.push_front(id.to_owned());
        true
    }
}

impl Pi {
    /// A line that the host wrote.
    pub(super) fn host_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let line: HostLine<'_> = serde_json::from_str(line)?;
        if let Some(id) = line.id.as_deref() {
            self.answered.asked(id);
        }
        match &*line.kind {
            "prompt" => self.turn.ask(),
            // All of these end the run that goes on.
            "abort" | "new_session" | "switch_session" | "fork" | "clone" => self.turn.abort(),
            "bash" => self.host_bash_asked(&line, out),
            "extension_ui_response" => self.ui_answered(&line, out),
            _ => {}
        }
        Ok(())
    }

    /// `response`.
    pub(super) fn responded(&mut self, response: &Response<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        if response.id.as_deref().is_some_and(|id| !self.answered.is_first(id)) {
            return Ok(());
        }
        match (&*response.command, response.success) {
            ("prompt", true) => {
                let accepted: Option<Accepted<'_>> = data(response.data)?;
                let disposition = accepted.and_then(|accepted| accepted.disposition);
                self.prompt_answered(disposition.as_deref(), out);
            }
            ("prompt", false) => self.prompt_refused(response.error.as_deref(), out),
            ("steer" | "follow_up", false) => self.refused(response.error.as_deref(), out),
            ("bash", _) => self.host_bash_ended(response, out)?,
            ("get_state", true) => {
                if let Some(state) = data(response.data)? {
                    self.state_told(&state, out);
                }
            }
            ("set_model", true) => {
                if let Some(model) = data(response.data)? {
                    self.model_told(&model, out);
                }
            }
            ("get_available_thinking_levels", true) => {
                if let Some(levels) = data(response.data)? {
                    self.levels_told(&levels, out);
                }
            }
            ("get_commands", true) => {
                if let Some(commands) = data(response.data)? {
                    self.commands_told(&commands, out);
                }
            }
            ("get_session_stats", true) => {
                let stats: Option<Stats<'_>> = data(response.data)?;
                let context: Option<ContextUsage> = data(stats.and_then(|stats| stats.context_usage))?;
                if let Some(context) = context {
                    self.context_told(&context, out);
                }
            }
            // The rest is between Pi and the host.
            _ => {}
        }
        Ok(())
    }
}

fn data<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Result<Option<T>, Malformed> {
    Ok(raw.map(|raw| serde_json::from_str(raw.get())).transpose()?)
}
