//! Bugs that were reported about other hosts of Claude Code, each with the outcome that is right.

use crate::common::{self, render};
use chat_grammar::acp::{ContentBlock, ToolCallContent};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side, Stop, ToolCompleted, Visibility};
use chat_grammar::usage::UsageOperation;
use serde_json::{Value, json};
use std::fs;

/// Claims that others decide than a normalizer: what the adapter sends, and how the session ends a turn without a result.
const NOT_HERE: [(&str, &str); 4] = [
    ("claude-control-request-can-use-tool", "reply_full_access"),
    ("claude-ask-user-question", "reply"),
    ("claude-resume-unknown-session", "retry"),
    ("claude-tool-input-cut-by-cancel", "turn"),
];

#[test]
fn reported_bugs() {
    let file = common::fixtures().join("cases/claude_code.ndjson");
    let cases = fs::read_to_string(file).expect("the cases");
    let mut checked = 0;
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).expect("a case");
        let id = case["id"].as_str().expect("an id");
        let events = play(&case);
        for (claim, expected) in case["expect"].as_object().expect("claims") {
            if !NOT_HERE.contains(&(id, claim.as_str())) {
                check(id, claim, expected, &events);
            }
        }
        checked += 1;
    }
    assert_eq!(checked, 29);
}

/// The message of an element, with the text that stands for many.
fn message(element: &Value) -> Value {
    let mut message = element.get("msg").unwrap_or(element).clone();
    if let Some(fill) = element.get("fill") {
        let path = format!("/{}", fill["path"].as_str().expect("a path").replace('.', "/"));
        let count = fill["count"].as_u64().expect("a count");
        let text = fill["char"].as_str().expect("a text").repeat(usize::try_from(count).expect("a size"));
        *message.pointer_mut(&path).expect("a place") = text.into();
    }
    message
}

fn play(case: &Value) -> Vec<ChatEvent> {
    let mut normalizer = super::normalizer();
    let mut out = Vec::new();
    for element in case["input"].as_array().expect("messages") {
        let host = match (element["ch"].as_str(), element["call"].as_str()) {
            (None | Some("stdout"), _) => {
                normalizer.push(&message(element).to_string(), Side::Agent, &mut out);
                continue;
            }
            // What the adapter sends for the user.
            (Some("host"), Some("interrupt")) => {
                json!({ "type": "control_request", "request_id": "host-1", "request": { "subtype": "interrupt" } })
            }
            (Some("host"), Some("answer")) => case["expect"]["reply"].clone(),
            (Some("host"), Some("send")) => {
                json!({ "type": "user", "message": { "role": "user", "content": element["prompt"] } })
            }
            _ => continue,
        };
        normalizer.push(&host.to_string(), Side::Host, &mut out);
    }
    normalizer.finish(FinishReason::End, &mut out);
    out
}

fn check(id: &str, claim: &str, expected: &Value, events: &[ChatEvent]) {
    let shown = || events.iter().map(render::event).collect::<Vec<_>>().join("\n");
    let told = match claim {
        "turn" => turn(events),
        "text" => json!(texts(events, None)),
        "thought" => json!(thoughts(events)),
        "usage" => usage(events, expected),
        "turn_cost" => costs(events),
        "redacted_thoughts" => json!(redacted(events)),
        // No event is a user's message.
        "user_text" => json!([]),
        "compaction" => compaction(events, expected),
        "failure" => failure(events, expected),
        "question" => question(events),
        "native_session_id" => session(events),
        "subagent_text" => {
            let texts = expected
                .as_object()
                .expect("texts by call")
                .keys()
                .map(|call| (call.clone(), json!(texts(events, Some(call)))));
            Value::Object(texts.collect())
        }
        "permission" => permission(events),
        "tools" => return tools(id, expected, events),
        other => panic!("{id}: no check for {other}"),
    };
    assert_eq!(told, *expected, "{id} {claim}\n{}", shown());
}

fn turn(events: &[ChatEvent]) -> Value {
    let ends = events.iter().filter_map(|event| match &event.kind {
        EventKind::Done { stop_reason, .. } => Some(*stop_reason),
        _ => None,
    });
    match ends.collect::<Vec<_>>()[..] {
        [Stop::EndTurn] => json!("completed"),
        [Stop::Cancelled] => json!("cancelled"),
        [Stop::Failed] => json!("failed"),
        ref other => json!(format!("{other:?}")),
    }
}

fn append(messages: &mut Vec<(String, String)>, id: Option<&str>, text: &str) {
    let id = id.unwrap_or_default();
    match messages.iter_mut().find(|message| message.0 == id) {
        Some(message) => message.1 += text,
        None => messages.push((id.to_owned(), text.to_owned())),
    }
}

fn texts(events: &[ChatEvent], parent: Option<&str>) -> Vec<String> {
    let mut messages = Vec::new();
    for event in events.iter().filter(|event| event.parent_tool_call_id.as_deref() == parent) {
        if let EventKind::TextDelta { text, message_id } = &event.kind {
            append(&mut messages, message_id.as_deref(), text);
        }
    }
    messages.into_iter().map(|message| message.1).collect()
}

fn thoughts(events: &[ChatEvent]) -> Vec<String> {
    let mut messages = Vec::new();
    for event in events {
        if let EventKind::ReasoningDelta { text, message_id, visibility: Visibility::Full | Visibility::Summary } = &event.kind
        {
            append(&mut messages, message_id.as_deref(), text);
        }
    }
    messages.into_iter().map(|message| message.1).collect()
}

fn redacted(events: &[ChatEvent]) -> usize {
    let hidden = |event: &&ChatEvent| matches!(&event.kind, EventKind::ReasoningDelta { visibility: Visibility::Redacted, text, .. } if text.is_empty());
    events.iter().filter(hidden).count()
}

/// The billable steps, with the fields that the case speaks of.
fn usage(events: &[ChatEvent], expected: &Value) -> Value {
    let records = events.iter().filter_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } if usage.billable => Some(usage),
        _ => None,
    });
    let show = |(place, record): (usize, _)| {
        let whole = serde_json::to_value(record).expect("a record");
        let fields = expected[place].as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
        let field = |field: String| {
            let value = if field == "modelId" { whole["model"]["modelId"].clone() } else { whole[&field].clone() };
            (field, value)
        };
        Value::Object(fields.into_iter().map(field).collect())
    };
    records.enumerate().map(show).collect()
}

fn costs(events: &[ChatEvent]) -> Value {
    let costs = events.iter().filter_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } if usage.operation == UsageOperation::ChatTurn => usage.native_cost_usd,
        _ => None,
    });
    costs.collect()
}

fn compaction(events: &[ChatEvent], expected: &Value) -> Value {
    let ends: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::CompactionFinished(end) => Some(end),
            _ => None,
        })
        .collect();
    let [end] = ends[..] else { return json!(ends.len()) };
    let mut told = json!({ "trigger": end.trigger, "preTokens": end.pre_tokens, "postTokens": end.post_tokens });
    if expected.get("durationMs").is_some() {
        told["durationMs"] = json!(end.duration_ms);
    }
    if expected.get("count").is_some() {
        told["count"] = events.iter().filter(|event| matches!(event.kind, EventKind::CompactionStarted { .. })).count().into();
    }
    told
}

fn failure(events: &[ChatEvent], expected: &Value) -> Value {
    let errors = events.iter().filter_map(|event| match &event.kind {
        EventKind::Error(error) => Some(error),
        _ => None,
    });
    let errors: Vec<_> = errors.collect();
    let [error] = errors[..] else { return json!(errors.len()) };
    let told = json!({ "class": error.class, "reason": error.reason });
    let fields = expected.as_object().expect("claims").keys().map(|field| (field.clone(), told[field].clone()));
    Value::Object(fields.collect())
}

fn question(events: &[ChatEvent]) -> Value {
    let asked = events.iter().find_map(|event| match &event.kind {
        EventKind::QuestionAsked(asked) => Some(asked),
        _ => None,
    });
    let asked = asked.expect("a question");
    let properties = asked.form.as_ref().expect("a form")["properties"].as_object().expect("properties");
    let options = properties.values().flat_map(|property| property["oneOf"].as_array().into_iter().flatten());
    json!({ "requestId": asked.request_id, "options": options.map(|option| option["const"].clone()).collect::<Vec<_>>() })
}

fn permission(events: &[ChatEvent]) -> Value {
    let asked = events.iter().find_map(|event| match &event.kind {
        EventKind::PermissionRequested(asked) => {
            Some(json!({ "requestId": asked.request_id, "toolCallId": asked.tool_call_id }))
        }
        _ => None,
    });
    asked.unwrap_or_default()
}

fn session(events: &[ChatEvent]) -> Value {
    let known = events.iter().rev().find_map(|event| match &event.kind {
        EventKind::SessionInit(init) => init.provider_session_id.clone(),
        _ => None,
    });
    json!(known)
}

fn says(tool: &ToolCompleted, text: &str) -> bool {
    tool.content.iter().any(|content| match content {
        ToolCallContent::Content(content) => matches!(&content.content, ContentBlock::Text(block) if block.text.contains(text)),
        _ => false,
    })
}

fn tools(id: &str, expected: &Value, events: &[ChatEvent]) {
    for expected in expected.as_array().expect("tools") {
        let ends = events.iter().filter_map(|event| match &event.kind {
            EventKind::ToolCompleted(tool) if expected["id"] == tool.tool_call_id => Some(tool),
            _ => None,
        });
        let ends: Vec<&ToolCompleted> = ends.collect();
        let [tool] = ends[..] else { panic!("{id}: {} ends of {}", ends.len(), expected["id"]) };
        assert_eq!(tool.is_error, expected["status"] == "failed", "{id}");
        if expected["cancelled"] == true {
            assert!(says(tool, "interrupted"), "{id}");
        }
        if let Some(text) = expected["text"].as_str() {
            assert!(says(tool, text), "{id}");
        }
        if expected["input_complete"] == false {
            let raw = tool.output["partialInput"].as_str().expect("the text of the input");
            assert!(serde_json::from_str::<Value>(raw).is_err(), "{id}");
            assert!(says(tool, "not complete"), "{id}");
        }
    }
}
