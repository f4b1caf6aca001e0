//! What holds whatever the agent sends: nothing panics, no text comes twice, and every call that begins ends once.

use crate::common::nonsense::{self, LONG};
use crate::common::variations::{self, Played};
use crate::common::{self, Recording};
use chat_grammar::event::{ChatEvent, EventKind, Side};
use chat_normalizers::{Channel, RecordedLine};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

fn recordings() -> &'static [Recording] {
    static RECORDINGS: OnceLock<Vec<Recording>> = OnceLock::new();
    RECORDINGS.get_or_init(common::codex)
}

fn played() -> Vec<Played<'static>> {
    recordings().iter().map(|recording| Played::new("codex", recording)).collect()
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
    for (recording, played) in recordings().iter().zip(played()) {
        let answers = whole_answers(recording);
        variations::stops(&played, |end, events| check_texts(&recording.name, answers[..end].iter(), events));
    }
}

#[test]
fn any_message_may_be_missing() {
    for (recording, played) in recordings().iter().zip(played()) {
        let answers = whole_answers(recording);
        variations::lacks(&played, |lacking| {
            // Without the notice of a retry nobody can know that a text is said again.
            if method(lacking.missing) != "error" {
                let left = answers.iter().enumerate().filter(|(place, _)| *place != lacking.place).map(|(_, answer)| answer);
                check_texts(lacking.name, left, lacking.events);
            }
        });
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
    let has_state =
        |kind: &EventKind| !matches!(kind, EventKind::Warning { .. } | EventKind::Plan { .. } | EventKind::Title { .. });
    played().iter().for_each(|played| variations::repeats(played, may_repeat, has_state));
}

#[test]
fn wrong_fields_harm_one_message_only() {
    nonsense::wrong_fields_harm_one_message_only(&played(), &["msg_000001"]);
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
    let notice = |method: &str, params: &str| {
        r#"{"method":"METHOD","params":{"threadId":"t","turnId":"u",PARAMS}}"#.replace("METHOD", method).replace("PARAMS", params)
    };
    let text = notice("item/agentMessage/delta", r#""itemId":"m","delta":"LONG""#);
    let call = r#""item":{"type":"commandExecution","id":"c","command":"LONG","cwd":"/w","status":"inProgress"}"#;
    let messages = [
        notice("item/started", call),
        notice("item/commandExecution/outputDelta", r#""itemId":"c","delta":"LONG""#),
        notice("item/completed", &call.replace("inProgress", "completed")),
        notice("error", r#""willRetry":false,"error":{"message":"LONG"}"#),
        r#"{"method":"LONG","params":{}}"#.to_owned(),
    ];
    nonsense::long_strings_are_strings("codex", &messages.each_ref().map(String::as_str));
    let (mut normalizer, mut events) = (variations::normalizer("codex"), Vec::new());
    normalizer.push(&text.replacen("LONG", &"x".repeat(LONG), 1), Side::Agent, &mut events);
    assert_eq!(shown(&events).keys().map(String::len).sum::<usize>(), LONG);
}
