//! What the session core asks of an agent, whichever it is.

use async_trait::async_trait;
use chat_grammar::contract::ExecutionContract;
use chat_grammar::event::{ChatEvent, PermissionChoice, RequestAnswer};
use chat_grammar::records::{ExecutionHandle, TurnFailure};
use chat_grammar::{ChatError, Result};
use serde_json::Value;
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

/// A contract under its handle, as `prepareExecution` accepted it.
#[derive(Debug, Clone)]
pub struct PreparedExecution {
    pub handle: ExecutionHandle,
    pub contract: ExecutionContract,
    /// What the host resolved the contract to; null where it has no resolver.
    pub resolved: Value,
}

/// Where a native session can be picked up again.
#[derive(Debug, Clone, PartialEq)]
pub struct NativeCheckpoint {
    pub provider_session_id: String,
    /// The adapter's own.
    pub data: Value,
}

/// Who drives the agents: a chat on its store.
#[derive(Debug, Clone)]
pub struct HostContext {
    /// The lease id of the store. Every process of an agent carries it as `CHAT_NATIVE_HOST`.
    pub host_id: String,
    /// Folder of the agents' private homes.
    pub state_dir: PathBuf,
}

/// How to open a native session.
#[derive(Debug)]
pub struct Opening<'a> {
    pub host: &'a HostContext,
    pub execution: &'a PreparedExecution,
    /// The session to resume; a new one where there is none.
    pub checkpoint: Option<&'a NativeCheckpoint>,
}

/// A native message and what it means.
#[derive(Debug)]
pub struct AgentMessage {
    /// The message as JSON text, without a newline; `None` where the events come from no message.
    pub native: Option<String>,
    pub events: Vec<ChatEvent>,
    /// True for late words of a turn that has ended, while another runs.
    pub late: bool,
}

impl AgentMessage {
    /// Events that come from no message.
    pub fn made(events: Vec<ChatEvent>) -> Self {
        Self { native: None, events, late: false }
    }
}

/// What an agent's stream brings next.
#[derive(Debug)]
pub enum AgentOutput {
    /// Messages that were read together. Never empty.
    Messages(Vec<AgentMessage>),
    /// The agent is gone and will say no more; the events close what it left open.
    Ended { events: Vec<ChatEvent>, failure: TurnFailure },
}

/// An agent that can be driven.
#[async_trait]
pub trait Adapter: Send + Sync + Debug {
    /// Checks that this agent can apply every part of the contract. What only the running agent knows is asked of it; where it
    /// does not answer, the turn will tell why.
    ///
    /// # Errors
    /// `UNSUPPORTED_EXECUTION_INPUT` at the path of the field.
    async fn prepare(&self, execution: &PreparedExecution, host: &HostContext) -> Result<()>;

    /// Checks that this agent can take every block of the prompt, before anything is sent.
    ///
    /// # Errors
    /// `UNSUPPORTED_PROMPT_PART` naming the block.
    async fn check_prompt(&self, execution: &PreparedExecution, prompt: &Value) -> Result<(), ChatError>;

    /// Ends what `prepare` left running.
    async fn close(&self) {}

    /// Starts the agent, or picks up its session.
    ///
    /// # Errors
    /// The failure with which the turn is sealed.
    async fn open(&self, opening: Opening<'_>) -> Result<Box<dyn AgentSession>, TurnFailure>;
}

/// A native session of one conversation. It is driven by one task.
#[async_trait]
pub trait AgentSession: Send + Sync + Debug {
    /// Which of the agent's streams its messages come on, such as `codex.app-server.notification`.
    fn source(&self) -> &str;

    /// Where this session can be picked up again, once a turn has begun.
    fn checkpoint(&self) -> Option<NativeCheckpoint>;

    /// How long the stream must be silent after a turn's end before the turn is sealed, since agents send late words.
    fn quiet_window(&self) -> Duration;

    /// Whether a turn runs that the agent has begun by itself, and whose end it will tell. Where it does not tell, such a turn is over
    /// after a short silence.
    fn tells_end(&self) -> bool {
        false
    }

    /// Sends the prompt. What the agent says to it comes from `next`.
    ///
    /// # Errors
    /// The failure with which the turn is sealed.
    async fn start_turn(&mut self, prompt: &Value) -> Result<(), TurnFailure>;

    /// Waits for the next messages, also outside a turn. It may be dropped while it waits without losing any.
    async fn next(&mut self) -> AgentOutput;

    /// Puts an answer to a request of the agent into the agent's own form, ready to be delivered, and says what it means. Empty
    /// where the agent waits for no such answer any more.
    fn answer(&mut self, request_id: &str, answer: &RequestAnswer) -> Vec<ChatEvent>;

    /// Whether a tool that a request asks leave for can run with another input than the model's.
    fn takes_updated_input(&self, _request_id: &str) -> bool {
        false
    }

    /// Sends the answers that were made. Apart from `answer`, so that they can be journaled before the agent acts on them.
    async fn deliver(&mut self);

    /// The choice that `full_access` takes: one that allows, and writes nothing down for later sessions.
    fn full_access_choice(&self, choices: &[PermissionChoice]) -> Option<String> {
        let of_kind = |kind: &str| choices.iter().find(|choice| choice.kind == kind).map(|choice| choice.option_id.clone());
        of_kind("allow_once").or_else(|| of_kind("allow_always"))
    }

    /// Asks the agent to end the running turn; its end comes from `next`.
    async fn interrupt(&mut self);

    /// Ends the agent.
    async fn close(&mut self);
}
