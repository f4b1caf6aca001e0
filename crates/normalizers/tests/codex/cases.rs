//! Bugs that were reported about other hosts of Codex, each with the outcome that is right.
//!
//! Left out are the cases of `exec --json` and of stored rollout files: other interfaces than the one that is driven here.

use crate::common::{self, render};
use chat_grammar::acp::{ContentBlock, ToolCallContent};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side, Stop, ToolCompleted, Visibility};
use chat_grammar::usage::UsageRecord;
use serde_json::{Value, json};
use std::fs;

#[test]
fn reported_bugs() {
    let text = fs::read_to_string(common::fixtures().join("cases/codex.ndjson")).expect("the cases");
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect();
    assert_eq!(cases.len(), 13);
    for case in &cases {
        let events = play(case);
        for (claim, expected) in case["expect"].as_object().expect("claims") {
            check(case["id"].as_str().unwrap_or(""), claim, expected, &events);
        }
    }
}

fn play(case: &Value) -> Vec<ChatEvent> {
    let mut normalizer = common::normalizer();
    let mut out = Vec::new();
    for element in case["input"].as_array().expect("messages") {
        match element["ch"].as_str() {
            None => normalizer.push(&element.to_string(), Side::Agent, &mut out),
            Some("stdin") => normalizer.push(&element["msg"].to_string(), Side::Host, &mut out),
            // What the adapter sends for the user is what the case wants to be sent.
            Some("host") if element["call"] == "permission" => {
                normalizer.push(&case["expect"]["reply"].to_string(), Side::Host, &mut out);
            }
            Some(_) => {}
        }
    }
    normalizer.finish(FinishReason::End, &mut out);
    out
}

fn check(id: &str, claim: &str, expected: &Value, events: &[ChatEvent]) {
    let shown = || events.iter().map(render::event).collect::<Vec<_>>().join("\n");
    let told = match claim {
        "turn" => turn(events),
        "text" => json!(texts(events, None).into_iter().map(|(_, text)| text).collect::<Vec<_>>()),
        "messages" => texts(events, None).into_iter().map(|(id, text)| json!({ "id": id, "text": text })).collect(),
        "thought" => json!(thoughts(events)),
        "usage" => usage(events, expected),
        "warnings" => json!(events.iter().filter(|event| matches!(event.kind, EventKind::Warning { .. })).count()),
        "questions" => questions(events),
        "permission_options" => permission_options(events),
        "subagent_text" => {
            for (call, expected) in expected.as_object().expect("texts by call") {
                let told = json!(texts(events, Some(call)).into_iter().map(|(_, text)| text).collect::<Vec<_>>());
                assert_eq!(told, *expected, "{id}\n{}", shown());
            }
            return;
        }
        "permission" => return permission(id, expected, events),
        "tools" => return tools(id, expected, events),
        // What is sent to the agent is the adapter's.
        "reply" | "reply_24" => return,
        other => panic!("{id}: no check for {other}"),
    };
    assert_eq!(told, *expected, "{id} {claim}\n{}", shown());
}

fn turn(events: &[ChatEvent]) -> Value {
    let ends: Vec<Stop> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Done { stop_reason, .. } => Some(*stop_reason),
            _ => None,
        })
        .collect();
    match ends.as_slice() {
        [Stop::EndTurn] => json!("completed"),
        [Stop::Cancelled] => json!("cancelled"),
        [Stop::Failed] => json!("failed"),
        other => json!(format!("{other:?}")),
    }
}

/// Messages by id, each whole, in order.
fn texts(events: &[ChatEvent], parent: Option<&str>) -> Vec<(String, String)> {
    let mut messages: Vec<(String, String)> = Vec::new();
    for event in events.iter().filter(|event| event.parent_tool_call_id.as_deref() == parent) {
        if let EventKind::TextDelta { text, message_id } = &event.kind {
            append(&mut messages, message_id.as_deref(), text);
        }
    }
    messages
}

fn thoughts(events: &[ChatEvent]) -> Vec<String> {
    let mut messages: Vec<(String, String)> = Vec::new();
    for event in events {
        if let EventKind::ReasoningDelta { text, message_id, visibility: Visibility::Full | Visibility::Summary } = &event.kind
        {
            append(&mut messages, message_id.as_deref(), text);
        }
    }
    messages.into_iter().map(|message| message.1).collect()
}

fn append(messages: &mut Vec<(String, String)>, id: Option<&str>, text: &str) {
    let id = id.unwrap_or_default();
    match messages.iter_mut().find(|message| message.0 == id) {
        Some(message) => message.1 += text,
        None => messages.push((id.to_owned(), text.to_owned())),
    }
}

/// The billable steps, with the fields that the case speaks of.
fn usage(events: &[ChatEvent], expected: &Value) -> Value {
    let records = events.iter().filter_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } if usage.billable => Some(usage),
        _ => None,
    });
    let show = |(place, record): (usize, &UsageRecord)| {
        let whole = serde_json::to_value(record).expect("a record");
        let fields = expected[place].as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
        let fields = fields.into_iter().map(|field| (field.clone(), whole[&field].clone()));
        Value::Object(fields.collect())
    };
    records.enumerate().map(show).collect()
}

fn questions(events: &[ChatEvent]) -> Value {
    let asked = events.iter().filter_map(|event| match &event.kind {
        EventKind::QuestionAsked(asked) => Some(asked.request_id.clone()),
        _ => None,
    });
    asked.map(Value::from).collect()
}

fn permission_options(events: &[ChatEvent]) -> Value {
    let options = events.iter().filter_map(|event| match &event.kind {
        EventKind::PermissionRequested(asked) => Some(&asked.options),
        _ => None,
    });
    options.flatten().map(|option| Value::from(option.kind.as_str())).collect()
}

fn permission(id: &str, expected: &Value, events: &[ChatEvent]) {
    let asked = events.iter().find_map(|event| match &event.kind {
        EventKind::PermissionRequested(asked) => Some(asked),
        _ => None,
    });
    let asked = asked.unwrap_or_else(|| panic!("{id}: nothing was asked"));
    if let Some(call) = expected["toolCallId"].as_str() {
        assert_eq!(asked.tool_call_id.as_deref(), Some(call), "{id}");
    }
    if let Some(command) = expected["command"].as_str() {
        assert_eq!((asked.title.as_str(), &asked.input["command"]), (command, &expected["command"]), "{id}");
    }
    if let Some(request) = expected["requestId"].as_str() {
        assert_eq!(asked.request_id, request, "{id}");
    }
}

fn tools(id: &str, expected: &Value, events: &[ChatEvent]) {
    for expected in expected.as_array().expect("tools") {
        let ends: Vec<&ToolCompleted> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::ToolCompleted(tool) if expected["id"] == tool.tool_call_id => Some(tool),
                _ => None,
            })
            .collect();
        let [tool] = ends.as_slice() else { panic!("{id}: {} ends", ends.len()) };
        assert_eq!(tool.is_error, expected["status"] == "failed", "{id}");
        if expected["cancelled"] == true {
            let says = |content: &ToolCallContent| matches!(content, ToolCallContent::Content(content) if matches!(&content.content, ContentBlock::Text(text) if text.text.contains("interrupted")));
            assert!(tool.content.iter().any(says), "{id}");
        }
        if let Some(output) = expected["output"].as_str() {
            assert_eq!(tool.output["output"], output, "{id}");
        }
        let diffs = tool.content.iter().filter_map(|content| match content {
            ToolCallContent::Diff(diff) => Some((diff.old_text.clone().unwrap_or_default(), diff.new_text.clone())),
            _ => None,
        });
        let (removed, added) = diffs.fold((0, 0), |sum, (old, new)| (sum.0 + old.lines().count(), sum.1 + new.lines().count()));
        if let Some(lines) = expected["added"].as_u64() {
            assert_eq!(added as u64, lines, "{id}");
        }
        if let Some(lines) = expected["removed"].as_u64() {
            assert_eq!(removed as u64, lines, "{id}");
        }
        if let Some(paths) = expected["paths"].as_array() {
            let told: Vec<String> =
                tool.locations.iter().flatten().map(|location| location.path.display().to_string()).collect();
            assert_eq!(json!(told), json!(paths), "{id}");
        }
    }
}
