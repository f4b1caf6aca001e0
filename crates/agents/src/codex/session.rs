//! A thread of Codex: one conversation's native session.

use super::answers::Request;
use super::auth::PROVIDER;
use super::failure;
use super::turns::Turns;
use crate::adapter::{AgentMessage, AgentOutput, AgentSession, NativeCheckpoint};
use crate::home::{self, LoginFile};
use crate::json_rpc::{Connection, Envelope};
use crate::line_connection::Heard;
use async_trait::async_trait;
use chat_grammar::event::{ChatEvent, EventKind, FailureClass, FinishReason, PermissionChoice, RequestAnswer};
use chat_grammar::records::TurnFailure;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Late words were seen up to 100 ms after a turn's end: a command that was ended tells so then.
const QUIET_WINDOW: Duration = Duration::from_millis(150);

/// What a thread runs with.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) thread_id: String,
    /// Members of every `turn/start`: Codex keeps the last of each, also across a resume.
    pub(super) turn_params: Map<String, Value>,
    /// The MCP servers that the host selected.
    pub(super) servers: HashSet<String>,
    /// What tells whether the thread can be taken up with another execution.
    pub(super) checkpoint_data: Value,
    pub(super) login: Option<LoginFile>,
    pub(super) images: super::prompt::Images,
}

#[derive(Debug)]
pub(super) struct CodexSession {
    connection: Connection,
    running: Running,
    turns: Turns,
    /// The turn that was asked for and is not known yet, by the request's id.
    starting: Option<u64>,
    interrupted: bool,
    /// What waits for an answer, by the text of the id.
    requests: HashMap<String, Request>,
    /// Answers that were made and not sent.
    answers: Vec<String>,
    /// Why the session must not go on.
    broken: Option<TurnFailure>,
    begun: bool,
}

impl CodexSession {
    pub(super) fn new(connection: Connection, running: Running, resumed: bool) -> Self {
        let turns = Turns::new(running.thread_id.clone());
        Self {
            connection,
            running,
            turns,
            starting: None,
            interrupted: false,
            requests: HashMap::new(),
            answers: Vec::new(),
            broken: None,
            begun: resumed,
        }
    }

    /// Looks at what was heard for what the session itself must know or do.
    fn attend(&mut self, mut heard: Heard, out: &mut Vec<AgentMessage>) {
        heard.events.iter_mut().for_each(name_provider);
        let late = heard.line.as_deref().is_some_and(|line| self.turns.is_late(line));
        let mut more = Vec::new();
        if let Some(line) = heard.line.as_deref().filter(|line| !is_piece(line)) {
            self.attend_line(line, &heard.events, &mut more);
        }
        if !heard.events.is_empty() {
            out.push(heard.into_message(late));
        }
        if !more.is_empty() {
            out.push(AgentMessage::made(more));
        }
    }

    fn attend_line(&mut self, line: &str, events: &[ChatEvent], out: &mut Vec<ChatEvent>) {
        let Some(envelope) = Envelope::read(line) else { return };
        match (envelope.method.as_deref(), envelope.id) {
            (Some(method), Some(id)) => {
                let asks =
                    |event: &ChatEvent| matches!(event.kind, EventKind::PermissionRequested(_) | EventKind::QuestionAsked(_));
                if events.iter().any(asks) {
                    let parse = |json: &str| serde_json::from_str(json).unwrap_or(Value::Null);
                    let params = envelope.params.map_or(Value::Null, |params| parse(params.get()));
                    let id = parse(id.get());
                    let request = Request { id: id.clone(), method: method.to_owned(), params };
                    self.requests.insert(id_text(&id), request);
                } else {
                    // Without an answer the turn would wait for ever.
                    self.connection.refuse(id, &format!("{method} is not available here"), out);
                }
            }
            (Some(method), None) => self.attend_notice(method, envelope.params.map_or("", |params| params.get()), out),
            (None, Some(_)) => {
                if self.starting.is_some_and(|id| envelope.answers(id)) {
                    self.starting = None;
                    if let Some(result) = envelope.result {
                        self.turns.started_by_host(result.get());
                        self.interrupt_what_runs(out);
                    }
                }
            }
            (None, None) => {}
        }
    }

    fn attend_notice(&mut self, method: &str, params: &str, out: &mut Vec<ChatEvent>) {
        match method {
            "turn/started" => {
                self.turns.started(params);
                self.interrupt_what_runs(out);
            }
            "turn/completed" => self.turn_completed(params, out),
            "serverRequest/resolved" => {
                let params: Value = serde_json::from_str(params).unwrap_or(Value::Null);
                self.requests.remove(&id_text(&params["requestId"]));
            }
            "mcpServer/startupStatus/updated" => {
                let params: Value = serde_json::from_str(params).unwrap_or(Value::Null);
                let name = params["name"].as_str().unwrap_or_default();
                if !self.running.servers.contains(name) {
                    let message = format!("Codex started the MCP server {name:?}, which was not selected");
                    self.broken = Some(TurnFailure::new(FailureClass::Runtime, "foreign_mcp_server", message, false));
                }
            }
            _ => {}
        }
    }

    fn turn_completed(&mut self, params: &str, out: &mut Vec<ChatEvent>) {
        let Some(thread_id) = self.turns.completed(params) else { return };
        if self.interrupted {
            // Codex lets the commands of an interrupted turn go on, and its sub-agents too (0.171.0).
            self.connection.request("thread/backgroundTerminals/clean", &json!({ "threadId": thread_id }), out);
            self.interrupt_what_runs(out);
        }
    }

    fn interrupt_what_runs(&mut self, out: &mut Vec<ChatEvent>) {
        if self.interrupted {
            for (thread_id, turn_id) in self.turns.take_interruptible() {
                self.connection.request("turn/interrupt", &json!({ "threadId": thread_id, "turnId": turn_id }), out);
            }
        }
    }

    async fn ended(&mut self) -> AgentOutput {
        let failure = match self.broken.take() {
            Some(failure) => failure,
            None => failure::of_exit(&mut self.connection, "in the middle of its work").await,
        };
        let mut events = Vec::new();
        let reason = if self.interrupted { FinishReason::Cancelled } else { FinishReason::Error };
        self.connection.finish(reason, &mut events);
        home::return_login(self.running.login.as_ref());
        AgentOutput::Ended { events, failure }
    }
}

/// The provider of the host's contract stands behind the one of our making.
fn name_provider(event: &mut ChatEvent) {
    if let EventKind::UsageFinal { usage } = &mut event.kind {
        usage.model.provider_id.take_if(|provider| provider == PROVIDER);
    }
}

/// The messages that make up most of a stream and concern only readers.
fn is_piece(line: &str) -> bool {
    line.starts_with("{\"method\":\"item/") && line.get(16..64).is_some_and(|method| method.contains("elta\""))
}

/// A request's id as events name it.
fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

#[async_trait]
impl AgentSession for CodexSession {
    fn source(&self) -> &str {
        self.connection.source()
    }

    // Codex writes a thread down with its first turn.
    fn checkpoint(&self) -> Option<NativeCheckpoint> {
        self.begun.then(|| NativeCheckpoint {
            provider_session_id: self.running.thread_id.clone(),
            data: self.running.checkpoint_data.clone(),
        })
    }

    fn quiet_window(&self) -> Duration {
        QUIET_WINDOW
    }

    async fn start_turn(&mut self, prompt: &Value) -> Result<(), TurnFailure> {
        let input = super::prompt::input(prompt, self.running.images)
            .map_err(|error| TurnFailure::new(FailureClass::Runtime, "unsupported_prompt_part", error.message, false))?;
        let mut params = self.running.turn_params.clone();
        params.insert("threadId".to_owned(), self.running.thread_id.as_str().into());
        params.insert("input".to_owned(), input.into());
        self.interrupted = false;
        let mut events = Vec::new();
        self.starting = Some(self.connection.request("turn/start", &Value::Object(params), &mut events));
        self.connection.keep(events);
        self.begun = true;
        Ok(())
    }

    async fn next(&mut self) -> AgentOutput {
        loop {
            if self.broken.is_some() {
                self.connection.end().await;
                return self.ended().await;
            }
            let heard = self.connection.hear().await;
            if heard.is_empty() {
                return self.ended().await;
            }
            let mut messages = Vec::new();
            heard.into_iter().for_each(|heard| self.attend(heard, &mut messages));
            if !messages.is_empty() {
                return AgentOutput::Messages(messages);
            }
        }
    }

    fn answer(&mut self, request_id: &str, answer: &RequestAnswer) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        let Some(request) = self.requests.remove(request_id) else { return events };
        let (thread_id, turn_id) = (&request.params["threadId"], &request.params["turnId"]);
        if let Some(reason) = request.reason_of_denial(answer) {
            let input = json!([{ "type": "text", "text": reason, "text_elements": [] }]);
            let params = json!({ "threadId": thread_id, "expectedTurnId": turn_id, "input": input });
            self.answers.push(self.connection.prepare_request("turn/steer", &params, &mut events));
        }
        let line = json!({ "id": request.id, "result": request.result(answer) }).to_string();
        self.connection.mean(&line, &mut events);
        self.answers.push(line);
        events
    }

    async fn deliver(&mut self) {
        for line in std::mem::take(&mut self.answers) {
            self.connection.send(line);
        }
    }

    // Codex keeps an allowance for the session in memory; only its lasting rules, which are not offered, go to a file.
    fn full_access_choice(&self, choices: &[PermissionChoice]) -> Option<String> {
        let of_kind = |kind: &str| choices.iter().find(|choice| choice.kind == kind).map(|choice| choice.option_id.clone());
        of_kind("allow_always").or_else(|| of_kind("allow_once"))
    }

    async fn interrupt(&mut self) {
        self.interrupted = true;
        let mut events = Vec::new();
        self.interrupt_what_runs(&mut events);
        self.connection.keep(events);
    }

    async fn close(&mut self) {
        self.connection.end().await;
        home::return_login(self.running.login.as_ref());
    }
}
