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
    RECORDINGS.get_or_init(crate::recordings)
}

/// Each tool call starts once, ends once, and has no news before or after; it leaves `pending` at most once; each request is resolved
/// once; each compaction that begins ends once.
fn calls_are_in_order(events: &[ChatEvent]) -> Result<(), String> {
    let mut open: HashMap<&str, Option<bool>> = HashMap::new();
    let mut asked: Vec<&str> = Vec::new();
    let mut compactions: Vec<&str> = Vec::new();
    for event in events {
        let fine = match &event.kind {
            EventKind::ToolStarted(tool) => open.insert(&tool.tool_call_id, Some(tool.pending)).is_none(),
            EventKind::ToolUpdated(tool) => match open.get_mut(tool.tool_call_id.as_str()) {
                Some(Some(pending)) => !tool.in_progress || std::mem::replace(pending, false),
                _ => false,
            },
            EventKind::ToolCompleted(tool) => matches!(open.insert(&tool.tool_call_id, None), Some(Some(_))),
            EventKind::PermissionRequested(request) => {
                asked.push(&request.request_id);
                true
            }
            EventKind::QuestionAsked(request) => {
                asked.push(&request.request_id);
                true
            }
            EventKind::PermissionResolved(resolved) => taken(&mut asked, &resolved.request_id),
            EventKind::QuestionAnswered(answer) => taken(&mut asked, &answer.request_id),
            EventKind::CompactionStarted { compaction_id, .. } => {
                compactions.push(compaction_id);
                true
            }
            EventKind::CompactionFinished(end) => taken(&mut compactions, &end.compaction_id),
            _ => true,
        };
        if !fine {
            return Err(format!("out of order: {}", render::event(event)));
        }
    }
    let left: Vec<&str> = open.into_iter().filter(|(_, state)| state.is_some()).map(|(id, _)| id).collect();
    match left.is_empty() && asked.is_empty() && compactions.is_empty() {
        true => Ok(()),
        false => Err(format!("left open: {left:?} {asked:?} {compactions:?}")),
    }
}

fn taken(open: &mut Vec<&str>, id: &str) -> bool {
    let position = open.iter().position(|known| *known == id);
    position.map(|position| open.remove(position)).is_some()
}

/// The whole messages of the conversation, with how often each was shown.
fn shown(events: &[ChatEvent]) -> BTreeMap<String, usize> {
    let mut messages: Vec<(&str, String)> = Vec::new();
    for event in events {
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

/// The texts that the agent called whole, line by line.
fn whole_texts(recording: &Recording) -> Vec<Vec<String>> {
    let texts = recording.messages().into_iter().map(|(channel, message)| {
        let whole = channel == Channel::Agent && message["type"] == "message_end" && message["message"]["role"] == "assistant";
        let blocks = message["message"]["content"].as_array().filter(|_| whole).cloned().unwrap_or_default();
        let texts = blocks.iter().filter_map(|block| block["text"].as_str()).filter(|text| !text.is_empty());
        texts.map(str::to_owned).collect()
    });
    texts.collect()
}

/// Every whole text is shown, and as often as the agent said it.
fn check_texts<'a>(name: &str, texts: impl Iterator<Item = &'a Vec<String>>, events: &[ChatEvent]) {
    let shown = shown(events);
    let mut expected: BTreeMap<&str, usize> = BTreeMap::new();
    texts.flatten().for_each(|text| *expected.entry(text).or_default() += 1);
    for (text, count) in expected {
        assert_eq!(shown.get(text), Some(&count), "{name}: {text:?} in {shown:?}");
    }
}

fn kind(line: &RecordedLine<'_>) -> String {
    let message: Value = serde_json::from_str(&line.text).unwrap_or_default();
    message["type"].as_str().unwrap_or("").to_owned()
}

#[test]
fn a_recording_may_stop_anywhere() {
    for recording in recordings() {
        let (lines, texts) = (recording.lines(), whole_texts(recording));
        for end in 0..=lines.len() {
            let mut normalizer = crate::normalizer();
            let mut events = Vec::new();
            lines[..end].iter().for_each(|line| common::push(normalizer.as_mut(), line, &mut events));
            let before = events.len();
            normalizer.finish(FinishReason::Error, &mut events);
            let said = |event: &ChatEvent| {
                matches!(event.kind, EventKind::TextDelta { .. } | EventKind::ReasoningDelta { .. } | EventKind::Done { .. })
            };
            assert!(!events[before..].iter().any(said), "{} {end}", recording.name);
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{} cut at {end}: {problem}", recording.name));
            check_texts(&recording.name, texts[..end].iter(), &events);
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
        let (lines, texts) = (recording.lines(), whole_texts(recording));
        let ends = |events: &[ChatEvent]| events.iter().filter(|event| matches!(event.kind, EventKind::Done { .. })).count();
        let turns = ends(&crate::play(&lines));
        for missing in 0..lines.len() {
            let mut left = lines.clone();
            let removed = left.remove(missing);
            let events = crate::play(&left);
            let name = format!("{} without {missing} {}", recording.name, kind(&removed));
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            let left = texts.iter().enumerate().filter(|(place, _)| *place != missing).map(|(_, texts)| texts);
            check_texts(&name, left, &events);
            // A turn ends without any of its messages but the one that says so.
            let says_so = ["agent_settled", "response", "agent_end"].contains(&kind(&removed).as_str());
            assert!(ends(&events) == turns || (says_so && ends(&events) + 1 == turns), "{name}: {} ends", ends(&events));
        }
    }
}

/// What an agent may send twice. Pieces are not among it: one that comes twice is two pieces.
fn may_repeat(line: &RecordedLine<'_>) -> bool {
    let message: Value = serde_json::from_str(&line.text).unwrap_or_default();
    let piece = message["assistantMessageEvent"]["type"].as_str().is_some_and(|kind| kind.ends_with("_delta"));
    line.channel == Channel::Agent && !piece && message["type"] != "bash_execution_update"
}

#[test]
fn any_message_may_be_repeated() {
    for recording in recordings() {
        let lines = recording.lines();
        let once = crate::play(&lines);
        for repeated in (0..lines.len()).filter(|place| may_repeat(&lines[*place])) {
            let mut twice = lines.clone();
            twice.insert(repeated, lines[repeated].clone());
            let events = crate::play(&twice);
            let name = format!("{} with {repeated} {} twice", recording.name, kind(&lines[repeated]));
            calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            // Only what has no state of its own is told again.
            let stateless = |event: &&ChatEvent| matches!(event.kind, EventKind::Warning { .. } | EventKind::Title { .. });
            if !events.iter().filter(|event| !stateless(event)).eq(once.iter().filter(|event| !stateless(event))) {
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
        Just(json!("toolu_01")),
        Just(json!("\u{0}\u{fffd}\u{2028}")),
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
        let events = crate::play(&lines);
        prop_assert!(calls_are_in_order(&events).is_ok(), "{:?}", calls_are_in_order(&events));
    }

    #[test]
    fn messages_in_any_order_do_no_harm(
        which in prop::collection::vec(any::<Index>(), 1..3),
        order in prop::collection::vec((any::<Index>(), any::<Index>()), 1..80),
    ) {
        let recordings = recordings();
        let lines: Vec<Vec<RecordedLine<'_>>> = which.iter().map(|which| recordings[which.index(recordings.len())].lines()).collect();
        let shuffled: Vec<RecordedLine<'_>> = order
            .iter()
            .map(|(recording, place)| {
                let lines = &lines[recording.index(lines.len())];
                lines[place.index(lines.len())].clone()
            })
            .collect();
        let events = crate::play(&shuffled);
        prop_assert!(calls_are_in_order(&events).is_ok(), "{:?}", calls_are_in_order(&events));
    }

    #[test]
    fn any_text_is_a_line(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200), cut in any::<Index>(), which in any::<Index>()) {
        let recordings = recordings();
        let lines = recordings[which.index(recordings.len())].lines();
        let line = &lines[cut.index(lines.len())].text;
        let half: String = line.chars().take(cut.index(line.chars().count() + 1)).collect();
        let mut normalizer = crate::normalizer();
        let mut events = Vec::new();
        for text in [text, half, String::from_utf8_lossy(&bytes).into_owned()] {
            normalizer.push(&text, Side::Agent, &mut events);
            normalizer.push(&text, Side::Host, &mut events);
        }
        normalizer.finish(FinishReason::End, &mut events);
    }

    /// Tool input that comes in pieces of any size ends as the whole, and is never anything but a beginning of it.
    #[test]
    fn partial_input_is_a_beginning(command in "[a-z\"\\\\\u{e9}\u{1f600}\n]{0,80}", size in 1_usize..20, n in any::<i32>()) {
        let input = json!({ "path": command, "n": n, "edits": [{ "oldText": command, "newText": "" }] });
        let text = input.to_string();
        let mut normalizer = crate::normalizer();
        let mut events = Vec::new();
        let mut push = |message: Value| normalizer.push(&message.to_string(), Side::Agent, &mut events);
        let update = |event: Value| json!({ "type": "message_update", "assistantMessageEvent": event });
        push(update(json!({ "type": "toolcall_start", "contentIndex": 0, "id": "t", "toolName": "other" })));
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(size) {
            let delta: String = piece.iter().collect();
            push(update(json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": delta })));
        }
        let inputs: Vec<&Value> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::ToolUpdated(tool) => tool.input.as_ref(),
                _ => None,
            })
            .collect();
        for input in &inputs {
            let path = input["path"].as_str().unwrap_or("");
            prop_assert!(command.starts_with(path), "{path:?} of {command:?}");
            prop_assert!(input["n"].is_null() || input["n"] == n);
        }
        if text.len() < 250 {
            prop_assert_eq!(inputs.last(), Some(&&input));
        }
    }
}

#[test]
fn strange_lines_do_no_harm() {
    let nested = format!(r#"{{"type":"message_end","message":{}{}}}"#, "[".repeat(500), "]".repeat(500));
    let args = format!(
        r#"{{"type":"tool_execution_start","toolCallId":"deep","toolName":"bash","args":{}1{}}}"#,
        r#"{"a":"#.repeat(100),
        "}".repeat(100)
    );
    let huge = format!(
        r#"{{"type":"message_update","assistantMessageEvent":{{"type":"text_delta","contentIndex":0,"delta":"{}"}}}}"#,
        "x".repeat(50 << 20)
    );
    let update = |event: &str| format!(r#"{{"type":"message_update","assistantMessageEvent":{event}}}"#);
    let lone = update(r#"{"type":"text_delta","contentIndex":0,"delta":"\ud83d"}"#);
    let far = update(r#"{"type":"text_delta","contentIndex":18446744073709551615,"delta":"far"}"#);
    let beyond = update(r#"{"type":"text_delta","contentIndex":1e30,"delta":"beyond"}"#);
    let mut normalizer = crate::normalizer();
    let mut events = Vec::new();
    for line in [&nested, &args, &huge, &lone, &far, &beyond] {
        normalizer.push(line, Side::Agent, &mut events);
        normalizer.push(line, Side::Host, &mut events);
    }
    let whole = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"end"}],"timestamp":9007199254740993,"usage":{"input":9007199254740993,"output":18446744073709551615}}}"#;
    normalizer.push(whole, Side::Agent, &mut events);
    normalizer.finish(FinishReason::End, &mut events);
    calls_are_in_order(&events).expect("in order");
    let texts: Vec<usize> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::TextDelta { text, .. } => Some(text.len()),
            _ => None,
        })
        .collect();
    assert_eq!(texts.first(), Some(&(50 << 20)), "a long text stays whole");
    let counted = events.iter().find_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } => Some(usage.tokens),
        _ => None,
    });
    assert_eq!(counted.expect("usage").input_tokens, Some(9_007_199_254_740_993));
}
