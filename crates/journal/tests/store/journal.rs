//! What is appended comes back, byte for byte; what does not fit is refused.

use crate::support::*;
use chat_grammar::ErrorCode;
use chat_grammar::records::JournalEntry;
use chat_grammar::update::Marks;
use chat_journal::{BatchPolicy, Chunk, ConversationStore, SqliteOptions};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn only_the_next_sequence_is_taken() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    append(&store, TURN, updates(1..=4)).await.unwrap();
    assert_store_error(append(&store, TURN, updates(6..=7)).await, "expected sequence 5, got 6");
    assert_store_error(append(&store, TURN, updates(4..=5)).await, "expected sequence 5, got 4");
    assert_store_error(append(&store, TURN, updates(0..=0)).await, "expected sequence 5, got 0");
    append(&store, TURN, updates(5..=5)).await.unwrap();
    append(&store, TURN, chunk(9, &[] as &[&str])).await.unwrap();
    assert_code(append(&store, "other", updates(1..=1)).await, ErrorCode::TurnNotFound);
    let elsewhere = give(&store, batch(OWNER, "other", TURN, updates(6..=6))).await.unwrap();
    assert_code(elsewhere, ErrorCode::SessionNotFound);
    assert_updates(&store, TURN, 5).await;
    // A store that knows nothing of the turn yet asks the database.
    store.close().await.unwrap();
    let store = place.store();
    assert_store_error(append(&store, TURN, updates(7..=7)).await, "expected sequence 6, got 7");
}

#[tokio::test]
async fn a_refused_batch_does_not_harm_those_around_it() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    store.close().await.unwrap();
    // All are given before the file is open, so that they share a transaction.
    let store = place.store();
    let answers = [
        give(&store, batch(OWNER, CONVERSATION, TURN, updates(1..=2))),
        give(&store, batch(OWNER, CONVERSATION, TURN, updates(9..=9))),
        give(&store, batch(OWNER, CONVERSATION, "other", updates(1..=1))),
        give(&store, batch(OWNER, CONVERSATION, TURN, updates(3..=300))),
    ];
    let busy = begin_turn(&store, "two");
    let last = give(&store, batch(OWNER, CONVERSATION, TURN, updates(301..=302)));
    assert_code(busy.await, ErrorCode::SessionBusy);
    let mut codes = Vec::new();
    for answer in answers.into_iter().chain([last]) {
        codes.push(answer.await.unwrap().err().map(|error| error.code));
    }
    assert_eq!(codes, [None, Some(ErrorCode::StoreError), Some(ErrorCode::TurnNotFound), None, None]);
    assert_updates(&store, TURN, 302).await;
}

#[tokio::test]
async fn an_update_with_a_line_break_is_refused() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let mut builder = chat_journal::ChunkBuilder::new(1);
    builder.push(|buffer| {
        buffer.extend_from_slice(b"{\n}");
        Marks::default()
    });
    assert_store_error(append(&store, TURN, builder.finish()).await, "line break");
    append(&store, TURN, updates(1..=1)).await.unwrap();
}

#[tokio::test]
async fn batches_are_answered_in_order() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    for n in 1..=500_u64 {
        let order = order.clone();
        // Every tenth is refused.
        let first = if n % 10 == 0 { 10_000 } else { n - n / 10 };
        store.append_updates(
            batch(OWNER, CONVERSATION, TURN, updates(first..=first)),
            Box::new(move |result| {
                order.lock().unwrap().push((n, result.is_ok()));
            }),
        );
    }
    store.seal_turn(OWNER, seal(TURN)).await.unwrap();
    let expected: Vec<(u64, bool)> = (1..=500).map(|n| (n, n % 10 != 0)).collect();
    assert_eq!(*order.lock().unwrap(), expected);
    assert_updates(&store, TURN, 450).await;
}

#[tokio::test]
async fn huge_updates_are_single_rows() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    let huge = format!("\"{}\"", "ab\u{1F600}".repeat(1_000_000));
    let texts = ["1".to_owned(), huge, "2".to_owned()];
    append(&store, TURN, chunk(1, &texts)).await.unwrap();
    let entries = replay(&store, TURN, 0).await;
    assert!(entries.iter().map(|entry| &entry.json).eq(&texts));
    // Never none where there is one.
    let chunks = store.read_updates(OWNER, CONVERSATION, TURN, 1, 10, 1).await.unwrap();
    assert_eq!(chunks.iter().map(|chunk| (chunk.first_sequence(), chunk.len())).collect::<Vec<_>>(), [(2, 1)]);
    assert!(store.read_updates(OWNER, CONVERSATION, TURN, 0, 0, 100).await.unwrap().is_empty());
    assert!(store.read_updates(OWNER, CONVERSATION, TURN, 3, 10, 100).await.unwrap().is_empty());
    assert!(store.read_updates(OWNER, CONVERSATION, TURN, u64::MAX, 10, 100).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_slow_turn_is_small_after_its_seal_and_reads_the_same() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    for sequence in 1..=1000 {
        append(&store, TURN, updates(sequence..=sequence)).await.unwrap();
    }
    let rows = || {
        place
            .sql()
            .query_row("SELECT count(*), sum(length(data)) FROM journal", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
    };
    let before: (i64, i64) = rows();
    assert_eq!(before.0, 1000);
    store.seal_turn(OWNER, seal(TURN)).await.unwrap();
    assert_updates(&store, TURN, 1000).await;
    store.close().await.unwrap();
    let after: (i64, i64) = rows();
    assert!(after.0 <= 5 && after.1 * 10 < before.1, "{before:?} {after:?}");
    assert_updates(&place.store(), TURN, 1000).await;
}

fn json_text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        1 => (1000_usize..9000).prop_map(|length| format!("\"{}\"", "repetitive ".repeat(length / 11))),
    ]
}

#[derive(Debug, Clone)]
struct Case {
    updates: Vec<String>,
    /// How many updates each chunk has, over and over.
    chunks: Vec<usize>,
    policy: BatchPolicy,
    waits: bool,
    cursors: Vec<(u64, usize, usize)>,
}

fn case() -> impl Strategy<Value = Case> {
    let policy = (1_usize..40, 1_usize..20_000).prop_map(|(max_updates, max_bytes)| BatchPolicy {
        max_updates,
        max_bytes,
        max_delay_ms: 10,
    });
    let cursors = prop::collection::vec((0_u64..130, 1_usize..140, 1_usize..30_000), 1..6);
    (prop::collection::vec(json_text(), 1..120), prop::collection::vec(1_usize..30, 1..6), policy, any::<bool>(), cursors)
        .prop_map(|(updates, chunks, policy, waits, cursors)| Case { updates, chunks, policy, waits, cursors })
}

impl Case {
    fn expected(&self, after: u64) -> Vec<JournalEntry> {
        let entries = (1..).zip(&self.updates).map(|(sequence, json)| JournalEntry { sequence, json: json.clone() });
        entries.filter(|entry| entry.sequence > after).collect()
    }

    async fn check(&self) {
        let place = Place::new();
        let store =
            chat_journal::SqliteStore::open(SqliteOptions { policy: self.policy, ..SqliteOptions::new(place.database()) });
        begin(&store).await;
        let mut rest = &self.updates[..];
        let mut answers = Vec::new();
        for size in self.chunks.iter().cycle() {
            let (now, later) = rest.split_at((*size).min(rest.len()));
            let first = (self.updates.len() - rest.len()) as u64 + 1;
            answers.push(give(&store, batch(OWNER, CONVERSATION, TURN, chunk(first, now))));
            if self.waits {
                answers.pop().unwrap().await.unwrap().unwrap();
            }
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        for answer in answers {
            answer.await.unwrap().unwrap();
        }
        self.check_reads(&store).await;
        store.seal_turn(OWNER, seal(TURN)).await.unwrap();
        store.close().await.unwrap();
        // Once more from a file whose rows were joined.
        self.check_reads(&place.store()).await;
    }

    async fn check_reads(&self, store: &chat_journal::SqliteStore) {
        for after in (0..=self.updates.len() as u64).step_by(7) {
            assert_eq!(replay(store, TURN, after).await, self.expected(after));
        }
        for (after, limit, max_bytes) in &self.cursors {
            let chunks = store.read_updates(OWNER, CONVERSATION, TURN, *after, *limit, *max_bytes).await.unwrap();
            let found: Vec<JournalEntry> = chunks.iter().flat_map(Chunk::entries).collect();
            let expected = self.expected(*after);
            assert_eq!(found, expected[..found.len()]);
            assert_eq!(found.is_empty(), expected.is_empty());
            assert!(found.len() <= *limit);
            let but_last: usize = found.iter().rev().skip(1).map(|entry| entry.json.len()).sum();
            assert!(but_last <= *max_bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_reads_back_from_anywhere(case in case()) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(case.check());
    }
}
