//! A native session of Claude Code: one conversation's process.

use super::answers::Request;
use super::control::{self, Control};
use super::failure;
use super::turns::{Sign, Turns};
use crate::adapter::{AgentMessage, AgentOutput, AgentSession, NativeCheckpoint};
use crate::home::{self, LoginFile};
use crate::line_connection::Heard;
use async_trait::async_trait;
use chat_grammar::event::{ChatEvent, EventKind, FailureClass, FinishReason, RequestAnswer, Stop};
use chat_grammar::records::TurnFailure;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;
use uuid::Uuid;

/// How long the next turn's first words wait behind a turn's end, so that they are not taken for late words of that one. Claude Code
/// itself has none.
const BETWEEN_TURNS: Duration = Duration::from_millis(20);

/// What a session runs with.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) session_id: String,
    /// The MCP servers that the host selected.
    pub(super) servers: HashSet<String>,
    /// What tells whether the native session can be taken up with another execution.
    pub(super) checkpoint_data: Value,
    pub(super) login: Option<LoginFile>,
    /// The native session has had a turn, and can be resumed.
    pub(super) begun: bool,
}

#[derive(Debug)]
pub(super) struct ClaudeCodeSession {
    control: Control,
    running: Running,
    turns: Turns,
    /// What was heard and not looked at, since a turn ended before it.
    heard: VecDeque<Heard>,
    /// A turn has just ended.
    between_turns: bool,
    interrupted: bool,
    /// What waits for an answer, by id.
    requests: HashMap<String, Request>,
    /// Answers that were made and not sent.
    answers: Vec<String>,
    /// Why the session must not go on.
    broken: Option<TurnFailure>,
}

/// What a line is, as far as the session must know.
#[derive(Debug, Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    command_uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    state: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    request_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    request: Option<&'a RawValue>,
    #[serde(borrow, default)]
    mcp_servers: Option<&'a RawValue>,
}

impl Line<'_> {
    fn sign(&self) -> Option<Sign<'_>> {
        match (&*self.kind, self.subtype.as_deref()) {
            ("system", Some("init")) => Some(Sign::Begins),
            ("result", _) => Some(Sign::Ends),
            ("command_lifecycle", _) => Some(Sign::Prompt { id: self.command_uuid.as_deref()?, state: self.state.as_deref()? }),
            _ => None,
        }
    }
}

impl ClaudeCodeSession {
    pub(super) fn new(control: Control, running: Running) -> Self {
        Self {
            control,
            running,
            turns: Turns::default(),
            heard: VecDeque::new(),
            between_turns: false,
            interrupted: false,
            requests: HashMap::new(),
            answers: Vec::new(),
            broken: None,
        }
    }

    /// Looks at what was heard for what the session itself must know or do. True where a turn has ended with it.
    fn attend(&mut self, mut heard: Heard, out: &mut Vec<AgentMessage>) -> bool {
        let native = heard.line.take();
        // The pieces of answers make up most of a stream.
        let line = native.as_deref().filter(|line| !line.starts_with(r#"{"type":"stream_event""#));
        let line = line.and_then(|line| serde_json::from_str::<Line<'_>>(line).ok());
        let sign = line.as_ref().and_then(Line::sign);
        let mut events = std::mem::take(&mut heard.events);
        if sign.is_some_and(|sign| self.turns.before(sign)) {
            events.push(EventKind::Done { stop_reason: Stop::Cancelled, native_stop_reason: None }.into());
        }
        if events.iter().any(is_content) {
            self.turns.speaks();
        }
        // The end of a turn that nobody has seen would end the next one.
        let seen = self.turns.is_seen();
        if !seen && sign == Some(Sign::Ends) {
            events.retain(|event| !matches!(event.kind, EventKind::Done { .. }));
        }
        let late = seen && self.turns.is_foreign();
        let mut more = Vec::new();
        if let Some(line) = &line {
            self.attend_line(line, &events, &mut more);
        }
        if let Some(sign) = sign {
            self.turns.after(sign);
        }
        let ends = sign == Some(Sign::Ends);
        if !events.is_empty() {
            out.push(AgentMessage { native, events, late });
        }
        if !more.is_empty() {
            out.push(AgentMessage::made(more));
        }
        ends
    }

    fn attend_line(&mut self, line: &Line<'_>, events: &[ChatEvent], out: &mut Vec<ChatEvent>) {
        match (&*line.kind, line.subtype.as_deref()) {
            ("system", Some("init")) => self.attend_init(line),
            ("control_request", _) => {
                let Some(request_id) = line.request_id.as_deref() else { return };
                let asks =
                    |event: &ChatEvent| matches!(event.kind, EventKind::PermissionRequested(_) | EventKind::QuestionAsked(_));
                let request = line.request.and_then(|request| serde_json::from_str::<Request>(request.get()).ok());
                match request {
                    Some(request) if events.iter().any(asks) => {
                        self.requests.insert(request_id.to_owned(), request);
                    }
                    // Asked again, and open still.
                    _ if self.requests.contains_key(request_id) => {}
                    // Without an answer the turn would wait for ever.
                    request => {
                        let what = request.map_or_else(|| "this request".to_owned(), |request| request.subtype);
                        self.control.refuse(request_id, &format!("{what} is not available here"), out);
                    }
                }
            }
            ("control_cancel_request", _) => {
                self.requests.remove(line.request_id.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn attend_init(&mut self, line: &Line<'_>) {
        #[derive(Deserialize)]
        struct Server<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
        }
        // `/clear` begins another session.
        if let Some(session_id) = line.session_id.as_deref().filter(|id| !id.is_empty()) {
            session_id.clone_into(&mut self.running.session_id);
        }
        let servers = line.mcp_servers.and_then(|servers| serde_json::from_str::<Vec<Server<'_>>>(servers.get()).ok());
        let foreign = servers.into_iter().flatten().find(|server| !self.running.servers.contains(&*server.name));
        if let Some(Server { name }) = foreign {
            let message = format!("Claude Code started the MCP server {name:?}, which was not selected");
            self.broken = Some(TurnFailure::new(FailureClass::Runtime, "foreign_mcp_server", message, false));
        }
    }

    async fn ended(&mut self) -> AgentOutput {
        let failure = match self.broken.take() {
            Some(failure) => failure,
            None => failure::of_exit(&mut self.control, "in the middle of its work").await,
        };
        let mut events = Vec::new();
        let reason = if self.interrupted { FinishReason::Cancelled } else { FinishReason::Error };
        self.control.finish(reason, &mut events);
        home::return_login(self.running.login.as_ref());
        AgentOutput::Ended { events, failure }
    }
}

/// Whether an event is of the conversation, and no news about the session.
fn is_content(event: &ChatEvent) -> bool {
    !matches!(
        event.kind,
        EventKind::SessionInit(_)
            | EventKind::Title { .. }
            | EventKind::Mode { .. }
            | EventKind::Commands { .. }
            | EventKind::Config { .. }
            | EventKind::Warning { .. }
            | EventKind::Debug { .. }
            | EventKind::UsageFinal { .. }
            | EventKind::Done { .. }
            | EventKind::Unmapped { .. }
    )
}

#[async_trait]
impl AgentSession for ClaudeCodeSession {
    fn source(&self) -> &str {
        self.control.source()
    }

    // Claude Code writes a session down with its first prompt.
    fn checkpoint(&self) -> Option<NativeCheckpoint> {
        self.running.begun.then(|| NativeCheckpoint {
            provider_session_id: self.running.session_id.clone(),
            data: self.running.checkpoint_data.clone(),
        })
    }

    // What follows a result is of another turn.
    fn quiet_window(&self) -> Duration {
        Duration::ZERO
    }

    fn tells_end(&self) -> bool {
        self.turns.is_own()
    }

    async fn start_turn(&mut self, prompt: &Value) -> Result<(), TurnFailure> {
        let content = super::prompt::content(prompt)
            .map_err(|error| TurnFailure::new(FailureClass::Runtime, "unsupported_prompt_part", error.message, false))?;
        let id = Uuid::new_v4().to_string();
        let message = json!({ "role": "user", "content": content });
        let line = json!({ "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "", "uuid": id });
        self.interrupted = false;
        let mut events = Vec::new();
        self.control.say(line.to_string(), &mut events);
        self.control.keep(events);
        self.turns.prompted(id);
        self.running.begun = true;
        Ok(())
    }

    async fn next(&mut self) -> AgentOutput {
        loop {
            if self.broken.is_some() {
                self.control.end().await;
                return self.ended().await;
            }
            if self.between_turns {
                tokio::time::sleep(BETWEEN_TURNS).await;
                self.between_turns = false;
            }
            if self.heard.is_empty() {
                self.heard.extend(self.control.hear().await);
                if self.heard.is_empty() {
                    return self.ended().await;
                }
            }
            let mut messages = Vec::new();
            while let Some(heard) = self.heard.pop_front() {
                if self.attend(heard, &mut messages) {
                    self.between_turns = true;
                    break;
                }
            }
            if !messages.is_empty() {
                return AgentOutput::Messages(messages);
            }
        }
    }

    fn answer(&mut self, request_id: &str, answer: &RequestAnswer) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        let Some(request) = self.requests.remove(request_id) else { return events };
        let line = control::response(request_id, &request.response(answer));
        self.control.mean(&line, &mut events);
        self.answers.push(line);
        events
    }

    fn takes_updated_input(&self, request_id: &str) -> bool {
        self.requests.get(request_id).is_some_and(Request::asks_leave)
    }

    async fn deliver(&mut self) {
        for line in std::mem::take(&mut self.answers) {
            self.control.send(line);
        }
    }

    async fn interrupt(&mut self) {
        self.interrupted = true;
        let mut events = Vec::new();
        // A prompt that waits would run next.
        self.control.request(&json!({ "subtype": "interrupt", "cancel_queued": true }), &mut events);
        self.control.keep(events);
    }

    async fn close(&mut self) {
        self.control.end().await;
        home::return_login(self.running.login.as_ref());
    }
}
