//! What can only be caused from inside: full disks, panics, damaged rows, a queue that overflows.

use super::*;
use chat_grammar::ErrorCode;
use serde_json::json;
use std::sync::mpsc;
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("chat.db");
    (folder, path)
}

fn record<T: serde::de::DeserializeOwned>(value: &serde_json::Value) -> T {
    serde_json::from_str(&value.to_string()).unwrap()
}

/// A store on the file with a running turn `t` in session `c` of owner `o`.
async fn running(path: &Path) -> SqliteStore {
    let execution = json!({ "id": "e", "revision": "r", "contract": {
        "agent": { "adapterId": "replay", "installationId": "i", "revisionId": "1" },
        "model": { "providerId": "p", "modelId": "m", "settings": [] }, "auth": { "mode": "byok", "bindingId": "b" },
        "tools": { "revisionId": null, "toolIds": [] }, "permissionMode": "ask", "computerId": "c",
        "cwd": { "path": "/tmp", "workspaceId": null, "materializationRevision": null },
    } });
    let now = "2026-11-30T18:24:00.111Z";
    let conversation = json!({ "id": "c", "ownerUserId": "o", "title": null, "agent": execution["contract"]["agent"],
        "execution": execution, "createdAt": now, "updatedAt": now, "archivedAt": null, "newMessages": false });
    let turn = json!({ "id": "t", "conversationId": "c", "ordinal": 0, "status": "running", "origin": "host", "stopReason": null,
        "nativeStopReason": null, "error": null, "execution": execution, "prompt": { "parts": [] }, "startedAt": now,
        "endedAt": null, "lastSequence": 0, "usage": null });
    let store = SqliteStore::open(SqliteOptions::new(path));
    store.create_conversation(record(&conversation)).await.unwrap();
    store.begin_turn("o", record(&turn), None, ConversationPatch::default()).await.unwrap();
    store
}

fn batch(first: u64, text: &str) -> UpdateBatch {
    let chunk = Arc::new(Chunk::from_text(first, text.to_owned()));
    UpdateBatch { owner: "o".into(), conversation_id: "c".into(), turn_id: "t".into(), chunk }
}

fn give(store: &SqliteStore, batch: UpdateBatch) -> oneshot::Receiver<Result<()>> {
    let (reply, answer) = oneshot::channel();
    store.append_updates(batch, Box::new(move |result| drop(reply.send(result))));
    answer
}

/// Text that does not compress.
fn noise(bytes: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let digit = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'0' + (state >> 33) as u8 % 75)
    };
    format!("\"{}\"", (0..bytes).map(digit).filter(|digit| *digit != '\\').collect::<String>())
}

async fn limit_pages(store: &SqliteStore, pages: u32) {
    let limit = move |writing: &mut Writing<'_>| {
        let sql = format!("PRAGMA max_page_count = {pages}");
        Ok(writing.scope.connection.query_row(&sql, [], |_| Ok(()))?)
    };
    store.write(limit).await.unwrap();
}

async fn texts(store: &SqliteStore) -> Vec<String> {
    let chunks = store.read_updates("o", "c", "t", 0, usize::MAX, usize::MAX).await.unwrap();
    chunks.iter().flat_map(Chunk::entries).map(|entry| entry.json).collect()
}

#[tokio::test]
async fn a_full_disk_is_told_and_later_writes_work_again() {
    let (_folder, path) = place();
    let store = running(&path).await;
    give(&store, batch(1, "1")).await.unwrap().unwrap();
    // What the tables take now, and hardly more.
    limit_pages(&store, 1).await;
    let full = give(&store, batch(2, &noise(200_000))).await.unwrap().unwrap_err();
    assert_eq!(full.code, ErrorCode::StoreError);
    assert!(full.message.contains("the disk is full") && full.message.contains(path.to_str().unwrap()), "{full}");
    // Nothing of it is there, and what follows it is a gap.
    let gap = give(&store, batch(3, "3")).await.unwrap().unwrap_err();
    assert!(gap.message.contains("expected sequence 2, got 3"), "{gap}");

    limit_pages(&store, 1_000_000).await;
    give(&store, batch(2, "2")).await.unwrap().unwrap();
    assert_eq!(texts(&store).await, ["1", "2"]);
}

#[tokio::test]
async fn a_panic_in_a_transaction_is_an_error_for_its_group_and_no_more() {
    let (_folder, path) = place();
    let store = running(&path).await;
    // All three wait behind the job and so share a transaction.
    let (release, wait) = mpsc::channel::<()>();
    store.shared.queue.push_job(Box::new(move |_| wait.recv().unwrap()));
    let append = give(&store, batch(1, "1"));
    let panics = store.write(|_| -> Outcome<()> { panic!("on purpose") });
    let (panicked, ()) = tokio::join!(panics, async { release.send(()).unwrap() });
    assert_eq!(panicked.unwrap_err().code, ErrorCode::RuntimeError);
    assert_eq!(append.await.unwrap().unwrap_err().code, ErrorCode::RuntimeError);

    give(&store, batch(1, "again")).await.unwrap().unwrap();
    assert_eq!(texts(&store).await, ["again"]);
}

#[tokio::test]
async fn a_panic_of_a_reader_is_an_error_for_its_caller_and_no_more() {
    let (_folder, path) = place();
    let store = running(&path).await;
    for _ in 0..10 {
        let panicked = store.read(|_| -> Outcome<()> { panic!("on purpose") }).await;
        assert_eq!(panicked.unwrap_err().code, ErrorCode::RuntimeError);
    }
    assert!(store.get_conversation("o", "c").await.unwrap().is_some());
}

#[tokio::test]
async fn a_panic_in_an_answer_harms_nobody() {
    let (_folder, path) = place();
    let store = running(&path).await;
    store.append_updates(batch(1, "1"), Box::new(|_| panic!("on purpose")));
    give(&store, batch(2, "2")).await.unwrap().unwrap();
    assert_eq!(texts(&store).await, ["1", "2"]);
}

#[tokio::test]
async fn a_writer_that_is_gone_leaves_nobody_waiting() {
    let (_folder, path) = place();
    let store = running(&path).await;
    let (release, wait) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel::<()>();
    store.shared.queue.push_job(Box::new(move |_| {
        begun.send(()).unwrap();
        wait.recv().unwrap();
    }));
    begins.recv().unwrap();
    let waiting = give(&store, batch(1, "1"));
    store.shared.queue.break_off(&ChatError::runtime("gone"));
    release.send(()).unwrap();
    assert_eq!(waiting.await.unwrap().unwrap_err().code, ErrorCode::RuntimeError);
    assert_eq!(give(&store, batch(1, "1")).await.unwrap().unwrap_err().code, ErrorCode::RuntimeError);
    assert_eq!(
        store
            .seal_turn(
                "o",
                record(&json!({ "turnId": "t", "status": "failed", "stopReason": null, "nativeStopReason": null,
        "error": null, "endedAt": "2026-11-30T18:24:00.111Z", "usage": null, "message": null }))
            )
            .await
            .unwrap_err()
            .code,
        ErrorCode::RuntimeError
    );
}

#[tokio::test]
async fn a_queue_that_overflows_refuses_in_order() {
    let (_folder, path) = place();
    let store = running(&path).await;
    let (release, wait) = mpsc::channel::<()>();
    store.shared.queue.push_job(Box::new(move |_| wait.recv().unwrap()));
    let order = Arc::new(Mutex::new(Vec::new()));
    let large = format!("\"{}\"", "a".repeat(400 * 1024));
    for (first, text) in [(1, large.as_str()), (2, large.as_str()), (3, large.as_str()), (3, "3")] {
        let order = order.clone();
        store.append_updates(
            batch(first, text),
            Box::new(move |result| {
                order.lock().unwrap().push(result.map_err(|error| error.message));
            }),
        );
    }
    release.send(()).unwrap();
    give(&store, batch(4, "4")).await.unwrap().unwrap();
    let order = order.lock().unwrap();
    assert!(matches!(&order[..], [Ok(()), Ok(()), Err(full), Ok(())] if full.contains("queue is full")), "{order:?}");
}

#[tokio::test]
async fn a_damaged_row_is_told() {
    let (_folder, path) = place();
    let store = running(&path).await;
    give(&store, batch(1, "1\n2\n3")).await.unwrap().unwrap();
    for damage in ["data = x'ff', bytes = 1", "data = '1', bytes = 1", "format = 7"] {
        Connection::open(&path)
            .unwrap()
            .execute_batch(&format!("UPDATE journal SET {damage}").replace("'1'", "x'31'"))
            .unwrap();
        let error = store.read_updates("o", "c", "t", 0, 10, 100).await.unwrap_err();
        assert!(error.code == ErrorCode::StoreError && error.message.contains("the file is damaged"), "{error}");
    }
}

#[tokio::test]
async fn a_host_that_was_forgotten_comes_back_with_its_next_heartbeat() {
    let (_folder, path) = place();
    let (first, second) = (running(&path).await, SqliteStore::open(SqliteOptions::new(&path)));
    Connection::open(&path).unwrap().execute("DELETE FROM hosts WHERE id = ?1", [first.host_id()]).unwrap();
    assert_eq!(second.running_turns("o").await.unwrap().len(), 1);
    first.write(|writing| writing.scope.host.beat(writing.scope.connection)).await.unwrap();
    assert!(second.running_turns("o").await.unwrap().is_empty());
}

#[tokio::test]
async fn rows_of_hosts_that_are_dead_for_long_are_removed() {
    let (_folder, path) = place();
    let store = running(&path).await;
    let hosts =
        "INSERT INTO hosts SELECT 'old', pid, 0, boot, namespace, machine, heartbeat - 90000000 FROM hosts WHERE id = ?1
        UNION SELECT 'lives', pid, started, boot, namespace, machine, heartbeat - 90000000 FROM hosts WHERE id = ?1
        UNION SELECT 'new', pid, 0, boot, namespace, machine, heartbeat FROM hosts WHERE id = ?1";
    Connection::open(&path).unwrap().execute(hosts, [store.host_id()]).unwrap();
    let second = SqliteStore::open(SqliteOptions::new(&path));
    second.ready().await.unwrap();
    let connection = Connection::open(&path).unwrap();
    let mut statement = connection.prepare("SELECT id FROM hosts WHERE id IN ('old', 'lives', 'new') ORDER BY id").unwrap();
    let left: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(|id| id.unwrap()).collect();
    assert_eq!(left, ["lives", "new"]);
}

#[tokio::test]
async fn prompts_and_seals_are_synced_and_updates_are_not() {
    let (_folder, path) = place();
    let synchronous = |store: &SqliteStore| {
        let (reply, answer) = oneshot::channel();
        store.shared.queue.push_job(Box::new(move |connection| {
            let level: i64 = connection.unwrap().query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
            reply.send(level).unwrap();
        }));
        answer
    };
    let store = running(&path).await;
    assert_eq!(synchronous(&store).await.unwrap(), 2);
    give(&store, batch(1, "1")).await.unwrap().unwrap();
    assert_eq!(synchronous(&store).await.unwrap(), 1);
    store.close().await.unwrap();

    let power = SqliteStore::open(SqliteOptions { durability: Durability::Power, ..SqliteOptions::new(&path) });
    give(&power, batch(2, "2")).await.unwrap().unwrap();
    assert_eq!(synchronous(&power).await.unwrap(), 2);
}
