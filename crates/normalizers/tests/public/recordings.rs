//! What holds for every recording, whichever agent made it.

use crate::common;
use crate::parts;
use chat_grammar::event::{FinishReason, Side};
use chat_normalizers::Options;
use chat_normalizers::public::{JsonNormalizer, session_updates};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashSet;

const AGENTS: [&str; 6] = ["acp", "claude_code", "codex", "cursor", "opencode", "pi"];

fn array(json: &str) -> Vec<Value> {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// All events of a recording.
fn events(agent: &str, recording: &common::Recording) -> Vec<Value> {
    let mut normalizer = JsonNormalizer::new(agent, Options::default()).expect("a known agent");
    let mut events = Vec::new();
    for line in recording.lines() {
        if let Some(side) = line.channel.side() {
            events.extend(array(&normalizer.push(&line.text, side, None)));
        }
    }
    events.extend(array(&normalizer.finish(FinishReason::End)));
    events
}

/// What depends on the events before: a step's number, whether its report is a repeated one, and what is too long to repeat.
/// Each event of a call names its MCP tool; of updates the first must.
fn alone(mut update: Value) -> Value {
    let first = update["sessionUpdate"] == "tool_call";
    update["step"]["index"].take();
    if let Some(meta) = update["_meta"].as_object_mut() {
        if let Some(ours) = meta.get_mut("amalgm").and_then(Value::as_object_mut) {
            ours.remove("usage");
            ours.retain(|name, _| name != "mcp" || first);
            ours.remove("truncated");
        }
        meta.retain(|name, value| name != "amalgm" || value.as_object().is_none_or(|ours| !ours.is_empty()));
    }
    if update["_meta"].as_object().is_none_or(|meta| meta.is_empty()) {
        update["_meta"] = Value::Null;
    }
    update["request"]["sessionId"].take();
    update
}

#[test]
fn an_event_alone_means_the_update_that_the_recording_means() {
    for agent in AGENTS {
        for recording in common::recordings(agent) {
            let whole = parts::read(agent, recording.text.as_bytes()).expect("a known agent");
            let mut steps = HashSet::new();
            let mut single = Vec::new();
            for event in events(agent, &recording) {
                let repeated = event["type"] == "usage.final"
                    && event["update"].is_null()
                    && !steps.insert(event["usage"]["id"].to_string());
                if !repeated {
                    single.extend(array(&session_updates(&event.to_string()).expect("an event of ours")));
                }
            }
            assert_eq!(single.len(), whole.len(), "{agent}/{}", recording.name);
            for (single, whole) in single.into_iter().zip(whole) {
                // Output that is too long to repeat is shortened only where the stream is known.
                if whole["_meta"]["amalgm"]["truncated"].is_null() {
                    assert_eq!(alone(single), alone(whole), "{agent}/{}", recording.name);
                }
            }
        }
    }
}

#[test]
fn every_event_of_a_message_has_the_message() {
    for agent in AGENTS {
        for recording in common::recordings(agent) {
            let mut normalizer = JsonNormalizer::new(agent, Options::default()).expect("a known agent");
            for line in recording.lines() {
                let Some(side) = line.channel.side() else { continue };
                let message: Value = serde_json::from_str(&line.text).unwrap_or_default();
                for event in array(&normalizer.push(&line.text, side, None)) {
                    let payload = &event["raw"]["payload"];
                    let text = Value::from(line.text.as_ref());
                    let known = [&message, &message["params"], &text].contains(&payload);
                    assert!(known, "{agent}/{}: {event}", recording.name);
                    assert!(event["raw"]["source"].is_string() && event["type"].is_string());
                }
            }
        }
    }
}

#[test]
fn todays_notifications_mean_the_same_one_at_a_time() {
    for recording in common::codex() {
        let mut whole = JsonNormalizer::new("codex", Options::default()).expect("codex is known");
        let mut single = JsonNormalizer::per_message("codex", false).expect("codex is known");
        for line in recording.lines() {
            let message: Value = serde_json::from_str(&line.text).unwrap_or_default();
            let notification = message["method"].is_string() && message["id"].is_null();
            if line.channel.side() != Some(Side::Agent) || !notification {
                continue;
            }
            // A retry gives no event in the function, and it cannot tell replayed token counts from news.
            let differs = |event: &Value| !event["retry"].is_null() || event["type"] == "usage.final";
            let read = |normalizer: &mut JsonNormalizer| {
                let mut events = array(&normalizer.push(&line.text, Side::Agent, None));
                events.retain(|event| !differs(event));
                events
            };
            assert_eq!(read(&mut single), read(&mut whole), "{}: {}", recording.name, line.text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nonsense_is_told_and_never_breaks(line in ".{0,200}", agent in 0..AGENTS.len(), alone: bool) {
        let mut normalizer = JsonNormalizer::per_message(AGENTS[agent], alone).expect("a known agent");
        array(&normalizer.push(&line, Side::Agent, Some("a")));
        array(&normalizer.push(&line, Side::Host, None));
        array(&normalizer.finish(FinishReason::Error));
    }

    #[test]
    fn wrong_types_are_told_and_never_break(index in any::<prop::sample::Index>(), member in any::<prop::sample::Index>(), with in 0..5_usize) {
        let recording = common::one("command-success-output-deltas");
        let lines = recording.lines();
        let mut message: Value = serde_json::from_str(&lines[index.index(lines.len())].text).unwrap_or_default();
        let wrong = [Value::Null, Value::from(-1), Value::from(""), Value::from(vec![1]), Value::from(true)];
        if let Some(params) = message.get_mut("params").and_then(Value::as_object_mut).filter(|params| !params.is_empty()) {
            let name = params.keys().nth(member.index(params.len())).cloned().unwrap_or_default();
            params.insert(name, wrong[with].clone());
        }
        let mut normalizer = JsonNormalizer::per_message("codex", true).expect("codex is known");
        array(&normalizer.push(&message.to_string(), Side::Agent, None));
    }
}
