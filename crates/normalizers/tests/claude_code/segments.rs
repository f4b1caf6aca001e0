//! Where a replay cuts recordings into turns.

use chat_normalizers::{Channel, segment};
use serde_json::Value;

#[test]
fn every_line_belongs_to_one_turn() {
    for recording in super::recordings() {
        let lines = recording.lines();
        let segments = segment(super::AGENT, &lines);
        if segments.is_empty() {
            continue;
        }
        assert!(segments.iter().all(|segment| !segment.lines.is_empty()), "{}", recording.name);
        let all: Vec<usize> = segments.into_iter().flat_map(|segment| segment.lines).collect();
        assert_eq!(all, (0..lines.len()).collect::<Vec<_>>(), "{}", recording.name);
    }
}

/// A turn is what one result ends, and what a dead process left behind.
#[test]
fn there_are_as_many_turns_as_ends() {
    for recording in super::recordings() {
        let messages = recording.messages();
        let results = messages.iter().filter(|(channel, message)| *channel == Channel::Agent && message["type"] == "result");
        let left_behind = match recording.name.as_str() {
            "sigterm_mid_turn" | "resume_after_kill" | "session_id_in_use" => 1,
            _ => 0,
        };
        assert_eq!(segment(super::AGENT, &recording.lines()).len(), results.count() + left_behind, "{}", recording.name);
    }
}

/// What the first and the last line of each turn are.
fn edges(name: &str) -> Vec<(String, String)> {
    let recording = super::one(name);
    let lines = recording.lines();
    let what = |index: usize| {
        let message: Value = serde_json::from_str(&lines[index].text).unwrap_or_default();
        let word = |value: &Value| value.as_str().unwrap_or("").to_owned();
        match (lines[index].channel, message["type"].as_str()) {
            (Channel::Other, _) => "remark".to_owned(),
            (_, Some("control_request")) => word(&message["request"]["subtype"]),
            (_, Some("system")) => word(&message["subtype"]),
            (Channel::Host, Some("user")) => "prompt".to_owned(),
            (_, Some(kind)) => kind.to_owned(),
            (_, None) => "nonsense".to_owned(),
        }
    };
    let ends =
        segment(super::AGENT, &lines).into_iter().map(|segment| (segment.lines[0], segment.lines[segment.lines.len() - 1]));
    ends.map(|(first, last)| (what(first), what(last))).collect()
}

fn edge(first: &str, last: &str) -> (String, String) {
    (first.to_owned(), last.to_owned())
}

#[test]
fn what_prepares_a_turn_belongs_to_it() {
    let [first, second, third, fourth] = edges("set_model").try_into().expect("four turns");
    assert_eq!(first, edge("initialize", "result"));
    assert_eq!((second.0, third.0, fourth.0), ("set_model".into(), "set_model".into(), "set_model".into()));
    assert_eq!(edges("resume"), [edge("initialize", "remark"), edge("initialize", "remark")]);
}

#[test]
fn turns_of_the_agents_own_begin_where_the_agent_begins() {
    assert_eq!(edges("background_bash"), [edge("initialize", "background_tasks_changed"), edge("init", "remark")]);
    assert_eq!(edges("subagent_background"), [edge("initialize", "background_tasks_changed"), edge("init", "remark")]);
}

#[test]
fn a_prompt_that_waits_begins_its_turn_when_the_agent_comes_to_it() {
    assert_eq!(edges("queued_during_text"), [edge("initialize", "result"), edge("init", "remark")]);
    let queued = edges("interrupt_with_queue");
    assert_eq!(queued.iter().map(|(first, _)| first.as_str()).collect::<Vec<_>>(), ["initialize", "init", "prompt"]);
    assert_eq!(edges("queued_messages"), [edge("initialize", "remark")]);
}

#[test]
fn a_process_that_cannot_begin_is_a_turn() {
    assert_eq!(edges("resume_unknown"), [edge("initialize", "remark")]);
    assert_eq!(edges("bypass_as_root"), []);
    assert_eq!(edges("initialize_full"), []);
}
