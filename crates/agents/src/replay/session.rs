//! A recording that is being played: one recorded turn a prompt.

use super::Pace;
use super::recording::Recording;
use crate::adapter::{AgentMessage, AgentOutput, AgentSession, NativeCheckpoint};
use async_trait::async_trait;
use chat_grammar::event::{ChatEvent, EventKind, FailureClass, FinishReason, RequestAnswer, SessionInit, Side, Stop};
use chat_grammar::records::TurnFailure;
use chat_normalizers::{Normalizer, Options, normalizer};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::Instant;

/// How many lines are handed over at once. Enough to make one commit of them, few enough that an interrupt is not kept waiting.
const LINES_AT_ONCE: usize = 256;

#[derive(Debug)]
pub(super) struct ReplaySession {
    recording: Recording,
    pace: Pace,
    normalizer: Box<dyn Normalizer>,
    provider_session_id: String,
    /// How many recorded turns have begun.
    position: usize,
    play: Option<Play>,
    /// Events that wait for the next `next`.
    pending: Vec<ChatEvent>,
    /// Requests of this turn whose answers are ready to be delivered.
    answers: Vec<String>,
    /// Requests that were answered before the recording came to its own answer.
    answered: HashSet<String>,
    closed: bool,
}

/// A recorded turn under way.
#[derive(Debug)]
struct Play {
    segment: usize,
    next_line: usize,
    started: Instant,
    /// The recorded time of the first line, in milliseconds.
    origin_ms: u64,
    done: bool,
    /// The recorded answer to a request that waits for a live one.
    held: Option<HeldAnswer>,
}

#[derive(Debug)]
struct HeldAnswer {
    request_id: String,
    at_ms: u64,
    message: AgentMessage,
}

impl ReplaySession {
    pub(super) fn new(recording: Recording, pace: Pace, checkpoint: Option<&NativeCheckpoint>) -> Result<Self, String> {
        let normalizer = normalizer(&recording.harness, Options::default())
            .ok_or_else(|| format!("recordings of {:?} cannot be read by this version", recording.harness))?;
        let position = checkpoint.and_then(|checkpoint| checkpoint.data["position"].as_u64()).unwrap_or(0);
        let mut session = Self {
            recording,
            pace,
            normalizer,
            provider_session_id: checkpoint.map_or_else(|| "replay".to_owned(), |from| from.provider_session_id.clone()),
            position: usize::try_from(position).unwrap_or(usize::MAX),
            play: None,
            pending: Vec::new(),
            answers: Vec::new(),
            answered: HashSet::new(),
            closed: false,
        };
        session.skip_played();
        Ok(session)
    }

    // What was played before a restart is read again, so that later messages mean what they meant.
    fn skip_played(&mut self) {
        let mut events = Vec::new();
        for segment in self.recording.segments.iter().take(self.position) {
            events.clear();
            for line in segment.lines.iter().filter_map(|index| self.recording.line(*index)) {
                if let Some(side) = line.channel.side() {
                    self.normalizer.push(&line.text, side, &mut events);
                }
            }
            if !events.iter().any(ends_turn) {
                self.normalizer.finish(FinishReason::Error, &mut events);
            }
        }
    }

    /// Reads on to the first line that is not due yet, to a request, or to the recorded answer to one that waits.
    fn read(&mut self) -> Vec<AgentMessage> {
        let mut messages = Vec::new();
        let Some(play) = &mut self.play else { return messages };
        let Some(segment) = self.recording.segments.get(play.segment) else { return messages };
        let now = Instant::now();
        for _ in 0..LINES_AT_ONCE {
            let Some(line) = segment.lines.get(play.next_line).and_then(|index| self.recording.line(*index)) else { break };
            if self.pace == Pace::Recorded && play.due(line.at_ms) > now {
                break;
            }
            play.next_line += 1;
            let Some(side) = line.channel.side() else { continue };
            let mut events = Vec::new();
            self.normalizer.push(&line.text, side, &mut events);
            for event in &events {
                play.done |= ends_turn(event);
                if let EventKind::SessionInit(SessionInit { provider_session_id: Some(id), .. }) = &event.kind {
                    self.provider_session_id.clone_from(id);
                }
            }
            if events.is_empty() {
                continue;
            }
            let native = (side == Side::Agent).then(|| line.text.into_owned());
            let asked = events.iter().find_map(asked_request).map(str::to_owned);
            let resolved = events.iter().find_map(resolved_request).filter(|_| side == Side::Host).map(str::to_owned);
            let message = AgentMessage { native, events, late: false };
            if let Some(request_id) = resolved.filter(|request_id| !self.answered.remove(request_id)) {
                play.held = Some(HeldAnswer { request_id, at_ms: line.at_ms, message });
                break;
            }
            messages.push(message);
            // Whoever answers at once is heard before the recording goes on.
            if let Some(request_id) = asked {
                self.answered.remove(&request_id);
                break;
            }
        }
        messages
    }

    /// The recorded answer that waited for the live one, once that was delivered. The recording goes on from there.
    fn released(&mut self) -> Option<AgentMessage> {
        let play = self.play.as_mut()?;
        let held = play.held.take_if(|held| self.answered.remove(&held.request_id))?;
        play.started += Instant::now().saturating_duration_since(play.due(held.at_ms));
        Some(held.message)
    }

    /// When the next line is due; `None` where the recorded turn has no more.
    fn next_due(&self) -> Option<Instant> {
        let play = self.play.as_ref()?;
        let index = self.recording.segments.get(play.segment)?.lines.get(play.next_line)?;
        match self.pace {
            Pace::Instant => Some(play.started),
            Pace::Recorded => self.recording.line(*index).map(|line| play.due(line.at_ms)),
        }
    }

    fn end(&mut self, reason: FinishReason, failure: TurnFailure) -> AgentOutput {
        let mut events = std::mem::take(&mut self.pending);
        self.normalizer.finish(reason, &mut events);
        self.play = None;
        AgentOutput::Ended { events, failure }
    }
}

// A subagent's end is not the turn's.
fn ends_turn(event: &ChatEvent) -> bool {
    matches!(event.kind, EventKind::Done { .. }) && event.parent_tool_call_id.is_none()
}

fn asked_request(event: &ChatEvent) -> Option<&str> {
    match &event.kind {
        EventKind::PermissionRequested(request) => Some(&request.request_id),
        EventKind::QuestionAsked(question) => Some(&question.request_id),
        _ => None,
    }
}

fn resolved_request(event: &ChatEvent) -> Option<&str> {
    match &event.kind {
        EventKind::PermissionResolved(response) => Some(&response.request_id),
        EventKind::QuestionAnswered(answer) => Some(&answer.request_id),
        _ => None,
    }
}

impl Play {
    fn due(&self, at_ms: u64) -> Instant {
        self.started + Duration::from_millis(at_ms.saturating_sub(self.origin_ms))
    }
}

#[async_trait]
impl AgentSession for ReplaySession {
    fn source(&self) -> &str {
        self.normalizer.source()
    }

    fn checkpoint(&self) -> Option<NativeCheckpoint> {
        let provider_session_id = self.provider_session_id.clone();
        (self.position > 0).then(|| NativeCheckpoint { provider_session_id, data: json!({ "position": self.position }) })
    }

    // A recording's late words are there at once, or in their recorded time outside the turn.
    fn quiet_window(&self) -> Duration {
        Duration::ZERO
    }

    async fn start_turn(&mut self, _: &Value) -> Result<(), TurnFailure> {
        let Some(first) = self.recording.segments.get(self.position) else {
            let message = format!("the recording has {} turns and all were played", self.recording.segments.len());
            return Err(TurnFailure::new(FailureClass::Runtime, "replay_exhausted", message, false));
        };
        let origin = first.lines.first().and_then(|index| self.recording.line(*index));
        self.play = Some(Play {
            segment: self.position,
            next_line: 0,
            started: Instant::now(),
            origin_ms: origin.map_or(0, |line| line.at_ms),
            done: false,
            held: None,
        });
        self.answers.clear();
        self.answered.clear();
        self.position += 1;
        Ok(())
    }

    async fn next(&mut self) -> AgentOutput {
        if self.closed {
            let failure = TurnFailure::new(FailureClass::Runtime, "agent_exited", "the replay was closed", true);
            return self.end(FinishReason::Cancelled, failure);
        }
        if !self.pending.is_empty() {
            return AgentOutput::Messages(vec![AgentMessage::made(std::mem::take(&mut self.pending))]);
        }
        loop {
            if let Some(message) = self.released() {
                return AgentOutput::Messages(vec![message]);
            }
            if self.play.as_ref().is_some_and(|play| play.held.is_some()) {
                return std::future::pending().await;
            }
            match self.next_due() {
                Some(due) => {
                    if self.pace == Pace::Recorded {
                        tokio::time::sleep_until(due).await;
                    }
                    let messages = self.read();
                    if !messages.is_empty() {
                        return AgentOutput::Messages(messages);
                    }
                }
                None if self.play.as_ref().is_some_and(|play| !play.done) => {
                    let message = "the recording ends before the turn does, as where the agent's process ended";
                    let failure = TurnFailure::new(FailureClass::Transport, "agent_exited", message, true);
                    return self.end(FinishReason::Error, failure);
                }
                None => std::future::pending().await,
            }
        }
    }

    // What the answer means was recorded with it: whatever is answered, the recording goes on as it was.
    fn answer(&mut self, request_id: &str, _: &RequestAnswer) -> Vec<ChatEvent> {
        self.answers.push(request_id.to_owned());
        Vec::new()
    }

    async fn deliver(&mut self) {
        self.answered.extend(self.answers.drain(..));
    }

    async fn interrupt(&mut self) {
        if self.play.take().is_none_or(|play| play.done) {
            return;
        }
        self.normalizer.finish(FinishReason::Cancelled, &mut self.pending);
        if !self.pending.iter().any(ends_turn) {
            let done = EventKind::Done { stop_reason: Stop::Cancelled, native_stop_reason: None };
            self.pending.push(done.into());
        }
    }

    async fn close(&mut self) {
        self.closed = true;
    }
}
