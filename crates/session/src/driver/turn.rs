//! One turn from its first message to its seal.

use super::limits::{INTERRUPT_GRACE, Limits, Mode, SHUTDOWN_GRACE};
use super::{Command, Driver, OpenAgent, answer};
use crate::pump::{Outcome, TurnPump, checkpoint_key};
use crate::tail::TurnEnd;
use chat_agents::{AgentMessage, AgentOutput, NativeCheckpoint, Opening, PreparedExecution};
use chat_grammar::event::{ChatEvent, ErrorEvent, EventKind, FailureClass, Stop};
use chat_grammar::records::{ConversationPatch, TurnFailure};
use chat_grammar::time::iso8601;
use chat_grammar::{ChatError, Result};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long a drained stream is listened to at most, however much comes.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);
/// When a turn that the agent began by late content, and whose end it does not tell, is over.
pub(super) const LATE_CONTENT_QUIET: Duration = Duration::from_millis(150);

/// Those who wait for the end of the turn.
#[derive(Default)]
pub(super) struct Waiting {
    interrupts: Vec<oneshot::Sender<Result<()>>>,
    closes: Vec<oneshot::Sender<Result<()>>>,
    shutdowns: Vec<oneshot::Sender<Result<()>>>,
}

impl Waiting {
    /// Adds those who wait since a later turn.
    pub(super) fn join(&mut self, later: Self) {
        self.interrupts.extend(later.interrupts);
        self.closes.extend(later.closes);
        self.shutdowns.extend(later.shutdowns);
    }

    fn ends_agent(&self) -> bool {
        !self.closes.is_empty() || !self.shutdowns.is_empty()
    }
}

enum TurnWake {
    Command(Option<Command>),
    Output(AgentOutput),
    Quiet,
    OverdueRequests,
    OnlyRetries,
    Deadline,
}

impl Driver {
    pub(super) async fn run_host_turn(&mut self, mut pump: TurnPump, execution: Arc<PreparedExecution>, prompt: &Value) {
        let started = match self.open_agent(&execution).await {
            Ok(()) => self.start_turn(&mut pump, prompt).await,
            Err(failure) => Err(failure),
        };
        let waiting = match started {
            Ok(()) => self.run_turn(pump, None).await,
            Err(failure) => {
                report(&mut pump, &failure).await;
                self.close_agent().await;
                // Whoever waits for the turn is told what the seal came to.
                let _ = self.seal(pump, Outcome::Failed(failure)).await;
                Waiting::default()
            }
        };
        self.conclude(waiting).await;
    }

    pub(super) async fn run_agent_turn(&mut self, mut pump: TurnPump) {
        self.give_held(&mut pump).await;
        let waiting = self.run_turn(pump, Some(LATE_CONTENT_QUIET)).await;
        self.conclude(waiting).await;
    }

    async fn start_turn(&mut self, pump: &mut TurnPump, prompt: &Value) -> Result<(), TurnFailure> {
        self.give_held(pump).await;
        let Some(agent) = &mut self.agent else { return Ok(()) };
        agent.session.start_turn(prompt).await?;
        pump.save_checkpoint(agent.session.as_ref()).await;
        Ok(())
    }

    async fn give_held(&mut self, pump: &mut TurnPump) {
        let held = std::mem::take(&mut self.held);
        if let (false, Some(agent)) = (held.is_empty(), &self.agent) {
            pump.take(held, agent.session.source()).await;
        }
    }

    /// The agent for an execution: the one that runs, or a new one that picks up the conversation's native session.
    async fn open_agent(&mut self, execution: &Arc<PreparedExecution>) -> Result<(), TurnFailure> {
        let serves = |running: &PreparedExecution| {
            running.handle.revision == execution.handle.revision && running.resolved == execution.resolved
        };
        if self.agent.as_ref().is_some_and(|agent| serves(&agent.execution)) {
            return Ok(());
        }
        self.close_agent().await;
        let internal = |error: ChatError| TurnFailure::new(FailureClass::Runtime, "store_failed", error.message, true);
        let key = checkpoint_key(&execution.contract);
        let owner = self.core.owner();
        let stored = self.core.store.get_checkpoint(owner, &self.conversation_id, &key).await.map_err(internal)?;
        let checkpoint =
            stored.map(|stored| NativeCheckpoint { provider_session_id: stored.provider_session_id, data: stored.data });
        let adapter = self.core.adapters.get(&execution.contract.agent.adapter_id).map_err(internal)?;
        let session = adapter.open(Opening { host: &self.core.host, execution, checkpoint: checkpoint.as_ref() }).await?;
        self.agent = Some(OpenAgent { session, execution: Arc::clone(execution) });
        Ok(())
    }

    /// Pumps until the turn has ended and is sealed. `quiet`: after so long a silence the turn is over also without a word.
    /// Returns those who wait for more than the turn's end.
    pub(super) async fn run_turn(&mut self, mut pump: TurnPump, quiet: Option<Duration>) -> Waiting {
        let mut waiting = Waiting::default();
        let mut mode = Mode::Running;
        self.attend(&mut pump, &mode).await;
        let outcome = loop {
            if let Some(outcome) = pump.refused().or_else(|| pump.stopped()) {
                break outcome;
            }
            match self.wait_in_turn(&pump, &mode, quiet).await {
                TurnWake::Command(Some(command)) => self.obey_in_turn(command, &mut pump, &mut mode, &mut waiting).await,
                TurnWake::Command(None) => break Outcome::HostClosed,
                TurnWake::Output(AgentOutput::Messages(messages)) => {
                    self.take(&mut pump, messages).await;
                    self.attend(&mut pump, &mode).await;
                }
                TurnWake::Output(AgentOutput::Ended { events, failure }) => {
                    break self.agent_ended(&mut pump, events, failure).await;
                }
                TurnWake::Quiet => break Outcome::Stopped { stop: Stop::EndTurn, native: None },
                TurnWake::OverdueRequests => self.cancel_overdue(&mut pump).await,
                TurnWake::OnlyRetries => self.give_up(&mut pump, &mut mode).await,
                TurnWake::Deadline => break self.enforce(&mut pump, &mode).await,
            }
        };
        if pump.refused().is_some() && pump.stopped().is_none() {
            // It would go on with a turn that nobody hears.
            self.close_agent().await;
        }
        self.drain(&mut pump).await;
        self.finish_turn(pump, mode.outcome(outcome), waiting).await
    }

    async fn wait_in_turn(&mut self, pump: &TurnPump, mode: &Mode, quiet: Option<Duration>) -> TurnWake {
        let Some(agent) = &mut self.agent else { return TurnWake::Quiet };
        let limits = Limits::new(pump, mode, &self.core.options);
        let quiet = quiet.filter(|_| pump.requests().is_empty() && !agent.session.tells_end());
        tokio::select! {
            biased;
            command = self.commands.recv() => TurnWake::Command(command),
            output = agent.session.next() => TurnWake::Output(output),
            () = sleep_for(quiet) => TurnWake::Quiet,
            () = sleep_until(limits.requests) => TurnWake::OverdueRequests,
            () = sleep_until(limits.retries) => TurnWake::OnlyRetries,
            () = sleep_until(limits.end) => TurnWake::Deadline,
        }
    }

    async fn obey_in_turn(&mut self, command: Command, pump: &mut TurnPump, mode: &mut Mode, waiting: &mut Waiting) {
        match command {
            Command::Send(options, reply) => answer(reply, self.refuse_or_attach(&options, pump.turn_id()).await),
            Command::Close(reply) => waiting.closes.push(reply),
            Command::Respond { request_id, answer: given, reply } => {
                answer(reply, self.respond(pump, &request_id, &given).await);
            }
            Command::Answered { request_id, answer } => self.take_callback_answer(pump, &request_id, &answer).await,
            Command::Interrupt(reply) => {
                waiting.interrupts.push(reply);
                if *mode == Mode::Running {
                    self.interrupt_agent(pump).await;
                    *mode = Mode::Interrupting { by: Instant::now() + INTERRUPT_GRACE };
                }
            }
            Command::Shutdown(reply) => {
                waiting.shutdowns.push(reply);
                if *mode == Mode::Running {
                    self.interrupt_agent(pump).await;
                }
                *mode = Mode::ShuttingDown { by: Instant::now() + SHUTDOWN_GRACE };
            }
        }
    }

    /// Asks the agent to end the turn. What it waits for is answered first, since it may end nothing while it waits.
    pub(super) async fn interrupt_agent(&mut self, pump: &mut TurnPump) {
        self.cancel_requests(pump, "The turn was interrupted").await;
        if let Some(agent) = &mut self.agent {
            agent.session.interrupt().await;
        }
    }

    pub(super) async fn take(&mut self, pump: &mut TurnPump, messages: Vec<AgentMessage>) {
        let messages = self.hold_late(messages);
        if let (false, Some(agent)) = (messages.is_empty(), &self.agent) {
            pump.take(messages, agent.session.source()).await;
        }
        if let Some(title) = pump.take_title() {
            self.adopt_title(title).await;
        }
    }

    async fn agent_ended(&mut self, pump: &mut TurnPump, events: Vec<ChatEvent>, failure: TurnFailure) -> Outcome {
        self.take(pump, vec![AgentMessage::made(events)]).await;
        self.agent = None;
        match pump.stopped() {
            Some(outcome) => outcome,
            None => {
                report(pump, &failure).await;
                Outcome::Failed(failure)
            }
        }
    }

    /// Late words of the turn, until the stream is quiet.
    async fn drain(&mut self, pump: &mut TurnPump) {
        let limit = Instant::now() + DRAIN_LIMIT;
        while let Some(agent) = &mut self.agent {
            let window = agent.session.quiet_window().min(limit.saturating_duration_since(Instant::now()));
            match tokio::time::timeout(window, agent.session.next()).await {
                Ok(AgentOutput::Messages(messages)) => self.take(pump, messages).await,
                Ok(AgentOutput::Ended { events, .. }) => {
                    self.take(pump, vec![AgentMessage::made(events)]).await;
                    self.agent = None;
                }
                Err(_) => break,
            }
        }
    }

    async fn finish_turn(&mut self, pump: TurnPump, outcome: Outcome, mut waiting: Waiting) -> Waiting {
        if let Some(agent) = &self.agent {
            pump.save_checkpoint(agent.session.as_ref()).await;
        }
        let end = self.seal(pump, outcome).await;
        let result = || end.as_ref().map(|_| ()).map_err(ChatError::clone);
        waiting.interrupts.drain(..).for_each(|reply| answer(reply, result()));
        waiting
    }

    /// Ends the turn, and no request outlives it.
    async fn seal(&mut self, mut pump: TurnPump, outcome: Outcome) -> TurnEnd {
        self.cancel_requests(&mut pump, "The turn ended").await;
        pump.seal(outcome).await
    }

    /// What follows a turn before the next command: late words of earlier turns, and those who waited for the agent's release.
    async fn conclude(&mut self, mut waiting: Waiting) {
        if waiting.ends_agent() {
            self.close_agent().await;
        }
        self.run_late_turns(&mut waiting).await;
        if waiting.ends_agent() {
            self.close_agent().await;
        }
        waiting.closes.into_iter().for_each(|reply| answer(reply, Ok(())));
        if !waiting.shutdowns.is_empty() {
            self.stopping = true;
            waiting.shutdowns.into_iter().for_each(|reply| answer(reply, Ok(())));
        }
    }

    /// The agent's title becomes the conversation's, unless the host has given one.
    async fn adopt_title(&mut self, title: String) {
        let owner = self.core.owner();
        let stored = self.core.store.get_conversation(owner, &self.conversation_id).await;
        let Ok(Some(conversation)) = stored else { return };
        if conversation.title.is_some() && conversation.title != self.agent_title {
            return;
        }
        let patch = ConversationPatch {
            title: Some(Some(title.clone())),
            updated_at: Some(iso8601(self.core.clock.now().await)),
            ..ConversationPatch::default()
        };
        match self.core.store.update_conversation(owner, &self.conversation_id, patch).await {
            Ok(_) => self.agent_title = Some(title),
            Err(error) => tracing::warn!(conversation = %self.conversation_id, %error, "the agent's title was not stored"),
        }
    }
}

/// Shows a failure that no message of the agent told of, as the stream shows those that the agent tells.
pub(super) async fn report(pump: &mut TurnPump, failure: &TurnFailure) {
    let event = EventKind::Error(ErrorEvent {
        message: failure.message.clone(),
        class: failure.class,
        reason: failure.reason.clone(),
        retryable: failure.retryable,
    });
    pump.take(vec![AgentMessage::made(vec![event.into()])], "").await;
}

async fn sleep_for(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
