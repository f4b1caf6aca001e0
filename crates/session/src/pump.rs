//! The way of a turn's updates: event, ACP update, sequence, text, journal, subscribers.

use crate::answer::resolved_request;
use crate::core::Core;
use crate::open_requests::{Asked, OpenRequests};
use crate::tail::{Tail, TurnEnd};
use chat_agents::{AgentMessage, AgentSession};
use chat_grammar::ChatError;
use chat_grammar::catalog::ModelCatalog;
use chat_grammar::contract::PermissionMode;
use chat_grammar::event::{ChatEvent, EventKind, FailureClass, Stop};
use chat_grammar::records::{MessageRecord, Role, TurnFailure, TurnRecord, TurnSeal, TurnStatus};
use chat_grammar::time::iso8601;
use chat_grammar::transcript::Transcript;
use chat_grammar::update::{Native, Place, Update, UpdateMapper, write_update};
use chat_grammar::usage::{UsageRecord, finalize_turn_usage};
use chat_journal::{ChunkBuilder, UpdateBatch};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// How many chunks of a turn may be on their way to the journal. When they are, the agent is not read any further.
const CHUNKS_IN_FLIGHT: u32 = 32;

/// How a turn ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// As the agent said.
    Stopped { stop: Stop, native: Option<String> },
    /// The agent or the way to it failed.
    Failed(TurnFailure),
    /// Its host is closing.
    HostClosed,
}

/// An agent that does nothing but retry.
#[derive(Debug)]
pub(crate) struct Retries {
    pub(crate) since: Instant,
    /// What it said last.
    pub(crate) message: String,
}

/// A running turn.
#[derive(Debug)]
pub(crate) struct TurnPump {
    core: Arc<Core>,
    conversation_id: Arc<str>,
    turn_id: Arc<str>,
    owner: Arc<str>,
    turn: TurnRecord,
    tail: Arc<Tail>,
    mapper: UpdateMapper,
    transcript: Transcript,
    chunk: ChunkBuilder,
    in_flight: Arc<Semaphore>,
    store_failure: Arc<Mutex<Option<ChatError>>>,
    scratch: Vec<Update>,
    busy_tools: HashSet<String>,
    compactions: u32,
    retries: Option<Retries>,
    failure: Option<TurnFailure>,
    title: Option<String>,
    done: Option<(Stop, Option<String>)>,
}

impl TurnPump {
    pub(crate) fn new(core: Arc<Core>, turn: TurnRecord, tail: Arc<Tail>) -> Self {
        Self {
            conversation_id: Arc::from(turn.conversation_id.as_str()),
            turn_id: Arc::from(turn.id.as_str()),
            owner: Arc::from(core.owner()),
            mapper: UpdateMapper::new(&turn.conversation_id, &turn.id),
            core,
            turn,
            tail,
            transcript: Transcript::new(),
            chunk: ChunkBuilder::new(1),
            in_flight: Arc::new(Semaphore::new(CHUNKS_IN_FLIGHT as usize)),
            store_failure: Arc::default(),
            scratch: Vec::new(),
            busy_tools: HashSet::new(),
            compactions: 0,
            retries: None,
            failure: None,
            title: None,
            done: None,
        }
    }

    pub(crate) fn turn_id(&self) -> &str {
        &self.turn_id
    }

    /// How the agent said that the turn ended, once it did.
    pub(crate) fn stopped(&self) -> Option<Outcome> {
        let (stop, native) = self.done.clone()?;
        Some(Outcome::Stopped { stop, native })
    }

    /// How the turn ends where the journal refused an update: it cannot go on then, whatever the agent says.
    pub(crate) fn refused(&self) -> Option<Outcome> {
        let refusal = self.store_failure.lock().unwrap_or_else(PoisonError::into_inner);
        let message = format!("the journal refused updates of this turn: {}", refusal.as_ref()?.message);
        Some(Outcome::Failed(TurnFailure::new(FailureClass::Runtime, "store_failed", message, true)))
    }

    /// Whether the agent has something to do, or to wait for, that may take long without a word.
    pub(crate) fn is_working(&self) -> bool {
        !self.busy_tools.is_empty() || self.compactions > 0 || !self.requests().is_empty()
    }

    /// The retries that the agent makes, where it does nothing else.
    pub(crate) fn retries(&self) -> Option<&Retries> {
        self.retries.as_ref()
    }

    /// The requests that wait for an answer.
    pub(crate) fn requests(&self) -> &OpenRequests {
        self.tail.requests()
    }

    /// Whether the agent may do what it asks for.
    pub(crate) fn permission_mode(&self) -> PermissionMode {
        self.turn.execution.contract.permission_mode
    }

    /// The title that the agent gave last, once.
    pub(crate) fn take_title(&mut self) -> Option<String> {
        self.title.take()
    }

    /// Journals what messages mean. Waits while the journal is behind.
    pub(crate) async fn take(&mut self, messages: Vec<AgentMessage>, source: &str) {
        let at = self.core.clock.now().await;
        for message in messages {
            let mut native = message.native.as_deref();
            for event in message.events {
                self.observe(&event, message.native.as_deref());
                self.push(event, at, source, &mut native).await;
            }
        }
        self.flush().await;
    }

    async fn push(&mut self, event: ChatEvent, at: i64, source: &str, native: &mut Option<&str>) {
        // A request has one response: agents and their normalizers repeat what was journaled when it was answered.
        if resolved_request(&event.kind).is_some_and(|request_id| !self.requests().close(request_id)) {
            return;
        }
        let mut asked = Asked::of(&event.kind);
        if asked.as_ref().is_some_and(|asked| self.requests().holds(&asked.native_id)) {
            return;
        }
        let mut updates = std::mem::take(&mut self.scratch);
        self.mapper.push(self.complete(event), &mut updates);
        for update in updates.drain(..) {
            let message = native.take_if(|_| update.has_native()).map(|message| Native { source, message });
            let sequence = self.chunk.next_sequence();
            let place = Place { conversation_id: &self.conversation_id, turn_id: &self.turn_id, sequence, at };
            // Listed before it is committed, so that whoever sees the update finds the request.
            if let Some(request) = asked.take().and_then(|asked| asked.placed(&update, &place)) {
                self.tail.requests().add(request);
            }
            self.chunk.push(|buffer| write_update(&update, place, message, buffer));
            self.transcript.add_written(&update, sequence, self.chunk.last_update());
            let limits = &self.core.options.journal;
            if self.chunk.len() >= limits.max_updates || self.chunk.bytes() >= limits.max_bytes {
                self.flush().await;
            }
        }
        self.scratch = updates;
    }

    // What the agent leaves open about a model call is what the contract says.
    fn complete(&self, mut event: ChatEvent) -> ChatEvent {
        if let Some(EventKind::UsageFinal { usage: UsageRecord { model, .. } }) = event.kind.meaning_mut() {
            let contract = &self.turn.execution.contract;
            model.agent_revision_id.get_or_insert_with(|| contract.agent.revision_id.clone());
            model.provider_id.get_or_insert_with(|| contract.model.provider_id.clone());
            if !model.is_undetermined {
                model.model_id.get_or_insert_with(|| contract.model.model_id.clone());
            }
        }
        event
    }

    fn observe(&mut self, event: &ChatEvent, native: Option<&str>) {
        let Some(kind) = event.kind.meaning() else { return };
        match kind {
            EventKind::Warning { message, retry: Some(_), .. } => {
                let since = self.retries.take().map_or_else(Instant::now, |retries| retries.since);
                self.retries = Some(Retries { since, message: message.clone() });
            }
            kind if is_progress(kind) => self.retries = None,
            _ => {}
        }
        match kind {
            EventKind::ToolStarted(tool) => {
                self.busy_tools.insert(tool.tool_call_id.clone());
            }
            EventKind::ToolCompleted(tool) => {
                self.busy_tools.remove(&tool.tool_call_id);
            }
            EventKind::CompactionStarted { .. } => self.compactions += 1,
            EventKind::CompactionFinished(_) => self.compactions = self.compactions.saturating_sub(1),
            EventKind::Title { title } if event.parent_tool_call_id.is_none() => self.title = Some(title.clone()),
            EventKind::Error(error) if event.parent_tool_call_id.is_none() => {
                let mut failure = TurnFailure::new(error.class, error.reason.as_str(), error.message.as_str(), error.retryable);
                failure.native = native.and_then(|message| serde_json::from_str::<Value>(message).ok());
                self.failure = Some(failure);
            }
            EventKind::Done { stop_reason, native_stop_reason } if event.parent_tool_call_id.is_none() => {
                self.done.get_or_insert_with(|| (*stop_reason, native_stop_reason.clone()));
            }
            _ => {}
        }
    }

    /// Waits until all that was taken is committed.
    ///
    /// # Errors
    /// That of the store, where it refused an update of this turn.
    pub(crate) async fn commit(&mut self) -> Result<(), ChatError> {
        self.flush().await;
        // Every permit is back when every chunk is committed or refused.
        let _ = self.in_flight.acquire_many(CHUNKS_IN_FLIGHT).await;
        let refusal = self.store_failure.lock().unwrap_or_else(PoisonError::into_inner);
        refusal.clone().map_or(Ok(()), Err)
    }

    async fn flush(&mut self) {
        if self.chunk.is_empty() {
            return;
        }
        let empty = ChunkBuilder::new(self.chunk.next_sequence());
        let chunk = Arc::new(std::mem::replace(&mut self.chunk, empty).finish());
        self.chunk = ChunkBuilder::like(&chunk);
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&self.in_flight).acquire_owned().await else { return };
        let batch = UpdateBatch {
            owner: Arc::clone(&self.owner),
            conversation_id: Arc::clone(&self.conversation_id),
            turn_id: Arc::clone(&self.turn_id),
            chunk: Arc::clone(&chunk),
        };
        let (tail, store_failure) = (Arc::clone(&self.tail), Arc::clone(&self.store_failure));
        let done = move |result: Result<(), ChatError>| {
            match result {
                Ok(()) => tail.push(chunk),
                Err(error) => {
                    store_failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
            drop(permit);
        };
        self.core.store.append_updates(batch, Box::new(done));
    }

    /// Writes down where the agent's session can be picked up.
    pub(crate) async fn save_checkpoint(&self, session: &dyn AgentSession) {
        let Some(checkpoint) = session.checkpoint() else { return };
        let record = chat_grammar::records::ProviderCheckpoint {
            conversation_id: self.turn.conversation_id.clone(),
            key: checkpoint_key(&self.turn.execution.contract),
            provider_session_id: checkpoint.provider_session_id,
            updated_at: iso8601(self.core.clock.now().await),
            data: checkpoint.data,
        };
        if let Err(error) = self.core.store.put_checkpoint(self.core.owner(), record).await {
            tracing::warn!(turn = %self.turn_id, %error, "the checkpoint was not stored");
        }
    }

    /// Ends the turn: waits for the journal, then writes turn, message and usage in one transaction, then ends the subscribers.
    pub(crate) async fn seal(mut self, outcome: Outcome) -> TurnEnd {
        // A refusal makes the turn fail, below.
        let _ = self.commit().await;
        let ended_at = iso8601(self.core.clock.now().await);
        let outcome = self.refused().unwrap_or(outcome);
        let seal = self.make_seal(outcome, ended_at);
        let end = self.core.store.seal_turn(self.core.owner(), seal).await.map(Arc::new);
        if let Ok(turn) = &end {
            self.core.announce(turn);
        }
        self.core.end_turn(&self.conversation_id, &self.turn_id, &self.tail, end.clone());
        end
    }

    fn make_seal(&mut self, outcome: Outcome, ended_at: String) -> TurnSeal {
        let failure = self.failure.take();
        let (status, stop_reason, native_stop_reason, error) = match outcome {
            Outcome::Stopped { stop: Stop::Failed, native } => {
                let unexplained =
                    || TurnFailure::new(FailureClass::Runtime, "unknown", "the agent failed and did not say why", false);
                (TurnStatus::Failed, None, native, Some(failure.unwrap_or_else(unexplained)))
            }
            Outcome::Stopped { stop: Stop::Cancelled, native } => {
                (TurnStatus::Cancelled, Stop::Cancelled.as_acp(), native, None)
            }
            Outcome::Stopped { stop, native } => (TurnStatus::Completed, stop.as_acp(), native, None),
            Outcome::Failed(failure) => (TurnStatus::Failed, None, None, Some(failure)),
            Outcome::HostClosed => {
                let failure = TurnFailure::interrupted("host_closed", "the host was closed while the turn ran");
                (TurnStatus::Interrupted, None, None, Some(failure))
            }
        };
        if status != TurnStatus::Completed {
            self.transcript.close_open_tools();
        }
        TurnSeal {
            turn_id: self.turn.id.clone(),
            status,
            stop_reason: stop_reason.map(str::to_owned),
            native_stop_reason,
            error,
            usage: finalize_turn_usage(self.mapper.steps(), ModelCatalog::published()),
            usage_steps: self.mapper.steps().to_vec(),
            message: assistant_message(&self.turn, &self.transcript, &ended_at),
            ended_at,
        }
    }
}

/// Whether the agent got on: a retry after it is a new one.
fn is_progress(event: &EventKind) -> bool {
    match event {
        EventKind::TextDelta { .. }
        | EventKind::ReasoningDelta { .. }
        | EventKind::Content { .. }
        | EventKind::ToolStarted(_)
        | EventKind::ToolUpdated(_)
        | EventKind::ToolCompleted(_)
        | EventKind::Plan { .. }
        | EventKind::PermissionRequested(_)
        | EventKind::PermissionResolved(_)
        | EventKind::QuestionAsked(_)
        | EventKind::QuestionAnswered(_)
        | EventKind::UsageFinal { .. }
        | EventKind::CompactionStarted { .. }
        | EventKind::CompactionFinished(_) => true,
        EventKind::Relayed(relayed) => relayed.meaning.as_ref().is_none_or(is_progress),
        EventKind::SessionInit(_)
        | EventKind::Title { .. }
        | EventKind::Mode { .. }
        | EventKind::Commands { .. }
        | EventKind::Config { .. }
        | EventKind::Error(_)
        | EventKind::Warning { .. }
        | EventKind::Debug { .. }
        | EventKind::Done { .. }
        | EventKind::Unmapped { .. } => false,
    }
}

/// The message that a turn's updates come to; none where they come to nothing.
pub(crate) fn assistant_message(turn: &TurnRecord, transcript: &Transcript, created_at: &str) -> Option<MessageRecord> {
    (!transcript.is_empty()).then(|| MessageRecord {
        id: uuid::Uuid::now_v7().to_string(),
        conversation_id: turn.conversation_id.clone(),
        turn_id: turn.id.clone(),
        ordinal: 0,
        role: Role::Assistant,
        parts: transcript.parts_json(),
        created_at: created_at.to_owned(),
    })
}

/// What must be the same for a native session to be picked up again.
pub(crate) fn checkpoint_key(contract: &chat_grammar::ExecutionContract) -> String {
    let (agent, auth) = (&contract.agent, &contract.auth);
    serde_json::json!([agent.adapter_id, agent.installation_id, auth.mode, auth.binding_id, contract.computer_id]).to_string()
}
