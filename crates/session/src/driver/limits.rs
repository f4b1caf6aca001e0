//! How long a turn may take to do what it is expected to do next.

use super::Driver;
use super::turn::report;
use crate::options::ChatOptions;
use crate::pump::{Outcome, TurnPump};
use chat_agents::{AgentMessage, AgentOutput};
use chat_grammar::event::{FailureClass, Stop};
use chat_grammar::records::TurnFailure;
use std::time::Duration;
use tokio::time::Instant;

/// How long an agent may take to end a turn that it was asked to end.
pub(super) const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
/// The same where the host is closing.
pub(super) const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Where a turn is going, and until when.
#[derive(Debug, PartialEq)]
pub(super) enum Mode {
    Running,
    Interrupting {
        by: Instant,
    },
    /// It fails; the agent was asked to end it.
    GivingUp {
        by: Instant,
        failure: TurnFailure,
    },
    ShuttingDown {
        by: Instant,
    },
}

impl Mode {
    /// How the turn ends, given how the agent ended it.
    pub(super) fn outcome(self, outcome: Outcome) -> Outcome {
        match (self, outcome) {
            (Self::ShuttingDown { .. }, _) => Outcome::HostClosed,
            (Self::GivingUp { failure, .. }, _) => Outcome::Failed(failure),
            // An agent that answers an interrupt with an error was interrupted all the same.
            (Self::Interrupting { .. }, Outcome::Failed(_) | Outcome::Stopped { stop: Stop::Failed, .. }) => {
                Outcome::Stopped { stop: Stop::Cancelled, native: None }
            }
            (_, outcome) => outcome,
        }
    }
}

/// When something is done about a turn that brings nothing; `None`: never.
pub(super) struct Limits {
    /// Its end is enforced.
    pub(super) end: Option<Instant>,
    /// It does nothing but retry.
    pub(super) retries: Option<Instant>,
    /// A request was not answered.
    pub(super) requests: Option<Instant>,
}

impl Limits {
    pub(super) fn new(pump: &TurnPump, mode: &Mode, options: &ChatOptions) -> Self {
        let requests = pump.requests().next_deadline();
        let (end, retries) = match mode {
            Mode::Interrupting { by } | Mode::GivingUp { by, .. } | Mode::ShuttingDown { by } => (Some(*by), None),
            // The clock stands still while the agent works at something, or waits for something, that may take long.
            Mode::Running if pump.is_working() => (None, None),
            Mode::Running => {
                let retry_limit = Duration::from_millis(options.retry_limit_ms);
                let end = Instant::now() + Duration::from_millis(options.idle_limit_ms);
                (Some(end), pump.retries().map(|retries| retries.since + retry_limit))
            }
        };
        Self { end, retries, requests }
    }
}

impl Driver {
    /// An agent that only retried for too long is asked to end its turn, which has failed.
    pub(super) async fn give_up(&mut self, pump: &mut TurnPump, mode: &mut Mode) {
        let last = pump.retries().map_or("", |retries| retries.message.as_str());
        let message = format!("the agent only retried for {} ms; it said last: {last}", self.core.options.retry_limit_ms);
        let failure = TurnFailure::new(FailureClass::Transport, "retry_limit", message, true);
        report(pump, &failure).await;
        self.interrupt_agent(pump).await;
        *mode = Mode::GivingUp { by: Instant::now() + INTERRUPT_GRACE, failure };
    }

    /// The agent did not keep its time: it is ended.
    pub(super) async fn enforce(&mut self, pump: &mut TurnPump, mode: &Mode) -> Outcome {
        let Some(agent) = &mut self.agent else { return Outcome::HostClosed };
        agent.session.close().await;
        if let AgentOutput::Ended { events, .. } = agent.session.next().await {
            pump.take(vec![AgentMessage::made(events)], agent.session.source()).await;
        }
        self.agent = None;
        match mode {
            Mode::Interrupting { .. } => Outcome::Stopped { stop: Stop::Cancelled, native: None },
            Mode::ShuttingDown { .. } => Outcome::HostClosed,
            Mode::GivingUp { failure, .. } => Outcome::Failed(failure.clone()),
            Mode::Running => {
                let message = format!("the agent said nothing for {} ms", self.core.options.idle_limit_ms);
                let failure = TurnFailure::new(FailureClass::Transport, "agent_silent", message, true);
                report(pump, &failure).await;
                Outcome::Failed(failure)
            }
        }
    }
}
