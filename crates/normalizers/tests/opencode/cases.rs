//! Bugs that were reported about other hosts of OpenCode, each with the outcome that is right.

use crate::common::{self, render};
use crate::normalizer;
use chat_grammar::event::{ChatEvent, ErrorEvent, EventKind, FinishReason, Side, Stop};
use serde_json::{Value, json};
use std::fs;

#[test]
fn reported_bugs() {
    let text = fs::read_to_string(common::fixtures().join("cases/opencode.ndjson")).expect("the cases");
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect();
    assert_eq!(cases.len(), 11);
    for case in &cases {
        let events = play(case);
        for (claim, expected) in case["expect"].as_object().expect("claims") {
            check(case["id"].as_str().unwrap_or(""), claim, expected, &events);
        }
    }
}

/// The events of a case. After an error that no idle follows, the adapter asks the server whether the session is busy.
fn play(case: &Value) -> Vec<ChatEvent> {
    let mut normalizer = normalizer();
    let mut out = Vec::new();
    let input = case["input"].as_array().expect("messages");
    for message in input {
        normalizer.push(&message.to_string(), Side::Agent, &mut out);
    }
    if input.last().is_some_and(|last| last["type"] == "session.error") {
        let asks = json!({ "id": 1, "method": "GET", "path": "/session/status" });
        normalizer.push(&asks.to_string(), Side::Host, &mut out);
        normalizer.push(&json!({ "id": 1, "status": 200, "body": {} }).to_string(), Side::Agent, &mut out);
    }
    normalizer.finish(FinishReason::End, &mut out);
    out
}

fn check(id: &str, claim: &str, expected: &Value, events: &[ChatEvent]) {
    let shown = || events.iter().map(render::event).collect::<Vec<_>>().join("\n");
    let told = match claim {
        "turn" => turn(events),
        "text" => json!(texts(events, false)),
        "thought" => json!(texts(events, true)),
        "usage" => usage(events, expected),
        "failure" => failure(events),
        "permission" => permission(events),
        "permission_resolved" => resolved(events),
        "tools" => tools(events),
        other => panic!("{id}: no check for {other}"),
    };
    assert_eq!(told, *expected, "{id} {claim}\n{}", shown());
}

fn turn(events: &[ChatEvent]) -> Value {
    let ends = events.iter().filter_map(|event| match &event.kind {
        EventKind::Done { stop_reason, .. } => Some(*stop_reason),
        _ => None,
    });
    match ends.collect::<Vec<_>>().as_slice() {
        [Stop::EndTurn] => json!("completed"),
        [Stop::Failed] => json!("failed"),
        other => json!(format!("{other:?}")),
    }
}

/// The messages of the main session, each whole, in order.
fn texts(events: &[ChatEvent], thoughts: bool) -> Vec<String> {
    let mut messages: Vec<(&str, String)> = Vec::new();
    for event in events.iter().filter(|event| event.parent_tool_call_id.is_none()) {
        let (text, id) = match &event.kind {
            EventKind::TextDelta { text, message_id } if !thoughts => (text, message_id),
            EventKind::ReasoningDelta { text, message_id, .. } if thoughts => (text, message_id),
            _ => continue,
        };
        let id = id.as_deref().unwrap_or_default();
        match messages.iter_mut().find(|message| message.0 == id) {
            Some(message) => message.1 += text,
            None => messages.push((id, text.clone())),
        }
    }
    messages.into_iter().map(|message| message.1).collect()
}

/// The billable steps, with the fields that the case speaks of.
fn usage(events: &[ChatEvent], expected: &Value) -> Value {
    let records = events.iter().filter_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } if usage.billable => Some(serde_json::to_value(usage).expect("a record")),
        _ => None,
    });
    records
        .enumerate()
        .map(|(place, record)| {
            let fields =
                expected[place].as_object().into_iter().flatten().map(|(field, _)| (field.clone(), record[field].clone()));
            Value::Object(fields.collect())
        })
        .collect()
}

fn failure(events: &[ChatEvent]) -> Value {
    let failures: Vec<&ErrorEvent> =
        events.iter().filter_map(|event| if let EventKind::Error(error) = &event.kind { Some(error) } else { None }).collect();
    let [failure] = failures.as_slice() else { panic!("{} errors", failures.len()) };
    json!({ "class": failure.class, "reason": failure.reason })
}

fn permission(events: &[ChatEvent]) -> Value {
    let asked = events.iter().find_map(|event| match &event.kind {
        EventKind::PermissionRequested(asked) => Some(asked),
        _ => None,
    });
    asked.map_or(Value::Null, |asked| json!({ "requestId": asked.request_id, "toolCallId": asked.tool_call_id }))
}

fn resolved(events: &[ChatEvent]) -> Value {
    let resolved = events.iter().find_map(|event| match &event.kind {
        EventKind::PermissionResolved(resolved) => Some(resolved),
        _ => None,
    });
    resolved.map_or(Value::Null, |resolved| json!({ "requestId": resolved.request_id, "approved": resolved.approved }))
}

/// The final state of each call.
fn tools(events: &[ChatEvent]) -> Value {
    let mut calls: Vec<(String, Value)> = Vec::new();
    for event in events {
        let (id, input) = match &event.kind {
            EventKind::ToolStarted(tool) => {
                calls.push((tool.tool_call_id.clone(), json!({ "id": tool.tool_call_id })));
                (&tool.tool_call_id, Some(&tool.input))
            }
            EventKind::ToolUpdated(tool) => (&tool.tool_call_id, tool.input.as_ref()),
            EventKind::ToolCompleted(tool) => (&tool.tool_call_id, tool.input.as_ref()),
            _ => continue,
        };
        let call = &mut calls.iter_mut().find(|call| call.0 == *id).expect("a call that began").1;
        if let Some(input) = input {
            call["input"] = input.clone();
        }
        if let EventKind::ToolCompleted(tool) = &event.kind {
            call["status"] = if tool.is_error { json!("failed") } else { json!("completed") };
            call["output"] = tool.output["output"].clone();
        }
    }
    calls.into_iter().map(|call| call.1).collect()
}

/// What the cases say beside their claims.
#[test]
fn what_is_asked_is_said_in_words() {
    let text = fs::read_to_string(common::fixtures().join("cases/opencode.ndjson")).expect("the cases");
    let case = |id: &str| -> Value {
        let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a case"));
        cases.into_iter().find(|case| case["id"] == id).expect("the case")
    };
    let asked = |id: &str| {
        let events = play(&case(id));
        let shown = events.iter().map(render::event).find(|line| line.starts_with("permission") && line.contains("asked"));
        shown.expect("a request")
    };
    assert!(asked("opencode-permission-two-spellings").contains(r#"asked: Bash "rm -rf build" for call_7"#));
    assert!(asked("opencode-permission-older-spelling").contains(r#"asked: Bash "rm -rf build" for call_8"#));
    assert!(asked("opencode-child-permission").ends_with("[in ses_child2]"));
    let events = play(&case("opencode-tool-input-arrives-late"));
    assert!(events.iter().any(|event| render::event(event).contains(r#"title="List files""#)));
}
