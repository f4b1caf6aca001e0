//! Where a replay cuts recordings into turns.

use chat_normalizers::{Channel, segment};
use serde_json::{Value, json};

#[test]
fn every_line_belongs_to_one_turn() {
    for recording in crate::recordings() {
        let lines = recording.lines();
        let segments = segment("pi", &lines);
        let all: Vec<usize> = segments.iter().flat_map(|segment| segment.lines.clone()).collect();
        assert_eq!(all, (0..lines.len()).collect::<Vec<_>>(), "{}", recording.name);
        assert!(segments.iter().all(|segment| !segment.lines.is_empty()), "{}", recording.name);
    }
}

/// The number of turns, where it is not one.
#[test]
fn recordings_have_their_turns() {
    for recording in crate::recordings() {
        let expected = match recording.name.as_str() {
            "abort-text" | "compact-overflow" => 2,
            "compact-auto-threshold" | "compact-manual" | "session-commands" => 3,
            _ => 1,
        };
        assert_eq!(segment("pi", &recording.lines()).len(), expected, "{}", recording.name);
    }
}

/// The kinds of the first and the last line of each turn.
fn edges(name: &str) -> Vec<(String, String)> {
    let recording = crate::recording(name);
    let lines = recording.lines();
    let kind = |index: usize| {
        let message: Value = serde_json::from_str(&lines[index].text).unwrap_or_default();
        match lines[index].channel {
            Channel::Other => "remark".to_owned(),
            _ => message["type"].as_str().unwrap_or("").to_owned(),
        }
    };
    let ends = segment("pi", &lines).into_iter().map(|segment| (segment.lines[0], segment.lines[segment.lines.len() - 1]));
    ends.map(|(first, last)| (kind(first), kind(last))).collect()
}

fn edge(first: &str, last: &str) -> (String, String) {
    (first.to_owned(), last.to_owned())
}

#[test]
fn what_prepares_a_turn_belongs_to_it() {
    let compacted = [edge("prompt", "agent_settled"), edge("prompt", "agent_settled"), edge("get_session_stats", "remark")];
    assert_eq!(edges("compact-manual"), compacted);
    assert_eq!(edges("models-and-thinking"), [edge("get_available_models", "remark")]);
}

#[test]
fn what_comes_late_belongs_to_the_turn_before() {
    assert_eq!(edges("abort-text"), [edge("prompt", "response"), edge("prompt", "remark")]);
}

#[test]
fn a_prompt_that_is_queued_or_refused_is_no_turn() {
    assert_eq!(edges("prompt-while-busy"), [edge("prompt", "remark")]);
}

/// Two processes in one recording, the first of which was killed while its turn was open.
#[test]
fn a_turn_whose_process_was_killed_ends_where_the_next_one_begins() {
    let killed = crate::recording("kill-sigterm");
    let next = crate::recording("resume-session");
    let text = format!("{}\n{}", killed.text.trim_end(), next.text);
    let lines = chat_normalizers::recording::read(&text);
    let segments = segment("pi", &lines);
    let first: Vec<usize> = segments.iter().map(|segment| segment.lines[0]).collect();
    assert_eq!(first, [0, killed.lines().len()]);
    let began: Value = serde_json::from_str(&lines[first[1]].text).expect("a message");
    assert_eq!(began["type"], json!("get_state"));
}
