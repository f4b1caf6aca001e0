//! Rules that no recording shows, each on a script of a few messages: turns, requests, sub-agents.

use crate::script::Script;
use chat_grammar::event::EventKind;
use serde_json::{Value, json};

fn error(name: &str, message: &str) -> Value {
    json!({ "error": { "name": name, "data": { "message": message } } })
}

#[test]
fn an_idle_of_the_turn_before_does_not_end_the_next() {
    let mut script = Script::new();
    script.whole("t", "One.").completed("m", "stop").idle();
    script.idle().prompt("ses").idle().user("u2").idle();
    assert_eq!(script.shown()[1..], ["done EndTurn stop", "done EndTurn -"]);
}

#[test]
fn an_abort_ends_with_the_second_idle() {
    let mut script = Script::new();
    script.text("t", "").delta("t", "This is");
    script.request("POST", "/session/ses/abort", json!(null)).event("session.error", error("MessageAbortedError", "Aborted"));
    script.idle().whole("t", "This is it").completed("m", "").answer(200, json!(true));
    assert!(!script.shown().iter().any(|line| line.starts_with("done")), "not everything has come");
    script.idle().idle();
    assert_eq!(script.shown()[1..], [r#"text t " it""#, "done Cancelled "]);
}

#[test]
fn an_abort_while_a_retry_waits_is_a_cancelled_turn() {
    let mut script = Script::new();
    script.event("session.status", json!({ "status": { "type": "retry", "attempt": 1, "message": "busy", "next": 9 } }));
    script.request("POST", "/session/ses/abort", json!(null));
    script.message(json!({ "id": "m", "role": "assistant", "time": { "created": 1, "completed": 2 } })).idle();
    assert_eq!(script.shown()[1..], ["done Cancelled -"]);
}

#[test]
fn an_abort_that_comes_too_late_changes_nothing() {
    let mut script = Script::new();
    script.whole("t", "Done.").completed("m", "stop").request("POST", "/session/ses/abort", json!(null)).idle();
    assert_eq!(script.shown()[1..], ["done EndTurn stop"]);
}

#[test]
fn a_failed_turn_has_one_error_however_often_it_is_told() {
    let failure = json!({ "name": "APIError", "data": { "message": "Slow down", "statusCode": 429, "isRetryable": false } });
    let mut script = Script::new();
    script.event("session.error", json!({ "error": failure })).idle();
    script.message(json!({ "id": "m", "role": "assistant", "error": failure, "time": { "created": 1, "completed": 2 } }));
    script.event("session.error", json!({ "error": failure })).idle().event("session.error", json!({ "error": failure }));
    assert_eq!(script.shown(), [r#"error Model rate_limited retryable=true "Slow down""#, "done Failed -"]);
}

#[test]
fn an_error_that_only_the_message_tells_fails_the_turn() {
    let failure = json!({ "name": "ProviderAuthError", "data": { "message": "no key" } });
    let mut script = Script::new();
    script
        .message(json!({ "id": "m", "role": "assistant", "error": failure, "time": { "created": 1, "completed": 2 } }))
        .idle();
    assert_eq!(script.shown(), [r#"error Auth invalid_key retryable=false "no key""#, "done Failed -"]);
}

#[test]
fn a_missing_file_is_no_failure() {
    let mut script = Script::empty();
    script.session("ses").prompt("ses");
    script.events.clear();
    script.event("session.error", error("UnknownError", "File not found: /w/a.txt"));
    script.user("u").busy().assistant("m").whole("t", "Fine.").completed("m", "stop").idle();
    assert_eq!(script.shown(), [r#"warning "File not found: /w/a.txt""#, r#"text t "Fine.""#, "done EndTurn stop"]);
}

#[test]
fn an_error_that_no_idle_follows_is_the_end_once_the_server_is_asked() {
    let mut script = Script::new();
    let ask = |script: &mut Script, statuses: Value| {
        script.request("GET", "/session/status", json!(null)).answer(200, statuses);
    };
    ask(&mut script, json!({}));
    script.event("session.error", error("APIError", "Unable to connect"));
    ask(&mut script, json!({ "ses": { "type": "busy" } }));
    assert!(script.shown().is_empty());
    ask(&mut script, json!({}));
    assert_eq!(script.shown(), [r#"error Transport unreachable retryable=true "Unable to connect""#, "done Failed -"]);
}

#[test]
fn a_prompt_that_breaks_before_it_is_stored_has_failed() {
    let mut script = Script::empty();
    script.session("ses").prompt("ses");
    script.events.clear();
    script.event("session.error", error("UnknownError", "Agent not found: \"x\""));
    assert!(script.shown().is_empty());
    script.event("session.error", error("UnknownError", "UnknownError: x\n    at y (z.js:1)"));
    assert_eq!(
        script.shown(),
        [r#"error Runtime invalid_configuration retryable=false "Agent not found: \"x\"""#, "done Failed -"]
    );
}

#[test]
fn a_prompt_of_another_client_is_a_turn_too() {
    let mut script = Script::empty();
    script.session("ses");
    script.events.clear();
    script.user("u").busy().assistant("m").whole("t", "Hi.").completed("m", "stop").idle();
    assert_eq!(script.shown(), [r#"text t "Hi.""#, "done EndTurn stop"]);
}

#[test]
fn a_prompt_that_is_refused_while_a_turn_runs_does_not_end_it() {
    let mut script = Script::new();
    script.request("POST", "/session/ses/prompt_async", json!({})).answer(400, json!({ "data": { "message": "Bad parts" } }));
    script.completed("m", "stop").idle();
    assert_eq!(script.shown(), [r#"warning "Bad parts""#, "done EndTurn stop"]);
}

#[test]
fn the_answer_to_a_waiting_prompt_says_nothing_twice() {
    let answer = json!({
        "info": { "id": "m", "sessionID": "ses", "role": "assistant", "finish": "stop", "time": { "created": 1, "completed": 2 } },
        "parts": [{ "id": "t", "messageID": "m", "sessionID": "ses", "type": "text", "text": "Hello", "time": { "start": 1, "end": 2 } }],
    });
    let mut script = Script::empty();
    script.session("ses");
    script.events.clear();
    script.request("POST", "/session/ses/message", json!({})).answer(200, answer);
    script.user("u").busy().assistant("m").text("t", "").delta("t", "Hel").delta("t", "lo").whole("t", "Hello").idle();
    let shown = script.shown();
    assert_eq!(shown[..2], [r#"text t "Hello""#, "done EndTurn stop"]);
    assert!(!shown[2..].iter().any(|line| line.starts_with("text")), "{shown:?}");
}

#[test]
fn a_server_that_starts_again_ends_what_ran() {
    let mut script = Script::new();
    script.pending("c", "read");
    script.normalizer.push(
        "opencode server listening on http://127.0.0.1:1",
        chat_grammar::event::Side::Agent,
        &mut script.events,
    );
    assert_eq!(script.shown()[1..], [r#"tool c failed: output=null content=["The server ended before this call did"]"#]);
}

/// A sub-agent's session, and what it says.
fn child(script: &mut Script, id: &str, says: &str) {
    let message = format!("{id}_m");
    script.message(json!({ "id": message, "sessionID": id, "role": "assistant" }));
    let time = json!({ "start": 1, "end": 2 });
    let part =
        json!({ "id": format!("{id}_t"), "messageID": message, "sessionID": id, "type": "text", "text": says, "time": time });
    script.part(part);
}

fn created(script: &mut Script, id: &str, parent: &str) {
    script.event("session.created", json!({ "sessionID": id, "info": { "id": id, "parentID": parent, "title": "Look" } }));
}

#[test]
fn two_sub_agents_at_once_belong_to_their_calls() {
    let running =
        |child: &str| json!({ "status": "running", "input": { "description": child }, "metadata": { "sessionId": child } });
    let mut script = Script::new();
    script.pending("c1", "task").pending("c2", "task");
    created(&mut script, "a", "ses");
    created(&mut script, "b", "ses");
    script.tool("c2", "task", running("b")).tool("c1", "task", running("a"));
    child(&mut script, "b", "from b");
    child(&mut script, "a", "from a");
    script.event("session.idle", json!({ "sessionID": "a" })).completed("m", "stop");
    let said: Vec<String> =
        script.shown().into_iter().filter(|line| line.starts_with("text") || line.starts_with("done")).collect();
    assert_eq!(said, [r#"text b_t "from b"  [in c2]"#, r#"text a_t "from a"  [in c1]"#]);
}

#[test]
fn a_sub_agent_that_speaks_early_belongs_to_the_call_that_waits_for_one() {
    let mut script = Script::new();
    script.pending("c1", "task");
    created(&mut script, "a", "ses");
    child(&mut script, "a", "hello");
    assert_eq!(script.shown()[1..], [r#"text a_t "hello"  [in c1]"#]);
}

#[test]
fn a_sub_agent_without_a_call_gets_one_that_ends_with_it() {
    let mut script = Script::new();
    created(&mut script, "a", "ses");
    child(&mut script, "a", "hello");
    created(&mut script, "b", "a");
    child(&mut script, "b", "deeper");
    script.event("session.idle", json!({ "sessionID": "b" })).event("session.idle", json!({ "sessionID": "a" }));
    script.event("session.error", json!({ "sessionID": "a", "error": { "name": "X", "data": { "message": "late" } } }));
    assert_eq!(
        script.shown(),
        [
            r#"tool a started: Agent Other "Look" input={"sessionId":"a"}"#,
            r#"text a_t "hello"  [in a]"#,
            r#"tool b started: Agent Other "Look" input={"sessionId":"b"}  [in a]"#,
            r#"text b_t "deeper"  [in b]"#,
            "tool b completed: output=null  [in a]",
            "tool a completed: output=null",
            r#"warning "late"  [in a]"#,
        ]
    );
}

#[test]
fn other_sessions_are_counted_and_left_out() {
    let mut script = Script::new();
    child(&mut script, "other", "not ours");
    script.event("session.idle", json!({ "sessionID": "other" }));
    created(&mut script, "x", "unknown");
    assert_eq!(script.shown(), ["unmapped foreign_session"; 4]);
    assert_eq!(script.normalizer.unmapped().get("foreign_session"), Some(&4));
}

#[test]
fn a_request_of_a_sub_agent_is_answered_for_it() {
    let mut script = Script::new();
    script.pending("c", "task");
    created(&mut script, "a", "ses");
    let asked = json!({ "sessionID": "a", "id": "per", "permission": "external_directory", "patterns": ["/etc/*"],
        "metadata": { "filepath": "/etc/passwd", "parentDir": "/etc" }, "always": [], "tool": { "messageID": "am", "callID": "ac" } });
    script.event("permission.asked", asked);
    script.request("POST", "/session/a/permissions/per", json!({ "response": "reject", "message": "no" }));
    script.event("permission.replied", json!({ "sessionID": "a", "requestID": "per", "reply": "reject" }));
    assert_eq!(
        script.shown()[1..],
        [
            r#"permission per asked: external_directory "Access /etc/passwd outside of the working directory" for ac input={"filepath":"/etc/passwd","parentDir":"/etc"} options=once=allow_once,reject=reject_once  [in c]"#,
            "permission per resolved: approved=false option=reject for ac (no)  [in c]",
        ]
    );
}

#[test]
fn requests_that_a_cut_stream_missed_are_read_from_the_server() {
    let asked = json!({ "id": "per", "sessionID": "ses", "permission": "bash", "patterns": ["ls"], "metadata": { "command": "ls" },
        "always": ["ls *"], "tool": { "messageID": "m", "callID": "c" } });
    let mut script = Script::new();
    for _ in 0..2 {
        script.request("GET", "/permission", json!(null)).answer(200, json!([asked]));
    }
    script.event("permission.asked", asked.clone()).completed("m", "stop").idle();
    script.request("GET", "/permission", json!(null)).answer(200, json!([asked]));
    script.request("POST", "/permission/per/reply", json!({ "reply": "once" }));
    let shown = script.shown();
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert_eq!(shown[1], "permission per resolved: approved=false option=- for c (The turn ended)");
}

#[test]
fn a_question_is_a_form() {
    let questions = json!([
        { "question": "Which?", "header": "Env", "options": [{ "label": "dev", "description": "" }, { "label": "prod", "description": "live" }], "custom": false },
        { "question": "Colours?", "options": [{ "label": "red" }, { "label": "blue" }], "multiple": true },
        { "question": "Why?", "options": [] },
    ]);
    let mut script = Script::new();
    script.event("question.asked", json!({ "id": "que", "questions": questions, "tool": { "messageID": "m", "callID": "q" } }));
    script.request("POST", "/question/que/reply", json!({ "answers": [["prod"], ["red", "pink"], []] }));
    script.event("question.replied", json!({ "requestID": "que", "answers": [["prod"], ["red", "pink"], []] }));
    let [asked, answered] = &script.events[..] else { panic!("{:?}", script.shown()) };
    let EventKind::QuestionAsked(asked) = &asked.kind else { panic!("no question") };
    let form = json!({
        "type": "object",
        "properties": {
            "q1": {
                "title": "Env", "description": "Which?", "type": "string",
                "oneOf": [{ "const": "dev", "title": "dev" }, { "const": "prod", "title": "prod", "description": "live" }],
            },
            "q2": {
                "description": "Colours?", "type": "array",
                "items": { "anyOf": [{ "const": "red", "title": "red" }, { "const": "blue", "title": "blue" }] },
            },
            "q2_other": { "type": "string", "title": "Other" },
            "q3": { "description": "Why?", "type": "string" },
        },
        "required": ["q1", "q3"],
    });
    assert_eq!((asked.message.as_str(), asked.form.as_ref()), ("Which?\nColours?\nWhy?", Some(&form)));
    let EventKind::QuestionAnswered(answer) = &answered.kind else { panic!("no answer") };
    let content = json!({ "q1": "prod", "q2": ["red"], "q2_other": "pink" });
    assert_eq!((answer.action.as_str(), answer.content.as_ref()), ("accept", Some(&content)));
}

#[test]
fn a_compaction_that_the_turn_abandons_has_failed() {
    let mut script = Script::new();
    script.part(json!({ "id": "c", "messageID": "u", "type": "compaction", "auto": true }));
    script.event("session.error", error("APIError", "no")).completed("m", "error").idle();
    assert_eq!(
        script.shown()[..2],
        ["compaction c started: Some(Auto) pre=None", "compaction c failed: Some(Auto) pre=None post=None"]
    );
}

#[test]
fn a_summary_is_no_answer() {
    let mut script = Script::new();
    script.message(json!({ "id": "s", "role": "assistant", "summary": true, "time": { "created": 1, "completed": 4 } }));
    script.event("message.part.delta", json!({ "messageID": "s", "partID": "st", "field": "text", "delta": "Go" }));
    script.part(json!({ "id": "st", "messageID": "s", "type": "text", "text": "Goals" })).event("session.compacted", json!({}));
    let EventKind::CompactionFinished(end) = &script.events[1].kind else { panic!("{:?}", script.shown()) };
    assert_eq!((end.summary.as_deref(), end.duration_ms, end.failed), (Some("Goals"), Some(3), false));
    assert_eq!(script.events.len(), 2);
}

#[test]
fn a_title_of_the_hosts_is_no_news() {
    let info = |title: &str, agent: &str| json!({ "info": { "id": "ses", "title": title, "agent": agent, "directory": "/w" } });
    let mut script = Script::new();
    script.event("session.updated", info("T", "build")).event("session.updated", info("New session - 2026", "build"));
    script.request("PATCH", "/session/ses", json!({ "title": "Mine" })).event("session.updated", info("Mine", "plan"));
    script.event("session.updated", info("Its own", "plan"));
    assert_eq!(script.shown(), ["mode build", "mode plan", r#"title "Its own""#]);
}

#[test]
fn what_is_left_open_is_closed_once() {
    let mut script = Script::new();
    script.part(json!({ "id": "s", "type": "step-start" })).pending("c", "read");
    script.event("question.asked", json!({ "id": "que", "questions": [] })).finish().finish();
    assert_eq!(
        script.shown()[2..],
        ["question que answered: cancel ", r#"tool c failed: output=null content=["The agent ended before this call did"]"#]
    );
    assert_eq!(script.steps(), [("s".to_owned(), None)]);
}
