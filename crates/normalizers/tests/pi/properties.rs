//! What holds whatever the agent sends: nothing panics, no text comes twice, and every call that begins ends once.

use crate::common::Recording;
use crate::common::laws::calls_are_in_order;
use crate::common::nonsense;
use crate::common::variations::{self, Played};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_normalizers::{Channel, RecordedLine};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::OnceLock;

fn recordings() -> &'static [Recording] {
    static RECORDINGS: OnceLock<Vec<Recording>> = OnceLock::new();
    RECORDINGS.get_or_init(crate::recordings)
}

fn played() -> Vec<Played<'static>> {
    recordings().iter().map(|recording| Played::new("pi", recording)).collect()
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

/// Pi tells of each compaction how it begins and how it ends, also where one of the two is all that was read of it.
fn compactions_begin(name: &str, events: &[ChatEvent]) {
    let mut open: Vec<&str> = Vec::new();
    for event in events {
        match &event.kind {
            EventKind::CompactionStarted { compaction_id, .. } => open.push(compaction_id),
            EventKind::CompactionFinished(end) => {
                let place = open.iter().position(|id| *id == end.compaction_id);
                open.remove(place.unwrap_or_else(|| panic!("{name}: {} did not begin", end.compaction_id)));
            }
            _ => {}
        }
    }
}

#[test]
fn a_recording_may_stop_anywhere() {
    for (recording, played) in recordings().iter().zip(played()) {
        let texts = whole_texts(recording);
        variations::stops(&played, |end, events| {
            compactions_begin(&recording.name, events);
            check_texts(&recording.name, texts[..end].iter(), events);
        });
    }
}

#[test]
fn any_message_may_be_missing() {
    let ends = |events: &[ChatEvent]| events.iter().filter(|event| matches!(event.kind, EventKind::Done { .. })).count();
    for (recording, played) in recordings().iter().zip(played()) {
        let texts = whole_texts(recording);
        let turns = ends(&crate::play(&played.lines));
        variations::lacks(&played, |lacking| {
            let name = lacking.name;
            compactions_begin(name, lacking.events);
            let left = texts.iter().enumerate().filter(|(place, _)| *place != lacking.place).map(|(_, texts)| texts);
            check_texts(name, left, lacking.events);
            // A turn ends without any of its messages but the one that says so.
            let says_so = ["agent_settled", "response", "agent_end"].contains(&kind(lacking.missing).as_str());
            let ends = ends(lacking.events);
            assert!(ends == turns || (says_so && ends + 1 == turns), "{name}: {ends} ends");
        });
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
    // Only what has no state of its own is told again.
    let has_state = |kind: &EventKind| !matches!(kind, EventKind::Warning { .. } | EventKind::Title { .. });
    played().iter().for_each(|played| variations::repeats(played, may_repeat, has_state));
}

#[test]
fn wrong_fields_harm_one_message_only() {
    nonsense::wrong_fields_harm_one_message_only(&played(), &["toolu_01"]);
}

#[test]
fn messages_in_any_order_do_no_harm() {
    nonsense::messages_in_any_order_do_no_harm(&played());
}

#[test]
fn any_text_is_a_line() {
    nonsense::any_text_is_a_line(&played());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

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
fn a_long_string_is_a_string() {
    let messages = [
        r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"LONG"}]}}"#,
        r#"{"type":"tool_execution_start","toolCallId":"t","toolName":"bash","args":{"command":"LONG"}}"#,
        r#"{"type":"tool_execution_end","toolCallId":"t","toolName":"bash","result":{"content":[{"type":"text","text":"LONG"}]},"isError":false}"#,
        r#"{"type":"extension_error","extensionPath":"/e","event":"x","error":"LONG"}"#,
    ];
    nonsense::long_strings_are_strings("pi", &messages);
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
    let whole = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"end"}],"timestamp":9007199254740993,"usage":{"input":9007199254740991,"output":18446744073709551615}}}"#;
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
    let counted = counted.expect("usage");
    assert_eq!((counted.input_tokens, counted.output_tokens), (Some(9_007_199_254_740_991), None));
}
