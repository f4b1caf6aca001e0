//! An agent that says what a test has it say, and tells what it heard.

use super::Setup;
use async_trait::async_trait;
use chat_agents::{
    Adapter, Adapters, AgentMessage, AgentOutput, AgentSession, HostContext, NativeCheckpoint, Opening, PreparedExecution,
};
use chat_grammar::Result;
use chat_grammar::event::{ChatEvent, EventKind, FailureClass, PermissionChoice, PermissionRequested, RequestAnswer, Stop};
use chat_grammar::records::TurnFailure;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What the agent heard from the core.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    Opened,
    Prompt,
    /// An answer that it was to make ready.
    Answer(String, RequestAnswer),
    Delivery,
    Interrupt,
    Close,
}

/// What the agent's account of an answer is.
pub(crate) type Tell = fn(&str, &RequestAnswer) -> Vec<ChatEvent>;
/// Runs when answers are delivered.
pub(crate) type OnDelivery = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// The test's end of the agent.
pub(crate) struct Script {
    say: UnboundedSender<AgentOutput>,
    pub(crate) heard: UnboundedReceiver<Heard>,
}

impl Script {
    /// A setup whose only agent is this one.
    pub(crate) fn new(tell: Tell, on_delivery: OnDelivery) -> (Setup, Self) {
        let (say, lines) = unbounded_channel();
        let (hear, heard) = unbounded_channel();
        let agent = Agent { lines: Arc::new(Mutex::new(lines)), hear, tell, on_delivery };
        let adapters = Arc::new(Adapters::custom(vec![("scripted", Arc::new(agent))]));
        (Setup { adapters: Some(adapters), ..Setup::default() }, Self { say, heard })
    }

    /// One whose answers mean nothing more.
    pub(crate) fn plain() -> (Setup, Self) {
        Self::new(|_, _| Vec::new(), Arc::new(|| Box::pin(async {})))
    }

    pub(crate) fn says(&self, events: Vec<EventKind>) {
        self.says_message(AgentMessage::made(events.into_iter().map(ChatEvent::from).collect()));
    }

    pub(crate) fn says_late(&self, events: Vec<EventKind>) {
        let events = events.into_iter().map(ChatEvent::from).collect();
        self.says_message(AgentMessage { native: Some(r#"{"late":true}"#.to_owned()), events, late: true });
    }

    fn says_message(&self, message: AgentMessage) {
        self.say.send(AgentOutput::Messages(vec![message])).expect("the agent lives");
    }

    pub(crate) fn dies(&self) {
        let failure = TurnFailure::new(FailureClass::Transport, "agent_exited", "it is gone", true);
        self.say.send(AgentOutput::Ended { events: Vec::new(), failure }).expect("the agent lives");
    }

    /// What the agent hears next.
    pub(crate) async fn hears(&mut self) -> Heard {
        self.heard.recv().await.expect("the agent lives")
    }
}

pub(crate) fn text(text: &str) -> EventKind {
    EventKind::TextDelta { text: text.to_owned(), message_id: Some("m".to_owned()) }
}

pub(crate) fn done(stop_reason: Stop) -> EventKind {
    EventKind::Done { stop_reason, native_stop_reason: None }
}

/// A request for leave with the choices `yes` and `no`.
pub(crate) fn asks(id: &str) -> EventKind {
    let choice =
        |id: &str, kind: &str| PermissionChoice { option_id: id.to_owned(), name: id.to_owned(), kind: kind.to_owned() };
    EventKind::PermissionRequested(PermissionRequested {
        request_id: id.to_owned(),
        tool_call_id: Some(format!("call-{id}")),
        action: "Bash".to_owned(),
        title: format!("Run {id}"),
        kind: chat_grammar::acp::ToolKind::Execute,
        input: json!({ "command": id }),
        options: vec![choice("yes", "allow_once"), choice("no", "reject_once")],
    })
}

/// A contract for this agent, which asks.
pub(crate) fn contract() -> Value {
    let mut contract = super::contract("default", "instant");
    contract["agent"]["adapterId"] = json!("scripted");
    contract["permissionMode"] = json!("ask");
    contract
}

#[derive(Clone)]
struct Agent {
    lines: Arc<Mutex<UnboundedReceiver<AgentOutput>>>,
    hear: UnboundedSender<Heard>,
    tell: Tell,
    on_delivery: OnDelivery,
}

impl Agent {
    fn hear(&self, heard: Heard) {
        // A test that listens no more needs no word.
        let _ = self.hear.send(heard);
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Agent")
    }
}

#[async_trait]
impl Adapter for Agent {
    async fn prepare(&self, _: &PreparedExecution, _: &HostContext) -> Result<()> {
        Ok(())
    }
    async fn check_prompt(&self, _: &PreparedExecution, _: &Value) -> Result<()> {
        Ok(())
    }
    async fn open(&self, _: Opening<'_>) -> Result<Box<dyn AgentSession>, TurnFailure> {
        self.hear(Heard::Opened);
        Ok(Box::new(Session { agent: self.clone(), closed: false }))
    }
}

#[derive(Debug)]
struct Session {
    agent: Agent,
    closed: bool,
}

#[async_trait]
impl AgentSession for Session {
    fn source(&self) -> &str {
        "scripted"
    }
    fn checkpoint(&self) -> Option<NativeCheckpoint> {
        None
    }
    fn quiet_window(&self) -> Duration {
        Duration::ZERO
    }
    async fn start_turn(&mut self, _: &Value) -> Result<(), TurnFailure> {
        self.agent.hear(Heard::Prompt);
        Ok(())
    }
    async fn next(&mut self) -> AgentOutput {
        if self.closed {
            let failure = TurnFailure::new(FailureClass::Runtime, "agent_exited", "it was closed", true);
            return AgentOutput::Ended { events: Vec::new(), failure };
        }
        match self.agent.lines.lock().await.recv().await {
            Some(output) => output,
            None => std::future::pending().await,
        }
    }
    fn answer(&mut self, request_id: &str, answer: &RequestAnswer) -> Vec<ChatEvent> {
        self.agent.hear(Heard::Answer(request_id.to_owned(), answer.clone()));
        (self.agent.tell)(request_id, answer)
    }
    fn takes_updated_input(&self, request_id: &str) -> bool {
        request_id.starts_with("changeable")
    }
    async fn deliver(&mut self) {
        (self.agent.on_delivery)().await;
        self.agent.hear(Heard::Delivery);
    }
    async fn interrupt(&mut self) {
        self.agent.hear(Heard::Interrupt);
    }
    async fn close(&mut self) {
        self.closed = true;
        self.agent.hear(Heard::Close);
    }
}
