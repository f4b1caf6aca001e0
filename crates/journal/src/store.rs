//! What the session core needs of a store. Every method is one transaction and resolves only when the data is durable.

use crate::chunk::Chunk;
use async_trait::async_trait;
use chat_grammar::Result;
use chat_grammar::records::{
    ConversationPage, ConversationPatch, ConversationRecord, ListOptions, MessageRecord, ProviderCheckpoint, TurnRecord,
    TurnSeal,
};
use chat_grammar::usage::UsageStep;
use std::sync::Arc;

/// Updates of one turn to be committed.
#[derive(Debug)]
pub struct UpdateBatch {
    pub owner: Arc<str>,
    pub conversation_id: Arc<str>,
    pub turn_id: Arc<str>,
    pub chunk: Arc<Chunk>,
}

/// Called once when a batch is committed or refused, in the order in which batches of a turn were given. It runs on a thread of
/// the store, or before `append_updates` returns where the store is closed: it must be quick, must not block, and must not want
/// a lock that the caller of `append_updates` holds.
pub type AppendDone = Box<dyn FnOnce(Result<()>) + Send>;

/// A store of conversations. All ids are scoped by owner: an id of another owner does not exist.
#[async_trait]
pub trait ConversationStore: Send + Sync + 'static {
    /// # Errors
    /// `SESSION_ALREADY_EXISTS`, `STORE_ERROR`.
    async fn create_conversation(&self, record: ConversationRecord) -> Result<()>;

    /// # Errors
    /// `STORE_ERROR`.
    async fn get_conversation(&self, owner: &str, id: &str) -> Result<Option<ConversationRecord>>;

    /// Newest update first.
    ///
    /// # Errors
    /// `INVALID_OPTIONS` for a limit or cursor that is none, `STORE_ERROR`.
    async fn list_conversations(&self, owner: &str, options: ListOptions) -> Result<ConversationPage>;

    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`.
    async fn update_conversation(&self, owner: &str, id: &str, patch: ConversationPatch) -> Result<ConversationRecord>;

    /// Stores the turn, the user's message (none for a turn that the agent began) and the conversation's new execution. Where the
    /// turn's ordinal is 0, the store gives the next one to turn and message; the record as stored is returned.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `SESSION_BUSY` while a turn runs, `STORE_ERROR` (a turn id that exists included).
    async fn begin_turn(
        &self,
        owner: &str,
        turn: TurnRecord,
        message: Option<MessageRecord>,
        patch: ConversationPatch,
    ) -> Result<TurnRecord>;

    /// Appends contiguous sequences. Accepted in call order; `done` gets `STORE_ERROR` for a gap or a sequence that is there,
    /// `TURN_ALREADY_SEALED` after the seal, `SESSION_NOT_FOUND`, `TURN_NOT_FOUND`.
    fn append_updates(&self, batch: UpdateBatch, done: AppendDone);

    /// Ends a turn exactly once, after all its appended updates, and sets the conversation's `newMessages` and `updatedAt`.
    ///
    /// # Errors
    /// `TURN_ALREADY_SEALED`, `TURN_NOT_FOUND`, `STORE_ERROR`.
    async fn seal_turn(&self, owner: &str, seal: TurnSeal) -> Result<TurnRecord>;

    /// # Errors
    /// `STORE_ERROR`.
    async fn get_turn(&self, owner: &str, conversation_id: &str, turn_id: &str) -> Result<Option<TurnRecord>>;

    /// # Errors
    /// `STORE_ERROR`.
    async fn latest_turn(&self, owner: &str, conversation_id: &str) -> Result<Option<TurnRecord>>;

    /// Those running turns that no live host drives.
    ///
    /// # Errors
    /// `STORE_ERROR`.
    async fn running_turns(&self, owner: &str) -> Result<Vec<TurnRecord>>;

    /// The ids of hosts that had this store open and died. A host that closed it is none.
    ///
    /// # Errors
    /// `STORE_ERROR`.
    async fn dead_hosts(&self) -> Result<Vec<String>>;

    /// Committed updates past a sequence, in order: at most `limit` updates, and at most about `max_bytes` bytes but never none
    /// where there is one.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `TURN_NOT_FOUND`, `STORE_ERROR`.
    async fn read_updates(
        &self,
        owner: &str,
        conversation_id: &str,
        turn_id: &str,
        after_sequence: u64,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Chunk>>;

    /// In order.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`.
    async fn list_messages(&self, owner: &str, conversation_id: &str) -> Result<Vec<MessageRecord>>;

    /// In order; of one turn or of all.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`.
    async fn list_usage_steps(&self, owner: &str, conversation_id: &str, turn_id: Option<&str>) -> Result<Vec<UsageStep>>;

    /// # Errors
    /// `SESSION_NOT_FOUND`, `STORE_ERROR`.
    async fn put_checkpoint(&self, owner: &str, checkpoint: ProviderCheckpoint) -> Result<()>;

    /// # Errors
    /// `STORE_ERROR`.
    async fn get_checkpoint(&self, owner: &str, conversation_id: &str, key: &str) -> Result<Option<ProviderCheckpoint>>;

    /// Commits what was accepted and releases everything. Later calls fail with `STORE_ERROR`.
    ///
    /// # Errors
    /// `STORE_ERROR`.
    async fn close(&self) -> Result<()>;

    /// The same for a process that ends: returns when all that was accepted is committed, within bounded time.
    fn close_now(&self);
}
