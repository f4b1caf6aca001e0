//! What holds whatever the agent sends: nothing panics, no text comes twice, and every call that begins ends once.

use crate::common::{self, Recording, render};
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
    RECORDINGS.get_or_init(super::recordings)
}

/// Each tool call starts once, ends once, runs at most once, and has no news before or after; each request is resolved once.
fn calls_are_in_order(events: &[ChatEvent]) -> Result<(), String> {
    let mut open: HashMap<&str, bool> = HashMap::new();
    let mut running: Vec<&str> = Vec::new();
    let mut asked: Vec<&str> = Vec::new();
    for event in events {
        let fine = match &event.kind {
            EventKind::ToolStarted(tool) => open.insert(&tool.tool_call_id, true).is_none(),
            EventKind::ToolUpdated(tool) => {
                let again = tool.in_progress && running.contains(&tool.tool_call_id.as_str());
                if tool.in_progress {
                    running.push(&tool.tool_call_id);
                }
                !again && open.get(tool.tool_call_id.as_str()) == Some(&true)
            }
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

/// The messages of the main loop, whole, by id.
fn shown(events: &[ChatEvent]) -> BTreeMap<&str, String> {
    let mut messages: BTreeMap<&str, String> = BTreeMap::new();
    for event in events.iter().filter(|event| event.parent_tool_call_id.is_none()) {
        if let EventKind::TextDelta { text, message_id } = &event.kind {
            *messages.entry(message_id.as_deref().unwrap_or_default()).or_default() += text;
        }
    }
    messages
}

/// What a line tells as whole: the message and the text of its only answer. Failures of the model's API are no answers.
fn whole_answer((channel, message): &(Channel, Value)) -> Option<(String, String)> {
    let answer = *channel == Channel::Agent
        && message["type"] == "assistant"
        && message["parent_tool_use_id"].is_null()
        && message["error"].is_null();
    let text = message["message"]["content"][0]["text"].as_str().filter(|text| answer && !text.is_empty())?;
    Some((message["message"]["id"].as_str()?.to_owned(), text.to_owned()))
}

/// Recordings in which a text is told as whole once and shown otherwise: with another block, or as one with its repetition.
fn tells_texts_apart(name: &str) -> bool {
    !matches!(name, "text_two_blocks" | "stop_refusal")
}

/// Every answer that was told as whole is shown; and no text more often than there are answers with it.
fn check_texts(name: &str, whole: &[(String, String)], all: &[(String, String)], events: &[ChatEvent]) {
    let shown = shown(events);
    for (_, text) in whole {
        let count = |answers: &[(String, String)]| answers.iter().filter(|(_, other)| other == text).count();
        let told = shown.values().filter(|other| *other == text).count();
        assert!((count(whole)..=count(all)).contains(&told), "{name}: {text:?} in {shown:?}");
    }
}

fn kind(line: &RecordedLine<'_>) -> String {
    let message: Value = serde_json::from_str(&line.text).unwrap_or_default();
    let event = message["event"]["type"].as_str().or(message["subtype"].as_str()).unwrap_or("");
    format!("{} {event}", message["type"].as_str().unwrap_or(""))
}

#[test]
fn a_recording_may_stop_anywhere() {
    for recording in recordings() {
        let (lines, messages) = (recording.lines(), recording.messages());
        let answers: Vec<Option<(String, String)>> = messages.iter().map(whole_answer).collect();
        let all: Vec<_> = answers.iter().flatten().cloned().collect();
        let step = 1 + lines.len() / 60;
        for end in (0..=lines.len()).step_by(step) {
            let mut normalizer = super::normalizer();
            let mut events = Vec::new();
            lines[..end].iter().for_each(|line| common::push(normalizer.as_mut(), line, &mut events));
            let before = events.len();
            normalizer.finish(FinishReason::Error, &mut events);
            let said = |event: &ChatEvent| {
                matches!(event.kind, EventKind::TextDelta { .. } | EventKind::ReasoningDelta { .. } | EventKind::Done { .. })
            };
            assert!(!events[before..].iter().any(said), "{} {end}", recording.name);
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{} cut at {end}: {problem}", recording.name));
            if tells_texts_apart(&recording.name) {
                let whole: Vec<_> = answers[..end].iter().flatten().cloned().collect();
                check_texts(&recording.name, &whole, &all, &events);
            }
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
        let (lines, messages) = (recording.lines(), recording.messages());
        for missing in 0..lines.len() {
            let mut left = lines.clone();
            let dropped = left.remove(missing);
            let events = super::play(&left);
            let name = format!("{} without {missing} {}", recording.name, kind(&dropped));
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            if tells_texts_apart(&recording.name) {
                let all: Vec<_> = messages.iter().filter_map(whole_answer).collect();
                let kept = messages.iter().enumerate().filter(|(place, _)| *place != missing);
                let whole: Vec<_> = kept.filter_map(|(_, message)| whole_answer(message)).collect();
                check_texts(&name, &whole, &all, &events);
            }
        }
    }
}

/// What an agent may send twice. Pieces are not among it: one that comes twice is two pieces.
fn may_repeat(line: &RecordedLine<'_>) -> bool {
    line.channel == Channel::Agent && !kind(line).ends_with("content_block_delta")
}

#[test]
fn any_message_may_be_repeated() {
    // Only what has no state of its own is told again.
    let stateless = |event: &&ChatEvent| {
        matches!(
            event.kind,
            EventKind::Warning { .. } | EventKind::Plan { .. } | EventKind::Title { .. } | EventKind::Unmapped { .. }
        )
    };
    for recording in recordings() {
        let lines = recording.lines();
        let once = super::play(&lines);
        for repeated in (0..lines.len()).filter(|place| may_repeat(&lines[*place])) {
            let mut twice = lines.clone();
            twice.insert(repeated, lines[repeated].clone());
            let events = super::play(&twice);
            let name = format!("{} with {repeated} {} twice", recording.name, kind(&lines[repeated]));
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name}: {problem}"));
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
        Just(json!("toolu_bash_ok")),
        Just(json!("\u{0}\u{fffd}")),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-zA-Z_]{1,8}", inner, 0..4).prop_map(|map| json!(map)),
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
        changes in prop::collection::vec((any::<Index>(), prop::collection::vec(any::<Index>(), 1..6), any_json()), 1..4),
    ) {
        let recordings = recordings();
        let mut lines = recordings[which.index(recordings.len())].lines();
        for (place, path, value) in changes {
            let place = place.index(lines.len());
            let Ok(mut message) = serde_json::from_str::<Value>(&lines[place].text) else { continue };
            put(&mut message, &path, value);
            lines[place].text = Cow::Owned(message.to_string());
        }
        let events = super::play(&lines);
        prop_assert!(calls_are_in_order(&events).is_ok(), "{:?}", calls_are_in_order(&events));
    }

    #[test]
    fn messages_in_any_order_do_no_harm(
        which in any::<Index>(),
        order in prop::collection::vec(any::<Index>(), 1..60),
    ) {
        let recordings = recordings();
        let lines = recordings[which.index(recordings.len())].lines();
        let shuffled: Vec<RecordedLine<'_>> = order.iter().map(|place| lines[place.index(lines.len())].clone()).collect();
        let events = super::play(&shuffled);
        prop_assert!(calls_are_in_order(&events).is_ok(), "{:?}", calls_are_in_order(&events));
    }

    #[test]
    fn any_text_is_a_line(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200), cut in any::<Index>(), which in any::<Index>()) {
        let recordings = recordings();
        let lines = recordings[which.index(recordings.len())].lines();
        let line = &lines[cut.index(lines.len())].text;
        let half: String = line.chars().take(cut.index(line.chars().count() + 1)).collect();
        let mut normalizer = super::normalizer();
        let mut events = Vec::new();
        for text in [text, half, String::from_utf8_lossy(&bytes).into_owned(), deep(500), lone_surrogate()] {
            normalizer.push(&text, Side::Agent, &mut events);
            normalizer.push(&text, Side::Host, &mut events);
        }
        normalizer.finish(FinishReason::End, &mut events);
    }

    #[test]
    fn inputs_may_come_in_any_pieces(input in any_json(), cuts in prop::collection::vec(any::<Index>(), 0..12)) {
        let input = json!({ "first": input, "last": "end" });
        let text = input.to_string();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|cut| text.is_char_boundary(*cut)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut script = super::script::Script::new();
        script.call_begins(0, "c", "Frobnicate");
        cuts.windows(2).for_each(|cut| { script.input(0, &text[cut[0]..cut[1]]); });
        script.block_stops(0);
        let told = script.events.iter().rev().find_map(|event| match &event.kind {
            EventKind::ToolUpdated(tool) => tool.input.clone(),
            _ => None,
        });
        prop_assert_eq!(told, Some(input));
    }
}

fn deep(depth: usize) -> String {
    let block = format!(r#"{{"type":"tool_use","id":"d","name":"X","input":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    format!(r#"{{"type":"assistant","message":{{"id":"m","content":[{block}]}}}}"#)
}

fn lone_surrogate() -> String {
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83d"}}}"#
        .to_owned()
}

#[test]
fn a_long_text_is_a_text() {
    let text = "long ".repeat(10_000_000);
    let mut script = super::script::Script::new();
    script.says(0, &text[..1000]);
    script.whole("m", json!({ "type": "text", "text": text }));
    let told: usize = script
        .events
        .iter()
        .map(|event| match &event.kind {
            EventKind::TextDelta { text, .. } => text.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(told, text.len());
}
