//! Records to store, short ways to call the store, and child processes.

use chat_grammar::records::{
    ConversationPatch, ConversationRecord, JournalEntry, MessageRecord, ProviderCheckpoint, TurnRecord, TurnSeal,
};
use chat_grammar::usage::UsageStep;
use chat_grammar::{ChatError, ErrorCode, Result};
use chat_journal::{Chunk, ConversationStore, SqliteOptions, SqliteStore, UpdateBatch};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::oneshot;

pub(crate) const OWNER: &str = "ann";
pub(crate) const CONVERSATION: &str = "conversation";
pub(crate) const TURN: &str = "turn";

/// A folder that goes when the test ends, with a database in it.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.0.path().join("chat.db")
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(SqliteOptions::new(self.database()))
    }

    /// A connection beside the store, for what no store does.
    pub(crate) fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.database()).unwrap()
    }
}

/// A test of this binary in a process of its own, started through a shell that first does `prepare`.
pub(crate) fn child(test: &str, prepare: &str, database: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{prepare}; exec \"$0\" \"$@\"")).arg(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env("JOURNAL_TEST_DATABASE", database);
    command
}

/// The database of a child process; elsewhere `None`, so that the child's test does nothing by itself.
pub(crate) fn database_of_child() -> Option<PathBuf> {
    std::env::var_os("JOURNAL_TEST_DATABASE").map(PathBuf::from)
}

pub(crate) fn from_json<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_str(&value.to_string()).unwrap()
}

fn contract() -> Value {
    json!({
        "agent": { "adapterId": "replay", "installationId": "codex/text-stream", "revisionId": "1" },
        "model": { "providerId": "openai", "modelId": "gpt-5.5", "settings": [] },
        "auth": { "mode": "byok", "bindingId": "key" },
        "tools": { "revisionId": null, "toolIds": [] },
        "cwd": { "path": "/tmp", "workspaceId": null, "materializationRevision": null },
        "permissionMode": "full_access",
        "computerId": "computer",
    })
}

fn execution(id: &str) -> Value {
    json!({ "id": id, "revision": "r", "contract": contract() })
}

pub(crate) fn time(second: u32) -> String {
    format!("2026-11-30T18:{:02}:{:02}.000Z", second / 60, second % 60)
}

pub(crate) fn conversation(owner: &str, id: &str) -> ConversationRecord {
    from_json(json!({
        "id": id, "ownerUserId": owner, "title": null, "agent": contract()["agent"], "execution": execution("first"),
        "createdAt": time(0), "updatedAt": time(0), "archivedAt": null, "newMessages": false,
    }))
}

pub(crate) fn turn(conversation: &str, id: &str) -> TurnRecord {
    from_json(json!({
        "id": id, "conversationId": conversation, "ordinal": 0, "status": "running", "origin": "host", "stopReason": null,
        "nativeStopReason": null, "error": null, "execution": execution("first"),
        "prompt": { "parts": [{ "type": "text", "text": "Hello" }] }, "startedAt": time(1), "endedAt": null, "lastSequence": 0,
        "usage": null,
    }))
}

pub(crate) fn message(conversation: &str, turn: &str, id: &str, role: &str) -> MessageRecord {
    from_json(json!({
        "id": id, "conversationId": conversation, "turnId": turn, "ordinal": 0, "role": role,
        "parts": [{ "type": "text", "text": format!("from {role}") }], "createdAt": time(1),
    }))
}

pub(crate) fn seal(turn: &str) -> TurnSeal {
    from_json(json!({
        "turnId": turn, "status": "completed", "stopReason": "end_turn", "nativeStopReason": "completed", "error": null,
        "endedAt": time(9), "usage": null, "usageSteps": [], "message": null,
    }))
}

pub(crate) fn step(turn: &str, index: u64) -> UsageStep {
    from_json(json!({
        "turnId": turn, "index": index, "id": format!("response {index}"), "operation": "chat_step", "source": "codex_app_server",
        "exact": true, "billable": true, "inputTokens": 12, "outputTokens": null, "cacheReadTokens": 0, "cacheWriteTokens": 3,
        "nativeCostUsd": 0.25, "raw": { "z": 1, "a": [1.5, null] },
    }))
}

pub(crate) fn checkpoint(conversation: &str, key: &str, session: &str) -> ProviderCheckpoint {
    from_json(json!({
        "conversationId": conversation, "key": key, "providerSessionId": session, "updatedAt": time(3), "data": { "n": 1 },
    }))
}

pub(crate) fn execution_patch(id: &str, second: u32) -> ConversationPatch {
    from_json(json!({ "execution": execution(id), "updatedAt": time(second) }))
}

pub(crate) fn chunk(first: u64, updates: &[impl AsRef<str>]) -> Chunk {
    Chunk::from_text(first, updates.iter().map(AsRef::as_ref).collect::<Vec<_>>().join("\n"))
}

/// The text of an update, so that every test can tell what must come back.
pub(crate) fn update(sequence: u64) -> String {
    json!({ "sequence": sequence, "text": "x".repeat(usize::try_from(sequence % 700).unwrap()) }).to_string()
}

/// The updates of these sequences.
pub(crate) fn updates(sequences: std::ops::RangeInclusive<u64>) -> Chunk {
    chunk(*sequences.start(), &sequences.map(update).collect::<Vec<_>>())
}

pub(crate) fn batch(owner: &str, conversation: &str, turn: &str, chunk: Chunk) -> UpdateBatch {
    UpdateBatch { owner: owner.into(), conversation_id: conversation.into(), turn_id: turn.into(), chunk: Arc::new(chunk) }
}

/// Gives the batch to the store at once; the answer comes through the receiver.
pub(crate) fn give(store: &SqliteStore, batch: UpdateBatch) -> oneshot::Receiver<Result<()>> {
    let (reply, answer) = oneshot::channel();
    store.append_updates(batch, Box::new(move |result| drop(reply.send(result))));
    answer
}

pub(crate) async fn append(store: &SqliteStore, turn: &str, chunk: Chunk) -> Result<()> {
    give(store, batch(OWNER, CONVERSATION, turn, chunk)).await.unwrap()
}

/// A conversation with a running turn.
pub(crate) async fn begin(store: &SqliteStore) {
    store.create_conversation(conversation(OWNER, CONVERSATION)).await.unwrap();
    begin_turn(store, TURN).await.unwrap();
}

pub(crate) async fn begin_turn(store: &SqliteStore, id: &str) -> Result<TurnRecord> {
    store.begin_turn(OWNER, turn(CONVERSATION, id), None, ConversationPatch::default()).await
}

/// All updates of a turn past a sequence, read in small pieces.
pub(crate) async fn replay(store: &SqliteStore, turn: &str, after: u64) -> Vec<JournalEntry> {
    let mut entries: Vec<JournalEntry> = Vec::new();
    loop {
        let from = entries.last().map_or(after, |entry| entry.sequence);
        let chunks = store.read_updates(OWNER, CONVERSATION, turn, from, 100, 10_000).await.unwrap();
        if chunks.is_empty() {
            return entries;
        }
        entries.extend(chunks.iter().flat_map(Chunk::entries));
    }
}

/// That the turn holds exactly the updates 1 to `last` of `update`.
pub(crate) async fn assert_updates(store: &SqliteStore, turn: &str, last: u64) {
    let expected: Vec<JournalEntry> = (1..=last).map(|sequence| JournalEntry { sequence, json: update(sequence) }).collect();
    let found = replay(store, turn, 0).await;
    assert!(found == expected, "turn {turn}: {} updates instead of {last}", found.len());
}

#[track_caller]
pub(crate) fn assert_code<T: std::fmt::Debug>(result: Result<T>, code: ErrorCode) -> ChatError {
    let error = result.unwrap_err();
    assert_eq!(error.code, code, "{error}");
    error
}

#[track_caller]
pub(crate) fn assert_store_error<T: std::fmt::Debug>(result: Result<T>, says: &str) {
    let error = assert_code(result, ErrorCode::StoreError);
    assert!(error.message.contains(says), "{:?} does not say {says:?}", error.message);
}
