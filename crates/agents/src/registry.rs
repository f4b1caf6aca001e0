//! The agents of this version, one line each.

use crate::adapter::Adapter;
use crate::claude_code::ClaudeCodeAdapter;
use crate::codex::CodexAdapter;
use crate::process::Processes;
use crate::replay::ReplayAdapter;
use chat_grammar::{ChatError, ErrorCode, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Options of the built-in runtime that agents read.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentOptions {
    /// Folders whose recordings `replay` may open by absolute path.
    pub replay_dirs: Vec<PathBuf>,
    /// Folder of the recordings that come with the package.
    pub bundled_recordings: Option<PathBuf>,
    /// Executables by adapter and installation id.
    pub installations: BTreeMap<String, BTreeMap<String, Installation>>,
    /// The environment of the host. It is handed in, since a program in another language may change its own meanwhile.
    pub host_env: BTreeMap<String, String>,
    /// The variables of the host that agents inherit; all but those that steer agents where there is no list.
    pub inherit_env: Option<Vec<String>>,
    /// How long an agent may take to start and say what it can, in milliseconds.
    pub start_limit_ms: u64,
    /// Where to write what agents say; nowhere where there is none.
    pub record: Option<RecordOptions>,
}

/// An executable of an agent.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Installation {
    pub command: String,
    /// Arguments before those of the adapter.
    #[serde(default)]
    pub args: Vec<String>,
    /// Further environment of the agent.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Where recordings go.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordOptions {
    pub dir: PathBuf,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            replay_dirs: Vec::new(),
            bundled_recordings: None,
            installations: BTreeMap::new(),
            host_env: BTreeMap::new(),
            inherit_env: None,
            start_limit_ms: 60_000,
            record: None,
        }
    }
}

// Values of the environment are secrets.
impl fmt::Debug for AgentOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AgentOptions")
            .field("replay_dirs", &self.replay_dirs)
            .field("bundled_recordings", &self.bundled_recordings)
            .field("installations", &self.installations)
            .field("inherit_env", &self.inherit_env)
            .field("start_limit_ms", &self.start_limit_ms)
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Installation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.keys().collect();
        formatter
            .debug_struct("Installation")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &names)
            .finish()
    }
}

impl AgentOptions {
    /// The executable that the host named for an installation.
    pub(crate) fn installation(&self, adapter_id: &str, installation_id: &str) -> Option<&Installation> {
        self.installations.get(adapter_id)?.get(installation_id)
    }
}

/// The agents that can be driven, by adapter id.
#[derive(Debug)]
pub struct Adapters {
    closed: AtomicBool,
    adapters: Vec<(&'static str, Arc<dyn Adapter>)>,
    processes: Processes,
}

impl Adapters {
    /// The agents of this version.
    pub fn new(options: AgentOptions) -> Self {
        let (options, processes) = (Arc::new(options), Processes::default());
        let adapters: Vec<(_, Arc<dyn Adapter>)> = vec![
            ("claude_code", Arc::new(ClaudeCodeAdapter::new(Arc::clone(&options), processes.clone()))),
            ("codex", Arc::new(CodexAdapter::new(Arc::clone(&options), processes.clone()))),
            ("replay", Arc::new(ReplayAdapter::new(options))),
        ];
        Self { closed: AtomicBool::new(false), adapters, processes }
    }

    /// Exactly these agents, by adapter id: for programs that bring their own.
    pub fn custom(adapters: Vec<(&'static str, Arc<dyn Adapter>)>) -> Self {
        Self { closed: AtomicBool::new(false), adapters, processes: Processes::default() }
    }

    /// Gives no more adapters, and ends the agents that no conversation uses. Those of conversations end with their chats.
    pub async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        for (_, adapter) in &self.adapters {
            adapter.close().await;
        }
    }

    /// Kills all agents at once, for a process that ends now.
    pub fn kill_now(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.processes.kill_now();
    }

    /// The adapter that a contract names.
    ///
    /// # Errors
    /// `UNSUPPORTED_EXECUTION_INPUT` at `agent.adapterId`, `CHAT_CLOSED`.
    pub fn get(&self, adapter_id: &str) -> Result<Arc<dyn Adapter>> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(ChatError::new(ErrorCode::ChatClosed, "the runtime is closed"));
        }
        match self.adapters.iter().find(|(id, _)| *id == adapter_id) {
            Some((_, adapter)) => Ok(Arc::clone(adapter)),
            None => {
                let known: Vec<_> = self.adapters.iter().map(|(id, _)| *id).collect();
                let problem = format!("{adapter_id:?} is no adapter of this version; there is: {}", known.join(", "));
                Err(ChatError::unsupported("agent.adapterId", problem))
            }
        }
    }
}
