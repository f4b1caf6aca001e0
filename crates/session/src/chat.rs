//! A chat: the conversations of one owner on one store.

use crate::clock::Clock;
use crate::core::{Core, OnRequest, OnTurn};
use crate::driver::accept::{check_agent, new_id};
use crate::driver::{self, Command};
use crate::executions::stored;
use crate::open_requests::listed_in_journal;
use crate::options::ChatOptions;
use crate::recovery;
use crate::requests;
use crate::requests::{ResumeSession, StartSession};
use crate::subscription::Subscription;
use chat_agents::{Adapters, HostContext};
use chat_grammar::contract::ExecutionContract;
use chat_grammar::records::{
    ConversationPage, ConversationPatch, ConversationRecord, ExecutionHandle, ListOptions, MessageRecord, TurnRecord,
    TurnStatus,
};
use chat_grammar::time::iso8601;
use chat_grammar::usage::UsageStep;
use chat_grammar::{ChatError, ErrorCode, Result};
use chat_journal::ConversationStore;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::oneshot;

/// What a chat stands on.
pub struct ChatPorts {
    pub store: Arc<dyn ConversationStore>,
    pub adapters: Arc<Adapters>,
    pub host: HostContext,
    pub clock: Clock,
    pub on_turn: Option<OnTurn>,
    /// Asked about every request of an agent that waits for an answer.
    pub on_request: Option<OnRequest>,
    /// Where its tasks run.
    pub runtime: tokio::runtime::Handle,
}

impl std::fmt::Debug for ChatPorts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ChatPorts").field("adapters", &self.adapters).finish_non_exhaustive()
    }
}

/// The conversations of one owner.
#[derive(Debug, Clone)]
pub struct Chat {
    core: Arc<Core>,
}

impl Chat {
    /// A chat on a store. It takes effect on nothing until it is asked.
    pub fn new(options: ChatOptions, ports: ChatPorts) -> Self {
        Self { core: Arc::new(Core::new(options, ports)) }
    }

    /// Validates a contract, asks the agent whether it can apply it, and makes it known under an id.
    ///
    /// # Errors
    /// `INVALID_EXECUTION_CONTRACT`, `UNSUPPORTED_EXECUTION_INPUT`, `CHAT_CLOSED`.
    pub async fn prepare_execution(&self, id: &str, contract: &str, resolved: Option<&str>) -> Result<ExecutionHandle> {
        self.core.check_open()?;
        let contract = ExecutionContract::from_json(contract)?;
        self.core.executions.prepare(&self.core, id, contract, parse_resolved(resolved)?).await
    }

    /// Starts a conversation; options as JSON.
    ///
    /// # Errors
    /// `EXECUTION_NOT_PREPARED`, `EXECUTION_REVISION_MISMATCH`, `SESSION_ALREADY_EXISTS`, `INVALID_OPTIONS`, `STORE_ERROR`.
    pub async fn start_session(&self, options: &str) -> Result<ConversationRecord> {
        self.core.check_open()?;
        let request = StartSession::from_json(options)?;
        let execution = self.core.executions.get(&request.execution)?;
        let now = iso8601(self.core.clock.now().await);
        let conversation = ConversationRecord {
            id: request.session_id.unwrap_or_else(new_id),
            owner_user_id: self.core.owner().to_owned(),
            title: request.title,
            agent: execution.contract.agent.clone(),
            execution: stored(&execution),
            created_at: now.clone(),
            updated_at: now,
            archived_at: None,
            new_messages: false,
        };
        self.core.store.create_conversation(conversation.clone()).await?;
        Ok(conversation)
    }

    /// Takes up a conversation with an execution; options as JSON.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `SESSION_AGENT_MISMATCH`, `EXECUTION_NOT_PREPARED`, `EXECUTION_REVISION_MISMATCH`, `STORE_ERROR`.
    pub async fn resume_session(&self, options: &str) -> Result<ConversationRecord> {
        self.core.check_open()?;
        let request = ResumeSession::from_json(options)?;
        let conversation = self.conversation(&request.session_id).await?;
        check_agent(&conversation, self.core.executions.get(&request.execution)?.as_ref())?;
        Ok(conversation)
    }

    /// Takes up a conversation with the execution that it stores, which is prepared again under its id.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `UNSUPPORTED_EXECUTION_INPUT`, `STORE_ERROR`.
    pub async fn resume_stored_session(
        &self,
        id: &str,
        resolved: Option<&str>,
    ) -> Result<(ConversationRecord, Option<TurnRecord>)> {
        self.core.check_open()?;
        let conversation = self.conversation(id).await?;
        let execution = conversation.execution.clone();
        let resolved = parse_resolved(resolved)?;
        self.core.executions.prepare(&self.core, &execution.id, execution.contract, resolved).await?;
        let latest = self.core.store.latest_turn(self.core.owner(), id).await?;
        Ok((conversation, latest))
    }

    /// A conversation's record.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn conversation(&self, id: &str) -> Result<ConversationRecord> {
        self.core.check_open()?;
        let conversation = self.core.store.get_conversation(self.core.owner(), id).await?;
        conversation.ok_or_else(|| ChatError::session_not_found(id))
    }

    /// Seals as `interrupted` the turns that a dead process left running.
    ///
    /// # Errors
    /// `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn recover_interrupted_turns(&self) -> Result<Vec<TurnRecord>> {
        self.core.check_open()?;
        recovery::recover(&self.core).await
    }

    /// Conversations, newest first.
    ///
    /// # Errors
    /// `INVALID_OPTIONS`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn page_conversations(&self, options: &str) -> Result<ConversationPage> {
        self.core.check_open()?;
        let options: ListOptions = serde_json::from_str(options)
            .map_err(|error| ChatError::new(ErrorCode::InvalidOptions, format!("list options: {error}")))?;
        self.core.store.list_conversations(self.core.owner(), options).await
    }

    /// Archives a conversation; one that is archived stays as it is.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn archive_session(&self, id: &str) -> Result<()> {
        let conversation = self.conversation(id).await?;
        if conversation.archived_at.is_none() {
            let now = iso8601(self.core.clock.now().await);
            let patch = ConversationPatch {
                archived_at: Some(Some(now.clone())),
                updated_at: Some(now),
                ..ConversationPatch::default()
            };
            self.core.store.update_conversation(self.core.owner(), id, patch).await?;
        }
        Ok(())
    }

    /// Sets `newMessages` to false.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn mark_seen(&self, id: &str) -> Result<ConversationRecord> {
        self.core.check_open()?;
        let patch = ConversationPatch { new_messages: Some(false), ..ConversationPatch::default() };
        self.core.store.update_conversation(self.core.owner(), id, patch).await
    }

    /// Gives the conversation a title.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn update_title(&self, id: &str, title: String) -> Result<ConversationRecord> {
        self.core.check_open()?;
        let patch = ConversationPatch {
            title: Some(Some(title)),
            updated_at: Some(iso8601(self.core.clock.now().await)),
            ..ConversationPatch::default()
        };
        self.core.store.update_conversation(self.core.owner(), id, patch).await
    }

    /// The running turn, wherever it runs.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn active_turn(&self, id: &str) -> Result<Option<TurnRecord>> {
        Ok(self.latest_turn(id).await?.filter(|turn| turn.status == TurnStatus::Running))
    }

    /// The newest turn.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn latest_turn(&self, id: &str) -> Result<Option<TurnRecord>> {
        self.conversation(id).await?;
        self.core.store.latest_turn(self.core.owner(), id).await
    }

    /// Sends a prompt; options as JSON. The call itself gives it its place in the order of commands; the future resolves with the
    /// turn's id once the prompt is stored.
    ///
    /// # Errors
    /// `INVALID_OPTIONS`, `INVALID_PROMPT`, `INVALID_EXECUTION_CONTRACT`, `EXECUTION_NOT_PREPARED`, `EXECUTION_REVISION_MISMATCH`,
    /// `SESSION_NOT_FOUND`, `SESSION_AGENT_MISMATCH`, `SESSION_BUSY`, `UNSUPPORTED_PROMPT_PART`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub fn send(&self, session_id: &str, options: String) -> BoxFuture<'static, Result<String>> {
        self.command(session_id, |reply| Command::Send(options, reply))
    }

    /// Ends the running turn; resolves once it is sealed, at once where none runs. Ordered as `send`.
    ///
    /// # Errors
    /// `STORE_ERROR`, `CHAT_CLOSED`.
    pub fn interrupt(&self, session_id: &str) -> BoxFuture<'static, Result<()>> {
        self.command_existing(session_id, Command::Interrupt)
    }

    /// Answers a request of the agent, with JSON: `{outcome, reason?}` (ACP `RequestPermissionOutcome`) to a `permission_request`,
    /// `{response}` (ACP `CreateElicitationResponse`) to an `elicitation_request`. Resolves once the answer is journaled. Ordered
    /// as `send`.
    ///
    /// # Errors
    /// `REQUEST_NOT_PENDING`: unknown here or answered already. `INVALID_OPTIONS`: the answer is of another form, or names a choice
    /// that was not offered. `STORE_ERROR`, `CHAT_CLOSED`.
    pub fn respond(&self, session_id: &str, request_id: String, answer: String) -> BoxFuture<'static, Result<()>> {
        let (reply, answered) = oneshot::channel();
        let asked = match (self.core.check_open(), driver::existing(&self.core, session_id)) {
            (Err(error), _) => Err(error),
            (Ok(()), Some(driver)) => {
                let command = Command::Respond { request_id: request_id.clone(), answer, reply };
                driver.send(command).map_err(|_| requests::not_pending(&request_id))
            }
            (Ok(()), None) => Err(requests::not_pending(&request_id)),
        };
        Box::pin(async move {
            asked?;
            answered.await.unwrap_or_else(|_| Err(requests::not_pending(&request_id)))
        })
    }

    /// Waits for a running turn, then releases the agent. Ordered as `send`.
    ///
    /// # Errors
    /// `STORE_ERROR`, `CHAT_CLOSED`.
    pub fn close_session(&self, session_id: &str) -> BoxFuture<'static, Result<()>> {
        self.command_existing(session_id, Command::Close)
    }

    /// A reader of a turn past a sequence.
    pub fn subscribe(&self, conversation_id: String, turn_id: String, after_sequence: u64) -> Subscription {
        Subscription::new(Arc::clone(&self.core), conversation_id, turn_id, after_sequence)
    }

    /// How many readers there are.
    pub fn subscription_count(&self) -> usize {
        self.core.subscriptions.load(Ordering::Relaxed)
    }

    /// The sealed turn; waits for its end.
    ///
    /// # Errors
    /// `TURN_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn completion(&self, conversation_id: &str, turn_id: &str) -> Result<Arc<TurnRecord>> {
        self.core.completion(conversation_id, turn_id).await
    }

    /// `{conversation, activeTurn, latestTurn, pendingRequests}`; of each request that waits `{requestId, kind, turnId, sequence}`.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn inspect(&self, id: &str) -> Result<Value> {
        let conversation = self.conversation(id).await?;
        let latest = self.core.store.latest_turn(self.core.owner(), id).await?;
        let active = latest.as_ref().filter(|turn| turn.status == TurnStatus::Running);
        let pending = match active {
            Some(turn) => match self.core.tail(id, &turn.id) {
                Some(tail) => tail.requests().listed(&turn.id, tail.committed()),
                None => listed_in_journal(&self.core, id, &turn.id).await?,
            },
            None => Vec::new(),
        };
        Ok(json!({ "conversation": conversation, "activeTurn": active, "latestTurn": latest, "pendingRequests": pending }))
    }

    /// The messages of a conversation, in order.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn messages(&self, id: &str) -> Result<Vec<MessageRecord>> {
        self.core.check_open()?;
        self.core.store.list_messages(self.core.owner(), id).await
    }

    /// The usage steps of a conversation, or of one turn.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn usage_steps(&self, id: &str, turn_id: Option<&str>) -> Result<Vec<UsageStep>> {
        self.core.check_open()?;
        self.core.store.list_usage_steps(self.core.owner(), id, turn_id).await
    }

    /// Ends the agents, seals running turns as `interrupted`, and refuses all that follows. The store stays open.
    pub async fn close(&self) {
        if !self.core.mark_closed() {
            return;
        }
        let drivers: Vec<_> = self.core.lock_drivers().values().cloned().collect();
        let mut ends = Vec::new();
        for driver in drivers {
            let (reply, end) = oneshot::channel();
            if driver.send(Command::Shutdown(reply)).is_ok() {
                ends.push(end);
            }
        }
        for end in ends {
            let _ = end.await;
        }
    }

    /// For a process that ends now: what was accepted is committed, and nothing more is taken.
    pub fn shutdown(&self) {
        self.core.mark_closed();
        self.core.store.close_now();
    }

    fn command<T: Send + 'static>(
        &self,
        session_id: &str,
        command: impl FnOnce(oneshot::Sender<Result<T>>) -> Command,
    ) -> BoxFuture<'static, Result<T>> {
        let (reply, answer) = oneshot::channel();
        let refused = self.core.check_open().err();
        if refused.is_none() {
            driver::give(&self.core, session_id, command(reply));
        }
        Box::pin(async move {
            match refused {
                Some(error) => Err(error),
                None => answer.await.unwrap_or_else(|_| Err(ChatError::runtime("the session ended before it answered"))),
            }
        })
    }

    // A conversation without a driver has no running turn and no agent.
    fn command_existing(
        &self,
        session_id: &str,
        command: impl FnOnce(oneshot::Sender<Result<()>>) -> Command,
    ) -> BoxFuture<'static, Result<()>> {
        let (reply, answer) = oneshot::channel();
        let asked = match (self.core.check_open(), driver::existing(&self.core, session_id)) {
            (Err(error), _) => Err(error),
            (Ok(()), Some(driver)) => Ok(driver.send(command(reply)).is_ok()),
            (Ok(()), None) => Ok(false),
        };
        Box::pin(async move {
            match asked? {
                true => answer.await.unwrap_or(Ok(())),
                false => Ok(()),
            }
        })
    }
}

fn parse_resolved(resolved: Option<&str>) -> Result<Value> {
    match resolved {
        None => Ok(Value::Null),
        Some(json) => match serde_json::from_str(json) {
            Ok(value @ Value::Object(_)) => Ok(value),
            _ => Err(ChatError::at(ErrorCode::InvalidOptions, "native.resolve", "must return an object")),
        },
    }
}
