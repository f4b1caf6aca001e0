//! What all parts of a chat share.

use crate::chat::ChatPorts;
use crate::clock::Clock;
use crate::driver::Command;
use crate::executions::Executions;
use crate::options::ChatOptions;
use crate::recovery;
use crate::tail::{Tail, TurnEnd};
use chat_agents::{Adapters, HostContext};
use chat_grammar::records::{TurnRecord, TurnStatus};
use chat_grammar::{ChatError, ErrorCode, Result};
use chat_journal::ConversationStore;
use futures::future::BoxFuture;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Told of every turn that begins or is sealed.
pub type OnTurn = Arc<dyn Fn(&TurnRecord) + Send + Sync>;

/// A request of an agent that waits for an answer.
#[derive(Debug, Clone)]
pub struct WaitingRequest {
    pub kind: RequestKind,
    /// As JSON: `{conversationId, turnId, requestId, toolCall, options}` of a permission, `{conversationId, turnId, requestId,
    /// request}` of an elicitation.
    pub json: String,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    Permission,
    Elicitation,
}

/// Asked about a request of an agent. Its answer is JSON as `Chat::respond` takes it; `None` leaves the request to others.
pub type OnRequest = Arc<dyn Fn(WaitingRequest) -> BoxFuture<'static, Option<String>> + Send + Sync>;

/// How often a turn that another process drives is looked at.
const FOREIGN_TURN_POLL: Duration = Duration::from_millis(200);

/// After how many looks at a turn the process that drives it is looked at.
const FOREIGN_HOST_POLLS: u32 = 5;

/// A turn by its conversation's id and its own.
type TurnKey = (Arc<str>, Arc<str>);

pub(crate) struct Core {
    pub(crate) options: ChatOptions,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) adapters: Arc<Adapters>,
    pub(crate) host: HostContext,
    pub(crate) executions: Executions,
    pub(crate) clock: Clock,
    pub(crate) on_turn: Option<OnTurn>,
    pub(crate) on_request: Option<OnRequest>,
    pub(crate) runtime: tokio::runtime::Handle,
    /// How many subscriptions are open.
    pub(crate) subscriptions: AtomicUsize,
    pub(crate) drivers: Mutex<HashMap<Arc<str>, UnboundedSender<Command>>>,
    tails: Mutex<HashMap<TurnKey, Arc<Tail>>>,
    /// Dead hosts whose processes were ended.
    cleaned_hosts: Mutex<HashSet<String>>,
    closed: AtomicBool,
}

impl fmt::Debug for Core {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Core").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Core {
    pub(crate) fn new(options: ChatOptions, ports: ChatPorts) -> Self {
        let ChatPorts { store, adapters, host, clock, on_turn, on_request, runtime } = ports;
        Self {
            options,
            store,
            adapters,
            host,
            executions: Executions::default(),
            clock,
            on_turn,
            on_request,
            runtime,
            subscriptions: AtomicUsize::new(0),
            drivers: Mutex::default(),
            tails: Mutex::default(),
            cleaned_hosts: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn owner(&self) -> &str {
        &self.options.owner_user_id
    }

    /// Marks the chat closed; true where it was open.
    pub(crate) fn mark_closed(&self) -> bool {
        !self.closed.swap(true, Ordering::SeqCst)
    }

    /// # Errors
    /// `CHAT_CLOSED`.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(ChatError::new(ErrorCode::ChatClosed, "the chat is closed: create a new host to go on"));
        }
        Ok(())
    }

    /// What the store answered; its failure where the chat was closed meanwhile is that the chat is closed.
    ///
    /// # Errors
    /// The store's, `CHAT_CLOSED`.
    pub(crate) fn unless_closed<T>(&self, answer: Result<T>) -> Result<T> {
        answer.map_err(|error| self.check_open().err().unwrap_or(error))
    }

    pub(crate) fn announce(&self, turn: &TurnRecord) {
        if let Some(on_turn) = &self.on_turn {
            on_turn(turn);
        }
    }

    /// Makes a turn that begins here known to its subscribers.
    pub(crate) fn add_tail(&self, conversation_id: &Arc<str>, turn_id: &Arc<str>) -> Arc<Tail> {
        let tail = Arc::<Tail>::default();
        self.tails().insert((Arc::clone(conversation_id), Arc::clone(turn_id)), Arc::clone(&tail));
        tail
    }

    /// The live end of a turn that runs here.
    pub(crate) fn tail(&self, conversation_id: &str, turn_id: &str) -> Option<Arc<Tail>> {
        self.tails().get(&(Arc::from(conversation_id), Arc::from(turn_id))).cloned()
    }

    /// The turns of a conversation that run here.
    pub(crate) fn tails_of(&self, conversation_id: &str) -> Vec<(Arc<str>, Arc<Tail>)> {
        let tails = self.tails();
        let of_conversation = tails.iter().filter(|((conversation, _), _)| conversation.as_ref() == conversation_id);
        of_conversation.map(|((_, turn), tail)| (Arc::clone(turn), Arc::clone(tail))).collect()
    }

    /// Ends a turn for those who watch it. From then on it is read from the journal; where the chat is closing, and the store may
    /// close next, its tail stays for those who ask what became of it.
    pub(crate) fn end_turn(&self, conversation_id: &Arc<str>, turn_id: &Arc<str>, tail: &Tail, end: TurnEnd) {
        tail.end(end);
        if self.check_open().is_ok() {
            self.tails().remove(&(Arc::clone(conversation_id), Arc::clone(turn_id)));
        }
    }

    /// The sealed turn; waits for its end.
    ///
    /// # Errors
    /// `TURN_NOT_FOUND`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub(crate) async fn completion(&self, conversation_id: &str, turn_id: &str) -> Result<Arc<TurnRecord>> {
        if let Some(tail) = self.tail(conversation_id, turn_id) {
            return tail.wait_for_end().await;
        }
        let mut look = 0;
        loop {
            self.check_open()?;
            let turn = self.unless_closed(self.store.get_turn(self.owner(), conversation_id, turn_id).await)?;
            let turn = turn.ok_or_else(|| ChatError::turn_not_found(conversation_id, turn_id))?;
            if turn.status != TurnStatus::Running {
                return Ok(Arc::new(turn));
            }
            look += 1;
            self.await_foreign_turn(look).await;
        }
    }

    /// Lets a turn that another process drives go on for a while; where that process is dead, its turns are ended.
    pub(crate) async fn await_foreign_turn(&self, look: u32) {
        tokio::time::sleep(FOREIGN_TURN_POLL).await;
        if look.is_multiple_of(FOREIGN_HOST_POLLS)
            && let Err(error) = recovery::recover(self).await
        {
            tracing::warn!(%error, "turns of a dead host were not ended");
        }
    }

    pub(crate) fn lock_drivers(&self) -> MutexGuard<'_, HashMap<Arc<str>, UnboundedSender<Command>>> {
        self.drivers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_cleaned_hosts(&self) -> MutexGuard<'_, HashSet<String>> {
        self.cleaned_hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tails(&self) -> MutexGuard<'_, HashMap<TurnKey, Arc<Tail>>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
