//! Codex, driven as `codex app-server`. Facts are of version 0.171.0.

mod answers;
mod auth;
mod catalog;
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
mod toml;
mod turns;

use crate::account::Account;
use crate::adapter::{Adapter, AgentSession, HostContext, Opening, PreparedExecution};
use crate::json_rpc::Connection;
use crate::process::{Launch, Processes};
use crate::registry::AgentOptions;
use crate::resolved::Resolved;
use crate::spares::Spares;
use async_trait::async_trait;
use auth::OPENAI;
use catalog::Catalog;
use chat_grammar::event::FailureClass;
use chat_grammar::records::TurnFailure;
use chat_grammar::{ChatError, Result};
use launch::Prepared;
use prompt::Images;
use serde_json::Value;
use settings::Settings;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Drives Codex.
#[derive(Debug)]
pub(crate) struct CodexAdapter {
    options: Arc<AgentOptions>,
    processes: Processes,
    spares: Arc<Spares<Launch, Connection>>,
    /// What a Codex said of its models, by what decides which Codex it is.
    catalogs: Mutex<HashMap<String, Arc<Catalog>>>,
}

impl CodexAdapter {
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

    /// Asks a running Codex about its models, and keeps it for the first turn. `None` where it does not answer: the turn will tell
    /// why.
    async fn negotiate(&self, execution: &PreparedExecution, host: &HostContext) -> Option<Arc<Catalog>> {
        let resolved = Resolved::read(&execution.resolved).ok()?;
        let Prepared { launch, .. } = launch::prepare(execution, &resolved, &self.options, host).ok()?;
        let (connection, catalog) = self.start(execution, &resolved, &launch, host).await.ok()?;
        self.spares.put(launch, &host.host_id, connection).await;
        Some(catalog)
    }

    /// Starts a Codex that is ready to open threads.
    async fn start(
        &self,
        execution: &PreparedExecution,
        resolved: &Resolved,
        launch: &Launch,
        host: &HostContext,
    ) -> Result<(Connection, Arc<Catalog>), TurnFailure> {
        let mut connection = open::spawn(&self.processes, &self.options, launch, resolved, host).await?;
        open::greet(&mut connection).await?;
        let catalog = match self.catalog(execution) {
            Some(catalog) => catalog,
            None => {
                let catalog = Arc::new(open::ask_catalog(&mut connection).await?);
                self.lock().insert(catalog_key(execution), Arc::clone(&catalog));
                catalog
            }
        };
        Ok((connection, catalog))
    }

    async fn open_session(&self, opening: &Opening<'_>) -> Result<Box<dyn AgentSession>, TurnFailure> {
        let Opening { host, execution, .. } = *opening;
        let unsupported =
            |error: ChatError| TurnFailure::new(FailureClass::Runtime, "unsupported_execution_input", error.message, false);
        let resolved = Resolved::read(&execution.resolved).map_err(unsupported)?;
        let Prepared { launch, login } = launch::prepare(execution, &resolved, &self.options, host)?;
        let plan = open::Plan::new(opening, &resolved).map_err(unsupported)?;
        let mut login = login;

        // A spare one may have died meanwhile: then another is started.
        if let (Some(connection), Some(catalog)) = (self.spares.take(&launch, &host.host_id), self.catalog(execution))
            && let Ok(session) = plan.open(connection, &catalog, &mut login).await
        {
            return Ok(Box::new(session));
        }
        let (connection, catalog) = self.start(execution, &resolved, &launch, host).await?;
        let session = plan.open(connection, &catalog, &mut login).await?;
        Ok(Box::new(session))
    }
}

/// What decides which Codex answers, and with which models.
fn catalog_key(execution: &PreparedExecution) -> String {
    let (agent, auth) = (&execution.contract.agent, &execution.contract.auth);
    let command = &execution.resolved["command"];
    serde_json::json!([agent.installation_id, agent.revision_id, auth.mode, auth.binding_id, command]).to_string()
}

#[async_trait]
impl Adapter for CodexAdapter {
    async fn prepare(&self, execution: &PreparedExecution, host: &HostContext) -> Result<()> {
        let contract = &execution.contract;
        let settings = Settings::read(&contract.model)?;
        let resolved = Resolved::of_contract(execution, "Codex")?;
        Account::of(&OPENAI, execution, &resolved, &self.options.host_env)?;
        mcp::servers(&resolved.mcp_servers)?;
        let catalog = match self.catalog(execution) {
            Some(catalog) => Some(catalog),
            None => tokio::time::timeout(self.limit(), self.negotiate(execution, host)).await.unwrap_or_default(),
        };
        catalog.map_or(Ok(()), |catalog| catalog.check(&contract.model.model_id, &settings))
    }

    async fn check_prompt(&self, execution: &PreparedExecution, prompt: &Value) -> Result<()> {
        let model_id = &execution.contract.model.model_id;
        let refused = self.catalog(execution).is_some_and(|catalog| !catalog.takes_images(model_id));
        prompt::input(prompt, if refused { Images::Refused } else { Images::Taken }).map(drop)
    }

    async fn close(&self) {
        self.spares.end().await;
    }

    async fn open(&self, opening: Opening<'_>) -> Result<Box<dyn AgentSession>, TurnFailure> {
        let limit = self.limit();
        tokio::time::timeout(limit, self.open_session(&opening)).await.unwrap_or_else(|_| {
            let message = format!("Codex was not ready within {} ms (native.startLimitMs)", limit.as_millis());
            Err(TurnFailure::new(FailureClass::Transport, "start_timeout", message, true))
        })
    }
}
