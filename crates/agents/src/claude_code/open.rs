//! From a program to a native session that takes prompts.

use super::auth::{HEADERS_VARIABLE, KEY_VARIABLE, SECRET_VARIABLES};
use super::catalog::Catalog;
use super::control::{CallError, Control};
use super::failure;
use super::mcp;
use super::session::{ClaudeCodeSession, Running};
use crate::adapter::{HostContext, PreparedExecution};
use crate::home::LoginFile;
use crate::line_connection::LineConnection;
use crate::process::{Launch, Processes};
use crate::recorder::Recorder;
use crate::registry::AgentOptions;
use crate::resolved::Resolved;
use crate::secrets::Secrets;
use crate::spares::Started;
use chat_grammar::Result;
use chat_grammar::contract::ExecutionContract;
use chat_grammar::event::{ChatEvent, EventKind, FailureClass};
use chat_grammar::records::TurnFailure;
use chat_normalizers::{Options, normalizer};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The versions that the recordings cover.
const KNOWN_VERSIONS: &str = "2.1.";

/// Which native session a process holds: its id is given when it is started.
#[derive(Debug, Clone)]
pub(super) struct Native {
    pub(super) session_id: String,
    resumed: bool,
}

impl Native {
    pub(super) fn fresh() -> Self {
        Self { session_id: Uuid::new_v4().to_string(), resumed: false }
    }

    pub(super) fn resumed(session_id: &str) -> Self {
        Self { session_id: session_id.to_owned(), resumed: true }
    }

    fn argument(&self) -> String {
        let option = if self.resumed { "--resume" } else { "--session-id" };
        format!("{option}={}", self.session_id)
    }
}

/// A Claude Code that has answered.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) control: Control,
    pub(super) session_id: String,
    pub(super) catalog: Catalog,
    /// The native session has had a turn.
    pub(super) begun: bool,
}

impl Started for Ready {
    fn pid(&self) -> u32 {
        self.control.pid()
    }

    async fn end(&mut self) {
        self.control.end().await;
    }
}

/// What came of a start.
#[derive(Debug)]
pub(super) enum Opened {
    Ready(Box<Ready>),
    /// There is no native session of the id that was to be resumed.
    Unknown(TurnFailure),
}

/// How a native session is to be opened.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    contract: &'a ExecutionContract,
    servers: Map<String, Value>,
    secrets: Secrets,
    pub(super) instructions: Option<String>,
}

/// Starts the program.
pub(super) async fn spawn(
    processes: &Processes,
    options: &AgentOptions,
    launch: &Launch,
    plan: &Plan<'_>,
    native: &Native,
    host: &HostContext,
) -> Result<Control, TurnFailure> {
    let mut launch = launch.clone();
    launch.args.push(native.argument());
    let secrets = secrets(&launch, plan);
    let recorder = options.record.as_ref().and_then(|record| {
        let details = json!({ "cwd": launch.cwd });
        Recorder::start(&record.dir, "claude_code", details, secrets.clone())
            .inspect_err(|error| tracing::warn!(%error, "nothing is recorded"))
            .ok()
    });
    let process = processes
        .spawn(&launch, &host.host_id, recorder)
        .await
        .map_err(|problem| TurnFailure::new(FailureClass::Runtime, "agent_missing", problem, false))?;
    let known = Options {
        cwd: Some(plan.contract.cwd.path.clone()),
        provider_session_id: native.resumed.then(|| native.session_id.clone()),
        model: None,
    };
    let Some(normalizer) = normalizer("claude_code", known) else {
        return Err(TurnFailure::new(FailureClass::Runtime, "internal", "Claude Code's messages cannot be read", false));
    };
    Ok(Control::new(LineConnection::new(process, normalizer, secrets)))
}

/// What must stand in no recording and no message: all that the host resolved as secret, and the account's key and headers.
fn secrets(launch: &Launch, plan: &Plan<'_>) -> Secrets {
    let mut secrets = plan.secrets.clone();
    if let Some(key) = launch.env.get(KEY_VARIABLE) {
        secrets.add(key);
    }
    let headers = launch.env.get(HEADERS_VARIABLE).map(String::as_str).unwrap_or_default();
    headers.lines().filter_map(|line| line.split_once(": ")).for_each(|(_, value)| secrets.add(value));
    secrets
}

/// The handshake. A version that the recordings do not cover is told.
pub(super) async fn greet(mut control: Control, plan: &Plan<'_>, native: Native) -> Result<Opened, TurnFailure> {
    let mut request = json!({ "subtype": "initialize" });
    if let Some(instructions) = &plan.instructions {
        request["appendSystemPrompt"] = instructions.as_str().into();
    }
    let answer = match control.call(&request).await {
        Ok(answer) => answer,
        // A session that it does not have is told by a result, and the process ends.
        Err(CallError::Ended) if native.resumed => {
            let is_unknown = control.take_failure().is_some_and(|error| error.reason == "session_not_found");
            let failure = failure::of_exit(&mut control, "before it was ready").await;
            return if is_unknown { Ok(Opened::Unknown(failure)) } else { Err(failure) };
        }
        Err(error) => return Err(failure::of_call(&mut control, error).await),
    };
    if let Some(version) = answer["claude_code_version"].as_str().filter(|version| !version.starts_with(KNOWN_VERSIONS)) {
        let message = format!("Claude Code {version} is of another version than was tested ({KNOWN_VERSIONS}x)");
        control.keep(vec![EventKind::Warning { message, detail: None, retry: None }.into()]);
    }
    let catalog = Catalog::read(&answer);
    let ready = Ready { control, session_id: native.session_id, catalog, begun: false };
    Ok(Opened::Ready(Box::new(ready)))
}

impl<'a> Plan<'a> {
    /// # Errors
    /// `UNSUPPORTED_EXECUTION_INPUT`.
    pub(super) fn new(execution: &'a PreparedExecution, resolved: &Resolved) -> Result<Self> {
        Ok(Self {
            contract: &execution.contract,
            servers: mcp::servers(&resolved.mcp_servers)?,
            secrets: resolved.secrets(),
            instructions: resolved.instructions.clone().filter(|instructions| !instructions.is_empty()),
        })
    }

    /// What tells whether a native session can go on: Claude Code keeps the instructions of its beginning for good (2.1.332).
    pub(super) fn checkpoint_data(&self) -> Value {
        let instructions = self.instructions.as_ref().map(|text| format!("{:x}", Sha256::digest(text.as_bytes())));
        json!({ "instructions": instructions })
    }

    /// Gives the process its servers, and makes a session of it.
    pub(super) async fn open(&self, ready: Ready, login: Option<LoginFile>) -> Result<ClaudeCodeSession, TurnFailure> {
        let Ready { mut control, session_id, begun, .. } = ready;
        if !self.servers.is_empty() {
            let mut servers = self.servers.clone();
            for env in servers.values_mut().filter_map(|server| server.get_mut("env")).filter_map(Value::as_object_mut) {
                // What they start must be found all the same.
                env.extend(control.marks().iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))));
                // Servers inherit Claude Code's whole environment (2.1.332); what the host gives them itself stays.
                for name in SECRET_VARIABLES {
                    env.entry(name).or_insert_with(|| "".into());
                }
            }
            // Answered when all have connected or failed.
            if let Err(error) = control.call(&json!({ "subtype": "mcp_set_servers", "servers": servers })).await {
                return Err(failure::of_call(&mut control, error).await);
            }
        }
        let servers = self.servers.keys().cloned().collect();
        Ok(ClaudeCodeSession::new(
            control,
            Running { session_id, servers, login, begun, checkpoint_data: self.checkpoint_data() },
        ))
    }
}

/// What is told where a conversation goes on in a native session that knows nothing of it.
pub(super) fn without_history(why: &str) -> ChatEvent {
    let message = "Claude Code goes on without the earlier turns of this conversation".to_owned();
    EventKind::Warning { message, detail: Some(why.to_owned()), retry: None }.into()
}
