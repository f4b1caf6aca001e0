//! What holds whatever the agent sends: nothing panics, no text comes twice, and every call that begins ends once.

use crate::render;
use crate::support::{self, Recording, meanings};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_grammar::update::{Place, UpdateMapper, write_update};
use chat_normalizers::{Channel, RecordedLine};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

fn recordings() -> &'static [Recording] {
    static RECORDINGS: OnceLock<Vec<Recording>> = OnceLock::new();
    RECORDINGS.get_or_init(support::recordings)
}

/// Each tool call starts once, ends once, goes on only between, and each request is resolved once; in what is meant and in what
/// is written alike.
fn calls_are_in_order(events: &[ChatEvent]) -> Result<(), String> {
    let mut open: HashMap<&str, bool> = HashMap::new();
    let mut asked: Vec<&str> = Vec::new();
    for event in events {
        let fine = match event.kind.meaning() {
            Some(EventKind::ToolStarted(tool)) => open.insert(&tool.tool_call_id, true).is_none(),
            Some(EventKind::ToolUpdated(tool)) => open.get(tool.tool_call_id.as_str()) == Some(&true),
            Some(EventKind::ToolCompleted(tool)) => open.insert(&tool.tool_call_id, false) == Some(true),
            Some(EventKind::PermissionRequested(request)) => {
                asked.push(&request.request_id);
                true
            }
            Some(EventKind::QuestionAsked(request)) => {
                asked.push(&request.request_id);
                true
            }
            Some(EventKind::PermissionResolved(resolved)) => answered(&mut asked, &resolved.request_id),
            Some(EventKind::QuestionAnswered(answer)) => answered(&mut asked, &answer.request_id),
            _ => true,
        };
        if !fine {
            return Err(format!("out of order: {}", render::event(event)));
        }
    }
    let left: Vec<&str> = open.into_iter().filter(|(_, open)| *open).map(|(id, _)| id).collect();
    match (left.as_slice(), asked.as_slice()) {
        ([], []) => written_in_order(events),
        (calls, requests) => Err(format!("left open: {calls:?} {requests:?}")),
    }
}

fn answered(asked: &mut Vec<&str>, id: &str) -> bool {
    let position = asked.iter().position(|open| *open == id);
    position.map(|position| asked.remove(position)).is_some()
}

fn written_in_order(events: &[ChatEvent]) -> Result<(), String> {
    let mut mapper = UpdateMapper::new("conversation", "turn");
    let mut updates = Vec::new();
    events.iter().for_each(|event| mapper.push(event.clone(), &mut updates));
    let mut states: HashMap<String, usize> = HashMap::new();
    for (update, sequence) in updates.iter().zip(1..) {
        let mut buffer = Vec::new();
        write_update(update, Place { conversation_id: "c", turn_id: "t", sequence, at: 0 }, None, &mut buffer);
        let json: Value = serde_json::from_slice(&buffer).map_err(|error| error.to_string())?;
        if json["_meta"]["amalgm"]["sequence"] != sequence {
            return Err(format!("not ours: {json}"));
        }
        let Some(id) = json["toolCallId"].as_str() else { continue };
        let status = ["pending", "in_progress", "completed", "failed"].iter().position(|word| json["status"] == *word);
        match (json["sessionUpdate"].as_str(), states.get_mut(id)) {
            (Some("tool_call"), None) => {
                states.insert(id.to_owned(), status.unwrap_or(0));
            }
            (Some("tool_call_update"), Some(state)) if *state < 2 && status.is_none_or(|status| status > *state) => {
                *state = status.unwrap_or(*state);
            }
            (Some("permission_request" | "permission_response" | "elicitation_request"), _) => {}
            _ => return Err(format!("out of order: {json}")),
        }
    }
    match states.iter().find(|(_, state)| **state < 2) {
        Some((id, _)) => Err(format!("written as left open: {id}")),
        None => Ok(()),
    }
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
    for recording in recordings() {
        let lines = recording.lines();
        for end in 0..=lines.len() {
            let mut normalizer = support::normalizer(recording.harness);
            let mut events = Vec::new();
            lines[..end].iter().for_each(|line| support::push(normalizer.as_mut(), line, &mut events));
            let before = events.len();
            normalizer.finish(FinishReason::Error, &mut events);
            assert!(
                !meanings(&events[before..]).any(|kind| matches!(kind, EventKind::TextDelta { .. } | EventKind::Done { .. }))
            );
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{} cut at {end}: {problem}", recording.name));
            assert_eq!(text(&events), said(&lines[..end]), "{} cut at {end}", recording.name);
            // What is closed stays closed.
            let closed = events.len();
            normalizer.finish(FinishReason::End, &mut events);
            assert_eq!(events.len(), closed, "{}", recording.name);
        }
    }
}

#[test]
fn any_message_may_be_missing() {
    for recording in recordings() {
        let lines = recording.lines();
        for missing in 0..lines.len() {
            let mut left = lines.clone();
            let dropped = left.remove(missing);
            let events = support::play(recording.harness, &left);
            let name = format!("{} without {missing} {}", recording.name, kind(&dropped));
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            // Without the answer that names the session, the prompt does.
            if !matches!(kind(&dropped).as_str(), "session/load" | "session/resume" | "session/prompt" | "session/new" | "") {
                assert_eq!(text(&events), said(&left), "{name}");
            }
        }
    }
}

#[test]
fn any_message_may_be_repeated() {
    // Pieces are not among what may come twice: one that comes twice is two pieces.
    let pieces = ["agent_message_chunk", "agent_thought_chunk"];
    for recording in recordings() {
        let lines = recording.lines();
        let once = support::play(recording.harness, &lines);
        for repeated in 0..lines.len() {
            let what = kind(&lines[repeated]);
            let output = lines[repeated].text.contains("terminal_output_delta");
            if lines[repeated].channel != Channel::Agent || pieces.contains(&what.as_str()) || what.is_empty() || output {
                continue;
            }
            let mut twice = lines.clone();
            twice.insert(repeated, lines[repeated].clone());
            let events = support::play(recording.harness, &twice);
            let name = format!("{} with {repeated} {what} twice", recording.name);
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            assert_eq!(text(&events), text(&once), "{name}");
            let ends = |events: &[ChatEvent]| -> Vec<EventKind> {
                let lasting = meanings(events).filter(|kind| {
                    matches!(
                        kind,
                        EventKind::ToolStarted(_)
                            | EventKind::ToolCompleted(_)
                            | EventKind::PermissionRequested(_)
                            | EventKind::PermissionResolved(_)
                            | EventKind::QuestionAsked(_)
                            | EventKind::SessionInit(_)
                            | EventKind::Error(_)
                            | EventKind::Done { .. }
                    )
                });
                lasting.cloned().collect()
            };
            assert_eq!(ends(&events), ends(&once), "{name}");
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
        prop_oneof![Just("completed"), Just("pending"), Just("tool_call"), Just("tool_call_update"), Just("cancelled")]
            .prop_map(Value::from),
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
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wrong_fields_harm_one_message_only(
        which in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), prop::collection::vec(any::<Index>(), 1..6), any_json()), 1..4),
    ) {
        let recordings = recordings();
        let recording = &recordings[which.index(recordings.len())];
        let mut lines = recording.lines();
        for (place, path, value) in changes {
            let place = place.index(lines.len());
            let Ok(mut message) = serde_json::from_str::<Value>(&lines[place].text) else { continue };
            put(&mut message, &path, value);
            lines[place].text = Cow::Owned(message.to_string());
        }
        let events = support::play(recording.harness, &lines);
        prop_assert!(calls_are_in_order(&events).is_ok(), "{:?}", calls_are_in_order(&events));
    }

    #[test]
    fn messages_in_any_order_do_no_harm(which in any::<Index>(), order in prop::collection::vec(any::<Index>(), 1..60)) {
        let recordings = recordings();
        let recording = &recordings[which.index(recordings.len())];
        let lines = recording.lines();
        let shuffled: Vec<RecordedLine<'_>> = order.iter().map(|place| lines[place.index(lines.len())].clone()).collect();
        let events = support::play(recording.harness, &shuffled);
        prop_assert!(calls_are_in_order(&events).is_ok(), "{:?}", calls_are_in_order(&events));
    }

    #[test]
    fn any_text_is_a_line(text in ".{0,200}", cut in any::<Index>(), which in any::<Index>()) {
        let recordings = recordings();
        let recording = &recordings[which.index(recordings.len())];
        let lines = recording.lines();
        let line = &lines[cut.index(lines.len())].text;
        let half: String = line.chars().take(cut.index(line.chars().count() + 1)).collect();
        let mut normalizer = support::normalizer(recording.harness);
        let mut events = Vec::new();
        for text in [text, half] {
            normalizer.push(&text, Side::Agent, &mut events);
            normalizer.push(&text, Side::Host, &mut events);
        }
        normalizer.finish(FinishReason::End, &mut events);
        prop_assert!(calls_are_in_order(&events).is_ok());
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
