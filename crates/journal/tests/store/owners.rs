//! What one owner has does not exist for another.

use crate::support::*;
use chat_grammar::ErrorCode;
use chat_grammar::records::{ConversationPatch, ListOptions};
use chat_journal::{ConversationStore, SqliteStore};
use serde_json::json;

/// Everything that a store holds for an owner, as text.
async fn everything(store: &SqliteStore, owner: &str) -> String {
    json!({
        "page": store.list_conversations(owner, ListOptions::default()).await.unwrap(),
        "turn": store.get_turn(owner, CONVERSATION, TURN).await.unwrap(),
        "messages": store.list_messages(owner, CONVERSATION).await.unwrap(),
        "steps": store.list_usage_steps(owner, CONVERSATION, None).await.unwrap(),
        "checkpoint": store.get_checkpoint(owner, CONVERSATION, "k").await.unwrap(),
        "updates": store.read_updates(owner, CONVERSATION, TURN, 0, 1000, usize::MAX).await.unwrap()
            .iter().map(chat_journal::Chunk::text).collect::<Vec<_>>(),
    })
    .to_string()
}

#[tokio::test]
async fn every_method_is_scoped_by_owner() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    append(&store, TURN, updates(1..=3)).await.unwrap();
    store.put_checkpoint(OWNER, checkpoint(CONVERSATION, "k", "s")).await.unwrap();
    let before = everything(&store, OWNER).await;

    let bob = "bob";
    assert!(store.get_conversation(bob, CONVERSATION).await.unwrap().is_none());
    assert!(store.list_conversations(bob, ListOptions::default()).await.unwrap().conversations.is_empty());
    assert_code(store.update_conversation(bob, CONVERSATION, ConversationPatch::default()).await, ErrorCode::SessionNotFound);
    let begun = store.begin_turn(bob, turn(CONVERSATION, "new"), None, ConversationPatch::default()).await;
    assert_code(begun, ErrorCode::SessionNotFound);
    let appended = give(&store, batch(bob, CONVERSATION, TURN, updates(4..=4))).await.unwrap();
    assert_code(appended, ErrorCode::SessionNotFound);
    assert_code(store.seal_turn(bob, seal(TURN)).await, ErrorCode::TurnNotFound);
    assert!(store.get_turn(bob, CONVERSATION, TURN).await.unwrap().is_none());
    assert!(store.latest_turn(bob, CONVERSATION).await.unwrap().is_none());
    assert!(store.running_turns(bob).await.unwrap().is_empty());
    assert_code(store.read_updates(bob, CONVERSATION, TURN, 0, 10, 1000).await, ErrorCode::SessionNotFound);
    assert_code(store.list_messages(bob, CONVERSATION).await, ErrorCode::SessionNotFound);
    assert_code(store.list_usage_steps(bob, CONVERSATION, None).await, ErrorCode::SessionNotFound);
    assert_code(store.put_checkpoint(bob, checkpoint(CONVERSATION, "k", "stolen")).await, ErrorCode::SessionNotFound);
    assert!(store.get_checkpoint(bob, CONVERSATION, "k").await.unwrap().is_none());

    assert_eq!(everything(&store, OWNER).await, before);
}

#[tokio::test]
async fn two_owners_may_use_the_same_ids() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let bob = "bob";
    store.create_conversation(conversation(bob, CONVERSATION)).await.unwrap();
    let user = message(CONVERSATION, TURN, "m", "user");
    store.begin_turn(bob, turn(CONVERSATION, TURN), Some(user), ConversationPatch::default()).await.unwrap();
    let (anns, bobs) = (chunk(1, &["\"ann\""]), chunk(1, &["\"bob\"", "2"]));
    let answers = [give(&store, batch(OWNER, CONVERSATION, TURN, anns)), give(&store, batch(bob, CONVERSATION, TURN, bobs))];
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    store.put_checkpoint(bob, checkpoint(CONVERSATION, "k", "s")).await.unwrap();
    let mut end = seal(TURN);
    end.usage_steps = vec![step(TURN, 0)];
    store.seal_turn(bob, end.clone()).await.unwrap();

    let text = |chunks: Vec<chat_journal::Chunk>| chunks.iter().map(|chunk| chunk.text().to_owned()).collect::<Vec<_>>();
    assert_eq!(text(store.read_updates(OWNER, CONVERSATION, TURN, 0, 10, 1000).await.unwrap()), ["\"ann\""]);
    assert_eq!(text(store.read_updates(bob, CONVERSATION, TURN, 0, 10, 1000).await.unwrap()), ["\"bob\"\n2"]);
    assert!(store.list_messages(OWNER, CONVERSATION).await.unwrap().is_empty());
    assert!(store.get_checkpoint(OWNER, CONVERSATION, "k").await.unwrap().is_none());
    assert_eq!(store.seal_turn(OWNER, end).await.unwrap().last_sequence, 1);
    assert_eq!(store.list_usage_steps(OWNER, CONVERSATION, None).await.unwrap().len(), 1);
}
