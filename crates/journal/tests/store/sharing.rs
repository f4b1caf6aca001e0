//! Several stores on one file, and other programs beside them.

use crate::support::*;
use chat_grammar::records::ConversationPatch;
use chat_journal::{ConversationStore, SqliteStore};

#[tokio::test]
async fn two_stores_write_one_file_at_once() {
    let place = Place::new();
    let stores = [place.store(), place.store()];
    let names = ["left", "right"];
    for (store, name) in stores.iter().zip(names) {
        store.create_conversation(conversation(OWNER, name)).await.unwrap();
        store.begin_turn(OWNER, turn(name, name), None, ConversationPatch::default()).await.unwrap();
    }
    let mut answers = Vec::new();
    for n in 0..200_u64 {
        for (store, name) in stores.iter().zip(names) {
            answers.push(give(store, batch(OWNER, name, name, updates(n * 5 + 1..=n * 5 + 5))));
        }
    }
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    for (store, other) in stores.iter().zip(names.iter().rev()) {
        let chunks = store.read_updates(OWNER, other, other, 0, 10_000, usize::MAX).await.unwrap();
        assert_eq!(chunks.iter().map(|chunk| chunk.len()).sum::<usize>(), 1000);
        assert_eq!(store.get_turn(OWNER, other, other).await.unwrap().unwrap().last_sequence, 1000);
    }
}

#[tokio::test]
async fn a_read_sees_what_was_acknowledged() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    for sequence in 1..=200 {
        append(&store, TURN, updates(sequence..=sequence)).await.unwrap();
        assert_eq!(store.get_turn(OWNER, CONVERSATION, TURN).await.unwrap().unwrap().last_sequence, sequence);
    }
}

#[tokio::test]
async fn a_lock_that_another_program_keeps_is_told_after_the_wait() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = append(&store, TURN, updates(1..=2)).await;
    assert_store_error(answer.clone(), "another program held its lock for more than 5 seconds");
    assert_store_error(answer, place.database().to_str().unwrap());
    other.execute_batch("ROLLBACK").unwrap();
    append(&store, TURN, updates(1..=2)).await.unwrap();
    assert_updates(&store, TURN, 2).await;
}

#[tokio::test]
async fn a_lock_that_is_given_back_in_time_is_waited_for() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = give(&store, batch(OWNER, CONVERSATION, TURN, updates(1..=2)));
    other.execute_batch("ROLLBACK").unwrap();
    answer.await.unwrap().unwrap();
}

#[tokio::test]
async fn stores_that_start_at_once_on_a_new_file_all_open() {
    for _ in 0..10 {
        let place = Place::new();
        let stores: Vec<SqliteStore> = (0..6).map(|_| place.store()).collect();
        for (n, store) in stores.iter().enumerate() {
            store.ready().await.unwrap();
            store.create_conversation(conversation(OWNER, &n.to_string())).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_backup_is_a_database_of_its_own() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    append(&store, TURN, updates(1..=500)).await.unwrap();
    let copy = place.folder().join("copy.db");
    // Writing goes on meanwhile.
    let more = give(&store, batch(OWNER, CONVERSATION, TURN, updates(501..=900)));
    store.backup(&copy).await.unwrap();
    more.await.unwrap().unwrap();
    assert_store_error(store.backup(&copy).await, "exists already");
    assert_store_error(store.backup(place.folder()).await, "exists already");
    assert_store_error(store.backup(place.folder().join("none").join("copy.db")).await, "cannot be created");

    let opened = SqliteStore::open(chat_journal::SqliteOptions::new(&copy));
    let left = opened.running_turns(OWNER).await.unwrap();
    assert_eq!(left.len(), 1);
    assert!([500, 900].contains(&left[0].last_sequence));
    assert_updates(&opened, TURN, left[0].last_sequence).await;
    opened.seal_turn(OWNER, seal(TURN)).await.unwrap();
    append(&store, TURN, updates(901..=901)).await.unwrap();
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&copy).unwrap().permissions()) & 0o777, 0o600);
}

#[tokio::test]
async fn memory_can_be_backed_up() {
    let place = Place::new();
    let store = SqliteStore::open(chat_journal::SqliteOptions::new(":memory:"));
    begin(&store).await;
    append(&store, TURN, updates(1..=20)).await.unwrap();
    store.backup(place.database()).await.unwrap();
    assert_updates(&place.store(), TURN, 20).await;
}
