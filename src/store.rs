//! `SqliteConversationStore`.

use crate::error::{json, parse, to_napi};
use crate::promise::answer;
use chat_grammar::records::JournalEntry;
use chat_grammar::{ChatError, ErrorCode, Result};
use chat_journal::{Chunk, ConversationStore, Durability, SqliteOptions, SqliteStore, UpdateBatch};
use napi::Env;
use napi::bindgen_prelude::AsyncBlock;
use napi_derive::napi;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::oneshot;

/// How much `readUpdates` reads at once, in bytes.
const READ_BYTES: usize = 16 * 1024 * 1024;

#[derive(Deserialize)]
struct StoreOptions {
    path: PathBuf,
    durability: Option<StoreDurability>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoreDurability {
    Process,
    Power,
}

/// A SQLite file of conversations. Each method is one of `ConversationStorePort`, with nested values as JSON text.
#[napi]
pub struct NativeStore {
    pub(crate) store: Arc<SqliteStore>,
}

type Answer<T> = napi::Result<AsyncBlock<T>>;

impl NativeStore {
    fn ask<T, F>(&self, env: &Env, question: impl FnOnce(Arc<SqliteStore>) -> F) -> Answer<T>
    where
        T: napi::bindgen_prelude::ToNapiValue + Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        answer(env, question(Arc::clone(&self.store)))
    }
}

#[napi]
impl NativeStore {
    /// Opens a file in the background; options as JSON: `{path, durability}`.
    #[napi(constructor, catch_unwind)]
    pub fn new(options_json: String) -> napi::Result<Self> {
        let StoreOptions { path, durability } = parse("options", &options_json).map_err(to_napi)?;
        let durability = match durability {
            Some(StoreDurability::Power) => Durability::Power,
            Some(StoreDurability::Process) | None => Durability::Process,
        };
        Ok(Self { store: Arc::new(SqliteStore::open(SqliteOptions { durability, ..SqliteOptions::new(path) })) })
    }

    /// Resolves once the file is open.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn ready(&self, env: &Env) -> Answer<()> {
        self.ask(env, |store| async move { store.ready().await })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn create_conversation(&self, env: &Env, record_json: String) -> Answer<()> {
        self.ask(env, |store| async move { store.create_conversation(parse("record", &record_json)?).await })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn get_conversation(&self, env: &Env, owner: String, id: String) -> Answer<Option<String>> {
        self.ask(env, |store| async move { optional(store.get_conversation(&owner, &id).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn list_conversations(&self, env: &Env, owner: String, options_json: String) -> Answer<String> {
        self.ask(env, |store| async move { json(&store.list_conversations(&owner, parse("options", &options_json)?).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn update_conversation(&self, env: &Env, owner: String, id: String, patch_json: String) -> Answer<String> {
        self.ask(env, |store| async move { json(&store.update_conversation(&owner, &id, parse("patch", &patch_json)?).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn begin_turn(
        &self,
        env: &Env,
        owner: String,
        turn_json: String,
        message_json: Option<String>,
        patch_json: String,
    ) -> Answer<()> {
        self.ask(env, |store| async move {
            let message = message_json.map(|json| parse("message", &json)).transpose()?;
            let (turn, patch) = (parse("turn", &turn_json)?, parse("patch", &patch_json)?);
            store.begin_turn(&owner, turn, message, patch).await.map(|_| ())
        })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn append_updates(
        &self,
        env: &Env,
        owner: String,
        conversation_id: String,
        turn_id: String,
        entries_json: String,
    ) -> Answer<()> {
        // Given to the writer here, so that calls keep their order.
        let appended = append(&self.store, &owner, &conversation_id, &turn_id, &entries_json);
        answer(env, async move {
            match appended? {
                Some(done) => done.await.unwrap_or_else(|_| Err(ChatError::store("the store closed before it answered"))),
                None => Ok(()),
            }
        })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn seal_turn(&self, env: &Env, owner: String, seal_json: String) -> Answer<String> {
        self.ask(env, |store| async move { json(&store.seal_turn(&owner, parse("seal", &seal_json)?).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn get_turn(&self, env: &Env, owner: String, conversation_id: String, turn_id: String) -> Answer<Option<String>> {
        self.ask(env, |store| async move { optional(store.get_turn(&owner, &conversation_id, &turn_id).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn latest_turn(&self, env: &Env, owner: String, conversation_id: String) -> Answer<Option<String>> {
        self.ask(env, |store| async move { optional(store.latest_turn(&owner, &conversation_id).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn running_turns(&self, env: &Env, owner: String) -> Answer<String> {
        self.ask(env, |store| async move { json(&store.running_turns(&owner).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn read_updates(
        &self,
        env: &Env,
        owner: String,
        conversation_id: String,
        turn_id: String,
        after_sequence: f64,
        limit: u32,
    ) -> Answer<String> {
        self.ask(env, |store| async move {
            // The facade lets only safe integers pass.
            let (after, limit) = (after_sequence as u64, limit as usize);
            let mut entries: Vec<JournalEntry> = Vec::new();
            loop {
                let from = entries.last().map_or(after, |entry| entry.sequence);
                let left = limit - entries.len();
                let chunks = match left {
                    0 => Vec::new(),
                    _ => store.read_updates(&owner, &conversation_id, &turn_id, from, left, READ_BYTES).await?,
                };
                let read = chunks.iter().flat_map(|chunk| chunk.entries()).filter(|entry| entry.sequence > from);
                let before = entries.len();
                entries.extend(read.take(left));
                if entries.len() == before {
                    return json(&entries);
                }
            }
        })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn list_messages(&self, env: &Env, owner: String, conversation_id: String) -> Answer<String> {
        self.ask(env, |store| async move { json(&store.list_messages(&owner, &conversation_id).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn list_usage_steps(
        &self,
        env: &Env,
        owner: String,
        conversation_id: String,
        turn_id: Option<String>,
    ) -> Answer<String> {
        self.ask(env, |store| async move { json(&store.list_usage_steps(&owner, &conversation_id, turn_id.as_deref()).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn put_checkpoint(&self, env: &Env, owner: String, checkpoint_json: String) -> Answer<()> {
        self.ask(env, |store| async move { store.put_checkpoint(&owner, parse("checkpoint", &checkpoint_json)?).await })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn get_checkpoint(&self, env: &Env, owner: String, conversation_id: String, key: String) -> Answer<Option<String>> {
        self.ask(env, |store| async move { optional(store.get_checkpoint(&owner, &conversation_id, &key).await?) })
    }

    /// Writes a consistent copy while in use.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn backup(&self, env: &Env, to_path: String) -> Answer<()> {
        self.ask(env, |store| async move { store.backup(to_path).await })
    }

    /// Commits what was accepted and releases the file.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: &Env) -> Answer<()> {
        self.ask(env, |store| async move { store.close().await })
    }
}

fn append(
    store: &SqliteStore,
    owner: &str,
    conversation_id: &str,
    turn_id: &str,
    entries_json: &str,
) -> Result<Option<oneshot::Receiver<Result<()>>>> {
    let entries: Vec<JournalEntry> = parse("entries", entries_json)?;
    let Some(first) = entries.first() else { return Ok(None) };
    for (index, (entry, expected)) in entries.iter().zip(first.sequence..).enumerate() {
        if entry.sequence != expected {
            let message = format!("sequence {} stands where {expected} follows: a batch has no gaps", entry.sequence);
            return Err(ChatError::store(message));
        }
        if !is_update(&entry.json) {
            let problem = "must be the JSON text of an object on one line";
            return Err(ChatError::at(ErrorCode::InvalidOptions, format!("entries[{index}].json"), problem));
        }
    }
    let text = entries.iter().map(|entry| entry.json.as_str()).collect::<Vec<_>>().join("\n");
    let (sender, done) = oneshot::channel();
    let batch = UpdateBatch {
        owner: owner.into(),
        conversation_id: conversation_id.into(),
        turn_id: turn_id.into(),
        chunk: Arc::new(Chunk::from_text(first.sequence, text)),
    };
    store.append_updates(batch, Box::new(|result| drop(sender.send(result))));
    Ok(Some(done))
}

fn is_update(json: &str) -> bool {
    json.starts_with('{') && !json.contains('\n') && serde_json::from_str::<IgnoredAny>(json).is_ok()
}

fn optional<T: serde::Serialize>(record: Option<T>) -> Result<Option<String>> {
    record.map(|record| json(&record)).transpose()
}
