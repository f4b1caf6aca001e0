//! Whether a prompt can be sent, and the one transaction that accepts it.

use super::Driver;
use crate::executions::stored;
use crate::recovery;
use crate::requests;
use chat_agents::PreparedExecution;
use chat_grammar::records::{
    ConversationPatch, ConversationRecord, JsonText, MessageRecord, Role, TurnOrigin, TurnRecord, TurnStatus,
};
use chat_grammar::time::iso8601;
use chat_grammar::{ChatError, ErrorCode, Result};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A prompt that may be sent.
pub(super) enum Accepted {
    /// The turn was begun by an earlier call.
    Known(String),
    New {
        turn: Box<TurnRecord>,
        execution: Arc<PreparedExecution>,
        prompt: Value,
    },
}

impl Driver {
    /// Checks everything, then stores turn and message. What was sent before the chat was closed is taken, in its order: the close
    /// then ends the turn.
    ///
    /// # Errors
    /// All codes of `send`.
    pub(super) async fn accept(&mut self, options: &str) -> Result<Accepted> {
        let request = requests::Send::from_json(options)?;
        let owner = self.core.owner();
        let conversation = self.core.store.get_conversation(owner, &self.conversation_id).await?;
        let conversation = conversation.ok_or_else(|| ChatError::session_not_found(&self.conversation_id))?;
        if let Some(turn_id) = &request.turn_id
            && self.is_known(turn_id).await?
        {
            return Ok(Accepted::Known(turn_id.clone()));
        }
        let execution = self.core.executions.get(&request.execution)?;
        check_agent(&conversation, &execution)?;
        let adapter = self.core.adapters.get(&execution.contract.agent.adapter_id)?;
        adapter.check_prompt(&execution, &request.prompt).await?;
        let begin = || self.begin_turn(&execution, Some(&request.prompt), TurnOrigin::Host, request.turn_id.clone());
        let turn = match begin().await {
            // The turn that runs may be a dead host's: then nobody else ends it.
            Err(error) if error.code == ErrorCode::SessionBusy && recovery::recover(&self.core).await.is_ok() => {
                begin().await?
            }
            begun => begun?,
        };
        Ok(Accepted::New { turn: Box::new(turn), execution, prompt: request.prompt })
    }

    /// The answer to a `send` while a turn runs.
    pub(super) async fn refuse_or_attach(&self, options: &str, running: &str) -> Result<String> {
        let request = requests::Send::from_json(options)?;
        match request.turn_id {
            Some(turn_id) if turn_id == running || self.is_known(&turn_id).await? => Ok(turn_id),
            _ => {
                let message = format!(
                    "session {:?} runs turn {running:?}: wait for its completion or interrupt it",
                    self.conversation_id
                );
                Err(ChatError::new(ErrorCode::SessionBusy, message))
            }
        }
    }

    async fn is_known(&self, turn_id: &str) -> Result<bool> {
        Ok(self.core.store.get_turn(self.core.owner(), &self.conversation_id, turn_id).await?.is_some())
    }

    /// Stores a new turn: of the host with its prompt, or of the agent without one.
    pub(super) async fn begin_turn(
        &self,
        execution: &PreparedExecution,
        prompt: Option<&Value>,
        origin: TurnOrigin,
        turn_id: Option<String>,
    ) -> Result<TurnRecord> {
        let now = iso8601(self.core.clock.now().await);
        let turn = TurnRecord {
            id: turn_id.unwrap_or_else(new_id),
            conversation_id: self.conversation_id.to_string(),
            ordinal: 0,
            status: TurnStatus::Running,
            origin,
            stop_reason: None,
            native_stop_reason: None,
            error: None,
            execution: stored(execution),
            prompt: json_text(prompt.unwrap_or(&json!({ "parts": [] })))?,
            started_at: now.clone(),
            ended_at: None,
            last_sequence: 0,
            usage: None,
        };
        let message = match prompt {
            None => None,
            Some(prompt) => Some(MessageRecord {
                id: new_id(),
                conversation_id: turn.conversation_id.clone(),
                turn_id: turn.id.clone(),
                ordinal: 0,
                role: Role::User,
                parts: json_text(&user_parts(prompt))?,
                created_at: now.clone(),
            }),
        };
        let patch = ConversationPatch {
            execution: Some(turn.execution.clone()),
            updated_at: Some(now),
            ..ConversationPatch::default()
        };
        self.core.store.begin_turn(self.core.owner(), turn, message, patch).await
    }
}

/// An id that sorts by the time of its making.
pub(crate) fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The agent of a conversation stays the same.
///
/// # Errors
/// `SESSION_AGENT_MISMATCH`.
pub(crate) fn check_agent(conversation: &ConversationRecord, execution: &PreparedExecution) -> Result<()> {
    let (has, asked) = (&conversation.agent, &execution.contract.agent);
    if has.adapter_id == asked.adapter_id && has.installation_id == asked.installation_id {
        return Ok(());
    }
    let message = format!(
        "session {:?} was started with agent {}/{}, the execution is for {}/{}: start another session for it",
        conversation.id, has.adapter_id, has.installation_id, asked.adapter_id, asked.installation_id
    );
    Err(ChatError::at(ErrorCode::SessionAgentMismatch, "execution.contract.agent", message))
}

fn user_parts(prompt: &Value) -> Vec<Value> {
    let blocks = prompt["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let part = |block: &Value| match (block["type"].as_str(), block["text"].as_str()) {
        (Some("text"), Some(text)) => json!({ "type": "text", "text": text }),
        _ => json!({ "type": "content", "block": block }),
    };
    blocks.iter().map(part).collect()
}

fn json_text<T: Serialize>(value: &T) -> Result<JsonText> {
    let text = serde_json::value::to_raw_value(value)
        .map_err(|error| ChatError::runtime(format!("the prompt has no JSON form: {error}")))?;
    Ok(Arc::from(text))
}
