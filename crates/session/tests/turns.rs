//! Turns from prompt to seal, and those who watch them.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use chat_grammar::ErrorCode;
use chat_grammar::records::{ExecutionHandle, Role, TurnOrigin, TurnStatus};
use chat_journal::ConversationStore;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use support::{Setup, contract, parsed, prompt, said, sequences};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_streamed_journaled_and_sealed() {
    let fixture = Setup::default().start();
    let session = fixture.session("codex/command-success-output-deltas", "instant").await;
    let turn = session.send("Count.").await.expect("sent");
    let updates = session.updates(&turn, 0).await;
    let values = parsed(&updates);
    assert_eq!(sequences(&values), (1..=updates.len() as u64).collect::<Vec<_>>());
    assert_eq!(said(&values), "Four lines.");
    assert!(values.iter().all(|update| update["_meta"]["amalgm"]["turnId"] == turn.as_str()));

    let sealed = session.completion(&turn).await;
    assert_eq!(sealed.status, TurnStatus::Completed);
    assert_eq!(sealed.stop_reason.as_deref(), Some("end_turn"));
    assert_eq!(sealed.last_sequence, updates.len() as u64);
    let usage = sealed.usage.as_ref().expect("usage");
    assert_eq!((usage.steps, usage.tokens.input_tokens, usage.tokens.output_tokens), (2, Some(900), Some(35)));

    let messages = fixture.chat.messages(&session.id).await.expect("messages");
    let parts: Vec<Value> = messages.iter().map(|message| serde_json::from_str(message.parts.get()).expect("JSON")).collect();
    assert_eq!(parts[0], json!([{ "type": "text", "text": "Count." }]));
    let kinds: Vec<_> = parts[1].as_array().expect("parts").iter().map(|part| part["type"].as_str().unwrap_or("")).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "tool").count(), 1);
    assert_eq!(parts[1].as_array().expect("parts").last().expect("a part")["text"], "Four lines.");
    assert!(fixture.chat.conversation(&session.id).await.expect("it exists").new_messages);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconnect_gives_exactly_what_follows() {
    let fixture = Setup::default().start();
    let session = fixture.session("codex/text-stream", "instant").await;
    let turn = session.send("Write.").await.expect("sent");
    let live = session.updates(&turn, 0).await;
    session.completion(&turn).await;
    for after in 0..=live.len() {
        assert_eq!(session.updates(&turn, after as u64).await, live[after..]);
    }
    let stored = fixture.store.read_updates("ada", &session.id, &turn, 0, usize::MAX, usize::MAX).await.expect("stored");
    let stored: Vec<String> = stored.iter().flat_map(chat_journal::Chunk::entries).map(|entry| entry.json).collect();
    assert_eq!(parsed(&stored), parsed(&live));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_known_turn_is_attached_to_and_another_is_refused() {
    let fixture = Setup::default().start();
    let session = fixture.session("codex/text-stream", "recorded").await;
    let options = |turn: &str| json!({ "execution": session.execution, "prompt": prompt("x"), "turnId": turn }).to_string();
    let first = fixture.chat.send(&session.id, options("mine"));
    let again = fixture.chat.send(&session.id, options("mine"));
    let other = fixture.chat.send(&session.id, options("other"));
    assert_eq!(first.await.expect("sent"), "mine");
    assert_eq!(again.await.expect("attached"), "mine");
    assert_eq!(other.await.expect_err("a turn runs").code, ErrorCode::SessionBusy);
    fixture.chat.interrupt(&session.id).await.expect("interrupted");
    assert_eq!(fixture.chat.send(&session.id, options("mine")).await.expect("attached after its end"), "mine");
    assert_eq!(fixture.chat.latest_turn(&session.id).await.expect("turns").expect("one").ordinal, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_turn_is_cancelled_and_leaves_no_tool_open() {
    let fixture = Setup::default().start();
    let session = fixture.session("codex/command-success-output-deltas", "recorded").await;
    let turn = session.send("Count.").await.expect("sent");
    let mut subscription = session.watch(&turn, 0);
    let mut seen = Vec::new();
    while !seen.iter().any(|update: &Value| update["sessionUpdate"] == "tool_call") {
        let batch = subscription.next_batch().await.expect("keeps up").expect("the tool comes");
        seen.extend(parsed(&session.texts(&turn, &batch)));
    }
    fixture.chat.interrupt(&session.id).await.expect("interrupted");
    let sealed = session.completion(&turn).await;
    assert_eq!((sealed.status, sealed.stop_reason.as_deref()), (TurnStatus::Cancelled, Some("cancelled")));
    while let Some(batch) = subscription.next_batch().await.expect("keeps up") {
        seen.extend(parsed(&session.texts(&turn, &batch)));
    }
    let ends = seen.iter().filter(|update| update["status"] == "failed" || update["status"] == "completed");
    assert_eq!(ends.count(), 1);
    fixture.chat.interrupt(&session.id).await.expect("nothing runs: at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closing_chat_interrupts_its_turns_and_refuses_all_that_follows() {
    let fixture = Setup::default().start();
    let session = fixture.session("codex/text-stream", "recorded").await;
    let turn = session.send("Write.").await.expect("sent");
    fixture.chat.close().await;
    let sealed = fixture.store.get_turn("ada", &session.id, &turn).await.expect("stored").expect("there");
    assert_eq!(sealed.status, TurnStatus::Interrupted);
    assert_eq!(sealed.error.expect("a reason").reason, "host_closed");
    assert_eq!(session.send("more").await.expect_err("closed").code, ErrorCode::ChatClosed);
    assert_eq!(fixture.chat.messages(&session.id).await.expect_err("closed").code, ErrorCode::ChatClosed);

    assert_eq!(session.completion(&turn).await.status, TurnStatus::Interrupted, "also for who asks after the close");
    let unknown = fixture.chat.completion(&session.id, "unknown").await;
    assert_eq!(unknown.expect_err("closed").code, ErrorCode::ChatClosed);
    let read = session.watch("unknown", 0).next_batch().await;
    assert_eq!(read.err().map(|error| error.code), Some(ErrorCode::ChatClosed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_a_session_waits_for_its_turn() {
    let fixture = Setup::default().start();
    let session = fixture.session("codex/text-stream", "recorded").await;
    let turn = session.send("Write.").await.expect("sent");
    fixture.chat.close_session(&session.id).await.expect("closed");
    let stored = fixture.store.get_turn("ada", &session.id, &turn).await.expect("stored").expect("there");
    assert_eq!(stored.status, TurnStatus::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_goes_on_in_another_host_and_ends_with_the_recording() {
    let first = Setup::default().start();
    let session = first.session("codex/two-turns-one-thread", "instant").await;
    let turn = session.send("One.").await.expect("sent");
    let one = parsed(&session.updates(&turn, 0).await);
    session.completion(&turn).await;
    let id = session.id.clone();
    first.chat.close().await;
    first.store.close().await.expect("closed");

    let second = Setup { folder: first.folder, ..Setup::default() }.start();
    let (conversation, latest) = second.chat.resume_stored_session(&id, None).await.expect("resumed");
    assert_eq!(latest.expect("a turn").id, turn);
    let execution = ExecutionHandle { id: conversation.execution.id, revision: conversation.execution.revision };
    let session = support::Conversation { chat: &second.chat, execution, id };
    let turn = session.send("Two.").await.expect("sent");
    let two = parsed(&session.updates(&turn, 0).await);
    assert_eq!(session.completion(&turn).await.ordinal, 2);
    assert!(!said(&two).is_empty() && said(&one) != said(&two));

    let turn = session.send("Three.").await.expect("the turn is stored all the same");
    let sealed = session.completion(&turn).await;
    assert_eq!(sealed.error.as_ref().expect("a reason").reason, "replay_exhausted");
    let updates = parsed(&session.updates(&turn, 0).await);
    assert_eq!(updates.last().expect("a notice")["_meta"]["amalgm"]["error"]["reason"], "replay_exhausted");
    assert_eq!(second.chat.messages(&session.id).await.expect("messages").len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_of_a_host_that_is_gone_is_recovered_once() {
    let gone = Setup::default().start();
    let session = gone.session("codex/command-success-output-deltas", "recorded").await;
    let turn = session.send("Count.").await.expect("sent");
    let mut subscription = session.watch(&turn, 0);
    let seen = session.texts(&turn, &subscription.next_batch().await.expect("keeps up").expect("updates"));
    let id = session.id.clone();
    // The host goes without a word to its turns.
    gone.chat.shutdown();

    let next = Setup { folder: gone.folder, ..Setup::default() }.start();
    let recovered = next.chat.recover_interrupted_turns().await.expect("recovered");
    assert_eq!(recovered.len(), 1);
    assert_eq!((recovered[0].id.as_str(), recovered[0].status), (turn.as_str(), TurnStatus::Interrupted));
    assert_eq!(recovered[0].error.as_ref().expect("a reason").reason, "host_died");
    assert!(next.chat.recover_interrupted_turns().await.expect("nothing left").is_empty());
    let execution = ExecutionHandle { id: String::new(), revision: String::new() };
    let session = support::Conversation { chat: &next.chat, execution, id };
    let replayed = session.updates(&turn, 0).await;
    assert_eq!(replayed[..seen.len()], seen);
    assert_eq!(replayed.len() as u64, recovered[0].last_sequence);
}

/// A chat on the file of a host that is gone, and the conversation and turn that were left running.
async fn heir_of_a_dead_host() -> (support::Fixture, String, String) {
    let gone = Setup::default().start();
    let session = gone.session("codex/text-stream", "recorded").await;
    let turn = session.send("Write.").await.expect("sent");
    let id = session.id.clone();
    gone.chat.shutdown();
    (Setup { folder: gone.folder, ..Setup::default() }.start(), id, turn)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_of_a_dead_host_ends_for_who_watches_it() {
    let (heir, id, turn) = heir_of_a_dead_host().await;
    let mut reader = heir.chat.subscribe(id.clone(), turn.clone(), 0);
    while reader.next_batch().await.expect("the turn ends").is_some() {}
    let sealed = heir.chat.completion(&id, &turn).await.expect("sealed");
    assert_eq!(
        (sealed.status, sealed.error.clone().expect("a reason").reason.as_str()),
        (TurnStatus::Interrupted, "host_died")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_of_a_dead_host_does_not_keep_its_session_busy() {
    let (heir, id, turn) = heir_of_a_dead_host().await;
    let contract = contract("codex/text-stream", "instant").to_string();
    let execution = heir.chat.prepare_execution("again", &contract, None).await.expect("prepared");
    let options = json!({ "execution": execution, "prompt": prompt("Go on.") }).to_string();
    let next = heir.chat.send(&id, options).await.expect("accepted");
    assert_ne!(next, turn);
    assert_eq!(heir.chat.completion(&id, &turn).await.expect("sealed").status, TurnStatus::Interrupted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stops_is_disconnected_and_comes_back() {
    let setup = Setup {
        options: json!({ "ownerUserId": "ada", "journal": { "maxUpdates": 1 }, "subscriberBuffer": { "maxUpdates": 5 } }),
        ..Setup::default()
    };
    let fixture = setup.start();
    let session = fixture.session("codex/text-stream", "recorded").await;
    let turn = session.send("Write.").await.expect("sent");
    let mut slow = session.watch(&turn, 0);
    // It is at the tail once it had to wait for the first update.
    let first = session.texts(&turn, &slow.next_batch().await.expect("keeps up").expect("an update"));
    let _ = slow.next_batch().await;
    let all = session.updates(&turn, 0).await;
    let error = loop {
        match slow.next_batch().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a reader so far behind was not disconnected"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.code, ErrorCode::SubscriberBackpressure);
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Completed);
    assert_eq!(session.updates(&turn, first.len() as u64).await, all[first.len()..]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_a_reader_frees_it() {
    let fixture = Setup::default().start();
    let session = fixture.session("codex/text-stream", "recorded").await;
    let turn = session.send("Write.").await.expect("sent");
    let readers: Vec<_> = (0..10).map(|_| session.watch(&turn, 0)).collect();
    assert_eq!(fixture.chat.subscription_count(), 10);
    drop(readers);
    assert_eq!(fixture.chat.subscription_count(), 0);
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_chats_on_one_file_watch_each_others_turns() {
    let one = Setup::default().start();
    let session = one.session("codex/text-stream", "recorded").await;
    let turn = session.send("Write.").await.expect("sent");
    let other_folder = one.folder.path().to_owned();
    let store = Arc::new(support::open_store(&other_folder.join("chat.sqlite")));
    let ports = chat_session::ChatPorts {
        store: Arc::clone(&store) as Arc<dyn ConversationStore>,
        adapters: Arc::new(chat_agents::Adapters::new(chat_agents::AgentOptions::default())),
        host: support::host(&other_folder),
        clock: chat_session::Clock::System,
        on_turn: None,
        on_request: None,
        runtime: tokio::runtime::Handle::current(),
    };
    let options = chat_session::ChatOptions::from_json(r#"{ "ownerUserId": "ada" }"#).expect("options");
    let other = chat_session::Chat::new(options, ports);
    assert!(other.recover_interrupted_turns().await.expect("the host lives").is_empty());
    let watcher = support::Conversation { chat: &other, execution: session.execution.clone(), id: session.id.clone() };
    let (here, there) = tokio::join!(session.updates(&turn, 0), watcher.updates(&turn, 0));
    assert_eq!(here, there);
    assert_eq!(watcher.completion(&turn).await.status, TurnStatus::Completed);
    store.close().await.expect("closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_the_driver_fails_the_turn() {
    let panicked = Arc::new(AtomicBool::new(false));
    let once = Arc::clone(&panicked);
    let setup = Setup {
        on_turn: Some(Arc::new(move |_| {
            if !once.swap(true, Ordering::SeqCst) {
                panic!("injected");
            }
        })),
        ..Setup::default()
    };
    let fixture = setup.start();
    let session = fixture.session("codex/text-stream", "instant").await;
    assert_eq!(session.send("Write.").await.expect_err("the driver is gone").code, ErrorCode::RuntimeError);
    let turn = loop {
        let turn = fixture.chat.latest_turn(&session.id).await.expect("stored").expect("a turn");
        if turn.status != TurnStatus::Running {
            break turn;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(turn.status, TurnStatus::Failed);
    assert_eq!(turn.error.expect("a reason").reason, "panic");
    let turn = session.send("Again.").await.expect("a new driver");
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_are_announced_at_their_beginning_and_end() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let announced = Arc::clone(&seen);
    let setup = Setup {
        on_turn: Some(Arc::new(move |turn| announced.lock().expect("not poisoned").push((turn.id.clone(), turn.status)))),
        ..Setup::default()
    };
    let fixture = setup.start();
    let session = fixture.session("codex/text-stream", "instant").await;
    let turn = session.send("Write.").await.expect("sent");
    session.completion(&turn).await;
    let expected = vec![(turn.clone(), TurnStatus::Running), (turn, TurnStatus::Completed)];
    assert_eq!(*seen.lock().expect("not poisoned"), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_is_refused_before_anything_is_stored() {
    let fixture = Setup::default().start();
    let session = fixture.session("codex/text-stream", "instant").await;
    let execution = json!(session.execution);
    let foreign = json!({ "id": "nobody", "revision": "x" });
    let stale = json!({ "id": session.execution.id, "revision": "0" });
    for (options, code) in [
        (json!({ "execution": execution, "prompt": { "parts": [] } }), ErrorCode::InvalidPrompt),
        (json!({ "execution": execution }), ErrorCode::InvalidPrompt),
        (json!({ "execution": execution, "prompt": prompt("x"), "turn": "y" }), ErrorCode::InvalidOptions),
        (json!({ "execution": execution, "prompt": prompt("x"), "turnId": 3 }), ErrorCode::InvalidOptions),
        (json!({ "prompt": prompt("x") }), ErrorCode::InvalidExecutionContract),
        (json!({ "execution": foreign, "prompt": prompt("x") }), ErrorCode::ExecutionNotPrepared),
        (json!({ "execution": stale, "prompt": prompt("x") }), ErrorCode::ExecutionRevisionMismatch),
        (json!([]), ErrorCode::InvalidOptions),
    ] {
        let error = fixture.chat.send(&session.id, options.to_string()).await.expect_err("refused");
        assert_eq!(error.code, code, "{options}");
    }
    let unknown = fixture.chat.send("nobody", json!({ "execution": execution, "prompt": prompt("x") }).to_string()).await;
    assert_eq!(unknown.expect_err("unknown").code, ErrorCode::SessionNotFound);
    assert!(fixture.chat.latest_turn(&session.id).await.expect("readable").is_none());

    let other = fixture.session("codex/usage-three-steps", "instant").await;
    let mixed = json!({ "execution": other.execution, "prompt": prompt("x") }).to_string();
    assert_eq!(fixture.chat.send(&session.id, mixed).await.expect_err("mixed").code, ErrorCode::SessionAgentMismatch);
    let again = json!({ "execution": execution, "sessionId": session.id }).to_string();
    assert_eq!(fixture.chat.start_session(&again).await.expect_err("known").code, ErrorCode::SessionAlreadyExists);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_replay_cannot_apply_is_refused_with_its_path() {
    let fixture = Setup::default().start();
    let outside = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(fixture.folder.path().join("notes.ndjson"), "{}\n").expect("written");
    let notes = fixture.folder.path().join("notes.ndjson");
    let missing = fixture.folder.path().join("missing.ndjson");
    let escape = fixture.folder.path().join("../escape.ndjson");
    let with = |pointer: &str, value: Value| {
        let mut contract = contract("codex/text-stream", "instant");
        *contract.pointer_mut(pointer).expect("the field exists") = value;
        contract
    };
    for (contract, path, word) in [
        (with("/agent/adapterId", json!("nobody")), "agent.adapterId", "replay"),
        (with("/agent/installationId", json!("codex/nothing")), "agent.installationId", "no bundled recording"),
        (with("/agent/installationId", json!("../secrets")), "agent.installationId", "neither"),
        (with("/agent/installationId", json!(outside.path())), "agent.installationId", "replayDirs"),
        (with("/agent/installationId", json!(escape)), "agent.installationId", "replayDirs"),
        (with("/agent/installationId", json!(missing)), "agent.installationId", "cannot be opened"),
        (with("/agent/installationId", json!(notes)), "agent.installationId", "no recording"),
        (with("/model/settings/0/value", json!("fast")), "model.settings[0].value", "recorded"),
        (with("/model/settings/0/configId", json!("speed")), "model.settings[0].configId", "pace"),
        (with("/tools/toolIds", json!(["search"])), "tools.toolIds", "recording"),
    ] {
        let error = fixture.chat.prepare_execution("x", &contract.to_string(), None).await.expect_err("refused");
        assert_eq!(error.code, ErrorCode::UnsupportedExecutionInput, "{error}");
        assert_eq!(error.details.as_ref().expect("a path")["path"], path);
        assert!(error.message.contains(word), "{error} does not say {word}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    // However the journal is cut and whenever a reader comes and goes, it sees every update once and in order.
    #[test]
    fn readers_that_come_and_go_miss_nothing(max_updates in 1_usize..40, breaks in prop::collection::vec(1_usize..20, 0..8)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let options = json!({ "ownerUserId": "ada", "journal": { "maxUpdates": max_updates } });
            let fixture = Setup { options, ..Setup::default() }.start();
            let session = fixture.session("codex/command-success-output-deltas", "instant").await;
            let turn = session.send("Go.").await.expect("sent");
            let mut seen: Vec<String> = Vec::new();
            for count in breaks {
                let mut subscription = session.watch(&turn, seen.len() as u64);
                let mut batches = 0;
                while batches < count {
                    match subscription.next_batch().await.expect("keeps up") {
                        Some(batch) => seen.extend(session.texts(&turn, &batch)),
                        None => break,
                    }
                    batches += 1;
                }
            }
            seen.extend(session.updates(&turn, seen.len() as u64).await);
            assert_eq!(seen, session.updates(&turn, 0).await);
            assert_eq!(session.completion(&turn).await.last_sequence, seen.len() as u64);
        });
    }
}

/// A recording of one turn that says so many words, one a message.
fn long_recording(words: usize) -> String {
    let line = |channel: &str, message: Value| json!({ "i": 0, "t": 0, "ch": channel, "msg": message }).to_string();
    let turn = |method: &str, status: &str| json!({ "method": method, "params": { "threadId": "t", "turn": { "id": "u", "items": [], "status": status, "error": null } } });
    let mut lines = vec![
        json!({ "recording": 1, "harness": "codex", "harness_version": "0", "scenario": "long" }).to_string(),
        line("stdin", json!({ "method": "thread/start", "id": 1, "params": { "cwd": "/workspace" } })),
        line("stdout", json!({ "id": 1, "result": { "thread": { "id": "t" }, "model": "gpt", "cwd": "/workspace" } })),
        line("stdin", json!({ "method": "turn/start", "id": 2, "params": { "threadId": "t", "input": [] } })),
        line("stdout", json!({ "id": 2, "result": { "turn": { "id": "u", "status": "inProgress" } } })),
        line("stdout", turn("turn/started", "inProgress")),
    ];
    lines.extend((0..words).map(|word| {
        let params = json!({ "threadId": "t", "turnId": "u", "itemId": "m", "delta": format!("{word} ") });
        line("stdout", json!({ "method": "item/agentMessage/delta", "params": params, "pad": "x".repeat(300) }))
    }));
    lines.push(line("stdout", turn("turn/completed", "completed")));
    lines.join("\n")
}

// Longer than the ring of a turn: what a late reader gets comes from the journal, then from the ring.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_turn_is_whole_for_early_and_late_readers() {
    const WORDS: usize = 12_000;
    let fixture = Setup::default().start();
    let path = fixture.folder.path().join("long.ndjson");
    std::fs::write(&path, long_recording(WORDS)).expect("written");
    let session = fixture.session(path.to_str().expect("UTF-8"), "instant").await;
    let turn = session.send("Go.").await.expect("sent");
    let mut late = session.watch(&turn, 0);
    let early = session.updates(&turn, 0).await;
    let words: String = (0..WORDS).map(|word| format!("{word} ")).collect();
    assert_eq!(said(&parsed(&early)), words);
    let mut replayed = Vec::new();
    while let Some(batch) = late.next_batch().await.expect("it was never at the tail") {
        replayed.extend(session.texts(&turn, &batch));
    }
    assert!(replayed == early, "{} of {} updates", replayed.len(), early.len());
    for after in [1, 255, 256, 257, 511, 512, 5000, WORDS as u64 - 1] {
        assert!(session.updates(&turn, after).await == early[after as usize..], "after {after}");
    }
}

// The recorded command ends a second and a half after the turn that left it running.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_after_a_turn_is_a_turn_of_the_agents_own() {
    let (sender, mut announced) = tokio::sync::mpsc::unbounded_channel();
    let setup = Setup { on_turn: Some(Arc::new(move |turn| drop(sender.send(turn.clone())))), ..Setup::default() };
    let fixture = setup.start();
    let session = fixture.session("codex/background-command-still-running-at-turn-end", "recorded").await;
    let turn = session.send("Start it.").await.expect("sent");
    let open = parsed(&session.updates(&turn, 0).await);
    assert!(!open.iter().any(|update| update["status"] == "completed"), "the command still runs");
    let own = loop {
        let turn = announced.recv().await.expect("turns are announced");
        if turn.origin == TurnOrigin::Agent && turn.status != TurnStatus::Running {
            break turn;
        }
    };
    assert_eq!((own.status, own.ordinal, own.prompt.get()), (TurnStatus::Completed, 2, r#"{"parts":[]}"#));
    let updates = parsed(&session.updates(&own.id, 0).await);
    assert_eq!(sequences(&updates)[0], 1);
    assert_eq!(updates.iter().filter(|update| update["status"] == "completed").count(), 1);
    let roles: Vec<_> =
        fixture.chat.messages(&session.id).await.expect("messages").iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Assistant]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_falls_silent_fails_the_turn() {
    let setup = Setup { options: json!({ "ownerUserId": "ada", "idleLimitMs": 20 }), ..Setup::default() };
    let fixture = setup.start();
    let session = fixture.session("codex/text-stream", "recorded").await;
    let turn = session.send("Write.").await.expect("sent");
    let sealed = session.completion(&turn).await;
    let failure = sealed.error.as_ref().expect("a reason");
    assert_eq!((failure.code.as_str(), failure.reason.as_str()), ("TRANSPORT_ERROR", "agent_silent"));
    let updates = parsed(&session.updates(&turn, 0).await);
    assert_eq!(updates.last().expect("a notice")["_meta"]["amalgm"]["error"]["reason"], "agent_silent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agents_title_is_taken_unless_the_host_gave_one() {
    let fixture = Setup::default().start();
    for given in [None, Some("Mine")] {
        let session = fixture.session("codex/thread-name-and-rate-limits", "instant").await;
        if let Some(title) = given {
            fixture.chat.update_title(&session.id, title.to_owned()).await.expect("titled");
        }
        let turn = session.send("Go.").await.expect("sent");
        let updates = parsed(&session.updates(&turn, 0).await);
        let title = updates
            .iter()
            .find_map(|update| update["title"].as_str().filter(|_| update["sessionUpdate"] == "session_info_update"));
        let title = title.expect("the recording names its thread");
        session.completion(&turn).await;
        let conversation = fixture.chat.conversation(&session.id).await.expect("it exists");
        assert_eq!(conversation.title.as_deref(), given.or(Some(title)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hosts_clock_is_the_clock_of_records_and_updates() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let store = Arc::new(support::open_store(&folder.path().join("chat.sqlite")));
    let agents = chat_agents::AgentOptions { bundled_recordings: Some(support::recordings()), ..Default::default() };
    let ports = chat_session::ChatPorts {
        store: Arc::clone(&store) as Arc<dyn ConversationStore>,
        adapters: Arc::new(chat_agents::Adapters::new(agents)),
        host: support::host(folder.path()),
        clock: chat_session::Clock::Host(Arc::new(|| Box::pin(async { Some(946_684_800_000) }))),
        on_turn: None,
        on_request: None,
        runtime: tokio::runtime::Handle::current(),
    };
    let options = chat_session::ChatOptions::from_json(r#"{ "ownerUserId": "ada" }"#).expect("options");
    let chat = chat_session::Chat::new(options, ports);
    let contract = contract("codex/text-stream", "instant").to_string();
    let execution = chat.prepare_execution("x", &contract, None).await.expect("prepared");
    let id = chat.start_session(&json!({ "execution": execution }).to_string()).await.expect("started").id;
    let session = support::Conversation { chat: &chat, execution, id };
    let turn = session.send("Go.").await.expect("sent");
    let updates = parsed(&session.updates(&turn, 0).await);
    assert!(updates.iter().all(|update| update["_meta"]["amalgm"]["at"] == 946_684_800_000_i64));
    let sealed = session.completion(&turn).await;
    assert_eq!(
        (sealed.started_at.as_str(), sealed.ended_at.as_deref()),
        ("2000-01-01T00:00:00.000Z", Some("2000-01-01T00:00:00.000Z"))
    );
    store.close().await.expect("closed");
}
