//! From a program to an open thread.

use super::auth::{HEADER_VARIABLE, KEY_VARIABLE};
use super::catalog::{Catalog, Page};
use super::failure;
use super::mcp;
use super::prompt::Images;
use super::session::{CodexSession, Running};
use super::settings::Settings;
use crate::adapter::{HostContext, NativeCheckpoint, Opening};
use crate::home::LoginFile;
use crate::json_rpc::{CallError, Connection};
use crate::process::{Launch, Processes};
use crate::recorder::Recorder;
use crate::registry::AgentOptions;
use crate::resolved::Resolved;
use crate::secrets::Secrets;
use chat_grammar::Result;
use chat_grammar::contract::{ExecutionContract, PermissionMode};
use chat_grammar::event::{ChatEvent, EventKind, FailureClass};
use chat_grammar::records::TurnFailure;
use chat_normalizers::{Options, normalizer};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The versions that the recordings cover.
const KNOWN_VERSIONS: &str = "0.171.";
/// How many models one answer lists.
const PAGE: u64 = 100;

/// What Codex tells nobody and nobody needs.
const UNHEARD: [&str; 3] = ["account/rateLimits/updated", "thread/readState/changed", "remoteControl/status/changed"];

/// Starts the program.
pub(super) async fn spawn(
    processes: &Processes,
    options: &AgentOptions,
    launch: &Launch,
    resolved: &Resolved,
    host: &HostContext,
) -> Result<Connection, TurnFailure> {
    let secrets = secrets(launch, resolved);
    let recorder = options.record.as_ref().and_then(|record| {
        let details = json!({ "cwd": launch.cwd });
        Recorder::start(&record.dir, "codex", details, secrets.clone())
            .inspect_err(|error| tracing::warn!(%error, "nothing is recorded"))
            .ok()
    });
    let process = processes
        .spawn(launch, &host.host_id, recorder)
        .await
        .map_err(|problem| TurnFailure::new(FailureClass::Runtime, "agent_missing", problem, false))?;
    let Some(normalizer) = normalizer("codex", Options::default()) else {
        return Err(TurnFailure::new(FailureClass::Runtime, "internal", "Codex's messages cannot be read", false));
    };
    Ok(Connection::new(process, normalizer, secrets))
}

/// What must stand in no recording and no message: all that the host resolved as secret, and the account's key and headers.
fn secrets(launch: &Launch, resolved: &Resolved) -> Secrets {
    let mut secrets = resolved.secrets();
    let ours = |name: &str| name == KEY_VARIABLE || name.starts_with(HEADER_VARIABLE);
    launch.env.iter().filter(|(name, _)| ours(name)).for_each(|(_, value)| secrets.add(value));
    secrets
}

/// The handshake. A version that the recordings do not cover is told.
pub(super) async fn greet(connection: &mut Connection) -> Result<(), TurnFailure> {
    let client = json!({ "name": "chat-native", "title": "chat-native", "version": env!("CARGO_PKG_VERSION") });
    let capabilities = json!({ "experimentalApi": true, "requestAttestation": false, "optOutNotificationMethods": UNHEARD });
    let answer = call(connection, "initialize", &json!({ "clientInfo": client, "capabilities": capabilities })).await?;
    connection.notify("initialized");
    let agent = answer["userAgent"].as_str().unwrap_or_default();
    let version = agent.split_once('/').and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or("unknown");
    if !version.starts_with(KNOWN_VERSIONS) {
        let message = format!("Codex {version} is of another version than was tested ({KNOWN_VERSIONS}x)");
        connection.keep(vec![EventKind::Warning { message, detail: None, retry: None }.into()]);
    }
    Ok(())
}

pub(super) async fn ask_catalog(connection: &mut Connection) -> Result<Catalog, TurnFailure> {
    let mut catalog = Catalog::default();
    let mut cursor: Option<String> = None;
    loop {
        let params = json!({ "limit": PAGE, "includeHidden": true, "cursor": cursor });
        let answer = call(connection, "model/list", &params).await?;
        let Ok(mut page) = serde_json::from_value::<Page>(answer) else { return Ok(catalog) };
        let next = page.next_cursor.take();
        catalog.add(page);
        if next.is_none() || next == cursor {
            return Ok(catalog);
        }
        cursor = next;
    }
}

async fn call(connection: &mut Connection, method: &str, params: &Value) -> Result<Value, TurnFailure> {
    match connection.call(method, params).await {
        Ok(answer) => Ok(answer),
        Err(error) => Err(failure::of_call(connection, error).await),
    }
}

/// How a thread is to be opened.
pub(super) struct Plan<'a> {
    contract: &'a ExecutionContract,
    checkpoint: Option<&'a NativeCheckpoint>,
    settings: Settings,
    servers: Map<String, Value>,
    instructions: Option<String>,
}

impl<'a> Plan<'a> {
    /// # Errors
    /// `UNSUPPORTED_EXECUTION_INPUT`.
    pub(super) fn new(opening: &Opening<'a>, resolved: &Resolved) -> Result<Self> {
        let contract = &opening.execution.contract;
        Ok(Self {
            contract,
            checkpoint: opening.checkpoint,
            settings: Settings::read(&contract.model)?,
            servers: mcp::servers(&resolved.mcp_servers)?,
            instructions: resolved.instructions.clone().filter(|instructions| !instructions.is_empty()),
        })
    }

    /// Opens the thread: the checkpoint's where it can be taken up, else a new one.
    pub(super) async fn open(
        &self,
        mut connection: Connection,
        catalog: &Catalog,
        login: &mut Option<LoginFile>,
    ) -> Result<CodexSession, TurnFailure> {
        let common = self.common_params(&connection, catalog);
        // Codex keeps the instructions of a thread's beginning for good: other ones need another thread.
        let resumed = match self.checkpoint {
            Some(checkpoint) if checkpoint.data["instructions"] == self.instructions_mark() => {
                self.resume(&mut connection, checkpoint, &common).await?
            }
            Some(_) => {
                connection.keep(vec![without_history("Its instructions have changed")]);
                None
            }
            None => None,
        };
        let is_resumed = resumed.is_some();
        let answer = match resumed {
            Some(answer) => answer,
            None => {
                let mut params = common;
                params.insert("developerInstructions".to_owned(), json!(self.instructions));
                call(&mut connection, "thread/start", &Value::Object(params)).await?
            }
        };
        self.check_applied(&answer)?;
        let thread_id = answer["thread"]["id"].as_str().unwrap_or_default().to_owned();
        let model_id = &self.contract.model.model_id;
        let running = Running {
            thread_id,
            turn_params: self.turn_params(catalog, is_resumed),
            servers: self.servers.keys().cloned().collect(),
            checkpoint_data: json!({ "instructions": self.instructions_mark() }),
            login: login.take(),
            images: if catalog.takes_images(model_id) { Images::Taken } else { Images::Refused },
        };
        Ok(CodexSession::new(connection, running, is_resumed))
    }

    /// `None` where Codex has lost the thread: what it held is gone, which is told, and a new one begins.
    async fn resume(
        &self,
        connection: &mut Connection,
        checkpoint: &NativeCheckpoint,
        common: &Map<String, Value>,
    ) -> Result<Option<Value>, TurnFailure> {
        let mut params = common.clone();
        params.insert("threadId".to_owned(), checkpoint.provider_session_id.as_str().into());
        params.insert("excludeTurns".to_owned(), true.into());
        match connection.call("thread/resume", &Value::Object(params)).await {
            Ok(answer) => Ok(Some(answer)),
            Err(CallError::Refused { message, .. }) if message.contains("no rollout found") => {
                connection.take_failure();
                connection.keep(vec![without_history("It no longer has this conversation")]);
                Ok(None)
            }
            Err(error) => Err(failure::of_call(connection, error).await),
        }
    }

    fn common_params(&self, connection: &Connection, catalog: &Catalog) -> Map<String, Value> {
        let mut servers = self.servers.clone();
        // Codex gives its servers a bare environment; what they start must be found all the same.
        for env in servers.values_mut().filter_map(|server| server.get_mut("env")).filter_map(Value::as_object_mut) {
            env.extend(connection.marks().iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))));
        }
        let mut params = Map::new();
        params.insert("model".to_owned(), self.contract.model.model_id.as_str().into());
        params.insert("cwd".to_owned(), self.contract.cwd.path.as_str().into());
        params.insert("approvalPolicy".to_owned(), self.approval_policy());
        params.insert("sandbox".to_owned(), "danger-full-access".into());
        params.insert("serviceTier".to_owned(), json!(self.service_tier(catalog)));
        params.insert("config".to_owned(), json!({ "mcp_servers": servers }));
        params
    }

    fn turn_params(&self, catalog: &Catalog, resumed: bool) -> Map<String, Value> {
        let model_id = &self.contract.model.model_id;
        let chosen = self.settings.effort.as_ref().map(|effort| effort.value.as_str());
        // A resumed thread keeps the effort of its last turn.
        let effort = chosen.or_else(|| catalog.default_effort(model_id).filter(|_| resumed));
        let mut params = Map::new();
        params.insert("summary".to_owned(), self.settings.summary.as_str().into());
        params.insert("serviceTier".to_owned(), json!(self.service_tier(catalog)));
        if let Some(effort) = effort {
            params.insert("effort".to_owned(), effort.into());
        }
        params
    }

    fn service_tier(&self, catalog: &Catalog) -> Option<String> {
        let speed = self.settings.speed.as_ref()?;
        Some(catalog.tier(&self.contract.model.model_id, &speed.value))
    }

    // `never` would refuse commands such as `rm -rf` and decline what MCP servers ask (0.171.0), so in full access everything is
    // asked too, and leave is given at once.
    fn approval_policy(&self) -> Value {
        match self.contract.permission_mode {
            PermissionMode::Ask => json!("untrusted"),
            PermissionMode::FullAccess => json!({ "granular": {
                "sandbox_approval": true,
                "rules": true,
                "skill_approval": true,
                "request_permissions": true,
                "mcp_elicitations": true,
            } }),
        }
    }

    fn instructions_mark(&self) -> Value {
        let instructions = self.instructions.as_ref();
        instructions.map_or(Value::Null, |text| format!("{:x}", Sha256::digest(text.as_bytes())).into())
    }

    /// Codex answers with what the thread runs with.
    fn check_applied(&self, answer: &Value) -> Result<(), TurnFailure> {
        let asked = [
            ("model.modelId", json!(self.contract.model.model_id), &answer["model"]),
            ("permissionMode", self.approval_policy(), &answer["approvalPolicy"]),
            ("permissionMode", json!("dangerFullAccess"), &answer["sandbox"]["type"]),
        ];
        match asked.into_iter().find(|(_, asked, applied)| asked != *applied) {
            None => Ok(()),
            Some((path, asked, applied)) => {
                let message = format!("{path}: Codex was asked for {asked} and runs with {applied}");
                Err(TurnFailure::new(FailureClass::Runtime, "unsupported_execution_input", message, false))
            }
        }
    }
}

/// What is told where a conversation goes on in a native session that knows nothing of it.
fn without_history(why: &str) -> ChatEvent {
    let message = "Codex goes on without the earlier turns of this conversation".to_owned();
    EventKind::Warning { message, detail: Some(why.to_owned()), retry: None }.into()
}
