//! Rules of tool calls and dialogs that no recording shows, each on a script of a few messages.

use crate::common::render;
use crate::rules::Script;
use chat_grammar::event::{EventKind, ToolUpdated};
use serde_json::{Value, json};

fn text_result(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "details": {} })
}

fn pieces(script: &Script) -> Vec<String> {
    let updates = script.events.iter().filter_map(|event| match &event.kind {
        EventKind::ToolUpdated(ToolUpdated { output_delta, .. }) => output_delta.clone(),
        _ => None,
    });
    updates.collect()
}

#[test]
fn growing_output_costs_what_is_new() {
    let mut script = Script::new();
    script.executes("t", "subagent", json!({}));
    let whole: String = (0..25_000).map(|number| format!("line {number:>10}\n")).collect();
    for end in (0..=whole.len()).step_by(4096).chain([whole.len(), whole.len()]) {
        script.outputs("t", &whole[..end]);
    }
    let pieces = pieces(&script);
    assert!(pieces.len() <= whole.len() / 4096 + 2, "{} pieces", pieces.len());
    assert_eq!(pieces.concat(), whole);
}

#[test]
fn a_state_that_is_replaced_is_content() {
    let mut script = Script::new();
    script.executes("t", "deploy", json!({})).outputs("t", "50%").outputs("t", "80%").outputs("t", "80%");
    script.gives("t", text_result("ok"), false);
    assert_eq!(
        script.shown()[1..],
        [
            r#"tool t update: output+="50%""#,
            r#"tool t update: content=["80%"]"#,
            r#"tool t completed: output="ok" content=["ok"]"#,
        ]
    );
}

#[test]
fn a_command_that_did_not_end_by_itself_has_no_exit_code() {
    let mut script = Script::new();
    for (id, text) in [
        ("a", "tick\n\n\nCommand timed out after 5 seconds"),
        ("b", "Command aborted"),
        ("c", "tick\n\n\nCommand exited with code 2"),
    ] {
        script.executes(id, "bash", json!({ "command": "x" })).gives(id, text_result(text), true);
    }
    let ends: Vec<String> = script.shown().into_iter().filter(|line| line.contains("failed")).collect();
    assert_eq!(
        ends,
        [
            r#"tool a failed: output={"exitCode":null,"output":"tick\n"} content=["tick\n\n\nCommand timed out after 5 seconds"]"#,
            r#"tool b failed: output={"exitCode":null,"output":""} content=["Command aborted"]"#,
            r#"tool c failed: output={"exitCode":2,"output":"tick\n"} content=["tick\n\n\nCommand exited with code 2"]"#,
        ]
    );
}

#[test]
fn an_exit_code_fails_a_command_whatever_it_is_called() {
    let mut script = Script::new();
    let result = json!({ "content": [], "structuredContent": { "output": "", "exit_code": 1 } });
    script.executes("t", "bash", json!({ "command": "false" })).gives("t", result, false);
    assert!(script.shown()[1].starts_with(r#"tool t failed: output={"exitCode":1,"output":""}"#), "{}", script.shown()[1]);
}

#[test]
fn every_block_of_a_result_is_kept() {
    let mut script = Script::new();
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let blocks =
        json!([{ "type": "text", "text": "one" }, image, { "type": "chart", "x": 1 }, { "type": "text", "text": "two" }]);
    script.executes("t", "mcp__web__look", json!({})).gives(
        "t",
        json!({ "content": blocks, "details": { "server": "web", "tool": "look" } }),
        false,
    );
    assert_eq!(
        script.shown(),
        [
            r#"tool t started: look Other "web: look" input={} mcp=web/look"#,
            r#"tool t completed: output="one\ntwo" content=["one", image image/png 4 bytes, "{\"type\":\"chart\",\"x\":1}", "two"]"#,
        ]
    );
}

#[test]
fn a_failed_edit_shows_no_change() {
    let mut script = Script::new();
    let args = json!({ "path": "/a", "edits": [{ "oldText": "x", "newText": "y" }] });
    script.executes("t", "edit", args).gives("t", text_result("Could not find the text"), true);
    assert_eq!(script.shown()[1], r#"tool t failed: output="Could not find the text" content=["Could not find the text"]"#);
}

#[test]
fn a_tool_result_is_the_end_where_that_is_missing() {
    let mut script = Script::new();
    script.executes("t", "read", json!({ "path": "/a" }));
    let message =
        json!({ "role": "toolResult", "toolCallId": "t", "content": [{ "type": "text", "text": "A" }], "isError": false });
    script.agent(json!({ "type": "message_end", "message": message })).gives("t", text_result("A"), false);
    assert_eq!(script.shown()[1..], [r#"tool t completed: output="A" content=["A"]"#]);
}

#[test]
fn an_id_that_is_used_again_is_another_call() {
    let mut script = Script::new();
    for _ in 0..2 {
        script.executes("call_1", "bash", json!({ "command": "ls" })).gives("call_1", text_result("a"), false);
    }
    let shown = script.shown();
    assert!(shown[2].starts_with("tool call_1#2 started") && shown[3].starts_with("tool call_1#2 completed"), "{shown:?}");
}

#[test]
fn a_call_that_is_never_executed_fails() {
    let mut script = Script::new();
    script.begins().update(json!({ "type": "toolcall_start", "contentIndex": 0, "id": "t", "toolName": "write" }));
    script.update(json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": "{\"path\":\"/a\",\"content\":\"begin" }));
    let call = json!({ "type": "toolCall", "id": "t", "name": "write", "arguments": { "path": "/a" } });
    script.ends(json!([call]), json!({ "stopReason": "error", "errorMessage": "terminated" }));
    let shown = script.shown();
    assert_eq!(shown[1], r#"tool t update: input={"path":"/a","content":"begin"}"#);
    assert_eq!(shown.last().unwrap(), r#"tool t failed: output=null content=["terminated"]"#);
}

#[test]
fn input_that_never_closes_ends_with_its_last_good_value() {
    let mut script = Script::new();
    script.begins().update(json!({ "type": "toolcall_start", "contentIndex": 0, "id": "t", "toolName": "bash" }));
    script.update(json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": "{\"command\":\"ls -" }));
    script.update(json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": "l\", }}}" }));
    script.settles(false);
    assert_eq!(
        script.shown()[1..3],
        [
            r#"tool t update: input={"command":"ls -"}"#,
            r#"tool t failed: output={"exitCode":null,"output":""} content=["The turn ended without the end of this call"]"#,
        ]
    );
}

fn dialog(script: &mut Script, method: &str, title: &str, options: Value) {
    script.agent(json!({ "type": "extension_ui_request", "id": "u", "method": method, "title": title, "options": options }));
}

/// What a dialog is taken for while `rm -rf build` waits.
fn taken_for(method: &str, title: &str, options: Value) -> String {
    let mut script = Script::new();
    script.executes("toolu_1", "bash", json!({ "command": "rm -rf build" }));
    dialog(&mut script, method, title, options);
    render::event(&script.events[1]).split(' ').next().unwrap_or("").to_owned()
}

#[test]
fn a_dialog_that_names_a_running_call_asks_for_leave() {
    let choices = json!(["Allow", "Reject"]);
    assert_eq!(taken_for("select", "Run it?\nrm -rf build", choices.clone()), "permission");
    assert_eq!(taken_for("select", "Bash wants to run", choices.clone()), "permission");
    assert_eq!(taken_for("select", "Go on?\n[toolu_1]", choices.clone()), "permission");
    assert_eq!(taken_for("confirm", "Allow bash?", json!(null)), "permission");
    assert_eq!(taken_for("confirm", "Is the sky blue?", json!(null)), "question");
    assert_eq!(taken_for("select", "Which folder for rm -rf build?", json!(["src", "lib"])), "question");
    assert_eq!(taken_for("input", "Name for rm -rf build", json!(null)), "question");
}

#[test]
fn a_denial_carries_its_reason() {
    let mut script = Script::new();
    script.executes("toolu_1", "bash", json!({ "command": "rm -rf build" }));
    dialog(&mut script, "select", "Run it?\n[toolu_1]", json!(["Allow", "Always allow", "Reject"]));
    script.host(json!({ "type": "extension_ui_response", "id": "u", "value": "Reject\nNot this folder" }));
    assert_eq!(
        script.shown()[1..],
        [
            r#"permission u asked: Bash "Run it?" for toolu_1 input={"command":"rm -rf build"} options=Allow=allow_once,Always allow=allow_always,Reject=reject_once"#,
            "permission u resolved: approved=false option=Reject for toolu_1 (Not this folder)",
        ]
    );
}

#[test]
fn a_confirmation_is_an_allow_or_a_reject() {
    for (answer, expected) in [
        (json!({ "confirmed": true }), "permission u resolved: approved=true option=allow for t"),
        (json!({ "confirmed": false }), "permission u resolved: approved=false option=reject for t"),
        (json!({ "cancelled": true }), "permission u resolved: approved=false option=- for t"),
    ] {
        let mut script = Script::new();
        script.executes("t", "write", json!({ "path": "/etc/passwd", "content": "" }));
        dialog(&mut script, "confirm", "Write /etc/passwd?", json!(null));
        let mut response = json!({ "type": "extension_ui_response", "id": "u" });
        response.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        script.host(response);
        assert_eq!(script.shown().last().unwrap(), expected);
    }
}

#[test]
fn a_dialog_that_closed_by_itself_is_resolved() {
    let mut script = Script::new();
    script.executes("t", "bash", json!({ "command": "make" }));
    dialog(&mut script, "confirm", "Allow make?", json!(null));
    script.gives("t", text_result("Blocked"), true);
    assert_eq!(script.shown()[2], "permission u resolved: approved=false option=- for t (The request timed out)");
    // An answer that comes too late changes nothing.
    script.host(json!({ "type": "extension_ui_response", "id": "u", "confirmed": true }));
    assert_eq!(script.shown().len(), 4);
}

#[test]
fn what_nobody_answered_ends_with_the_turn() {
    let mut script = Script::new();
    dialog(&mut script, "input", "Your name?", json!(null));
    script.settles(false);
    assert_eq!(script.shown()[1..], ["question u answered: cancel ", "done EndTurn -"]);
}

#[test]
fn an_abort_leaves_a_dialog_open_until_it_is_answered() {
    let mut script = Script::new();
    script.executes("t", "bash", json!({ "command": "make" }));
    dialog(&mut script, "confirm", "Allow make?", json!(null));
    script.host(json!({ "id": "c2", "type": "abort" }));
    script.host(json!({ "type": "extension_ui_response", "id": "u", "cancelled": true }));
    script.gives("t", text_result("Operation aborted"), true).settles(true);
    assert_eq!(
        script.shown()[2..],
        [
            "permission u resolved: approved=false option=- for t",
            r#"tool t failed: output={"exitCode":null,"output":""} content=["Operation aborted"]"#,
            "done Cancelled aborted",
        ]
    );
}

#[test]
fn a_tool_may_ask_a_question() {
    let mut script = Script::new();
    script.executes("t", "ask_user", json!({ "topic": "colour" }));
    dialog(&mut script, "select", "Which one?", json!(["red", "blue"]));
    assert!(script.shown()[1].starts_with(r#"question u asked: "Which one?" for t form="#), "{}", script.shown()[1]);
}

#[test]
fn a_command_of_the_host_outlives_the_turn() {
    let mut script = Script::new();
    script.host(json!({ "id": "c9", "type": "bash", "command": "sleep 1" })).settles(false);
    let data = json!({ "output": "", "exitCode": 1, "cancelled": false, "truncated": false });
    script.agent(json!({ "id": "c9", "type": "response", "command": "bash", "success": true, "data": data }));
    assert_eq!(
        script.shown(),
        [
            r#"tool host_bash:c9 started: Bash Execute "sleep 1" input={"command":"sleep 1"}"#,
            "done EndTurn -",
            r#"tool host_bash:c9 failed: output={"exitCode":1,"output":""} content=["Exit code 1"]"#,
        ]
    );
    script.host(json!({ "id": "c10", "type": "bash", "command": "sleep 9" })).finish();
    assert!(script.shown()[4].contains("The agent ended before this call did"), "{}", script.shown()[4]);
}
