//! The one task of a conversation: it takes commands in order, opens the agent, and runs its turns one after the other.

pub(crate) mod accept;
mod late;
mod limits;
mod requests;
mod turn;

use crate::core::Core;
use crate::pump::TurnPump;
use crate::requests::not_pending;
use chat_agents::{AgentMessage, AgentOutput, AgentSession, PreparedExecution};
use chat_grammar::event::{EventKind, FailureClass};
use chat_grammar::records::{TurnFailure, TurnOrigin, TurnRecord};
use chat_grammar::{ChatError, Result};
use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// How many messages outside a turn wait for the next one; the newest say how things stand.
const HELD_LIMIT: usize = 1024;

/// What a conversation is asked to do.
#[derive(Debug)]
pub(crate) enum Command {
    /// Options of `send` as JSON; answered with the turn's id once the prompt is stored.
    Send(String, oneshot::Sender<Result<String>>),
    /// Answered once no turn runs.
    Interrupt(oneshot::Sender<Result<()>>),
    /// Answered once the answer to the request is journaled.
    Respond {
        request_id: String,
        /// JSON as `Chat::respond` takes it.
        answer: String,
        reply: oneshot::Sender<Result<()>>,
    },
    /// What the host's callback answered to a request; nobody waits for what becomes of it.
    Answered { request_id: String, answer: String },
    /// Answered once no turn runs and the agent is gone.
    Close(oneshot::Sender<Result<()>>),
    /// The chat is closing: the running turn is sealed `interrupted`.
    Shutdown(oneshot::Sender<Result<()>>),
}

/// Hands a command to a conversation's driver, which is started where there is none. Commands are taken in call order.
pub(crate) fn give(core: &Arc<Core>, conversation_id: &str, command: Command) {
    let mut drivers = core.lock_drivers();
    let mut command = command;
    if let Some(driver) = drivers.get(conversation_id) {
        match driver.send(command) {
            Ok(()) => return,
            Err(refused) => command = refused.0,
        }
    }
    let (sender, receiver) = unbounded_channel();
    // The receiver is right here: it cannot be gone.
    let _ = sender.send(command);
    let id: Arc<str> = Arc::from(conversation_id);
    drivers.insert(Arc::clone(&id), sender.clone());
    core.runtime.spawn(supervise(Driver::new(Arc::clone(core), id, receiver), sender));
}

/// The command channel of a conversation that has a driver.
pub(crate) fn existing(core: &Core, conversation_id: &str) -> Option<UnboundedSender<Command>> {
    core.lock_drivers().get(conversation_id).cloned()
}

// A panic in a driver must not leave a turn that nobody ends.
async fn supervise(driver: Driver, own_sender: UnboundedSender<Command>) {
    let (core, conversation_id) = (Arc::clone(&driver.core), Arc::clone(&driver.conversation_id));
    if AssertUnwindSafe(driver.run()).catch_unwind().await.is_err() {
        for (turn_id, tail) in core.tails_of(&conversation_id) {
            let failure = TurnFailure::new(FailureClass::Runtime, "panic", "the turn ended by a fault of this software", false);
            let end = crate::recovery::seal_from_journal(&core, &conversation_id, &turn_id, failure).await.map(Arc::new);
            core.end_turn(&conversation_id, &turn_id, &tail, end);
        }
    }
    let mut drivers = core.lock_drivers();
    if drivers.get(&conversation_id).is_some_and(|sender| sender.same_channel(&own_sender)) {
        drivers.remove(&conversation_id);
    }
}

#[derive(Debug)]
struct OpenAgent {
    session: Box<dyn AgentSession>,
    execution: Arc<PreparedExecution>,
}

#[derive(Debug)]
struct Driver {
    core: Arc<Core>,
    conversation_id: Arc<str>,
    commands: UnboundedReceiver<Command>,
    agent: Option<OpenAgent>,
    /// What the agent said outside a turn that opens none; it leads the next turn.
    held: Vec<AgentMessage>,
    /// Late words of an earlier turn, which came while another ran.
    late: Option<late::LateWords>,
    /// Whether the running turn is that of the late words.
    in_late_turn: bool,
    /// The title that the agent gave last: it may be replaced by the agent, one of the host may not.
    agent_title: Option<String>,
    stopping: bool,
}

enum Wake {
    Command(Option<Command>),
    Output(AgentOutput),
    Idle,
}

impl Driver {
    fn new(core: Arc<Core>, conversation_id: Arc<str>, commands: UnboundedReceiver<Command>) -> Self {
        Self {
            core,
            conversation_id,
            commands,
            agent: None,
            held: Vec::new(),
            late: None,
            in_late_turn: false,
            agent_title: None,
            stopping: false,
        }
    }

    async fn run(mut self) {
        while !self.stopping {
            match self.wait().await {
                Wake::Command(Some(command)) => self.obey(command).await,
                Wake::Command(None) => self.stopping = true,
                Wake::Output(AgentOutput::Messages(messages)) => self.hear(messages).await,
                Wake::Output(AgentOutput::Ended { .. }) => self.agent = None,
                Wake::Idle => self.rest().await,
            }
        }
        self.close_agent().await;
    }

    async fn wait(&mut self) -> Wake {
        let idle = tokio::time::sleep(Duration::from_millis(self.core.options.idle_timeout_ms));
        match &mut self.agent {
            Some(agent) => tokio::select! {
                biased;
                command = self.commands.recv() => Wake::Command(command),
                output = agent.session.next() => Wake::Output(output),
                () = idle => Wake::Idle,
            },
            None => tokio::select! {
                biased;
                command = self.commands.recv() => Wake::Command(command),
                () = idle => Wake::Idle,
            },
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Send(options, reply) => self.send(&options, reply).await,
            Command::Interrupt(reply) => answer(reply, Ok(())),
            Command::Respond { request_id, reply, .. } => answer(reply, Err(not_pending(&request_id))),
            // The turn that was asked about is over.
            Command::Answered { .. } => {}
            Command::Close(reply) => {
                self.close_agent().await;
                answer(reply, Ok(()));
            }
            Command::Shutdown(reply) => {
                self.close_agent().await;
                self.stopping = true;
                answer(reply, Ok(()));
            }
        }
    }

    async fn send(&mut self, options: &str, reply: oneshot::Sender<Result<String>>) {
        match self.accept(options).await {
            Ok(accept::Accepted::Known(turn_id)) => answer(reply, Ok(turn_id)),
            Ok(accept::Accepted::New { turn, execution, prompt }) => {
                let turn_id = turn.id.clone();
                // Known before the answer: the caller may subscribe at once.
                let pump = self.pump(*turn);
                answer(reply, Ok(turn_id));
                self.run_host_turn(pump, execution, &prompt).await;
            }
            Err(error) => answer(reply, Err(error)),
        }
    }

    /// Messages outside a turn: content opens a turn of the agent's own, the rest waits for the next turn.
    async fn hear(&mut self, messages: Vec<AgentMessage>) {
        let opens = messages.iter().any(|message| message.events.iter().any(|event| opens_turn(&event.kind)));
        self.held.extend(messages);
        if let Some(excess) = self.held.len().checked_sub(HELD_LIMIT).filter(|excess| *excess > 0) {
            tracing::warn!(conversation = %self.conversation_id, excess, "news outside a turn was left out");
            self.held.drain(..excess);
        }
        if !opens {
            return;
        }
        let Some(execution) = self.agent.as_ref().map(|agent| Arc::clone(&agent.execution)) else { return };
        match self.begin_turn(&execution, None, TurnOrigin::Agent, None).await {
            Ok(turn) => {
                let pump = self.pump(turn);
                self.run_agent_turn(pump).await;
            }
            // What was said stays held: it leads the next turn.
            Err(error) => tracing::warn!(conversation = %self.conversation_id, %error, "a turn of the agent was not stored"),
        }
    }

    /// The pump of a turn that was stored, which is made known by it.
    fn pump(&self, turn: TurnRecord) -> TurnPump {
        let tail = self.core.add_tail(&self.conversation_id, &Arc::from(turn.id.as_str()));
        self.core.announce(&turn);
        TurnPump::new(Arc::clone(&self.core), turn, tail)
    }

    async fn rest(&mut self) {
        if self.agent.is_some() {
            self.close_agent().await;
            return;
        }
        // Under the lock nobody can hand over a command that would be lost.
        let mut drivers = self.core.lock_drivers();
        if self.commands.is_empty() {
            drivers.remove(&self.conversation_id);
            self.stopping = true;
        }
    }

    async fn close_agent(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            agent.session.close().await;
        }
    }
}

/// Whether an event is content, which must stand in a turn.
fn opens_turn(event: &EventKind) -> bool {
    match event {
        EventKind::TextDelta { .. }
        | EventKind::ReasoningDelta { .. }
        | EventKind::Content { .. }
        | EventKind::ToolStarted(_)
        | EventKind::ToolUpdated(_)
        | EventKind::ToolCompleted(_)
        | EventKind::Plan { .. }
        | EventKind::PermissionRequested(_)
        | EventKind::QuestionAsked(_)
        | EventKind::CompactionStarted { .. }
        | EventKind::CompactionFinished(_)
        | EventKind::Error(_) => true,
        EventKind::UsageFinal { usage } => usage.billable,
        EventKind::PermissionResolved(_)
        | EventKind::QuestionAnswered(_)
        | EventKind::SessionInit(_)
        | EventKind::Title { .. }
        | EventKind::Mode { .. }
        | EventKind::Commands { .. }
        | EventKind::Config { .. }
        | EventKind::Warning { .. }
        | EventKind::Debug { .. }
        | EventKind::Done { .. }
        | EventKind::Unmapped { .. } => false,
        EventKind::Relayed(relayed) => relayed.meaning.as_ref().is_some_and(opens_turn),
    }
}

/// A caller that is gone needs no answer.
fn answer<T>(reply: oneshot::Sender<Result<T>>, result: Result<T, ChatError>) {
    let _ = reply.send(result);
}
