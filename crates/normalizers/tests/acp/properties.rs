//! What holds whatever the agent sends: nothing panics, no text comes twice, and every call that begins ends once.

use crate::common::laws::calls_are_in_order;
use crate::common::nonsense;
use crate::common::variations::{self, Played};
use crate::support::{self, Recording, meanings};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_normalizers::{Channel, RecordedLine};
use serde_json::Value;
use std::sync::OnceLock;

fn recordings() -> &'static [Recording] {
    static RECORDINGS: OnceLock<Vec<Recording>> = OnceLock::new();
    RECORDINGS.get_or_init(support::recordings)
}

fn played() -> Vec<Played<'static>> {
    let played =
        |recording: &'static Recording| Played { harness: recording.harness, name: &recording.name, lines: recording.lines() };
    recordings().iter().map(played).collect()
}

fn text(events: &[ChatEvent]) -> String {
    let pieces = meanings(events).filter_map(|kind| match kind {
        EventKind::TextDelta { text, .. } => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}

fn kind(line: &RecordedLine<'_>) -> String {
    let message: Value = serde_json::from_str(&line.text).unwrap_or_default();
    message["params"]["update"]["sessionUpdate"].as_str().or(message["method"].as_str()).unwrap_or("").to_owned()
}

/// The texts that lines say, with those of the past left out; a line that is missing says nothing.
fn said(lines: &[RecordedLine<'_>]) -> String {
    let (mut replays, mut text) = (false, String::new());
    for line in lines {
        match (line.channel, kind(line).as_str()) {
            (Channel::Host, "session/load" | "session/resume") => replays = true,
            (Channel::Host, "session/prompt" | "session/new" | "initialize") => replays = false,
            (Channel::Agent, "agent_message_chunk") if !replays => {
                let message: Value = serde_json::from_str(&line.text).unwrap_or_default();
                text += message["params"]["update"]["content"]["text"].as_str().unwrap_or("");
            }
            _ => {}
        }
    }
    text
}

#[test]
fn a_recording_may_stop_anywhere() {
    for played in played() {
        variations::stops(&played, |end, events| {
            assert_eq!(text(events), said(&played.lines[..end]), "{} cut at {end}", played.name);
        });
    }
}

#[test]
fn any_message_may_be_missing() {
    for played in played() {
        variations::lacks(&played, |lacking| {
            // Without the answer that names the session, the prompt does.
            let kind = kind(lacking.missing);
            if !matches!(kind.as_str(), "session/load" | "session/resume" | "session/prompt" | "session/new" | "") {
                assert_eq!(text(lacking.events), said(lacking.lines), "{}", lacking.name);
            }
        });
    }
}

/// What an agent may send twice. Pieces are not among it: one that comes twice is two pieces.
fn may_repeat(line: &RecordedLine<'_>) -> bool {
    let what = kind(line);
    let piece = ["agent_message_chunk", "agent_thought_chunk"].contains(&what.as_str());
    line.channel == Channel::Agent && !piece && !what.is_empty() && !line.text.contains("terminal_output_delta")
}

#[test]
fn any_message_may_be_repeated() {
    let has_state = |kind: &EventKind| {
        matches!(
            kind,
            EventKind::TextDelta { .. }
                | EventKind::ToolStarted(_)
                | EventKind::ToolCompleted(_)
                | EventKind::PermissionRequested(_)
                | EventKind::PermissionResolved(_)
                | EventKind::QuestionAsked(_)
                | EventKind::SessionInit(_)
                | EventKind::Error(_)
                | EventKind::Done { .. }
        )
    };
    played().iter().for_each(|played| variations::repeats(played, may_repeat, has_state));
}

#[test]
fn wrong_fields_harm_one_message_only() {
    let words = &["completed", "pending", "tool_call", "tool_call_update", "cancelled"];
    nonsense::wrong_fields_harm_one_message_only(&played(), words);
}

#[test]
fn messages_in_any_order_do_no_harm() {
    nonsense::messages_in_any_order_do_no_harm(&played());
}

#[test]
fn any_text_is_a_line() {
    nonsense::any_text_is_a_line(&played());
}

#[test]
fn a_long_string_is_a_string() {
    let update = |update: &str| {
        r#"{"method":"session/update","params":{"sessionId":"s","update":UPDATE}}"#.replacen("UPDATE", update, 1)
    };
    let messages = [
        update(r#"{"sessionUpdate":"tool_call","toolCallId":"a","title":"t","rawInput":{"command":"LONG"}}"#),
        update(r#"{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"failed","rawOutput":"LONG"}"#),
        r#"{"id":1,"error":{"code":-32603,"message":"LONG"}}"#.to_owned(),
        r#"{"method":"LONG","params":{}}"#.to_owned(),
    ];
    for harness in ["acp", "cursor"] {
        nonsense::long_strings_are_strings(harness, &messages.each_ref().map(String::as_str));
    }
}

#[test]
fn nonsense_of_any_size_is_a_line() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let long = "x".repeat(50 * 1024 * 1024);
    let update = |update: String| format!(r#"{{"method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#);
    let lines = [
        update(deep.clone()),
        update(format!(r#"{{"sessionUpdate":"tool_call","toolCallId":"a","title":"t","rawInput":{deep}}}"#)),
        update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\ud800"}}"#.to_owned()),
        update(r#"{"sessionUpdate":"tool_call","toolCallId":"\ud800","title":"t"}"#.to_owned()),
        update(r#"{"sessionUpdate":"tool_call","toolCallId":"b","title":"t","rawInput":1e999,"rawOutput":123456789012345678901234567890}"#.to_owned()),
        update(r#"{"sessionUpdate":"usage_update","used":-1,"size":1e40,"cost":{"amount":1e999,"currency":"USD"}}"#.to_owned()),
        update(format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{long}"}}}}"#)),
        update(format!(r#"{{"sessionUpdate":"{}"}}"#, "k".repeat(100_000))),
        "\u{0}".to_owned(),
        String::new(),
    ];
    for harness in ["acp", "cursor"] {
        let mut normalizer = support::normalizer(harness);
        let mut events = Vec::new();
        lines.iter().for_each(|line| normalizer.push(line, Side::Agent, &mut events));
        normalizer.finish(FinishReason::End, &mut events);
        calls_are_in_order(&events).unwrap();
        assert_eq!(text(&events).len(), long.len());
    }
}
