//! Cursor's own ways, one by one.

use crate::render;
use crate::session::Session;
use crate::support::meanings;
use chat_grammar::event::EventKind;
use serde_json::{Value, json};

#[test]
fn cursor_asks_under_an_id_that_no_call_has() {
    let mut session = Session::new("cursor");
    session.call("a", json!({ "title": "Fetch", "kind": "fetch", "status": "pending", "rawInput": {} }));
    session.ask(7, json!({ "toolCallId": "web_fetch_0", "title": "Fetch https://example.invalid", "kind": "fetch" }));
    session.choose(7, "no");
    session.news("a", json!({ "status": "completed" }));
    session.stop(json!({}));
    assert_eq!((session.started().len(), session.completed().len()), (1, 1));
    assert!(session.completed()[0].is_error, "the only call that it can be about was declined");
}

#[test]
fn cursor_lists_are_told_whole_or_by_their_changes() {
    let mut session = Session::new("cursor");
    let todos = |merge: bool, todos: Value| json!({ "method": "cursor/update_todos", "params": { "toolCallId": "t", "todos": todos, "merge": merge } });
    session.agent(todos(
        false,
        json!([{ "id": "a", "content": "read", "status": "pending" }, { "id": "b", "content": "fix", "status": "pending" }]),
    ));
    session.agent(todos(
        true,
        json!([{ "id": "a", "status": "completed" }, { "id": "c", "content": "test", "status": "cancelled" }]),
    ));
    session.agent(todos(true, json!([{ "id": "a", "status": "completed" }])));
    session.agent(todos(false, json!([])));
    let plans: Vec<String> = session.events.iter().map(render::event).filter(|event| event.starts_with("plan")).collect();
    let expected =
        ["plan Pending \"read\", Pending \"fix\"", "plan Completed \"read\", Pending \"fix\", Pending \"test\"", "plan "];
    assert_eq!(plans, expected);
}

#[test]
fn cursor_plans_wait_for_leave() {
    for (answer, approved, reason) in [
        (json!({ "outcome": { "outcome": "accepted", "planUri": "file:///p" } }), true, None),
        (json!({ "outcome": "accepted" }), true, None),
        (json!({ "outcome": { "outcome": "rejected", "reason": "too long" } }), false, Some("too long")),
        (json!({ "outcome": { "outcome": "cancelled" } }), false, None),
        (json!({}), false, None),
    ] {
        let mut session = Session::new("cursor");
        session.call("p", json!({ "title": "Create Plan: Fix", "kind": "other" }));
        let todos = json!([{ "id": "a", "content": "read", "status": "pending" }]);
        session.agent(json!({ "id": 0, "method": "cursor/create_plan", "params": { "toolCallId": "p", "name": "Fix", "plan": "# Fix", "todos": todos } }));
        session.host(json!({ "id": 0, "result": answer }));
        session.news("p", json!({ "status": "completed" }));
        assert!(meanings(&session.events).any(|kind| matches!(kind, EventKind::Plan { entries } if entries.len() == 1)));
        let resolved = meanings(&session.events).find_map(|kind| match kind {
            EventKind::PermissionResolved(resolved) => Some((resolved.approved, resolved.reason.as_deref())),
            _ => None,
        });
        assert_eq!(resolved, Some((approved, reason)), "{answer}");
        assert_eq!(session.completed()[0].is_error, !approved, "{answer}");
    }
}

#[test]
fn cursor_questions_are_answered_as_their_form_says() {
    let ask = |session: &mut Session| {
        let options = json!([{ "id": "a", "label": "A" }, { "id": "b" }]);
        let questions = json!([
            { "id": "one", "prompt": "Which?", "options": options },
            { "id": "many", "prompt": "Which ones?", "options": options, "allowMultiple": true },
        ]);
        session.agent(
            json!({ "id": 0, "method": "cursor/ask_question", "params": { "toolCallId": "q", "questions": questions } }),
        );
    };
    let answers =
        json!([{ "questionId": "one", "selectedOptionIds": ["b"] }, { "questionId": "many", "selectedOptionIds": ["a"] }]);
    for (outcome, action, content) in [
        (json!({ "outcome": "answered", "answers": answers }), "accept", Some(json!({ "one": "b", "many": ["a"] }))),
        (json!({ "outcome": "skipped", "reason": "no" }), "decline", None),
        (json!({ "outcome": "cancelled" }), "cancel", None),
    ] {
        let mut session = Session::new("cursor");
        ask(&mut session);
        session.host(json!({ "id": 0, "result": { "outcome": outcome } }));
        let answered = session.events.pop().unwrap().kind;
        let EventKind::QuestionAnswered(answered) = answered else { panic!("{answered:?}") };
        assert_eq!((answered.action.as_str(), answered.content), (action, content));
    }
    let mut session = Session::new("cursor");
    ask(&mut session);
    session.stop(json!({ "stopReason": "cancelled" }));
    assert!(
        meanings(&session.events).any(|kind| matches!(kind, EventKind::QuestionAnswered(answer) if answer.action == "cancel"))
    );
}

#[test]
fn cursor_says_apart_what_a_task_and_an_image_are() {
    let mut session = Session::new("cursor");
    session.call("t", json!({ "title": "Task: Look", "kind": "other", "rawInput": {} }));
    session.agent(json!({ "id": 4, "method": "cursor/task", "params": { "toolCallId": "t", "description": "Look", "prompt": "Find it.", "subagentType": { "custom": "x" }, "durationMs": 5 } }));
    assert_eq!(session.started()[0].tool_name, "Agent");
    assert_eq!(
        session.updated()[0].input,
        Some(json!({ "description": "Look", "prompt": "Find it.", "subagentType": { "custom": "x" } }))
    );
    session.agent(json!({ "method": "cursor/generate_image", "params": { "toolCallId": "unknown", "description": "dot" } }));
    assert_eq!(session.count("cursor/generate_image"), 1, "of a call that nobody knows nothing can be said");
}
