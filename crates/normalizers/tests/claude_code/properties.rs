//! What holds whatever the agent sends: nothing panics, no text comes twice, and every call that begins ends once.

use crate::common::Recording;
use crate::common::nonsense;
use crate::common::variations::{self, Played};
use chat_grammar::event::{ChatEvent, EventKind};
use chat_normalizers::{Channel, RecordedLine};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::OnceLock;

fn recordings() -> &'static [Recording] {
    static RECORDINGS: OnceLock<Vec<Recording>> = OnceLock::new();
    RECORDINGS.get_or_init(super::recordings)
}

fn played() -> Vec<Played<'static>> {
    recordings().iter().map(|recording| Played::new(super::AGENT, recording)).collect()
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
    for (recording, played) in recordings().iter().zip(played()) {
        let answers: Vec<Option<(String, String)>> = recording.messages().iter().map(whole_answer).collect();
        let all: Vec<_> = answers.iter().flatten().cloned().collect();
        variations::stops(&played, |end, events| {
            if tells_texts_apart(&recording.name) {
                let whole: Vec<_> = answers[..end].iter().flatten().cloned().collect();
                check_texts(&recording.name, &whole, &all, events);
            }
        });
    }
}

#[test]
fn any_message_may_be_missing() {
    for (recording, played) in recordings().iter().zip(played()) {
        let answers: Vec<Option<(String, String)>> = recording.messages().iter().map(whole_answer).collect();
        let all: Vec<_> = answers.iter().flatten().cloned().collect();
        variations::lacks(&played, |lacking| {
            if tells_texts_apart(&recording.name) {
                let kept = answers.iter().enumerate().filter(|(place, _)| *place != lacking.place);
                let whole: Vec<_> = kept.filter_map(|(_, answer)| answer.clone()).collect();
                check_texts(lacking.name, &whole, &all, lacking.events);
            }
        });
    }
}

/// What an agent may send twice. Pieces are not among it: one that comes twice is two pieces.
fn may_repeat(line: &RecordedLine<'_>) -> bool {
    line.channel == Channel::Agent && !kind(line).ends_with("content_block_delta")
}

#[test]
fn any_message_may_be_repeated() {
    // Only what has no state of its own is told again.
    let has_state = |kind: &EventKind| {
        !matches!(
            kind,
            EventKind::Warning { .. } | EventKind::Plan { .. } | EventKind::Title { .. } | EventKind::Unmapped { .. }
        )
    };
    played().iter().for_each(|played| variations::repeats(played, may_repeat, has_state));
}

#[test]
fn wrong_fields_harm_one_message_only() {
    nonsense::wrong_fields_harm_one_message_only(&played(), &["toolu_bash_ok"]);
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

    #[test]
    fn inputs_may_come_in_any_pieces(input in nonsense::any_json(&["toolu_bash_ok"]), cuts in prop::collection::vec(any::<Index>(), 0..12)) {
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

#[test]
fn a_long_string_is_a_string() {
    let block = |block: &str| format!(r#"{{"type":"assistant","message":{{"id":"m","content":[{block}]}}}}"#);
    let messages = [
        block(r#"{"type":"tool_use","id":"t","name":"Bash","input":{"command":"LONG"}}"#),
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"LONG"}]}}"#.to_owned(),
        r#"{"type":"result","subtype":"success","is_error":true,"result":"LONG"}"#.to_owned(),
    ];
    nonsense::long_strings_are_strings(super::AGENT, &messages.each_ref().map(String::as_str));
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
