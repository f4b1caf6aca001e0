//! The agents of this version, one line each.

use crate::adapter::Adapter;
use crate::replay::ReplayAdapter;
use chat_grammar::{ChatError, ErrorCode, Result};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Options of the built-in runtime that agents read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentOptions {
    /// Folders whose recordings `replay` may open by absolute path.
    pub replay_dirs: Vec<PathBuf>,
    /// Folder of the recordings that come with the package.
    pub bundled_recordings: Option<PathBuf>,
}

/// The agents that can be driven, by adapter id.
#[derive(Debug)]
pub struct Adapters {
    closed: AtomicBool,
    adapters: Vec<(&'static str, Arc<dyn Adapter>)>,
}

impl Adapters {
    /// The agents of this version.
    pub fn new(options: AgentOptions) -> Self {
        Self { closed: AtomicBool::new(false), adapters: vec![("replay", Arc::new(ReplayAdapter::new(options)))] }
    }

    /// Exactly these agents, by adapter id: for programs that bring their own.
    pub fn custom(adapters: Vec<(&'static str, Arc<dyn Adapter>)>) -> Self {
        Self { closed: AtomicBool::new(false), adapters }
    }

    /// Gives no more adapters.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
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
