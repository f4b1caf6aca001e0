//! Public events as hosts make them, to ACP.

use crate::parts;
use chat_normalizers::public::session_updates;
use serde_json::{Value, json};

fn updates(event: Value) -> Vec<Value> {
    let json = session_updates(&event.to_string()).unwrap_or_else(|fault| panic!("{fault:?}"));
    serde_json::from_str(&json).expect("updates are JSON")
}

fn path(event: Value) -> String {
    session_updates(&event.to_string()).expect_err("a fault").path
}

#[test]
fn older_words_for_kinds_are_taken() {
    let words = [
        ("bash", "execute"),
        ("file_edit", "edit"),
        ("file_write", "edit"),
        ("file_read", "read"),
        ("web_search", "search"),
        ("web_fetch", "fetch"),
        ("execute", "execute"),
        ("switch_mode", "switch_mode"),
    ];
    for (word, kind) in words {
        let event =
            json!({ "type": "tool.started", "toolCallId": "c", "toolName": "T", "title": "t", "kind": word, "input": {} });
        assert_eq!(updates(event)[0]["kind"], kind, "{word}");
    }
    let event = json!({ "type": "tool.started", "toolCallId": "c", "toolName": "T", "title": "t", "kind": "x", "input": {} });
    // ACP leaves the kind out where it is `other`.
    assert!(updates(event)[0].get("kind").is_none_or(|kind| kind == "other"));
}

#[test]
fn an_end_in_words_becomes_content() {
    let event = json!({ "type": "tool.completed", "toolCallId": "c", "output": null, "result": "half", "isError": true, "error": "cut" });
    let update = &updates(event)[0];
    assert_eq!(update["status"], "failed");
    let texts: Vec<&str> =
        update["content"].as_array().unwrap().iter().filter_map(|block| block["content"]["text"].as_str()).collect();
    assert_eq!(texts, ["half", "cut"]);
}

#[test]
fn what_ends_or_annotates_a_turn_is_no_update() {
    assert!(updates(json!({ "type": "done", "stopReason": "end_turn" })).is_empty());
    assert!(updates(json!({ "type": "unmapped", "kind": "x" })).is_empty());
}

#[test]
fn the_agents_own_update_comes_instead_and_keeps_what_the_event_adds() {
    let update =
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "a" }, "_meta": { "x": 1 } });
    let event = json!({ "type": "text.delta", "text": "other", "update": update, "parentToolCallId": "p" });
    let mut expected = update;
    expected["_meta"]["amalgm"] = json!({ "parentToolCallId": "p" });
    assert_eq!(updates(event), [expected]);
}

#[test]
fn requests_keep_the_agents_ids() {
    let options = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
    let asked = json!({ "type": "permission.requested", "requestId": "7", "toolCallId": null, "title": "rm", "input": {}, "options": options });
    let update = &updates(asked)[0];
    assert_eq!((&update["requestId"], &update["toolCall"]["toolCallId"]), (&json!("7"), &json!("7")));
    let denied = &updates(json!({ "type": "permission.resolved", "requestId": "7", "approved": false, "reason": "no" }))[0];
    assert_eq!((&denied["approved"], &denied["outcome"]["outcome"]), (&json!(false), &json!("selected")));
    assert_eq!(denied["reason"], "no");
}

#[test]
fn a_fault_names_its_member() {
    assert_eq!(path(json!([])), "event");
    assert_eq!(path(json!({ "type": "nothing" })), "event.type");
    assert_eq!(path(json!({})), "event.type");
    assert_eq!(path(json!({ "type": "text.delta" })), "event.text");
    assert_eq!(path(json!({ "type": "text.delta", "text": 5 })), "event.text");
    assert_eq!(path(json!({ "type": "tool.completed", "output": 1, "result": "", "isError": false })), "event.toolCallId");
    assert_eq!(path(json!({ "type": "usage.final", "usage": {} })), "event.usage");
}

#[test]
fn a_recording_may_be_anything() {
    for nothing in [&b""[..], b"\xff\xfe\n{}\nnull\n{\"ch\":\"stdout\",\"msg\":5}"] {
        assert_eq!(parts::read("codex", nothing).expect("codex is known"), Vec::<Value>::new());
    }
    assert!(parts::read("nobody", b"").is_none());
}
