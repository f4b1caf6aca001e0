//! Permissions and questions of recorded agents: who answers, what is refused, and what everybody sees.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use chat_agents::{Adapters, AgentOptions};
use chat_grammar::ErrorCode;
use chat_grammar::records::TurnStatus;
use chat_journal::ConversationStore;
use chat_session::{Chat, ChatOptions, ChatPorts, Clock, OnRequest, RequestKind};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use support::{Conversation, Setup, contract, of_kind, parsed};

const COMMAND: &str = "codex/approval-command-accept";
const QUESTION: &str = "codex/request-user-input";
const FORM: &str = "codex/mcp-elicitation-form-accept";

fn allow() -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": "accept" } })
}

/// The only response in a turn that has ended.
async fn response(session: &Conversation<'_>, turn: &str) -> Value {
    let updates = parsed(&session.updates(turn, 0).await);
    let responses: Vec<_> =
        ["permission_response", "elicitation_response"].iter().flat_map(|kind| of_kind(&updates, kind)).collect();
    let [response] = responses.as_slice() else { panic!("{} responses", responses.len()) };
    (*response).clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_waits_for_its_answer_and_the_turn_goes_on() {
    let fixture = Setup::default().start();
    let session = fixture.asking(COMMAND).await;
    let turn = session.send("Make a file.").await.expect("sent");
    let request = session.see(&turn, "permission_request").await;
    let id = format!("{turn}:0");
    assert_eq!(request["requestId"], id);
    let sequence = request["_meta"]["amalgm"]["sequence"].clone();
    let expected = json!([{ "requestId": id, "kind": "permission", "turnId": turn, "sequence": sequence }]);
    assert_eq!(session.pending().await, expected);
    assert_eq!(session.see(&turn, "permission_request").await, request, "also for who comes later");

    session.respond(&request, allow()).await.expect("answered");
    assert_eq!(session.pending().await, json!([]));
    let again = session.respond(&request, allow()).await;
    assert_eq!(again.expect_err("answered").code, ErrorCode::RequestNotPending);
    let response = response(&session, &turn).await;
    assert_eq!(
        (&response["requestId"], &response["outcome"], &response["approved"], &response["by"]),
        (&json!(id), &allow()["outcome"], &json!(true), &json!("host"))
    );
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Completed);
    let updates = parsed(&session.updates(&turn, 0).await);
    assert!(updates.iter().any(|update| update["status"] == "completed"), "the command ran");
    let after = session.respond(&request, allow()).await;
    assert_eq!(after.expect_err("the turn is over").code, ErrorCode::RequestNotPending);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_carries_its_reason() {
    let fixture = Setup::default().start();
    for (outcome, approved) in
        [(json!({ "outcome": "selected", "optionId": "decline" }), false), (json!({ "outcome": "cancelled" }), false)]
    {
        let session = fixture.asking(COMMAND).await;
        let turn = session.send("Make a file.").await.expect("sent");
        let request = session.see(&turn, "permission_request").await;
        session.respond(&request, json!({ "outcome": outcome, "reason": "not here" })).await.expect("answered");
        let response = response(&session, &turn).await;
        assert_eq!(
            (&response["outcome"], &response["approved"], &response["reason"]),
            (&outcome, &json!(approved), &json!("not here"))
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_another_form_is_refused_and_the_request_waits_on() {
    let fixture = Setup::default().start();
    let session = fixture.asking(COMMAND).await;
    let turn = session.send("Make a file.").await.expect("sent");
    let request = session.see(&turn, "permission_request").await;
    for (answer, path, word) in [
        (json!({ "outcome": { "outcome": "selected", "optionId": "maybe" } }), "outcome.optionId", "decline"),
        (json!({ "outcome": { "outcome": "selected" } }), "outcome.optionId", "accept"),
        (json!({ "outcome": { "outcome": "allowed" } }), "outcome.outcome", "cancelled"),
        (json!({ "outcome": "cancelled" }), "outcome.outcome", "selected"),
        (json!({}), "outcome.outcome", "accept"),
        (json!({ "outcome": { "outcome": "cancelled" }, "reason": 3 }), "reason", "string"),
        (json!({ "response": { "action": "cancel" } }), "response", "leave"),
        (json!([]), "options", "object"),
    ] {
        let error = session.respond(&request, answer).await.expect_err("refused");
        assert_eq!((error.code, &error.details.as_ref().expect("a path")["path"]), (ErrorCode::InvalidOptions, &json!(path)));
        assert!(error.message.contains(word), "{error} does not say {word}");
    }
    let unknown = fixture.chat.respond(&session.id, format!("{turn}:7"), allow().to_string()).await;
    assert_eq!(unknown.expect_err("unknown").code, ErrorCode::RequestNotPending);
    assert_eq!(session.pending().await.as_array().expect("a list").len(), 1);
    session.respond(&request, allow()).await.expect("answered");
    assert_eq!(response(&session, &turn).await["approved"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_is_checked_against_its_schema() {
    let fixture = Setup::default().start();
    // Questions wait in both modes.
    let session = fixture.session(FORM, "instant").await;
    let turn = session.send("Use ask.").await.expect("sent");
    let request = session.see(&turn, "elicitation_request").await;
    assert_eq!(session.pending().await[0]["kind"], "elicitation");
    let accept = |content: Value| json!({ "response": { "action": "accept", "content": content } });
    for (answer, path) in [
        (accept(json!({ "colour": 3, "loud": true })), "response.content.colour"),
        (accept(json!({ "loud": true })), "response.content"),
        (accept(json!("red")), "response.content"),
        (json!({ "response": { "action": "accept" } }), "response.content"),
        (json!({ "response": { "action": "yes" } }), "response.action"),
        (json!({ "outcome": { "outcome": "cancelled" } }), "outcome"),
    ] {
        let error = session.respond(&request, answer).await.expect_err("refused");
        assert_eq!((error.code, &error.details.as_ref().expect("a path")["path"]), (ErrorCode::InvalidOptions, &json!(path)));
    }
    let filled = accept(json!({ "colour": "red", "loud": false }));
    session.respond(&request, filled.clone()).await.expect("answered");
    assert_eq!(response(&session, &turn).await["response"], filled["response"], "the live answer, not the recorded one");
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_may_be_declined_or_cancelled() {
    let fixture = Setup::default().start();
    for action in ["decline", "cancel"] {
        let session = fixture.asking(QUESTION).await;
        let turn = session.send("Ask me.").await.expect("sent");
        let request = session.see(&turn, "elicitation_request").await;
        session.respond(&request, json!({ "response": { "action": action } })).await.expect("answered");
        assert_eq!(response(&session, &turn).await["response"], json!({ "action": action }));
    }
}

/// A callback that always answers the same, and what it was asked.
fn always(answer: Option<Value>) -> (OnRequest, Arc<Mutex<Vec<Value>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let on_request: OnRequest = Arc::new(move |request| {
        let mut json: Value = serde_json::from_str(&request.json).expect("JSON");
        json["kind"] = json!(request.kind == RequestKind::Permission);
        seen.lock().expect("not poisoned").push(json);
        let answer = answer.as_ref().map(Value::to_string);
        Box::pin(async move { answer })
    });
    (on_request, asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_answers_both_kinds() {
    let (on_request, asked) = always(Some(allow()));
    let fixture = Setup { on_request: Some(on_request), ..Setup::default() }.start();
    let session = fixture.asking(COMMAND).await;
    let turn = session.send("Make a file.").await.expect("sent");
    let response_ = response(&session, &turn).await;
    assert_eq!((&response_["approved"], &response_["by"]), (&json!(true), &json!("host")));
    let updates = parsed(&session.updates(&turn, 0).await);
    let request = of_kind(&updates, "permission_request")[0];
    let expected = json!({
        "conversationId": session.id, "turnId": turn, "requestId": request["requestId"],
        "toolCall": request["toolCall"], "options": request["options"], "kind": true,
    });
    assert_eq!(*asked.lock().expect("not poisoned"), [expected]);

    let (on_request, asked) = always(Some(json!({ "response": { "action": "decline" } })));
    let fixture = Setup { on_request: Some(on_request), ..Setup::default() }.start();
    let session = fixture.session(QUESTION, "instant").await;
    let turn = session.send("Ask me.").await.expect("sent");
    assert_eq!(response(&session, &turn).await["response"]["action"], "decline");
    let updates = parsed(&session.updates(&turn, 0).await);
    let request = of_kind(&updates, "elicitation_request")[0];
    let expected = json!({
        "conversationId": session.id, "turnId": turn, "requestId": request["requestId"], "request": request["request"],
        "kind": false,
    });
    assert_eq!(*asked.lock().expect("not poisoned"), [expected]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_that_answers_nonsense_cancels_the_request() {
    let (on_request, _) = always(Some(json!({ "outcome": { "outcome": "selected", "optionId": "maybe" } })));
    let fixture = Setup { on_request: Some(on_request), ..Setup::default() }.start();
    let session = fixture.asking(COMMAND).await;
    let turn = session.send("Make a file.").await.expect("sent");
    let response = response(&session, &turn).await;
    assert_eq!((&response["outcome"]["outcome"], &response["by"]), (&json!("cancelled"), &json!("host")));
    assert!(response["reason"].as_str().expect("a reason").contains("maybe"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_may_leave_a_request_to_others_or_come_too_late() {
    let (on_request, asked) = always(None);
    let fixture = Setup { on_request: Some(on_request), ..Setup::default() }.start();
    let session = fixture.asking(COMMAND).await;
    let turn = session.send("Make a file.").await.expect("sent");
    let request = session.see(&turn, "permission_request").await;
    session.respond(&request, allow()).await.expect("it still waits");
    assert_eq!(response(&session, &turn).await["approved"], true);
    assert_eq!(asked.lock().expect("not poisoned").len(), 1);

    let (late, gate) = tokio::sync::oneshot::channel::<()>();
    let gate = Mutex::new(Some(gate));
    let on_request: OnRequest = Arc::new(move |_| {
        let gate = gate.lock().expect("not poisoned").take();
        Box::pin(async move {
            if let Some(gate) = gate {
                let _ = gate.await;
            }
            Some(json!({ "outcome": { "outcome": "cancelled" } }).to_string())
        })
    });
    let fixture = Setup { on_request: Some(on_request), ..Setup::default() }.start();
    let session = fixture.asking(COMMAND).await;
    let turn = session.send("Make a file.").await.expect("sent");
    let request = session.see(&turn, "permission_request").await;
    session.respond(&request, allow()).await.expect("faster than the callback");
    late.send(()).expect("the callback waits");
    assert_eq!(response(&session, &turn).await["approved"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_answers_in_time_is_cancelled_and_waiting_is_no_silence() {
    // The limit of silence is far below that of requests.
    let options = json!({ "ownerUserId": "ada", "requestLimitMs": 60, "idleLimitMs": 1 });
    let fixture = Setup { options, ..Setup::default() }.start();
    let session = fixture.asking(COMMAND).await;
    let turn = session.send("Make a file.").await.expect("sent");
    let response_ = response(&session, &turn).await;
    assert_eq!(
        (&response_["outcome"]["outcome"], &response_["by"], &response_["reason"]),
        (&json!("cancelled"), &json!("host"), &json!("Nobody answered within 60 ms"))
    );
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Completed);
    let session = fixture.asking(QUESTION).await;
    let turn = session.send("Ask me.").await.expect("sent");
    assert_eq!(response(&session, &turn).await["response"], json!({ "action": "cancel" }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_access_allows_at_once_and_asks_nobody() {
    let (on_request, asked) = always(None);
    let fixture = Setup { on_request: Some(on_request), ..Setup::default() }.start();
    let session = fixture.session(COMMAND, "instant").await;
    let turn = session.send("Make a file.").await.expect("sent");
    let response = response(&session, &turn).await;
    assert_eq!((&response["approved"], &response["by"]), (&json!(true), &json!("full_access")));
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Completed);
    assert!(asked.lock().expect("not poisoned").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_cancels_what_waits() {
    let fixture = Setup::default().start();
    let session = fixture.asking(COMMAND).await;
    let turn = session.send("Make a file.").await.expect("sent");
    let request = session.see(&turn, "permission_request").await;
    fixture.chat.interrupt(&session.id).await.expect("interrupted");
    let sealed = session.completion(&turn).await;
    assert_eq!((sealed.status, sealed.stop_reason.as_deref()), (TurnStatus::Cancelled, Some("cancelled")));
    let response = response(&session, &turn).await;
    assert_eq!((&response["outcome"]["outcome"], &response["by"]), (&json!("cancelled"), &json!("turn_end")));
    let updates = parsed(&session.updates(&turn, 0).await);
    let tools: Vec<_> = of_kind(&updates, "tool_call_update").into_iter().map(|update| update["status"].clone()).collect();
    assert_eq!(tools, ["failed"]);
    assert_eq!(session.pending().await, json!([]));
    assert_eq!(session.respond(&request, allow()).await.expect_err("over").code, ErrorCode::RequestNotPending);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_whose_host_never_answered_plays_on() {
    let fixture = Setup::default().start();
    let session = fixture.asking("codex/approval-pending-then-interrupt").await;
    let turn = session.send("Make a file.").await.expect("sent");
    let response = response(&session, &turn).await;
    assert_eq!((&response["outcome"]["outcome"], &response["by"]), (&json!("cancelled"), &json!("turn_end")));
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closing_chat_leaves_no_request_open() {
    let fixture = Setup::default().start();
    let session = fixture.asking(COMMAND).await;
    let turn = session.send("Make a file.").await.expect("sent");
    session.see(&turn, "permission_request").await;
    fixture.chat.close().await;
    let chunks = fixture.store.read_updates("ada", &session.id, &turn, 0, usize::MAX, usize::MAX).await.expect("stored");
    let entries: Vec<String> = chunks.iter().flat_map(chat_journal::Chunk::entries).map(|entry| entry.json).collect();
    let updates = parsed(&entries);
    let responses = of_kind(&updates, "permission_response");
    assert_eq!(responses.len(), 1);
    assert_eq!(responses[0]["by"], "turn_end");
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Interrupted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_host_sees_what_waits_here_and_cannot_answer_it() {
    let here = Setup::default().start();
    let session = here.asking(COMMAND).await;
    let turn = session.send("Make a file.").await.expect("sent");
    let request = session.see(&turn, "permission_request").await;
    let store = Arc::new(support::open_store(&here.folder.path().join("chat.sqlite")));
    let ports = ChatPorts {
        store: Arc::clone(&store) as Arc<dyn ConversationStore>,
        adapters: Arc::new(Adapters::new(AgentOptions::default())),
        host: support::host(here.folder.path()),
        clock: Clock::System,
        on_turn: None,
        on_request: None,
        runtime: tokio::runtime::Handle::current(),
    };
    let there = Chat::new(ChatOptions::from_json(r#"{ "ownerUserId": "ada" }"#).expect("options"), ports);
    let watcher = Conversation { chat: &there, execution: session.execution.clone(), id: session.id.clone() };
    assert_eq!(watcher.pending().await, session.pending().await);
    assert_eq!(watcher.pending().await.as_array().expect("a list").len(), 1);
    assert_eq!(watcher.respond(&request, allow()).await.expect_err("not here").code, ErrorCode::RequestNotPending);
    session.respond(&request, allow()).await.expect("answered");
    session.completion(&turn).await;
    assert_eq!(watcher.pending().await, json!([]));
    store.close().await.expect("closed");
}

/// A recording of one turn with two requests, which its host answered in their order.
fn two_requests() -> String {
    let line =
        |time: u64, channel: &str, message: Value| json!({ "i": 0, "t": time, "ch": channel, "msg": message }).to_string();
    let turn = |method: &str, status: &str| json!({ "method": method, "params": { "threadId": "t", "turn": { "id": "u", "items": [], "status": status, "error": null } } });
    let ask = |id: u64| {
        let params = json!({ "threadId": "t", "turnId": "u", "itemId": format!("c{id}"), "command": format!("run {id}"), "cwd": "/workspace" });
        json!({ "method": "item/commandExecution/requestApproval", "id": id, "params": params })
    };
    let answer = |id: u64| json!({ "id": id, "result": { "decision": "accept" } });
    let text = |text: &str| json!({ "method": "item/agentMessage/delta", "params": { "threadId": "t", "turnId": "u", "itemId": "m", "delta": text } });
    [
        json!({ "recording": 1, "harness": "codex", "harness_version": "0", "scenario": "two" }).to_string(),
        line(0, "stdin", json!({ "method": "thread/start", "id": 1, "params": { "cwd": "/workspace" } })),
        line(0, "stdout", json!({ "id": 1, "result": { "thread": { "id": "t" }, "model": "gpt", "cwd": "/workspace" } })),
        line(0, "stdin", json!({ "method": "turn/start", "id": 2, "params": { "threadId": "t", "input": [] } })),
        line(0, "stdout", json!({ "id": 2, "result": { "turn": { "id": "u", "status": "inProgress" } } })),
        line(0, "stdout", turn("turn/started", "inProgress")),
        line(1, "stdout", ask(0)),
        line(1, "stdout", ask(1)),
        line(1, "stdout", text("Both are asked.")),
        line(2, "stdin", answer(0)),
        line(3, "stdout", text("First.")),
        line(4, "stdin", answer(1)),
        line(5, "stdout", turn("turn/completed", "completed")),
    ]
    .join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_requests_are_answered_in_any_order() {
    let fixture = Setup::default().start();
    let path = fixture.folder.path().join("two.ndjson");
    std::fs::write(&path, two_requests()).expect("written");
    for pace in ["instant", "recorded"] {
        let mut contract = contract(path.to_str().expect("UTF-8"), pace);
        contract["permissionMode"] = json!("ask");
        let session = fixture.session_with(&contract).await;
        let turn = session.send("Go.").await.expect("sent");
        session.see(&turn, "agent_message_chunk").await;
        let pending = session.pending().await;
        let ids: Vec<_> = pending.as_array().expect("a list").iter().map(|request| request["requestId"].clone()).collect();
        assert_eq!(ids, [format!("{turn}:0"), format!("{turn}:1")]);
        session.respond(&pending[1], allow()).await.expect("the second first");
        assert_eq!(session.pending().await, json!([pending[0]]));
        session.respond(&pending[0], allow()).await.expect("then the first");
        assert_eq!(session.completion(&turn).await.status, TurnStatus::Completed);
        let updates = parsed(&session.updates(&turn, 0).await);
        assert_eq!(support::said(&updates), "Both are asked.First.");
        let responses: Vec<_> =
            of_kind(&updates, "permission_response").into_iter().map(|update| update["requestId"].clone()).collect();
        assert_eq!(responses, [ids[1].clone(), ids[0].clone()]);
    }
}
