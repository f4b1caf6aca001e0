//! Who may write to a turn, and what becomes of turns whose host is gone.

use crate::support::*;
use chat_grammar::ErrorCode;
use chat_grammar::records::TurnStatus;
use chat_journal::{ConversationStore, SqliteStore};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

#[tokio::test]
async fn turns_of_a_live_host_are_left_alone() {
    let place = Place::new();
    let (first, second) = (place.store(), place.store());
    begin(&first).await;
    append(&first, TURN, updates(1..=2)).await.unwrap();
    for store in [&first, &second] {
        assert!(store.running_turns(OWNER).await.unwrap().is_empty());
    }
    assert_store_error(second.seal_turn(OWNER, seal(TURN)).await, "is driven by another live host");
    assert_store_error(append(&second, TURN, updates(3..=3)).await, first.host_id());
    append(&first, TURN, updates(3..=3)).await.unwrap();
    first.seal_turn(OWNER, seal(TURN)).await.unwrap();
    assert_code(second.seal_turn(OWNER, seal(TURN)).await, ErrorCode::TurnAlreadySealed);
}

#[tokio::test]
async fn a_turn_of_a_closed_store_is_left_over() {
    let place = Place::new();
    let first = place.store();
    begin(&first).await;
    first.close().await.unwrap();
    let second = place.store();
    let left = second.running_turns(OWNER).await.unwrap();
    assert_eq!(left.iter().map(|turn| turn.id.as_str()).collect::<Vec<_>>(), [TURN]);
}

/// Makes a host look as if it had run on another machine and had been silent for so long.
fn move_away(place: &Place, host: &SqliteStore, seconds: i64) {
    let changed = place.sql().execute(
        "UPDATE hosts SET boot = 'elsewhere', machine = 'elsewhere', heartbeat = heartbeat - ?2 * 1000 WHERE id = ?1",
        rusqlite::params![host.host_id(), seconds],
    );
    assert_eq!(changed.unwrap(), 1);
}

#[tokio::test]
async fn a_host_elsewhere_is_dead_after_a_minute_of_silence() {
    let place = Place::new();
    let (first, second) = (place.store(), place.store());
    begin(&first).await;
    append(&first, TURN, updates(1..=2)).await.unwrap();
    move_away(&place, &first, 30);
    assert!(second.running_turns(OWNER).await.unwrap().is_empty());
    move_away(&place, &first, 40);
    assert_eq!(second.running_turns(OWNER).await.unwrap().len(), 1);
    let mut end = seal(TURN);
    end.status = TurnStatus::Interrupted;
    assert_eq!(second.seal_turn(OWNER, end).await.unwrap().last_sequence, 2);
    // It was only slow, and is too late now.
    assert_code(append(&first, TURN, updates(3..=3)).await, ErrorCode::TurnAlreadySealed);
    assert_code(first.seal_turn(OWNER, seal(TURN)).await, ErrorCode::TurnAlreadySealed);
    assert_updates(&second, TURN, 2).await;
}

#[tokio::test]
async fn whoever_writes_to_a_left_over_turn_takes_it_over() {
    let place = Place::new();
    let (first, second, third) = (place.store(), place.store(), place.store());
    begin(&first).await;
    append(&first, TURN, updates(1..=2)).await.unwrap();
    move_away(&place, &first, 100);
    append(&second, TURN, updates(3..=4)).await.unwrap();
    assert_store_error(append(&first, TURN, updates(3..=3)).await, "went over to another host");
    assert_store_error(first.seal_turn(OWNER, seal(TURN)).await, "is driven by another live host");
    assert_store_error(third.seal_turn(OWNER, seal(TURN)).await, second.host_id());
    assert!(third.running_turns(OWNER).await.unwrap().is_empty());
    second.seal_turn(OWNER, seal(TURN)).await.unwrap();
    assert_updates(&third, TURN, 4).await;
}

struct Host {
    child: Child,
}

impl Host {
    /// Another process with a running turn of two updates.
    fn start(place: &Place) -> Self {
        let mut child = child("lease::child_holds_a_turn", ":", &place.database())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        assert!(stdout.lines().any(|line| line.unwrap().contains("holds its turn")));
        Self { child }
    }
}

#[tokio::test]
async fn child_holds_a_turn() {
    let Some(path) = database_of_child() else { return };
    let store = SqliteStore::open(chat_journal::SqliteOptions::new(path));
    begin(&store).await;
    append(&store, TURN, updates(1..=2)).await.unwrap();
    println!("holds its turn");
    std::io::stdout().flush().unwrap();
    // Until it is killed.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[tokio::test]
async fn a_turn_of_a_killed_process_is_recovered_once() {
    let place = Place::new();
    let mut host = Host::start(&place);
    let stores = [place.store(), place.store()];
    assert!(stores[0].running_turns(OWNER).await.unwrap().is_empty());
    assert_store_error(stores[0].seal_turn(OWNER, seal(TURN)).await, "is driven by another live host");

    host.child.kill().unwrap();
    // Until it is waited for it is a zombie, which drives nothing either.
    if cfg!(target_os = "linux") {
        let zombie = format!("/proc/{}/stat", host.child.id());
        while !std::fs::read_to_string(&zombie).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        assert_eq!(stores[0].running_turns(OWNER).await.unwrap().len(), 1);
    }
    host.child.wait().unwrap();
    for store in &stores {
        let left = store.running_turns(OWNER).await.unwrap();
        assert_eq!(left.iter().map(|turn| (turn.id.as_str(), turn.last_sequence)).collect::<Vec<_>>(), [(TURN, 2)]);
    }
    let (left, right) = tokio::join!(stores[0].seal_turn(OWNER, seal(TURN)), stores[1].seal_turn(OWNER, seal(TURN)));
    let (won, lost) = if left.is_ok() { (left, right) } else { (right, left) };
    assert_eq!(won.unwrap().status, TurnStatus::Completed);
    assert_code(lost, ErrorCode::TurnAlreadySealed);
    assert!(stores[1].running_turns(OWNER).await.unwrap().is_empty());
    begin_turn(&stores[1], "next").await.unwrap();
}
