//! `NativeChatRuntime`: the agents.

use crate::error::{parse, to_napi};
use crate::promise::answer;
use chat_agents::{Adapters, AgentOptions};
use napi::Env;
use napi::bindgen_prelude::AsyncBlock;
use napi_derive::napi;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of the built-in runtime.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuntimeOptions {
    #[serde(flatten)]
    agents: AgentOptions,
    #[serde(flatten)]
    limits: RuntimeLimits,
    state_dir: Option<PathBuf>,
}

/// Limits that the session core keeps, in milliseconds.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuntimeLimits {
    pub(crate) idle_timeout_ms: Option<u64>,
    pub(crate) idle_limit_ms: Option<u64>,
    pub(crate) request_limit_ms: Option<u64>,
    pub(crate) retry_limit_ms: Option<u64>,
}

/// The agents that a chat can drive.
#[napi]
pub struct NativeRuntime {
    pub(crate) adapters: Arc<Adapters>,
    pub(crate) limits: RuntimeLimits,
    /// Folder of the agents' private homes; beside the database where there is none.
    pub(crate) state_dir: Option<PathBuf>,
}

#[napi]
impl NativeRuntime {
    /// The agents of this version, with options as JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(options_json: String) -> napi::Result<Self> {
        let options: RuntimeOptions = parse("native", &options_json).map_err(to_napi)?;
        Ok(Self { adapters: Arc::new(Adapters::new(options.agents)), limits: options.limits, state_dir: options.state_dir })
    }

    /// Takes no more executions.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: &Env) -> napi::Result<AsyncBlock<()>> {
        let adapters = Arc::clone(&self.adapters);
        answer(env, async move {
            adapters.close().await;
            Ok(())
        })
    }
}
