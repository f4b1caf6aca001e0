//! Where a replay cuts recordings into turns.

use crate::support;
use chat_normalizers::{Channel, segment};
use serde_json::Value;

#[test]
fn every_line_belongs_to_one_turn() {
    for recording in support::recordings() {
        let lines = recording.lines();
        let segments = segment(recording.harness, &lines);
        assert!(!segments.is_empty(), "{}", recording.name);
        let all: Vec<usize> = segments.iter().flat_map(|segment| segment.lines.clone()).collect();
        assert_eq!(all, (0..lines.len()).collect::<Vec<_>>(), "{}", recording.name);
    }
}

/// The number of turns, where it is not one.
#[test]
fn recordings_have_their_turns() {
    for recording in support::recordings() {
        let expected = match recording.name.as_str() {
            "acp__claude-agent-acp-cancel-text" | "acp__claude-agent-acp-system-prompt" | "acp__codex-acp-auth-required" => 2,
            "acp__codex-acp-cancel-text" | "acp__gemini-cancel-text" | "acp__gemini-load" => 2,
            "cursor__cancel-text" | "cursor__edit-clean" | "cursor__edit-header" | "cursor__permission-cancelled" => 2,
            "cursor__shell-allow-always" | "cursor__stop-reasons" | "cursor__unknown-messages" => 2,
            "acp__codex-acp-errors" | "acp__opencode-load-mcp-model" => 3,
            "cursor__auth-required" | "cursor__read-search" | "cursor__todos-task-image" | "cursor__turn-error" => 3,
            _ => 1,
        };
        assert_eq!(segment(recording.harness, &recording.lines()).len(), expected, "{}", recording.name);
    }
}

/// The methods of the first and the last message of each turn.
fn edges(name: &str) -> Vec<(String, String)> {
    let recording = support::one(name);
    let lines = recording.lines();
    let method = |index: &usize| {
        let message: Value = serde_json::from_str(&lines[*index].text).unwrap_or_default();
        message["params"]["update"]["sessionUpdate"].as_str().or(message["method"].as_str()).unwrap_or("answer").to_owned()
    };
    let edge = |segment: chat_normalizers::Segment| {
        let spoken: Vec<usize> = segment.lines.into_iter().filter(|index| lines[*index].channel != Channel::Other).collect();
        (method(&spoken[0]), method(&spoken[spoken.len() - 1]))
    };
    segment(recording.harness, &lines).into_iter().map(edge).collect()
}

fn edge(first: &str, last: &str) -> (String, String) {
    (first.to_owned(), last.to_owned())
}

#[test]
fn what_prepares_a_turn_belongs_to_it() {
    let loaded =
        [edge("initialize", "answer"), edge("session/prompt", "answer"), edge("session/list", "available_commands_update")];
    assert_eq!(edges("acp__opencode-load-mcp-model"), loaded);
    let refused = [edge("initialize", "answer"), edge("session/prompt", "answer")];
    assert_eq!(edges("acp__gemini-load"), refused);
}

#[test]
fn what_comes_late_belongs_to_the_turn_before() {
    assert_eq!(edges("acp__claude-agent-acp-mcp-stdio"), [edge("initialize", "session_info_update")]);
}
