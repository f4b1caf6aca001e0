//! The end of a store: what was accepted is committed, and nobody is left waiting.

use crate::support::*;
use chat_grammar::ErrorCode;
use chat_grammar::records::ListOptions;
use chat_journal::{ConversationStore, SqliteStore};
use std::sync::{Arc, mpsc};

fn give_many(store: &SqliteStore) -> Vec<tokio::sync::oneshot::Receiver<chat_grammar::Result<()>>> {
    (0..300).map(|n| give(store, batch(OWNER, CONVERSATION, TURN, updates(n * 4 + 1..=n * 4 + 4)))).collect()
}

async fn assert_all_there(place: &Place, answers: Vec<tokio::sync::oneshot::Receiver<chat_grammar::Result<()>>>) {
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    let store = place.store();
    assert_updates(&store, TURN, 1200).await;
    let hosts: i64 = place.sql().query_row("SELECT count(*) FROM hosts", [], |row| row.get(0)).unwrap();
    assert_eq!(hosts, 1, "the closed store has left");
}

#[tokio::test]
async fn close_commits_what_was_accepted() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let answers = give_many(&store);
    store.close().await.unwrap();
    assert_eq!(std::fs::read_dir(place.folder()).unwrap().count(), 1, "only the database itself is left");
    assert_all_there(&place, answers).await;

    store.close().await.unwrap();
    assert_store_error(append(&store, TURN, updates(1..=1)).await, "the store is closed");
    assert_store_error(store.create_conversation(conversation(OWNER, "new")).await, "the store is closed");
    assert_store_error(store.seal_turn(OWNER, seal(TURN)).await, "the store is closed");
    assert_store_error(store.get_conversation(OWNER, CONVERSATION).await, "the store is closed");
    assert_store_error(store.list_conversations(OWNER, ListOptions::default()).await, "the store is closed");
    assert_store_error(store.running_turns(OWNER).await, "the store is closed");
    assert_store_error(store.backup(place.folder().join("copy")).await, "the store is closed");
}

#[tokio::test]
async fn close_now_commits_what_was_accepted() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let answers = give_many(&store);
    store.close_now();
    assert_all_there(&place, answers).await;
    store.close_now();
    assert_store_error(append(&store, TURN, updates(1..=1)).await, "the store is closed");
}

#[tokio::test]
async fn a_store_that_is_dropped_commits_what_was_accepted() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let answers = give_many(&store);
    drop(store);
    assert_all_there(&place, answers).await;
}

#[tokio::test]
async fn a_store_may_be_closed_before_it_is_open() {
    let place = Place::new();
    let store = place.store();
    let created = store.create_conversation(conversation(OWNER, CONVERSATION));
    let (created, closed) = tokio::join!(created, store.close());
    created.unwrap();
    closed.unwrap();
    assert!(place.store().get_conversation(OWNER, CONVERSATION).await.unwrap().is_some());
}

#[test]
fn the_last_reference_may_go_in_an_answer() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = Arc::new(place.store());
    runtime.block_on(begin(&store));
    let (told, heard) = mpsc::channel();
    let held = store.clone();
    let (release, released) = mpsc::channel::<()>();
    store.append_updates(
        batch(OWNER, CONVERSATION, TURN, updates(1..=1)),
        Box::new(move |result| {
            released.recv().unwrap();
            drop(held);
            told.send(result).unwrap();
        }),
    );
    drop(store);
    release.send(()).unwrap();
    heard.recv().unwrap().unwrap();
    runtime.block_on(async { assert_updates(&place.store(), TURN, 1).await });
}

#[tokio::test]
async fn a_store_that_could_not_open_tells_everybody_why() {
    let place = Place::new();
    std::fs::create_dir(place.database()).unwrap();
    let store = place.store();
    let early = give(&store, batch(OWNER, CONVERSATION, TURN, updates(1..=1)));
    assert_store_error(early.await.unwrap(), "it is a directory");
    assert_store_error(store.create_conversation(conversation(OWNER, CONVERSATION)).await, "it is a directory");
    assert_store_error(store.get_conversation(OWNER, CONVERSATION).await, "it is a directory");
    assert_store_error(store.ready().await, "it is a directory");
    store.close().await.unwrap();
    store.close_now();
    assert_code(append(&store, TURN, updates(1..=1)).await, ErrorCode::StoreError);
}
