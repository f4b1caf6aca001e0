//! Claude Code, driven by its stream of JSON lines with the control protocol. Facts are of version 2.1.332.

mod answers;
mod auth;
mod catalog;
mod control;
mod failure;
mod launch;
mod mcp;
mod open;
mod prompt;
mod session;
mod settings;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
mod turns;

use crate::account::Account;
use crate::adapter::{Adapter, AgentSession, HostContext, NativeCheckpoint, Opening, PreparedExecution};
use crate::process::{Launch, Processes};
use crate::registry::AgentOptions;
use crate::resolved::Resolved;
use crate::spares::Spares;
use async_trait::async_trait;
use auth::ANTHROPIC;
use catalog::Catalog;
use chat_grammar::event::FailureClass;
use chat_grammar::records::TurnFailure;
use chat_grammar::{ChatError, Result};
use launch::Prepared;
use open::{Native, Opened, Plan, Ready};
use serde_json::Value;
use session::ClaudeCodeSession;
use settings::Settings;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Drives Claude Code.
#[derive(Debug)]
pub(crate) struct ClaudeCodeAdapter {
    options: Arc<AgentOptions>,
    processes: Processes,
    /// By how they were started, and with which instructions: both are for the whole life of a process.
    spares: Arc<Spares<(Launch, Option<String>), Ready>>,
    /// What a Claude Code said of its models, by what decides which Claude Code it is.
    catalogs: Mutex<HashMap<String, Arc<Catalog>>>,
}

impl ClaudeCodeAdapter {
    pub(crate) fn new(options: Arc<AgentOptions>, processes: Processes) -> Self {
        Self { options, processes, spares: Arc::default(), catalogs: Mutex::default() }
    }

    fn catalog(&self, execution: &PreparedExecution) -> Option<Arc<Catalog>> {
        self.lock().get(&catalog_key(execution)).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Catalog>>> {
        self.catalogs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn limit(&self) -> Duration {
        Duration::from_millis(self.options.start_limit_ms)
    }

    /// Asks a running Claude Code about its models, and keeps it for the first turn. `None` where it does not answer: the turn will
    /// tell why.
    async fn negotiate(&self, execution: &PreparedExecution, host: &HostContext) -> Option<Arc<Catalog>> {
        let resolved = Resolved::read(&execution.resolved).ok()?;
        let prepared = launch::prepare(execution, &resolved, &self.options, host).ok()?;
        let plan = Plan::new(execution, &resolved).ok()?;
        let Opened::Ready(ready) = self.start(execution, &plan, &prepared, Native::fresh(), host).await.ok()? else {
            return None;
        };
        self.spares.put((prepared.launch, plan.instructions), &host.host_id, *ready).await;
        self.catalog(execution)
    }

    /// Starts a Claude Code that is ready for a prompt, but for its MCP servers.
    async fn start(
        &self,
        execution: &PreparedExecution,
        plan: &Plan<'_>,
        prepared: &Prepared,
        native: Native,
        host: &HostContext,
    ) -> Result<Opened, TurnFailure> {
        let control = open::spawn(&self.processes, &self.options, &prepared.launch, plan, &native, host).await?;
        let opened = open::greet(control, plan, native).await?;
        if let Opened::Ready(ready) = &opened {
            self.lock().entry(catalog_key(execution)).or_insert_with(|| Arc::new(ready.catalog.clone()));
        }
        Ok(opened)
    }

    async fn open_session(&self, opening: &Opening<'_>) -> Result<Box<dyn AgentSession>, TurnFailure> {
        let Opening { host, execution, checkpoint } = *opening;
        let unsupported =
            |error: ChatError| TurnFailure::new(FailureClass::Runtime, "unsupported_execution_input", error.message, false);
        let resolved = Resolved::read(&execution.resolved).map_err(unsupported)?;
        let prepared = launch::prepare(execution, &resolved, &self.options, host)?;
        let plan = Plan::new(execution, &resolved).map_err(unsupported)?;
        match checkpoint {
            Some(checkpoint) if checkpoint.data != plan.checkpoint_data() => {
                let why = "Its instructions have changed";
                Ok(Box::new(self.anew(execution, &plan, prepared, why, host).await?))
            }
            Some(checkpoint) => self.resume(execution, &plan, prepared, checkpoint, host).await,
            None => self.begin(execution, &plan, prepared, host).await,
        }
    }

    /// A new native session, in a spare process where there is one.
    async fn begin(
        &self,
        execution: &PreparedExecution,
        plan: &Plan<'_>,
        prepared: Prepared,
        host: &HostContext,
    ) -> Result<Box<dyn AgentSession>, TurnFailure> {
        let key = (prepared.launch.clone(), plan.instructions.clone());
        // A spare one may have died meanwhile: then another is started.
        if let Some(ready) = self.spares.take(&key, &host.host_id)
            && let Ok(session) = plan.open(ready, prepared.login.clone()).await
        {
            return Ok(Box::new(session));
        }
        match self.start(execution, plan, &prepared, Native::fresh(), host).await? {
            Opened::Ready(ready) => Ok(Box::new(plan.open(*ready, prepared.login).await?)),
            Opened::Unknown(failure) => Err(failure),
        }
    }

    /// The checkpoint's native session. Where Claude Code has lost it, what it held is gone, which is told, and a new one begins.
    async fn resume(
        &self,
        execution: &PreparedExecution,
        plan: &Plan<'_>,
        prepared: Prepared,
        checkpoint: &NativeCheckpoint,
        host: &HostContext,
    ) -> Result<Box<dyn AgentSession>, TurnFailure> {
        let native = Native::resumed(&checkpoint.provider_session_id);
        let session = match self.start(execution, plan, &prepared, native, host).await? {
            Opened::Ready(mut ready) => {
                ready.begun = true;
                plan.open(*ready, prepared.login).await?
            }
            Opened::Unknown(_) => self.anew(execution, plan, prepared, "It no longer has this conversation", host).await?,
        };
        Ok(Box::new(session))
    }

    /// A new native session in the place of one that cannot go on.
    async fn anew(
        &self,
        execution: &PreparedExecution,
        plan: &Plan<'_>,
        prepared: Prepared,
        why: &str,
        host: &HostContext,
    ) -> Result<ClaudeCodeSession, TurnFailure> {
        match self.start(execution, plan, &prepared, Native::fresh(), host).await? {
            Opened::Ready(mut ready) => {
                ready.control.keep(vec![open::without_history(why)]);
                plan.open(*ready, prepared.login).await
            }
            Opened::Unknown(failure) => Err(failure),
        }
    }
}

/// What decides which Claude Code answers, and with which models.
fn catalog_key(execution: &PreparedExecution) -> String {
    let (agent, auth) = (&execution.contract.agent, &execution.contract.auth);
    let command = &execution.resolved["command"];
    serde_json::json!([agent.installation_id, agent.revision_id, auth.mode, auth.binding_id, command]).to_string()
}

#[async_trait]
impl Adapter for ClaudeCodeAdapter {
    async fn prepare(&self, execution: &PreparedExecution, host: &HostContext) -> Result<()> {
        let contract = &execution.contract;
        let settings = Settings::read(&contract.model)?;
        let resolved = Resolved::of_contract(execution, "Claude Code")?;
        Account::of(&ANTHROPIC, execution, &resolved, &self.options.host_env)?;
        mcp::servers(&resolved.mcp_servers)?;
        let catalog = match self.catalog(execution) {
            Some(catalog) => Some(catalog),
            None => tokio::time::timeout(self.limit(), self.negotiate(execution, host)).await.unwrap_or_default(),
        };
        catalog.map_or(Ok(()), |catalog| catalog.check(&contract.model.model_id, &settings))
    }

    async fn check_prompt(&self, _: &PreparedExecution, prompt: &Value) -> Result<()> {
        prompt::content(prompt).map(drop)
    }

    async fn close(&self) {
        self.spares.end().await;
    }

    async fn open(&self, opening: Opening<'_>) -> Result<Box<dyn AgentSession>, TurnFailure> {
        let limit = self.limit();
        tokio::time::timeout(limit, self.open_session(&opening)).await.unwrap_or_else(|_| {
            let message = format!("Claude Code was not ready within {} ms (native.startLimitMs)", limit.as_millis());
            Err(TurnFailure::new(FailureClass::Transport, "start_timeout", message, true))
        })
    }
}
