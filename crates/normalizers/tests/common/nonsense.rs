//! What no agent sends: recordings with other values in any field, in any order, and lines that are no messages.

use super::laws::{Laws, calls_are_in_order};
use super::play_with;
use super::variations::{Played, normalizer};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_normalizers::RecordedLine;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::borrow::Cow;

const CASES: u32 = 600;

/// Stands in a message for JSON that `serde_json::Value` cannot hold.
const PLACEHOLDER: &str = "\u{e000}";

fn check<S: Strategy>(cases: u32, strategy: &S, law: impl Fn(S::Value) -> Result<(), String>) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let run = TestRunner::new(config).run(strategy, |value| law(value).map_err(TestCaseError::fail));
    run.unwrap_or_else(|failure| panic!("{failure}"));
}

/// JSON of any form; `words` are such that mean something to the agent.
pub(crate) fn any_json(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(u64::MAX)),
        Just(json!(9_007_199_254_740_993_u64)),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(words).prop_map(Value::from),
        Just(json!("\u{0}\u{fffd}\u{2028}")),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-zA-Z_]{1,8}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

/// JSON texts that parsers trip over.
fn strange_json() -> impl Strategy<Value = String> {
    let nested = |open: &str, close: &str, depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
    prop::sample::select(vec![
        nested("[", "]", 100),
        nested("[", "]", 500),
        nested(r#"{"a":"#, "}", 100),
        nested(r#"{"a":"#, "}", 500),
        r#""\ud83d""#.to_owned(),
        r#""a\udc00z""#.to_owned(),
        r#"{"\ud800":1}"#.to_owned(),
        "123456789012345678901234567890".to_owned(),
        "-9007199254740993".to_owned(),
        "1e400".to_owned(),
        "-1e-400".to_owned(),
        "x".to_owned(),
    ])
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

/// Other values in any field.
pub(crate) fn wrong_fields_harm_one_message_only(recordings: &[Played<'_>], words: &'static [&'static str]) {
    let value = prop_oneof![3 => any_json(words).prop_map(|value| value.to_string()), 1 => strange_json()];
    let change = (any::<Index>(), prop::collection::vec(any::<Index>(), 1..7), value);
    let changes = (any::<Index>(), prop::collection::vec(change, 1..4));
    check(CASES, &changes, |(which, changes)| {
        let Played { harness, lines, .. } = &recordings[which.index(recordings.len())];
        let mut lines = lines.clone();
        for (place, path, value) in changes {
            let place = place.index(lines.len());
            let Ok(mut message) = serde_json::from_str::<Value>(&lines[place].text) else { continue };
            put(&mut message, &path, Value::from(PLACEHOLDER));
            lines[place].text = Cow::Owned(message.to_string().replacen(&format!("\"{PLACEHOLDER}\""), &value, 1));
        }
        calls_are_in_order(&play_with(normalizer(harness), &lines))
    });
}

/// The messages of up to two recordings in any order, any of them missing and repeated.
pub(crate) fn messages_in_any_order_do_no_harm(recordings: &[Played<'_>]) {
    let order = prop::collection::vec((any::<Index>(), any::<Index>()), 1..80);
    check(CASES, &(prop::collection::vec(any::<Index>(), 1..3), order), |(which, order)| {
        let from: Vec<&Played<'_>> = which.iter().map(|which| &recordings[which.index(recordings.len())]).collect();
        let line = |(recording, place): (Index, Index)| {
            let lines = &from[recording.index(from.len())].lines;
            lines[place.index(lines.len())].clone()
        };
        let lines: Vec<RecordedLine<'_>> = order.into_iter().map(line).collect();
        calls_are_in_order(&play_with(normalizer(from[0].harness), &lines))
    });
}

/// Texts, bytes and halves of messages, of either side.
pub(crate) fn any_text_is_a_line(recordings: &[Played<'_>]) {
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    check(CASES, &(".{0,200}", bytes, any::<Index>(), any::<Index>()), |(text, bytes, cut, which)| {
        let Played { harness, lines, .. } = &recordings[which.index(recordings.len())];
        let line = &lines[cut.index(lines.len())].text;
        let half: String = line.chars().take(cut.index(line.chars().count() + 1)).collect();
        let mut normalizer = normalizer(harness);
        let mut events = Vec::new();
        for text in [text, half, String::from_utf8_lossy(&bytes).into_owned()] {
            normalizer.push(&text, Side::Agent, &mut events);
            normalizer.push(&text, Side::Host, &mut events);
        }
        normalizer.finish(FinishReason::End, &mut events);
        calls_are_in_order(&events)
    });
}

/// Bytes of a string that is long: 50 MB.
pub(crate) const LONG: usize = 50 * 1024 * 1024;

/// The messages of an agent, one after the other, each with a string of 50 MB in the place of `LONG`.
pub(crate) fn long_strings_are_strings(harness: &str, messages: &[&str]) {
    let long = "x".repeat(LONG);
    let mut normalizer = normalizer(harness);
    let mut events = Vec::new();
    for message in messages {
        let line = message.replacen("LONG", &long, 1);
        assert!(line.len() > LONG, "{message}");
        normalizer.push(&line, Side::Agent, &mut events);
    }
    normalizer.finish(FinishReason::End, &mut events);
    let mut laws = Laws::default();
    let held = events.iter().try_for_each(|event| laws.event(event)).and_then(|()| laws.closed());
    held.unwrap_or_else(|problem| panic!("{harness}: {problem}"));
    let ends = |event: &ChatEvent| matches!(event.kind.meaning(), Some(EventKind::ToolCompleted(_)));
    assert!(events.iter().any(ends), "{harness}: the call is known");
}
