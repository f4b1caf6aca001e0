//! Bugs that were reported about other hosts of Pi, each with the outcome that is right.

use crate::common::{self, render};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side, Stop};
use serde_json::{Value, json};
use std::fs;

#[test]
fn reported_bugs() {
    let text = fs::read_to_string(common::fixtures().join("cases/pi.ndjson")).expect("the cases");
    // Only a newline ends a line: texts of the cases hold other line breaks.
    let cases: Vec<Value> =
        text.split('\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).expect("a case")).collect();
    assert_eq!(cases.len(), 6);
    for case in &cases {
        let events = play(case);
        for (claim, expected) in case["expect"].as_object().expect("claims") {
            check(case["id"].as_str().unwrap_or(""), claim, expected, &events);
        }
    }
}

fn play(case: &Value) -> Vec<ChatEvent> {
    let mut normalizer = crate::normalizer();
    let mut out = Vec::new();
    for element in case["input"].as_array().expect("messages") {
        match element["line"].as_str() {
            Some(line) => normalizer.push(line, Side::Agent, &mut out),
            None => normalizer.push(&element.to_string(), Side::Agent, &mut out),
        }
    }
    normalizer.finish(FinishReason::End, &mut out);
    out
}

fn check(id: &str, claim: &str, expected: &Value, events: &[ChatEvent]) {
    let told = match claim {
        "turn" => turn(events),
        "text" => json!(texts(events)),
        "failure" => failure(events),
        "usage_unknown" => json!(usage_is_unknown(events)),
        "questions" => questions(events),
        "tools" => tools(events),
        other => panic!("{id}: no check for {other}"),
    };
    let shown = || events.iter().map(render::event).collect::<Vec<_>>().join("\n");
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

fn texts(events: &[ChatEvent]) -> Vec<String> {
    let mut messages: Vec<(Option<&str>, String)> = Vec::new();
    for event in events {
        if let EventKind::TextDelta { text, message_id } = &event.kind {
            match messages.iter_mut().find(|message| message.0 == message_id.as_deref()) {
                Some(message) => message.1 += text,
                None => messages.push((message_id.as_deref(), text.clone())),
            }
        }
    }
    messages.into_iter().map(|message| message.1).collect()
}

fn failure(events: &[ChatEvent]) -> Value {
    let errors: Vec<Value> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Error(error) => Some(json!({ "class": error.class, "reason": error.reason })),
            _ => None,
        })
        .collect();
    match errors.as_slice() {
        [one] => one.clone(),
        other => json!(other),
    }
}

fn usage_is_unknown(events: &[ChatEvent]) -> bool {
    let records = events.iter().filter_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } => Some(usage),
        _ => None,
    });
    let records: Vec<_> = records.collect();
    let unknown = |tokens: &chat_grammar::usage::TokenCounts| {
        [tokens.input_tokens, tokens.output_tokens, tokens.cache_read_tokens, tokens.cache_write_tokens] == [None; 4]
    };
    !records.is_empty() && records.iter().all(|usage| unknown(&usage.tokens) && usage.native_cost_usd.is_none())
}

fn questions(events: &[ChatEvent]) -> Value {
    let asked = events.iter().filter_map(|event| match &event.kind {
        EventKind::QuestionAsked(asked) => Some(asked.request_id.clone()),
        _ => None,
    });
    asked.map(Value::from).collect()
}

fn tools(events: &[ChatEvent]) -> Value {
    let ends = events.iter().filter_map(|event| match &event.kind {
        EventKind::ToolCompleted(tool) => {
            let status = if tool.is_error { "failed" } else { "completed" };
            Some(json!({ "id": tool.tool_call_id, "status": status, "output": tool.output["output"] }))
        }
        _ => None,
    });
    ends.collect()
}
