//! An agent that speaks line by line over its pipes. Everything that passes is shown to the agent's normalizer in the order in which
//! it passed.

use crate::adapter::AgentMessage;
use crate::frame::Frame;
use crate::process::{AgentProcess, Exit};
use crate::secrets::Secrets;
use chat_grammar::event::{ChatEvent, ErrorEvent, EventKind, FailureClass, FinishReason, Side};
use chat_grammar::records::TurnFailure;
use chat_normalizers::Normalizer;
use serde_json::json;
use std::collections::BTreeMap;

/// A message of the agent and what it means.
#[derive(Debug)]
pub(crate) struct Heard {
    /// `None` for a line that was too long to be read.
    pub(crate) line: Option<String>,
    pub(crate) events: Vec<ChatEvent>,
}

impl Heard {
    pub(crate) fn into_message(self, late: bool) -> AgentMessage {
        AgentMessage { native: self.line, events: self.events, late }
    }
}

/// A running agent.
#[derive(Debug)]
pub(crate) struct LineConnection {
    process: AgentProcess,
    normalizer: Box<dyn Normalizer>,
    secrets: Secrets,
    /// What was heard while an answer was waited for.
    early: Vec<Heard>,
}

impl LineConnection {
    pub(crate) fn new(process: AgentProcess, normalizer: Box<dyn Normalizer>, secrets: Secrets) -> Self {
        Self { process, normalizer, secrets, early: Vec::new() }
    }

    pub(crate) fn source(&self) -> &'static str {
        self.normalizer.source()
    }

    /// The id of the agent's process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The variables that every process which this agent starts must carry.
    pub(crate) fn marks(&self) -> &BTreeMap<String, String> {
        self.process.marks()
    }

    /// Says a line: to the normalizer, then to the agent.
    pub(crate) fn say(&mut self, line: String, out: &mut Vec<ChatEvent>) {
        self.mean(&line, out);
        self.send(line);
    }

    /// Takes what a line of ours means, before it is sent.
    pub(crate) fn mean(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        self.normalizer.push(line, Side::Host, out);
    }

    /// Sends a line whose meaning was taken.
    pub(crate) fn send(&mut self, line: String) {
        self.process.send(line);
    }

    /// Reads until a line is what `wanted` looks for; what is heard comes from `hear` later. `None` where the agent's stream ends
    /// first. The wait may be given up.
    pub(crate) async fn wait_for<T>(&mut self, wanted: impl Fn(&str) -> Option<T>) -> Option<T> {
        loop {
            let heard = self.read().await;
            if heard.is_empty() {
                return None;
            }
            let found = heard.iter().filter_map(|heard| heard.line.as_deref()).find_map(&wanted);
            self.early.extend(heard);
            if found.is_some() {
                return found;
            }
        }
    }

    /// The next messages, in order; empty once the agent's stream has ended. It may be dropped while it waits.
    pub(crate) async fn hear(&mut self) -> Vec<Heard> {
        if !self.early.is_empty() {
            return std::mem::take(&mut self.early);
        }
        self.read().await
    }

    /// What is to be told with what is heard next.
    pub(crate) fn keep(&mut self, events: Vec<ChatEvent>) {
        if !events.is_empty() {
            self.early.push(Heard { line: None, events });
        }
    }

    /// Takes out what was heard of a failure that another way was found for, or that is told otherwise.
    pub(crate) fn take_failure(&mut self) -> Option<ErrorEvent> {
        let mut failure = None;
        for heard in &mut self.early {
            heard.events.retain(|event| match &event.kind {
                EventKind::Error(error) => {
                    failure = Some(error.clone());
                    false
                }
                EventKind::Done { .. } => false,
                _ => true,
            });
        }
        failure
    }

    async fn read(&mut self) -> Vec<Heard> {
        let frames = self.process.read().await;
        frames.into_iter().map(|frame| self.understand(frame)).collect()
    }

    fn understand(&mut self, frame: Frame) -> Heard {
        match frame {
            Frame::Line { text, replaced } => {
                if replaced {
                    tracing::warn!(agent = self.source(), "invalid UTF-8 in a message was replaced");
                }
                let mut events = Vec::new();
                self.normalizer.push(&text, Side::Agent, &mut events);
                let line = if self.mask_failures(&mut events) { self.secrets.mask(&text).into_owned() } else { text };
                Heard { line: Some(line), events }
            }
            Frame::TooLong { bytes } => {
                tracing::warn!(agent = self.source(), bytes, "a message was too long to be read");
                let kind = format!("oversized message of {bytes} bytes");
                Heard { line: None, events: vec![EventKind::Unmapped { kind }.into()] }
            }
        }
    }

    /// Providers repeat a key that they refuse. True where there was something that may hold one.
    fn mask_failures(&self, events: &mut [ChatEvent]) -> bool {
        let mut masked = false;
        for event in events {
            let message = match &mut event.kind {
                EventKind::Error(error) => &mut error.message,
                EventKind::Warning { message, detail, .. } => {
                    if let Some(detail) = detail {
                        *detail = self.secrets.mask(detail).into_owned();
                    }
                    message
                }
                _ => continue,
            };
            *message = self.secrets.mask(message).into_owned();
            masked = true;
        }
        masked
    }

    /// Closes what the agent left open when it ended.
    pub(crate) fn finish(&mut self, reason: FinishReason, out: &mut Vec<ChatEvent>) {
        self.normalizer.finish(reason, out);
    }

    /// How the agent's process ended, and the end of what it wrote to stderr, without secrets.
    pub(crate) async fn exit(&mut self) -> (Exit, String) {
        let exit = self.process.exited().await;
        (exit, self.secrets.mask(&self.process.stderr_tail()).into_owned())
    }

    /// The failure of a turn whose agent, called `agent`, is gone. `when` ends the sentence that says so.
    pub(crate) async fn exit_failure(&mut self, agent: &str, when: &str) -> TurnFailure {
        let (exit, stderr) = self.exit().await;
        let how = match (exit.code, exit.signal) {
            (_, Some(signal)) => format!("was ended by signal {signal}"),
            (Some(code), None) => format!("ended with exit code {code}"),
            (None, None) => "ended".to_owned(),
        };
        let last_words = stderr.lines().rev().find(|line| !line.trim().is_empty()).map(|line| format!(": {}", line.trim()));
        let message = format!("{agent} {how} {when}{}", last_words.unwrap_or_default());
        let mut failure = TurnFailure::new(FailureClass::Transport, "agent_exited", message, true);
        failure.native = Some(json!({ "exitCode": exit.code, "signal": exit.signal, "stderr": stderr }));
        failure
    }

    /// Ends the agent and all that it started.
    pub(crate) async fn end(&mut self) {
        self.process.end().await;
    }
}
