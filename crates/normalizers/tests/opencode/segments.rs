//! Where a replay cuts recordings into turns.

use crate::{one, recordings};
use chat_normalizers::{Channel, segment};
use serde_json::Value;

#[test]
fn every_line_belongs_to_one_turn() {
    for recording in recordings() {
        let lines = recording.lines();
        let segments = segment("opencode", &lines);
        let all: Vec<usize> = segments.iter().flat_map(|segment| segment.lines.clone()).collect();
        assert!(segments.iter().all(|segment| !segment.lines.is_empty()), "{}", recording.name);
        if !segments.is_empty() {
            assert_eq!(all, (0..lines.len()).collect::<Vec<_>>(), "{}", recording.name);
        }
    }
}

/// The number of turns, where it is not one.
#[test]
fn recordings_have_their_turns() {
    for recording in recordings() {
        let expected = match recording.name.as_str() {
            "events-heartbeat" | "server-info" => 0,
            "abort-text" | "error-context-overflow-auto" | "events-title-and-edits" | "finish-length" | "no-ambient" => 2,
            "permission-deny-rule" | "resume-after-restart" | "two-directories" | "two-turns" | "unknown-session" => 2,
            "error-unknown-model" | "events-revert" | "system-variant-agent" => 3,
            "compaction-summarize" => 4,
            "auth-and-sticky" => 6,
            _ => 1,
        };
        assert_eq!(segment("opencode", &recording.lines()).len(), expected, "{}", recording.name);
    }
}

/// The first and the last line of each turn: the path of a request, the type of an event.
fn edges(name: &str) -> Vec<(String, String)> {
    let recording = one(name);
    let lines = recording.lines();
    let label = |index: usize| {
        let message: Value = serde_json::from_str(&lines[index].text).unwrap_or_default();
        match (lines[index].channel, message["path"].as_str(), message["type"].as_str()) {
            (Channel::Host, Some(path), _) => {
                let path = path.split('?').next().unwrap_or_default();
                path.rsplit('/').next().unwrap_or_default().to_owned()
            }
            (_, _, Some(kind)) => kind.to_owned(),
            (_, _, None) if message["status"].is_u64() => "answer".to_owned(),
            _ => "printed".to_owned(),
        }
    };
    let ends =
        segment("opencode", &lines).into_iter().map(|segment| (segment.lines[0], segment.lines[segment.lines.len() - 1]));
    ends.map(|(first, last)| (label(first), label(last))).collect()
}

fn edge(first: &str, last: &str) -> (String, String) {
    (first.to_owned(), last.to_owned())
}

#[test]
fn what_prepares_a_turn_belongs_to_it() {
    let restarted = [edge("printed", "session.idle"), edge("printed", "session.idle")];
    assert_eq!(edges("resume-after-restart"), restarted);
    assert_eq!(edges("permission-deny-rule")[1].0, "session", "a new session");
    assert_eq!(edges("events-revert")[2].0, "revert");
    assert!(edges("auth-and-sticky")[3].0.starts_with("ses_"), "rules that were changed");
}

#[test]
fn what_comes_late_belongs_to_the_turn_before() {
    let [first, second] = &edges("abort-text")[..] else { panic!("two turns") };
    assert_eq!((first.1.as_str(), second.0.as_str()), ("session.idle", "prompt_async"));
    assert_eq!(edges("abort-permission"), [edge("event", "session.idle")]);
}

#[test]
fn a_refused_request_is_a_turn() {
    let [first, second] = &edges("unknown-session")[..] else { panic!("two turns") };
    assert_eq!(first.1, "answer");
    assert_eq!(*second, edge("message", "answer"));
}

#[test]
fn a_prompt_that_is_joined_is_not_cut() {
    assert_eq!(edges("prompt-while-busy"), [edge("event", "answer")]);
}
