//! How turns, messages, usage and checkpoints are stored.

use crate::support::*;
use chat_grammar::ErrorCode;
use chat_grammar::records::{ConversationPatch, Role, TurnStatus};
use chat_journal::ConversationStore;
use serde_json::json;

fn value<T: serde::Serialize>(record: &T) -> serde_json::Value {
    serde_json::to_value(record).unwrap()
}

#[tokio::test]
async fn a_conversation_comes_back_as_it_was_given() {
    let place = Place::new();
    let store = place.store();
    let mut record = conversation(OWNER, CONVERSATION);
    record.title = Some("Ä \"title\"".into());
    store.create_conversation(record.clone()).await.unwrap();
    assert_eq!(value(&store.get_conversation(OWNER, CONVERSATION).await.unwrap()), value(&record));
    assert_code(store.create_conversation(record).await, ErrorCode::SessionAlreadyExists);
    assert!(store.get_conversation(OWNER, "other").await.unwrap().is_none());
}

#[tokio::test]
async fn a_patch_changes_what_it_names() {
    let place = Place::new();
    let store = place.store();
    store.create_conversation(conversation(OWNER, CONVERSATION)).await.unwrap();
    let patch = |value| from_json::<ConversationPatch>(value);
    let titled =
        store.update_conversation(OWNER, CONVERSATION, patch(json!({ "title": "T", "archivedAt": time(4) }))).await.unwrap();
    assert_eq!((titled.title.as_deref(), titled.archived_at), (Some("T"), Some(time(4))));
    let record = store
        .update_conversation(OWNER, CONVERSATION, patch(json!({ "archivedAt": null, "newMessages": true })))
        .await
        .unwrap();
    assert_eq!((record.title.as_deref(), &record.archived_at, record.new_messages), (Some("T"), &None, true));
    assert_eq!(value(&store.get_conversation(OWNER, CONVERSATION).await.unwrap()), value(&record));
    assert_code(store.update_conversation(OWNER, "other", patch(json!({}))).await, ErrorCode::SessionNotFound);
}

#[tokio::test]
async fn a_turn_begins_with_its_message_and_execution() {
    let place = Place::new();
    let store = place.store();
    store.create_conversation(conversation(OWNER, CONVERSATION)).await.unwrap();
    let user = message(CONVERSATION, "one", "m1", "user");
    let begun = store.begin_turn(OWNER, turn(CONVERSATION, "one"), Some(user), execution_patch("second", 2)).await.unwrap();
    assert_eq!((begun.ordinal, begun.status, begun.last_sequence), (1, TurnStatus::Running, 0));
    assert_eq!(begun.prompt.get(), turn(CONVERSATION, "one").prompt.get());
    let record = store.get_conversation(OWNER, CONVERSATION).await.unwrap().unwrap();
    assert_eq!((record.execution.id.as_str(), record.updated_at), ("second", time(2)));

    assert_code(begin_turn(&store, "two").await, ErrorCode::SessionBusy);
    append(&store, "one", updates(1..=3)).await.unwrap();
    assert_eq!(store.get_turn(OWNER, CONVERSATION, "one").await.unwrap().unwrap().last_sequence, 3);

    let mut end = seal("one");
    end.message = Some(message(CONVERSATION, "one", "m2", "assistant"));
    end.usage_steps = vec![step("one", 0), step("one", 1)];
    end.error =
        Some(from_json(json!({ "code": "MODEL_ERROR", "class": "model", "reason": "r", "message": "m", "retryable": false })));
    let sealed = store.seal_turn(OWNER, end).await.unwrap();
    assert_eq!((sealed.status, sealed.last_sequence, sealed.ended_at.clone()), (TurnStatus::Completed, 3, Some(time(9))));
    assert_eq!(sealed.error.as_ref().unwrap().reason, "r");
    assert_eq!(value(&store.get_turn(OWNER, CONVERSATION, "one").await.unwrap()), value(&sealed));
    let record = store.get_conversation(OWNER, CONVERSATION).await.unwrap().unwrap();
    assert_eq!((record.new_messages, record.updated_at), (true, time(9)));

    let mut user = message(CONVERSATION, "two", "m3", "user");
    user.parts = from_json(json!([{ "type": "text", "text": "\u{0}é" }]));
    let second =
        store.begin_turn(OWNER, turn(CONVERSATION, "two"), Some(user.clone()), ConversationPatch::default()).await.unwrap();
    assert_eq!(second.ordinal, 2);
    assert_eq!(store.latest_turn(OWNER, CONVERSATION).await.unwrap().unwrap().id, "two");

    let messages = store.list_messages(OWNER, CONVERSATION).await.unwrap();
    let seen: Vec<_> = messages.iter().map(|message| (message.id.as_str(), message.ordinal, message.role)).collect();
    assert_eq!(seen, [("m1", 1, Role::User), ("m2", 2, Role::Assistant), ("m3", 3, Role::User)]);
    assert_eq!(messages[2].parts.get(), user.parts.get());
    assert_eq!(store.list_usage_steps(OWNER, CONVERSATION, None).await.unwrap(), [step("one", 0), step("one", 1)]);
    assert_eq!(store.list_usage_steps(OWNER, CONVERSATION, Some("two")).await.unwrap(), []);
    assert_code(store.list_usage_steps(OWNER, "other", None).await, ErrorCode::SessionNotFound);
    assert_code(store.list_messages(OWNER, "other").await, ErrorCode::SessionNotFound);
}

#[tokio::test]
async fn a_turn_that_is_refused_leaves_nothing() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    store.seal_turn(OWNER, seal(TURN)).await.unwrap();
    let before = value(&store.get_conversation(OWNER, CONVERSATION).await.unwrap());
    let begin = |turn, message| store.begin_turn(OWNER, turn, message, execution_patch("other", 50));

    assert_store_error(begin(turn(CONVERSATION, TURN), None).await, "exists already");
    let mut ended = turn(CONVERSATION, "new");
    ended.status = TurnStatus::Completed;
    assert_store_error(begin(ended, None).await, "cannot begin as completed");
    assert_store_error(
        begin(turn(CONVERSATION, "new"), Some(message(CONVERSATION, TURN, "m", "user"))).await,
        "is none of turn",
    );
    assert_code(begin(turn("other", "new"), None).await, ErrorCode::SessionNotFound);

    assert_eq!(value(&store.get_conversation(OWNER, CONVERSATION).await.unwrap()), before);
    assert!(store.get_turn(OWNER, CONVERSATION, "new").await.unwrap().is_none());
    assert!(store.list_messages(OWNER, CONVERSATION).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_turn_is_sealed_once() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let mut running = seal(TURN);
    running.status = TurnStatus::Running;
    assert_store_error(store.seal_turn(OWNER, running).await, "cannot be sealed as running");
    let mut foreign = seal(TURN);
    foreign.usage_steps = vec![step("other", 0)];
    assert_store_error(store.seal_turn(OWNER, foreign).await, "usage step 0 is of turn \"other\"");

    let sealed = store.seal_turn(OWNER, seal(TURN)).await.unwrap();
    let mut again = seal(TURN);
    again.status = TurnStatus::Failed;
    assert_code(store.seal_turn(OWNER, again).await, ErrorCode::TurnAlreadySealed);
    assert_eq!(value(&store.get_turn(OWNER, CONVERSATION, TURN).await.unwrap()), value(&sealed));
    assert_code(store.seal_turn(OWNER, seal("other")).await, ErrorCode::TurnNotFound);
    assert_code(append(&store, TURN, updates(1..=1)).await, ErrorCode::TurnAlreadySealed);
}

#[tokio::test]
async fn the_seal_comes_after_the_updates_that_were_given_before() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let answers: Vec<_> =
        (0..200).map(|n| give(&store, batch(OWNER, CONVERSATION, TURN, updates(n * 3 + 1..=n * 3 + 3)))).collect();
    assert_eq!(store.seal_turn(OWNER, seal(TURN)).await.unwrap().last_sequence, 600);
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    assert_updates(&store, TURN, 600).await;
}

#[tokio::test]
async fn a_checkpoint_replaces_the_one_before() {
    let place = Place::new();
    let store = place.store();
    store.create_conversation(conversation(OWNER, CONVERSATION)).await.unwrap();
    store.put_checkpoint(OWNER, checkpoint(CONVERSATION, "k", "s1")).await.unwrap();
    store.put_checkpoint(OWNER, checkpoint(CONVERSATION, "k", "s2")).await.unwrap();
    let found = store.get_checkpoint(OWNER, CONVERSATION, "k").await.unwrap();
    assert_eq!(value(&found), value(&checkpoint(CONVERSATION, "k", "s2")));
    assert!(store.get_checkpoint(OWNER, CONVERSATION, "other").await.unwrap().is_none());
    assert_code(store.put_checkpoint(OWNER, checkpoint("other", "k", "s")).await, ErrorCode::SessionNotFound);
}

#[tokio::test]
async fn of_concurrent_turns_exactly_one_begins() {
    let place = Place::new();
    let stores = [std::sync::Arc::new(place.store()), std::sync::Arc::new(place.store())];
    stores[0].create_conversation(conversation(OWNER, CONVERSATION)).await.unwrap();
    let tasks: Vec<_> = (0..32)
        .map(|n| {
            let store = stores[n % 2].clone();
            tokio::spawn(async move { begin_turn(&store, &format!("turn {n}")).await })
        })
        .collect();
    let mut begun = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => begun += 1,
            Err(error) => assert_eq!(error.code, ErrorCode::SessionBusy, "{error}"),
        }
    }
    assert_eq!(begun, 1);
}

#[tokio::test]
async fn memory_works_like_a_file() {
    let store = chat_journal::SqliteStore::open(chat_journal::SqliteOptions::new(":memory:"));
    begin(&store).await;
    append(&store, TURN, updates(1..=300)).await.unwrap();
    store.seal_turn(OWNER, seal(TURN)).await.unwrap();
    assert_updates(&store, TURN, 300).await;
    assert!(store.running_turns(OWNER).await.unwrap().is_empty());
    let other = chat_journal::SqliteStore::open(chat_journal::SqliteOptions::new(":memory:"));
    assert!(other.get_conversation(OWNER, CONVERSATION).await.unwrap().is_none());
    store.close().await.unwrap();
    assert!(!std::path::Path::new(":memory:").exists());
}
