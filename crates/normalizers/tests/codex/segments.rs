//! Where a replay cuts recordings into turns.

use crate::common;
use chat_normalizers::{Channel, segment};
use serde_json::Value;

#[test]
fn every_line_belongs_to_one_turn() {
    for recording in common::codex() {
        let lines = recording.lines();
        let segments = segment("codex", &lines);
        if segments.is_empty() {
            continue;
        }
        let mut all: Vec<usize> = Vec::new();
        for segment in &segments {
            assert!(segment.lines.is_sorted(), "{}", recording.name);
            assert!(!segment.lines.is_empty(), "{}", recording.name);
            all.extend(&segment.lines);
        }
        all.sort_unstable();
        assert_eq!(all, (0..lines.len()).collect::<Vec<_>>(), "{}", recording.name);
    }
}

/// The number of turns, where it is not one.
#[test]
fn recordings_have_their_turns() {
    for recording in common::codex() {
        let expected = match recording.name.as_str() {
            "mcp-ambient-and-disable" | "project-trust-overridden" | "project-trust-side-effect" => 0,
            "compact-auto" | "compact-manual-raw-events" | "goal-set-by-host" | "input-mention-skill-audio" => 2,
            "interrupt-command-late-completion" | "interrupt-during-text" | "killed-mid-turn-then-resume" => 2,
            "resume-new-process" | "resume-with-other-model" | "thread-fork" | "two-threads-interleaved" => 2,
            "two-turns-one-thread" | "usage-identical-steps" => 2,
            "compact-manual" | "error-context-window-exceeded" | "not-initialized" | "permission-mode-switch" => 3,
            "resume-unknown-thread" | "thread-start-bad-override" => 3,
            "instructions-resume-new-process" => 4,
            "instructions-effort-tier" => 6,
            _ => 1,
        };
        assert_eq!(segment("codex", &recording.lines()).len(), expected, "{}", recording.name);
    }
}

/// The methods of the first and the last line of each turn.
fn edges(name: &str) -> Vec<(String, String)> {
    let recording = common::one(name);
    let lines = recording.lines();
    let method = |index: usize| {
        let message: Value = serde_json::from_str(&lines[index].text).unwrap_or_default();
        match (lines[index].channel, message["method"].as_str()) {
            (Channel::Other, _) => "remark".to_owned(),
            (_, Some(method)) => method.to_owned(),
            (_, None) => "answer".to_owned(),
        }
    };
    let ends = segment("codex", &lines).into_iter().map(|segment| (segment.lines[0], segment.lines[segment.lines.len() - 1]));
    ends.map(|(first, last)| (method(first), method(last))).collect()
}

fn edge(first: &str, last: &str) -> (String, String) {
    (first.to_owned(), last.to_owned())
}

#[test]
fn what_prepares_a_turn_belongs_to_it() {
    let resumed = [edge("initialize", "remark"), edge("initialize", "turn/completed")];
    assert_eq!(edges("killed-mid-turn-then-resume"), resumed);
    let goal = [edge("initialize", "turn/completed"), edge("thread/goal/set", "thread/goal/cleared")];
    assert_eq!(edges("goal-set-by-host"), goal);
    let forked = [edge("initialize", "turn/completed"), edge("thread/fork", "turn/completed")];
    assert_eq!(edges("thread-fork"), forked);
}

#[test]
fn what_comes_late_belongs_to_the_turn_before() {
    assert_eq!(edges("background-command-still-running-at-turn-end"), [edge("initialize", "item/completed")]);
    assert_eq!(edges("interrupt-during-command"), [edge("initialize", "answer")]);
}

#[test]
fn a_refused_request_is_a_turn() {
    let refused = [edge("initialize", "answer"), edge("thread/resume", "answer"), edge("turn/start", "answer")];
    assert_eq!(edges("resume-unknown-thread"), refused);
}

#[test]
fn turns_at_the_same_time_are_told_apart() {
    let recording = common::one("two-threads-interleaved");
    let lines = recording.lines();
    let segments = segment("codex", &lines);
    let texts: Vec<String> = segments
        .iter()
        .map(|segment| {
            let messages = segment.lines.iter().filter_map(|index| serde_json::from_str::<Value>(&lines[*index].text).ok());
            let deltas = messages.filter(|message| message["method"] == "item/agentMessage/delta");
            deltas.filter_map(|message| message["params"]["delta"].as_str().map(str::to_owned)).collect()
        })
        .collect();
    assert_eq!(texts, ["A1 A2 A3 A4", "B1 B2"]);
}

#[test]
fn a_turn_that_is_joined_is_not_cut() {
    assert_eq!(edges("steer-and-busy"), [edge("initialize", "turn/completed")]);
}
