//! The replay adapter: plays a recording as if the agent were there. Where the recorded host answered a request, it waits for a
//! live answer, whatever it says. It is the embedded default of the demo and the base of the tests over recordings.

mod locate;
mod recording;
mod session;

use crate::adapter::{Adapter, AgentSession, HostContext, Opening, PreparedExecution};
use crate::registry::AgentOptions;
use async_trait::async_trait;
use chat_grammar::event::FailureClass;
use chat_grammar::records::TurnFailure;
use chat_grammar::{ChatError, Result};
use recording::Recording;
use serde_json::Value;
use session::ReplaySession;
use std::path::PathBuf;

/// How fast a recording is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// As fast as it can be taken.
    Instant,
    /// With the pauses between messages that were recorded.
    Recorded,
}

/// Plays recordings. `installationId` names one; the config option `pace` is `instant` or `recorded`.
#[derive(Debug)]
pub(crate) struct ReplayAdapter {
    options: AgentOptions,
}

impl ReplayAdapter {
    pub(crate) fn new(options: AgentOptions) -> Self {
        Self { options }
    }

    fn locate(&self, execution: &PreparedExecution) -> Result<PathBuf> {
        let installation_id = &execution.contract.agent.installation_id;
        locate::recording(installation_id, &self.options)
            .map_err(|problem| ChatError::unsupported("agent.installationId", problem))
    }
}

#[async_trait]
impl Adapter for ReplayAdapter {
    async fn prepare(&self, execution: &PreparedExecution, _: &HostContext) -> Result<()> {
        pace(execution)?;
        if !execution.contract.tools.tool_ids.is_empty() {
            let problem = "a recording calls the tools that were recorded; no other can be given to it";
            return Err(ChatError::unsupported("tools.toolIds", problem));
        }
        if let Some(field) = ["mcpServers", "instructions"].into_iter().find(|field| is_filled(&execution.resolved[*field])) {
            let problem = "a recording was made with what it had; it takes no other";
            return Err(ChatError::unsupported(format!("resolved.{field}"), problem));
        }
        let path = self.locate(execution)?;
        let header = tokio::task::spawn_blocking(move || Recording::check(&path)).await;
        header
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(|problem| ChatError::unsupported("agent.installationId", problem))
    }

    // A recorded agent answers as it did, whatever the prompt.
    async fn check_prompt(&self, _: &PreparedExecution, _: &Value) -> Result<()> {
        Ok(())
    }

    async fn open(&self, opening: Opening<'_>) -> Result<Box<dyn AgentSession>, TurnFailure> {
        let missing = |problem: String| TurnFailure::new(FailureClass::Runtime, "agent_missing", problem, false);
        let pace = pace(opening.execution).map_err(|error| missing(error.message))?;
        let path = self.locate(opening.execution).map_err(|error| missing(error.message))?;
        let loaded = tokio::task::spawn_blocking(move || Recording::load(&path)).await;
        let recording = loaded.unwrap_or_else(|error| Err(error.to_string())).map_err(missing)?;
        Ok(Box::new(ReplaySession::new(recording, pace, opening.checkpoint).map_err(missing)?))
    }
}

fn is_filled(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

fn pace(execution: &PreparedExecution) -> Result<Pace> {
    let mut pace = Pace::Instant;
    for (index, setting) in execution.contract.model.settings.iter().enumerate() {
        let path = format!("model.settings[{index}]");
        if setting.config_id != "pace" {
            let problem = format!("{:?} is no config option of a replay; there is: pace", setting.config_id);
            return Err(ChatError::unsupported(format!("{path}.configId"), problem));
        }
        pace = match setting.value.as_str() {
            Some("instant") => Pace::Instant,
            Some("recorded") => Pace::Recorded,
            _ => {
                let problem = format!("{} is no pace; there is: \"instant\", \"recorded\"", setting.value);
                return Err(ChatError::unsupported(format!("{path}.value"), problem));
            }
        };
    }
    Ok(pace)
}
