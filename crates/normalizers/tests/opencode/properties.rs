//! What holds whatever the agent sends: nothing panics, no text comes twice, and every call that begins ends once.

use crate::common::Recording;
use crate::common::laws::calls_are_in_order;
use crate::common::nonsense::{self, LONG};
use crate::common::variations::{self, Played};
use crate::facts::Facts;
use crate::{normalizer, play, recordings as all};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_normalizers::{Channel, RecordedLine};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::OnceLock;

fn recordings() -> &'static [Recording] {
    static RECORDINGS: OnceLock<Vec<Recording>> = OnceLock::new();
    RECORDINGS.get_or_init(all)
}

fn whole() -> Vec<Played<'static>> {
    recordings().iter().map(|recording| Played::new("opencode", recording)).collect()
}

/// The recordings without the lines that say nothing to anybody, which are half of them.
fn played() -> Vec<Played<'static>> {
    let noise =
        ["plugin.added", "catalog.updated", "reference.updated", "integration.updated", "server.heartbeat", "session.diff"];
    let mut recordings = whole();
    recordings.iter_mut().for_each(|played| played.lines.retain(|line| !noise.contains(&kind(line).as_str())));
    recordings
}

/// The whole messages of the conversation, by id.
fn shown(events: &[ChatEvent]) -> BTreeMap<String, String> {
    let mut messages: BTreeMap<String, String> = BTreeMap::new();
    for event in events.iter().filter(|event| event.parent_tool_call_id.is_none()) {
        if let EventKind::TextDelta { text, message_id } = &event.kind {
            *messages.entry(message_id.clone().unwrap_or_default()).or_default() += text;
        }
    }
    messages
}

/// What a line says of a text: the id of a part of the conversation's that is whole, and its text.
fn whole_text(facts: &Facts, line: &RecordedLine<'_>) -> Option<(String, String)> {
    let message: Value = serde_json::from_str(&line.text).ok()?;
    let part = &message["properties"]["part"];
    let whole = part["type"] == "text" && part["time"]["end"].is_number();
    let said = facts.roles.get(part["messageID"].as_str()?).is_some_and(|role| role == "assistant");
    let ours = facts.own.contains(part["sessionID"].as_str()?);
    (whole && said && ours).then(|| (part["id"].as_str().unwrap().to_owned(), part["text"].as_str().unwrap().to_owned()))
}

/// Every whole text is shown, once.
fn check_texts<'a>(name: &str, wholes: impl Iterator<Item = &'a Option<(String, String)>>, events: &[ChatEvent]) {
    let shown = shown(events);
    for (id, text) in wholes.flatten().filter(|(_, text)| !text.is_empty()) {
        let told = shown.iter().filter(|(known, _)| known.trim_end_matches("#2") == id);
        let versions: Vec<&String> = told.map(|(_, text)| text).collect();
        assert!(versions.contains(&text), "{name}: {text:?} in {shown:?}");
        assert_eq!(shown.values().filter(|shown| *shown == text).count(), 1, "{name}: {text:?} in {shown:?}");
    }
}

fn kind(line: &RecordedLine<'_>) -> String {
    let message: Value = serde_json::from_str(&line.text).unwrap_or_default();
    message["type"].as_str().or(message["path"].as_str()).unwrap_or("").to_owned()
}

#[test]
fn a_recording_may_stop_anywhere() {
    for (recording, played) in recordings().iter().zip(played()) {
        let facts = Facts::read(recording.messages());
        let wholes: Vec<_> = played.lines.iter().map(|line| whole_text(&facts, line)).collect();
        variations::stops(&played, |end, events| check_texts(&recording.name, wholes[..end].iter(), events));
    }
}

/// Without these the rest says nothing about whose session or message it is.
fn tells_whose(line: &RecordedLine<'_>) -> bool {
    let kind = kind(line);
    line.channel == Channel::Host || kind.is_empty() || kind == "message.updated"
}

#[test]
fn any_message_may_be_missing() {
    let done = |events: &[ChatEvent]| events.iter().filter(|event| matches!(event.kind, EventKind::Done { .. })).count();
    for (recording, played) in recordings().iter().zip(played()) {
        let facts = Facts::read(recording.messages());
        let wholes: Vec<_> = played.lines.iter().map(|line| whole_text(&facts, line)).collect();
        let turns = done(&play(&played.lines));
        variations::lacks(&played, |lacking| {
            if !tells_whose(lacking.missing) {
                let left = wholes.iter().enumerate().filter(|(place, _)| *place != lacking.place).map(|(_, whole)| whole);
                check_texts(lacking.name, left, lacking.events);
            }
            assert!(done(lacking.events) <= turns + 1, "{}", lacking.name);
        });
    }
}

/// What an agent may send twice. Pieces are not among it: one that comes twice is two pieces; nor is the sign that a turn is over,
/// of which the second one counts after a failure; nor answers to requests, which have one.
fn may_repeat(line: &RecordedLine<'_>) -> bool {
    let kind = kind(line);
    line.channel == Channel::Agent && !["", "message.part.delta", "session.idle", "server.connected"].contains(&kind.as_str())
}

#[test]
fn any_message_may_be_repeated() {
    // Only what has no state of its own is told again.
    let has_state =
        |kind: &EventKind| !matches!(kind, EventKind::Warning { .. } | EventKind::Plan { .. } | EventKind::Unmapped { .. });
    played().iter().for_each(|played| variations::repeats(played, may_repeat, has_state));
}

#[test]
fn wrong_fields_harm_one_message_only() {
    nonsense::wrong_fields_harm_one_message_only(&whole(), &["ses_1"]);
}

#[test]
fn messages_in_any_order_do_no_harm() {
    nonsense::messages_in_any_order_do_no_harm(&whole());
}

#[test]
fn any_text_is_a_line() {
    nonsense::any_text_is_a_line(&whole());
}

#[test]
fn strange_json_does_no_harm() {
    let part = |state: &str| {
        format!(
            r#"{{"id":"e","type":"message.part.updated","properties":{{"part":{{"id":"p","messageID":"m","sessionID":"s","type":"tool","tool":"bash","callID":"c","state":{state}}}}}}}"#
        )
    };
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let lines = [
        part(&format!(r#"{{"status":"running","input":{deep}}}"#)),
        part(r#"{"status":"running","input":{"command":"\ud800"},"metadata":{"output":"\udc00"}}"#),
        part(r#"{"status":"running","input":{"n":123456789012345678901234567890}}"#),
        part(r#"{"status":"running","time":{"start":1e999}}"#),
        part(r#"{"status":"completed","output":"x","time":{"start":9,"end":-1e300}}"#),
        format!(r#"{{"id":"e","type":"session.error","properties":{{"error":{deep}}}}}"#),
        String::from_utf8_lossy(b"{\"id\":\"\xff\xfe\",\"type\":\"session.idle\"").into_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        String::new(),
    ];
    let mut normalizer = normalizer();
    let mut events = Vec::new();
    for line in &lines {
        normalizer.push(line, Side::Agent, &mut events);
        normalizer.push(line, Side::Host, &mut events);
    }
    normalizer.finish(FinishReason::End, &mut events);
    assert!(calls_are_in_order(&events).is_ok());
    assert!(!normalizer.unmapped().is_empty());
}

#[test]
fn a_long_string_is_a_string() {
    let part = |part: &str| {
        r#"{"id":"e","type":"message.part.updated","properties":{"part":{"id":"p","messageID":"m","sessionID":"s",PART}}}"#
            .replace("PART", part)
    };
    let messages = [
        part(r#""type":"tool","tool":"bash","callID":"c","state":{"status":"running","input":{"command":"LONG"}}"#),
        part(r#""type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"LONG"}"#),
        r#"{"id":"e","type":"session.error","properties":{"sessionID":"s","error":{"name":"UnknownError","data":{"message":"LONG"}}}}"#.to_owned(),
    ];
    nonsense::long_strings_are_strings("opencode", &messages.each_ref().map(String::as_str));
}

#[test]
fn a_long_text_is_said_once() {
    let long = "x".repeat(LONG);
    let mut normalizer = normalizer();
    let mut events = Vec::new();
    let line = |kind: &str, properties: &str| format!(r#"{{"id":"e","type":"{kind}","properties":{properties}}}"#);
    let part = r#""id":"p","messageID":"m","sessionID":"s","type":"text""#;
    normalizer.push(
        &line(
            "message.part.delta",
            &format!(r#"{{"sessionID":"s","messageID":"m","partID":"p","field":"text","delta":"{long}"}}"#),
        ),
        Side::Agent,
        &mut events,
    );
    normalizer.push(
        &line("message.updated", r#"{"info":{"id":"m","sessionID":"s","role":"assistant"}}"#),
        Side::Agent,
        &mut events,
    );
    normalizer.push(
        &line("message.part.updated", &format!(r#"{{"part":{{{part},"text":"{long}","time":{{"start":1,"end":2}}}}}}"#)),
        Side::Agent,
        &mut events,
    );
    assert_eq!(shown(&events).values().map(String::len).sum::<usize>(), long.len());
}
