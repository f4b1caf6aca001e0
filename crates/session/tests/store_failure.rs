//! A journal that refuses updates.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use async_trait::async_trait;
use chat_grammar::records::*;
use chat_grammar::usage::UsageStep;
use chat_grammar::{ChatError, Result};
use chat_journal::{AppendDone, Chunk, ConversationStore, UpdateBatch};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::Setup;
use support::scripted::{Heard, Script, asks, contract};

/// A store whose journal fails after so many batches.
struct FailingStore {
    store: chat_journal::SqliteStore,
    batches_left: AtomicUsize,
}

#[async_trait]
impl ConversationStore for FailingStore {
    async fn create_conversation(&self, record: ConversationRecord) -> Result<()> {
        self.store.create_conversation(record).await
    }
    async fn get_conversation(&self, owner: &str, id: &str) -> Result<Option<ConversationRecord>> {
        self.store.get_conversation(owner, id).await
    }
    async fn list_conversations(&self, owner: &str, options: ListOptions) -> Result<ConversationPage> {
        self.store.list_conversations(owner, options).await
    }
    async fn update_conversation(&self, owner: &str, id: &str, patch: ConversationPatch) -> Result<ConversationRecord> {
        self.store.update_conversation(owner, id, patch).await
    }
    async fn begin_turn(
        &self,
        owner: &str,
        turn: TurnRecord,
        message: Option<MessageRecord>,
        patch: ConversationPatch,
    ) -> Result<TurnRecord> {
        self.store.begin_turn(owner, turn, message, patch).await
    }
    fn append_updates(&self, batch: UpdateBatch, done: AppendDone) {
        let left = self.batches_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match left {
            Ok(_) => self.store.append_updates(batch, done),
            Err(_) => done(Err(ChatError::store("the disk is full"))),
        }
    }
    async fn seal_turn(&self, owner: &str, seal: TurnSeal) -> Result<TurnRecord> {
        self.store.seal_turn(owner, seal).await
    }
    async fn get_turn(&self, owner: &str, conversation_id: &str, turn_id: &str) -> Result<Option<TurnRecord>> {
        self.store.get_turn(owner, conversation_id, turn_id).await
    }
    async fn latest_turn(&self, owner: &str, conversation_id: &str) -> Result<Option<TurnRecord>> {
        self.store.latest_turn(owner, conversation_id).await
    }
    async fn dead_hosts(&self) -> Result<Vec<String>> {
        self.store.dead_hosts().await
    }

    async fn running_turns(&self, owner: &str) -> Result<Vec<TurnRecord>> {
        self.store.running_turns(owner).await
    }
    async fn read_updates(
        &self,
        owner: &str,
        conversation_id: &str,
        turn_id: &str,
        after: u64,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Chunk>> {
        self.store.read_updates(owner, conversation_id, turn_id, after, limit, max_bytes).await
    }
    async fn list_messages(&self, owner: &str, conversation_id: &str) -> Result<Vec<MessageRecord>> {
        self.store.list_messages(owner, conversation_id).await
    }
    async fn list_usage_steps(&self, owner: &str, conversation_id: &str, turn_id: Option<&str>) -> Result<Vec<UsageStep>> {
        self.store.list_usage_steps(owner, conversation_id, turn_id).await
    }
    async fn put_checkpoint(&self, owner: &str, checkpoint: ProviderCheckpoint) -> Result<()> {
        self.store.put_checkpoint(owner, checkpoint).await
    }
    async fn get_checkpoint(&self, owner: &str, conversation_id: &str, key: &str) -> Result<Option<ProviderCheckpoint>> {
        self.store.get_checkpoint(owner, conversation_id, key).await
    }
    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
    fn close_now(&self) {
        self.store.close_now();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_commit_fails_the_turn_and_nobody_sees_what_was_not_committed() {
    let setup = Setup {
        options: json!({ "ownerUserId": "ada", "journal": { "maxUpdates": 1 } }),
        wrap: |store| Arc::new(FailingStore { store, batches_left: AtomicUsize::new(3) }),
        ..Setup::default()
    };
    let fixture = setup.start();
    let session = fixture.session("codex/text-stream", "instant").await;
    let turn = session.send("Write.").await.expect("sent");
    let updates = session.updates(&turn, 0).await;
    assert_eq!(updates.len(), 3);
    let sealed = session.completion(&turn).await;
    assert_eq!(sealed.status, TurnStatus::Failed);
    let failure = sealed.error.as_ref().expect("a reason");
    assert_eq!((failure.code.as_str(), failure.reason.as_str()), ("RUNTIME_ERROR", "store_failed"));
    assert_eq!(sealed.last_sequence, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_was_not_committed_is_not_delivered() {
    let (setup, mut script) = Script::plain();
    let setup = Setup { wrap: |store| Arc::new(FailingStore { store, batches_left: AtomicUsize::new(1) }), ..setup };
    let fixture = setup.start();
    let session = fixture.session_with(&contract()).await;
    let turn = session.send("Go.").await.expect("sent");
    script.says(vec![asks("a")]);
    let request = session.see(&turn, "permission_request").await;
    let answer = json!({ "outcome": { "outcome": "selected", "optionId": "yes" } });
    let error = session.respond(&request, answer).await.expect_err("the journal refused it");
    assert_eq!(error.code, chat_grammar::ErrorCode::StoreError);
    let sealed = session.completion(&turn).await;
    assert_eq!(sealed.error.as_ref().expect("a reason").reason, "store_failed");
    assert_eq!(sealed.last_sequence, 1);
    assert_eq!((script.hears().await, script.hears().await), (Heard::Opened, Heard::Prompt));
    assert!(matches!(script.hears().await, Heard::Answer(..)));
    assert_eq!(script.hears().await, Heard::Close, "it would wait for ever");
}
