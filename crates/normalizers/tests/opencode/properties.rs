//! What holds whatever the agent sends: nothing panics, no text comes twice, and every call that begins ends once.

use crate::common::{self, Recording, render};
use crate::facts::Facts;
use crate::{normalizer, play, recordings as all};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_normalizers::{Channel, RecordedLine};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

fn recordings() -> &'static [Recording] {
    static RECORDINGS: OnceLock<Vec<Recording>> = OnceLock::new();
    RECORDINGS.get_or_init(all)
}

/// The lines of a recording without those that say nothing to anybody, which are half of them.
fn lines(recording: &Recording) -> Vec<RecordedLine<'_>> {
    let noise =
        ["plugin.added", "catalog.updated", "reference.updated", "integration.updated", "server.heartbeat", "session.diff"];
    recording.lines().into_iter().filter(|line| !noise.contains(&kind(line).as_str())).collect()
}

/// Each tool call starts once, ends once, and has no news before or after; each request is resolved once.
fn calls_are_in_order(events: &[ChatEvent]) -> Result<(), String> {
    let mut open: HashMap<&str, bool> = HashMap::new();
    let mut asked: Vec<&str> = Vec::new();
    for event in events {
        let fine = match &event.kind {
            EventKind::ToolStarted(tool) => open.insert(&tool.tool_call_id, true).is_none(),
            EventKind::ToolUpdated(tool) => open.get(tool.tool_call_id.as_str()) == Some(&true),
            EventKind::ToolCompleted(tool) => open.insert(&tool.tool_call_id, false) == Some(true),
            EventKind::PermissionRequested(request) => {
                asked.push(&request.request_id);
                true
            }
            EventKind::QuestionAsked(request) => {
                asked.push(&request.request_id);
                true
            }
            EventKind::PermissionResolved(resolved) => answered(&mut asked, &resolved.request_id),
            EventKind::QuestionAnswered(answer) => answered(&mut asked, &answer.request_id),
            _ => true,
        };
        if !fine {
            return Err(format!("out of order: {}", render::event(event)));
        }
    }
    let left: Vec<&str> = open.into_iter().filter(|(_, open)| *open).map(|(id, _)| id).collect();
    match (left.as_slice(), asked.as_slice()) {
        ([], []) => Ok(()),
        (calls, requests) => Err(format!("left open: {calls:?} {requests:?}")),
    }
}

fn answered(asked: &mut Vec<&str>, id: &str) -> bool {
    let position = asked.iter().position(|open| *open == id);
    position.map(|position| asked.remove(position)).is_some()
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
    for recording in recordings() {
        let facts = Facts::read(recording.messages());
        let lines = lines(recording);
        let wholes: Vec<_> = lines.iter().map(|line| whole_text(&facts, line)).collect();
        for end in 0..=lines.len() {
            let mut normalizer = normalizer();
            let mut events = Vec::new();
            lines[..end].iter().for_each(|line| common::push(normalizer.as_mut(), line, &mut events));
            let before = events.len();
            normalizer.finish(FinishReason::Error, &mut events);
            let said = |event: &ChatEvent| {
                matches!(event.kind, EventKind::TextDelta { .. } | EventKind::ReasoningDelta { .. } | EventKind::Done { .. })
            };
            assert!(!events[before..].iter().any(said), "{} {end}", recording.name);
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{} cut at {end}: {problem}", recording.name));
            check_texts(&recording.name, wholes[..end].iter(), &events);
            // What is closed stays closed.
            let closed = events.len();
            normalizer.finish(FinishReason::End, &mut events);
            assert_eq!(events.len(), closed, "{}", recording.name);
        }
    }
}

/// Without these the rest says nothing about whose session or message it is.
fn tells_whose(line: &RecordedLine<'_>) -> bool {
    let kind = kind(line);
    line.channel == Channel::Host || kind.is_empty() || kind == "message.updated"
}

#[test]
fn any_message_may_be_missing() {
    for recording in recordings() {
        let facts = Facts::read(recording.messages());
        let lines = lines(recording);
        let wholes: Vec<_> = lines.iter().map(|line| whole_text(&facts, line)).collect();
        for missing in 0..lines.len() {
            let mut left = lines.clone();
            let dropped = left.remove(missing);
            let events = play(&left);
            let name = format!("{} without {missing} {}", recording.name, kind(&dropped));
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            if !tells_whose(&dropped) {
                let left = wholes.iter().enumerate().filter(|(place, _)| *place != missing).map(|(_, whole)| whole);
                check_texts(&name, left, &events);
            }
            let done =
                |events: &[ChatEvent]| events.iter().filter(|event| matches!(event.kind, EventKind::Done { .. })).count();
            assert!(done(&events) <= done(&play(&lines)) + 1, "{name}");
        }
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
    for recording in recordings() {
        let lines = lines(recording);
        let once = play(&lines);
        for repeated in (0..lines.len()).filter(|place| may_repeat(&lines[*place])) {
            let mut twice = lines.clone();
            twice.insert(repeated, lines[repeated].clone());
            let events = play(&twice);
            let name = format!("{} with {repeated} {} twice", recording.name, kind(&lines[repeated]));
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            // Only what has no state of its own is told again.
            let stateless = |event: &&ChatEvent| {
                matches!(event.kind, EventKind::Warning { .. } | EventKind::Plan { .. } | EventKind::Unmapped { .. })
            };
            let told = events.iter().filter(|event| !stateless(event));
            if !told.eq(once.iter().filter(|event| !stateless(event))) {
                let show = |events: &[ChatEvent]| events.iter().map(render::event).collect::<Vec<_>>().join("\n");
                panic!("{name}:\n{}\n\ninstead of\n{}", show(&events), show(&once));
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(u64::MAX)),
        Just(json!(9_007_199_254_740_993_u64)),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("ses_1")),
        Just(json!("\u{0}\u{fffd}")),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-zA-Z]{1,8}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

/// Puts a value somewhere into a message.
fn put(message: &mut Value, path: &[Index], value: Value) {
    let mut place = message;
    for step in path {
        let size = match &*place {
            Value::Object(object) => object.len(),
            Value::Array(array) => array.len(),
            _ => 0,
        };
        if size == 0 {
            break;
        }
        let step = step.index(size);
        let next = match place {
            Value::Object(object) => object.values_mut().nth(step),
            Value::Array(array) => array.get_mut(step),
            _ => None,
        };
        match next {
            Some(next) => place = next,
            None => return,
        }
    }
    *place = value;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wrong_fields_harm_one_message_only(
        which in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), prop::collection::vec(any::<Index>(), 1..7), any_json()), 1..4),
    ) {
        let recordings = recordings();
        let mut lines = recordings[which.index(recordings.len())].lines();
        for (place, path, value) in changes {
            let place = place.index(lines.len());
            let Ok(mut message) = serde_json::from_str::<Value>(&lines[place].text) else { continue };
            put(&mut message, &path, value);
            lines[place].text = Cow::Owned(message.to_string());
        }
        let events = play(&lines);
        prop_assert!(calls_are_in_order(&events).is_ok(), "{:?}", calls_are_in_order(&events));
    }

    #[test]
    fn messages_in_any_order_do_no_harm(
        which in any::<Index>(),
        order in prop::collection::vec(any::<Index>(), 1..80),
    ) {
        let recordings = recordings();
        let lines = recordings[which.index(recordings.len())].lines();
        let shuffled: Vec<RecordedLine<'_>> = order.iter().map(|place| lines[place.index(lines.len())].clone()).collect();
        let events = play(&shuffled);
        prop_assert!(calls_are_in_order(&events).is_ok(), "{:?}", calls_are_in_order(&events));
    }

    #[test]
    fn any_text_is_a_line(text in ".{0,200}", cut in any::<Index>(), which in any::<Index>()) {
        let recordings = recordings();
        let lines = recordings[which.index(recordings.len())].lines();
        let line = &lines[cut.index(lines.len())].text;
        let half: String = line.chars().take(cut.index(line.chars().count() + 1)).collect();
        let mut normalizer = normalizer();
        let mut events = Vec::new();
        for text in [text, half] {
            normalizer.push(&text, Side::Agent, &mut events);
            normalizer.push(&text, Side::Host, &mut events);
        }
        normalizer.finish(FinishReason::End, &mut events);
    }
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
fn a_string_of_fifty_megabytes_is_a_string() {
    let long = "x".repeat(50 * 1024 * 1024);
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
