//! The store on SQLite: one thread that writes for all turns, a few that read.

mod append;
mod backup;
mod blob;
mod compact;
mod conversations;
mod cursor;
mod failure;
mod group;
mod latch;
mod lease;
mod messages;
mod open;
mod process;
mod queue;
mod readers;
mod row;
mod schema;
#[cfg(test)]
mod tests;
mod turns;
mod updates;
mod writer;

use crate::chunk::Chunk;
use crate::store::{AppendDone, ConversationStore, UpdateBatch};
use append::Append;
use async_trait::async_trait;
use chat_grammar::records::{
    ConversationPage, ConversationPatch, ConversationRecord, ListOptions, MessageRecord, ProviderCheckpoint, TurnRecord,
    TurnSeal,
};
use chat_grammar::usage::UsageStep;
use chat_grammar::{ChatError, Result};
use conversations::Listing;
use failure::{Location, Outcome};
use group::{Work, Writing};
use latch::Latch;
use lease::Host;
use queue::{Command, Job, Queue};
use readers::Readers;
use rusqlite::Connection;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use updates::Span;
use writer::{Settings, Shared};

/// How long a process that ends waits for the writer: longer than the writer waits for another program's lock.
const LAST_COMMITS: Duration = Duration::from_secs(10);

/// What an acknowledged update survives. Accepted prompts and sealed turns survive a power failure with either.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process.
    #[default]
    Process,
    /// A power failure: every commit waits for the disk.
    Power,
}

/// What may share a row of the journal. Nothing is ever held back for it: what waits is committed at once, and what comes in
/// the meantime makes the next batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchPolicy {
    /// At most this many updates.
    pub max_updates: usize,
    /// At most this many bytes of text. A chunk that is larger gets a row of its own.
    pub max_bytes: usize,
    /// How long an update might wait for others, in milliseconds: an upper bound that the store keeps by not waiting at all.
    pub max_delay_ms: u64,
}

impl Default for BatchPolicy {
    /// 256 updates, 256 KiB.
    fn default() -> Self {
        Self { max_updates: 256, max_bytes: 256 * 1024, max_delay_ms: 10 }
    }
}

/// Where a store is and how it commits.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// A file, which is created with its folders where it is missing, or `:memory:`.
    pub path: PathBuf,
    /// What an acknowledged update survives.
    pub durability: Durability,
    /// What may share a row of the journal.
    pub policy: BatchPolicy,
}

impl SqliteOptions {
    /// A file or `:memory:`, with the defaults for all else.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), durability: Durability::default(), policy: BatchPolicy::default() }
    }
}

/// A store of conversations in one SQLite file, for many owners. Several stores, in one process or in several, may have the
/// file open. Dropped, it commits what it has accepted before it goes, as `close_now` does.
pub struct SqliteStore {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteStore").field("location", &self.shared.location).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Returns at once and opens the file in the background. Every method waits for that; where it fails, all fail with the
    /// same error.
    pub fn open(options: SqliteOptions) -> Self {
        let SqliteOptions { path, durability, policy } = options;
        let (location, invalid) = locate(&path);
        let shared = Arc::new(Shared {
            location,
            host: Host::new(),
            queue: Queue::default(),
            readers: Arc::new(Readers::default()),
            opened: watch::Sender::new(None),
            left: Latch::new(),
        });
        let settings = Settings { durability, policy };
        let writer = match invalid {
            Some(error) => Err(error),
            None => {
                let shared = shared.clone();
                thread::Builder::new()
                    .name("journal-writer".to_owned())
                    .spawn(move || writer::run(&shared, settings))
                    .map_err(|error| ChatError::store(format!("the journal's writer cannot start: {error}")))
            }
        };
        let writer = match writer {
            Ok(writer) => Some(writer),
            Err(error) => {
                shared.fail(error);
                None
            }
        };
        Self { shared, writer: Mutex::new(writer) }
    }

    /// Waits until the file is open.
    ///
    /// # Errors
    /// `STORE_ERROR` that names the file and says what to do: it is a directory, no database, of another application or of a
    /// newer version, read-only, locked, or the disk is full. The file is as it was then.
    pub async fn ready(&self) -> Result<()> {
        let mut opened = self.shared.opened.subscribe();
        match opened.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Ok(())),
            Err(_) => Err(stopped()),
        }
    }

    /// The id under which this store drives turns: a UUID, new with every `open`.
    pub fn host_id(&self) -> &str {
        &self.shared.host.id
    }

    /// The file, absolute; `None` for `:memory:`.
    pub fn path(&self) -> Option<&Path> {
        match &self.shared.location {
            Location::File(path) => Some(path),
            Location::Memory => None,
        }
    }

    /// Writes a consistent copy of what is committed to a new file, mode 0600, while the store is in use. Turns that run are left over
    /// in the copy.
    ///
    /// # Errors
    /// `STORE_ERROR`: the file exists already or cannot be written, or the store is closed meanwhile. No file is left then.
    pub async fn backup(&self, to: impl AsRef<Path>) -> Result<()> {
        let to = absolute(to.as_ref())?;
        let shared = self.shared.clone();
        self.read(move |connection| backup::copy(connection, &to, &shared.queue)).await
    }

    // One transaction of the writer; accepted when the future is first polled.
    async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Writing<'_>) -> Outcome<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.shared.queue.push(Command::Task(Box::new(Work::new(work, reply))));
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    // One transaction that reads, after all that was answered before.
    async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        self.ready().await?;
        let (reply, answer) = oneshot::channel();
        let location = self.shared.location.clone();
        let job: Job = Box::new(move |connection| {
            let read = |connection: &mut Connection| -> Outcome<T> { work(&*connection.transaction()?) };
            let result = connection.and_then(|connection| read(connection).map_err(|failure| location.explain(&failure)));
            // Nobody may be waiting any more.
            let _ = reply.send(result);
        });
        match (self.shared.queue.ended(), &self.shared.location) {
            (Some(error), _) => return Err(error),
            // A database in memory has one connection.
            (None, Location::Memory) => self.shared.queue.push_job(job),
            (None, Location::File(_)) => self.shared.readers.push(job),
        }
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    fn take_writer(&self) -> Option<JoinHandle<()>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    // The writer itself may drop the last reference, in the answer to a batch: it must not wait for its own end.
    fn leave(&self) {
        self.shared.queue.end(closed());
        let Some(writer) = self.take_writer() else {
            self.shared.left.wait(LAST_COMMITS);
            return;
        };
        if writer.thread().id() == thread::current().id() {
            return;
        }
        if self.shared.left.wait(LAST_COMMITS) {
            let _ = writer.join();
        } else {
            tracing::error!(location = %self.shared.location, "the journal could not be closed in time");
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Shared {
    // Without a writer.
    fn fail(&self, error: ChatError) {
        self.queue.break_off(&error);
        self.readers.end(error.clone());
        self.opened.send_replace(Some(Err(error)));
        self.left.open();
    }
}

#[async_trait]
impl ConversationStore for SqliteStore {
    async fn create_conversation(&self, record: ConversationRecord) -> Result<()> {
        self.write(move |writing| conversations::create(writing.scope.connection, &record)).await
    }

    async fn get_conversation(&self, owner: &str, id: &str) -> Result<Option<ConversationRecord>> {
        let (owner, id) = (owner.to_owned(), id.to_owned());
        self.read(move |connection| conversations::get(connection, &owner, &id)).await
    }

    async fn list_conversations(&self, owner: &str, options: ListOptions) -> Result<ConversationPage> {
        let (owner, listing) = (owner.to_owned(), Listing::try_from(options)?);
        self.read(move |connection| conversations::list(connection, &owner, &listing)).await
    }

    async fn update_conversation(&self, owner: &str, id: &str, patch: ConversationPatch) -> Result<ConversationRecord> {
        let (owner, id) = (owner.to_owned(), id.to_owned());
        self.write(move |writing| conversations::update(writing.scope.connection, &owner, &id, patch)).await
    }

    async fn begin_turn(
        &self,
        owner: &str,
        turn: TurnRecord,
        message: Option<MessageRecord>,
        patch: ConversationPatch,
    ) -> Result<TurnRecord> {
        let owner = owner.to_owned();
        self.write(move |writing| turns::begin(&writing.scope, &owner, &turn, message.as_ref(), patch)).await
    }

    fn append_updates(&self, batch: UpdateBatch, done: AppendDone) {
        self.shared.queue.push(Command::Append(Append::new(batch, done)));
    }

    async fn seal_turn(&self, owner: &str, seal: TurnSeal) -> Result<TurnRecord> {
        let owner = owner.to_owned();
        self.write(move |writing| turns::seal(writing, &owner, &seal)).await
    }

    async fn get_turn(&self, owner: &str, conversation_id: &str, turn_id: &str) -> Result<Option<TurnRecord>> {
        let (owner, conversation, turn) = (owner.to_owned(), conversation_id.to_owned(), turn_id.to_owned());
        self.read(move |connection| turns::get(connection, &owner, &conversation, &turn)).await
    }

    async fn latest_turn(&self, owner: &str, conversation_id: &str) -> Result<Option<TurnRecord>> {
        let (owner, conversation) = (owner.to_owned(), conversation_id.to_owned());
        self.read(move |connection| turns::latest(connection, &owner, &conversation)).await
    }

    async fn running_turns(&self, owner: &str) -> Result<Vec<TurnRecord>> {
        let (owner, host) = (owner.to_owned(), self.shared.host.clone());
        self.read(move |connection| turns::left_over(connection, &host, &owner)).await
    }

    async fn dead_hosts(&self) -> Result<Vec<String>> {
        let host = self.shared.host.clone();
        self.read(move |connection| lease::dead_hosts(connection, &host)).await
    }

    async fn read_updates(
        &self,
        owner: &str,
        conversation_id: &str,
        turn_id: &str,
        after_sequence: u64,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Chunk>> {
        let (owner, conversation, turn) = (owner.to_owned(), conversation_id.to_owned(), turn_id.to_owned());
        let span = Span { after: after_sequence, limit, max_bytes };
        self.read(move |connection| updates::read(connection, &owner, &conversation, &turn, span)).await
    }

    async fn list_messages(&self, owner: &str, conversation_id: &str) -> Result<Vec<MessageRecord>> {
        let (owner, conversation) = (owner.to_owned(), conversation_id.to_owned());
        self.read(move |connection| messages::list(connection, &owner, &conversation)).await
    }

    async fn list_usage_steps(&self, owner: &str, conversation_id: &str, turn_id: Option<&str>) -> Result<Vec<UsageStep>> {
        let (owner, conversation, turn) = (owner.to_owned(), conversation_id.to_owned(), turn_id.map(str::to_owned));
        self.read(move |connection| messages::list_steps(connection, &owner, &conversation, turn.as_deref())).await
    }

    async fn put_checkpoint(&self, owner: &str, checkpoint: ProviderCheckpoint) -> Result<()> {
        let owner = owner.to_owned();
        self.write(move |writing| messages::put_checkpoint(writing.scope.connection, &owner, &checkpoint)).await
    }

    async fn get_checkpoint(&self, owner: &str, conversation_id: &str, key: &str) -> Result<Option<ProviderCheckpoint>> {
        let (owner, conversation, key) = (owner.to_owned(), conversation_id.to_owned(), key.to_owned());
        self.read(move |connection| messages::get_checkpoint(connection, &owner, &conversation, &key)).await
    }

    async fn close(&self) -> Result<()> {
        self.shared.queue.end(closed());
        self.shared.left.passed().await;
        match self.take_writer().map(JoinHandle::join) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(_)) => Err(stopped()),
        }
    }

    fn close_now(&self) {
        self.leave();
    }
}

fn locate(path: &Path) -> (Location, Option<ChatError>) {
    if path == Path::new(":memory:") {
        return (Location::Memory, None);
    }
    match absolute(path) {
        Ok(path) => (Location::File(path), None),
        Err(error) => (Location::File(path.to_owned()), Some(error)),
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| ChatError::store(format!("{:?} is no path of a file: {error}", path.display().to_string())))
}

fn closed() -> ChatError {
    ChatError::store("the store is closed")
}

fn stopped() -> ChatError {
    ChatError::runtime("the journal stopped before it answered")
}
