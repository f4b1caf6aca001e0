//! What holds whatever the agent sends: nothing panics, no text comes twice, and every call that begins ends once.

use crate::common::{self, Recording, render};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_normalizers::{Channel, RecordedLine};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

fn recordings() -> &'static [Recording] {
    static RECORDINGS: OnceLock<Vec<Recording>> = OnceLock::new();
    RECORDINGS.get_or_init(common::codex)
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

/// The whole messages of the conversation, with how often each was shown.
fn shown(events: &[ChatEvent]) -> BTreeMap<String, usize> {
    let mut messages: Vec<(&str, String)> = Vec::new();
    for event in events.iter().filter(|event| event.parent_tool_call_id.is_none()) {
        if let EventKind::TextDelta { text, message_id } = &event.kind {
            let id = message_id.as_deref().unwrap_or_default();
            match messages.iter_mut().find(|message| message.0 == id) {
                Some(message) => message.1 += text,
                None => messages.push((id, text.clone())),
            }
        }
    }
    let mut counts = BTreeMap::new();
    messages.into_iter().for_each(|(_, text)| *counts.entry(text).or_default() += 1);
    counts
}

/// What a line adds to the texts of the conversation: the item and the text of an answer that is whole.
type Answer = Option<(String, String)>;

/// The answers that the agent called whole, line by line; those of sub-agents are none of the conversation's.
fn whole_answers(recording: &Recording) -> Vec<Answer> {
    let messages: Vec<Value> = recording
        .messages()
        .into_iter()
        .map(|(channel, message)| if channel == Channel::Agent { message } else { json!(null) })
        .collect();
    let opened = |thread: &Value| messages.iter().any(|message| message["result"]["thread"]["id"] == *thread);
    let answer = |message: &Value| {
        let params = &message["params"];
        let item = &params["item"];
        let whole = message["method"] == "item/completed" && item["type"] == "agentMessage" && opened(&params["threadId"]);
        whole.then(|| (item["id"].as_str().unwrap_or("").to_owned(), item["text"].as_str().unwrap_or("").to_owned()))
    };
    messages.iter().map(answer).collect()
}

fn method(line: &RecordedLine<'_>) -> String {
    let message: Value = serde_json::from_str(&line.text).unwrap_or_default();
    message["method"].as_str().unwrap_or("").to_owned()
}

/// Every whole answer is shown, and as often as there are answers with this text.
fn check_texts<'a>(name: &str, answers: impl Iterator<Item = &'a Answer>, events: &[ChatEvent]) {
    let shown = shown(events);
    let mut expected: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (item, text) in answers.flatten().filter(|(_, text)| !text.is_empty()) {
        expected.entry(text).or_default().insert(item);
    }
    for (text, items) in expected {
        assert_eq!(shown.get(text), Some(&items.len()), "{name}: {text:?} in {shown:?}");
    }
}

#[test]
fn a_recording_may_stop_anywhere() {
    for recording in recordings() {
        let (lines, answers) = (recording.lines(), whole_answers(recording));
        for end in 0..=lines.len() {
            let mut normalizer = common::normalizer();
            let mut events = Vec::new();
            lines[..end].iter().for_each(|line| common::push(normalizer.as_mut(), line, &mut events));
            let before = events.len();
            normalizer.finish(FinishReason::Error, &mut events);
            let said = |event: &ChatEvent| {
                matches!(event.kind, EventKind::TextDelta { .. } | EventKind::ReasoningDelta { .. } | EventKind::Done { .. })
            };
            assert!(!events[before..].iter().any(said), "{} {end}", recording.name);
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{} cut at {end}: {problem}", recording.name));
            check_texts(&recording.name, answers[..end].iter(), &events);
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
        let (lines, answers) = (recording.lines(), whole_answers(recording));
        for missing in 0..lines.len() {
            let mut left = lines.clone();
            let dropped = left.remove(missing);
            let events = common::play(&left);
            let name = format!("{} without {missing} {}", recording.name, method(&dropped));
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            // Without the notice of a retry nobody can know that a text is said again.
            if method(&dropped) != "error" {
                let left = answers.iter().enumerate().filter(|(place, _)| *place != missing).map(|(_, answer)| answer);
                check_texts(&name, left, &events);
            }
        }
    }
}

/// What an agent may send twice. Pieces are not among it: one that comes twice is two pieces.
fn may_repeat(line: &RecordedLine<'_>) -> bool {
    let method = method(line);
    line.channel == Channel::Agent
        && !method.is_empty()
        && !method.ends_with("elta")
        && !method.ends_with("terminalInteraction")
}

#[test]
fn any_message_may_be_repeated() {
    for recording in recordings() {
        let lines = recording.lines();
        let once = common::play(&lines);
        for repeated in (0..lines.len()).filter(|place| may_repeat(&lines[*place])) {
            let mut twice = lines.clone();
            twice.insert(repeated, lines[repeated].clone());
            let events = common::play(&twice);
            let name = format!("{} with {repeated} {} twice", recording.name, method(&lines[repeated]));
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            // Only what has no state of its own is told again.
            let stateless = |event: &&ChatEvent| {
                matches!(event.kind, EventKind::Warning { .. } | EventKind::Plan { .. } | EventKind::Title { .. })
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
        Just(json!("msg_000001")),
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
        let events = common::play(&lines);
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
        let events = common::play(&shuffled);
        prop_assert!(calls_are_in_order(&events).is_ok(), "{:?}", calls_are_in_order(&events));
    }

    #[test]
    fn any_text_is_a_line(text in ".{0,200}", cut in any::<Index>(), which in any::<Index>()) {
        let recordings = recordings();
        let lines = recordings[which.index(recordings.len())].lines();
        let line = &lines[cut.index(lines.len())].text;
        let half: String = line.chars().take(cut.index(line.chars().count() + 1)).collect();
        let mut normalizer = common::normalizer();
        let mut events = Vec::new();
        for text in [text, half, any_depth()] {
            normalizer.push(&text, Side::Agent, &mut events);
            normalizer.push(&text, Side::Host, &mut events);
        }
        normalizer.finish(FinishReason::End, &mut events);
    }
}

fn any_depth() -> String {
    format!("{{\"method\":\"item/completed\",\"params\":{}{}}}", "[".repeat(500), "]".repeat(500))
}
