//! A process that is killed while it writes loses nothing that it acknowledged.

use crate::support::*;
use chat_grammar::records::ConversationPatch;
use chat_journal::{ConversationStore, SqliteOptions, SqliteStore};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc;

const TURNS: usize = 3;

/// Acknowledgements after which the child is killed, each with a new file and once more with the one before.
const MOMENTS: [usize; 10] = [1, 2, 7, 30, 100, 150, 250, 400, 700, 1500];

#[tokio::test]
async fn after_a_kill_everything_acknowledged_is_there_without_gaps() {
    for moment in MOMENTS {
        let place = Place::new();
        for run in 0..2 {
            let mut child = child("crash::child_writes", ":", &place.database())
                .env("JOURNAL_TEST_RUN", run.to_string())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
            let mut acknowledged = BTreeMap::new();
            let mut note = |line: String| {
                if let Some((turn, last)) = line.strip_prefix("committed ").and_then(|rest| rest.split_once(' ')) {
                    acknowledged.insert(turn.to_owned(), last.parse::<u64>().unwrap());
                }
            };
            lines.by_ref().filter(|line| line.starts_with("committed")).take(moment).for_each(&mut note);
            child.kill().unwrap();
            child.wait().unwrap();
            // What it said before it died.
            lines.for_each(&mut note);

            let store = place.store();
            let left = store.running_turns(OWNER).await.unwrap();
            assert_eq!(left.len(), TURNS);
            for turn in left {
                let seen = acknowledged.get(&turn.id).copied().unwrap_or(0);
                assert!(turn.last_sequence >= seen, "{} of {seen}", turn.last_sequence);
                let chunks =
                    store.read_updates(OWNER, &turn.conversation_id, &turn.id, 0, usize::MAX, usize::MAX).await.unwrap();
                let mut next = 1;
                for entry in chunks.iter().flat_map(chat_journal::Chunk::entries) {
                    assert_eq!((entry.sequence, entry.json), (next, update(next)));
                    next += 1;
                }
                assert_eq!(next - 1, turn.last_sequence);
                store.seal_turn(OWNER, seal(&turn.id)).await.unwrap();
            }
            assert!(store.running_turns(OWNER).await.unwrap().is_empty());
            store.close().await.unwrap();
            let whole: String = place.sql().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(whole, "ok");
        }
    }
}

#[tokio::test]
async fn child_writes() {
    let Some(path) = database_of_child() else { return };
    let run = std::env::var("JOURNAL_TEST_RUN").unwrap();
    let store = SqliteStore::open(SqliteOptions::new(path));
    let names: Vec<String> = (0..TURNS).map(|n| format!("{run}-{n}")).collect();
    for name in &names {
        store.create_conversation(conversation(OWNER, name)).await.unwrap();
        store.begin_turn(OWNER, turn(name, name), None, ConversationPatch::default()).await.unwrap();
    }
    // At most so many in flight.
    let (free, wait) = mpsc::channel();
    (0..64).for_each(|_| free.send(()).unwrap());
    let mut next = [1; TURNS];
    for n in 0_u64.. {
        for (name, next) in names.iter().zip(&mut next) {
            wait.recv().unwrap();
            let (first, last) = (*next, *next + n % 9);
            *next = last + 1;
            let (free, said) = (free.clone(), name.clone());
            store.append_updates(
                batch(OWNER, name, name, updates(first..=last)),
                Box::new(move |result| {
                    result.unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "committed {said} {last}").unwrap();
                    free.send(()).unwrap();
                }),
            );
        }
    }
}
