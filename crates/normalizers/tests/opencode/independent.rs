//! What each recording must mean, worked out from its raw messages and the facts about the protocol alone.

use crate::facts::{Facts, text};
use crate::{normalizer, play, recordings};
use chat_grammar::acp::{ContentBlock, ToolCallContent};
use chat_grammar::event::{ChatEvent, EventKind, ToolCompleted, ToolStarted, Trigger, Visibility};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn each(check: impl Fn(&str, &Facts, &[ChatEvent])) {
    for recording in recordings() {
        let facts = Facts::read(recording.messages());
        let events = play(&recording.lines());
        check(&recording.name, &facts, &events);
    }
}

/// The messages among events, each whole, in the order in which they began.
fn shown(events: &[ChatEvent], parent: Option<&str>, thoughts: bool) -> Vec<String> {
    let mut messages: Vec<(String, String)> = Vec::new();
    for event in events.iter().filter(|event| event.parent_tool_call_id.as_deref() == parent) {
        let (text, id) = match &event.kind {
            EventKind::TextDelta { text, message_id } if !thoughts => (text, message_id),
            EventKind::ReasoningDelta { text, message_id, visibility: Visibility::Full } if thoughts => (text, message_id),
            _ => continue,
        };
        let id = id.clone().unwrap_or_default();
        match messages.iter_mut().find(|message| message.0 == id) {
            Some(message) => message.1 += text,
            None => messages.push((id, text.clone())),
        }
    }
    messages.into_iter().map(|message| message.1).collect()
}

#[test]
fn the_text_is_what_the_parts_say() {
    each(|name, facts, events| {
        let mut told = shown(events, None, false);
        let mut expected = facts.texts("text", &facts.own());
        // Two sessions one after the other are in the order of the stream.
        if facts.own.len() > 1 {
            told.sort();
            expected.sort();
        }
        assert_eq!(told, expected, "{name}");
        for (child, call) in &facts.children {
            assert_eq!(shown(events, Some(call), false), facts.texts("text", &[child]), "{name}");
        }
        let parents: BTreeSet<&str> = events.iter().filter_map(|event| event.parent_tool_call_id.as_deref()).collect();
        assert!(parents.iter().all(|parent| facts.children.values().any(|call| call == parent)), "{name}: {parents:?}");
    });
}

#[test]
fn thoughts_are_what_the_parts_say() {
    let mut redacted_seen = 0;
    for recording in recordings() {
        let facts = Facts::read(recording.messages());
        let events = play(&recording.lines());
        assert_eq!(shown(&events, None, true), facts.texts("reasoning", &facts.own()), "{}", recording.name);
        let hidden =
            facts.told("assistant", "reasoning", None).filter(|part| part["metadata"].to_string().contains("redacted"));
        let redacted = events
            .iter()
            .filter(|event| matches!(&event.kind, EventKind::ReasoningDelta { visibility: Visibility::Redacted, .. }));
        let expected = hidden.count();
        assert_eq!(redacted.count(), expected, "{}", recording.name);
        redacted_seen += expected;
    }
    assert!(redacted_seen > 0);
}

#[test]
fn the_snapshots_say_what_the_deltas_say() {
    each(|name, facts, _| {
        for part in facts.parts.iter().filter(|part| part["time"]["end"].is_number()) {
            if let Some(streamed) = facts.deltas.get(part["id"].as_str().unwrap()) {
                assert_eq!(part["text"], *streamed, "{name}");
            }
        }
    });
}

fn started(events: &[ChatEvent]) -> Vec<&ToolStarted> {
    events.iter().filter_map(|event| if let EventKind::ToolStarted(tool) = &event.kind { Some(tool) } else { None }).collect()
}

fn completed(events: &[ChatEvent]) -> Vec<&ToolCompleted> {
    events.iter().filter_map(|event| if let EventKind::ToolCompleted(tool) = &event.kind { Some(tool) } else { None }).collect()
}

/// What a call is called, by the name that OpenCode's first word about it gives.
fn canonical(tool: &str) -> &str {
    let names = [
        ("bash", "Bash"),
        ("read", "Read"),
        ("write", "Write"),
        ("edit", "Edit"),
        ("apply_patch", "Edit"),
        ("glob", "Glob"),
        ("grep", "Grep"),
        ("webfetch", "WebFetch"),
        ("task", "Agent"),
        ("todowrite", "TodoWrite"),
        ("question", "AskUserQuestion"),
        ("tiny_text", "text"),
        ("tiny_image", "image"),
        ("tiny_fail", "fail"),
    ];
    names.iter().find(|(name, _)| *name == tool).map_or(tool, |(_, name)| name)
}

#[test]
fn every_tool_part_ends_in_one_state() {
    let mut seen = 0;
    for recording in recordings() {
        let facts = Facts::read(recording.messages());
        let events = play(&recording.lines());
        let parts: Vec<&Value> = facts.told("assistant", "tool", None).collect();
        let (starts, ends) = (started(&events), completed(&events));
        assert_eq!((starts.len(), ends.len()), (parts.len(), parts.len()), "{}", recording.name);
        for part in parts {
            let id = part["callID"].as_str().unwrap();
            let first = facts.events("message.part.updated").find(|event| event["part"]["id"] == part["id"]).unwrap();
            let start = starts.iter().find(|tool| tool.tool_call_id == id).expect("a start");
            assert_eq!(start.tool_name, canonical(first["part"]["tool"].as_str().unwrap()), "{}", recording.name);
            assert_eq!(start.mcp.is_some(), first["part"]["tool"].as_str().unwrap().starts_with("tiny_"), "{}", recording.name);
            let end = ends.iter().find(|tool| tool.tool_call_id == id).expect("an end");
            check_end(&recording.name, part, end);
            assert_eq!(last_input(&events, id), part["state"]["input"], "{} {id}", recording.name);
            seen += 1;
        }
    }
    assert!(seen >= 40, "{seen}");
}

fn last_input(events: &[ChatEvent], id: &str) -> Value {
    let mut input = Value::Null;
    for event in events {
        let (call, told) = match &event.kind {
            EventKind::ToolStarted(tool) => (&tool.tool_call_id, Some(&tool.input)),
            EventKind::ToolUpdated(tool) => (&tool.tool_call_id, tool.input.as_ref()),
            EventKind::ToolCompleted(tool) => (&tool.tool_call_id, tool.input.as_ref()),
            _ => continue,
        };
        if let Some(told) = told.filter(|_| call == id) {
            input = told.clone();
        }
    }
    input
}

fn check_end(name: &str, part: &Value, tool: &ToolCompleted) {
    let (state, id) = (&part["state"], &tool.tool_call_id);
    let exit = state["metadata"].get("exit");
    let failed = state["status"] != "completed" || part["tool"] == "invalid" || exit.is_some_and(|exit| *exit != 0);
    assert_eq!(tool.is_error, failed, "{name} {id}");
    assert!(!failed || !tool.content.is_empty(), "{name} {id}: a failure says why");
    if let Some(exit) = exit {
        assert_eq!(tool.output["exitCode"], *exit, "{name} {id}");
    }
    match state["error"].as_str() {
        Some(error) => assert!(tool.content.iter().any(|content| says(content, error)), "{name} {id}"),
        None => assert_eq!(tool.output["output"], state["output"], "{name} {id}"),
    }
    let files = state["attachments"].as_array().map_or(0, Vec::len);
    let images = tool.content.iter().filter(|content| is_image(content)).count();
    assert_eq!(images, files, "{name} {id}");
    let changed = match part["tool"].as_str() {
        Some("write" | "edit") if !failed => 1,
        Some("apply_patch") => state["metadata"]["files"].as_array().map_or(0, Vec::len),
        _ => 0,
    };
    let diffs = tool.content.iter().filter(|content| matches!(content, ToolCallContent::Diff(_))).count();
    assert_eq!(diffs, changed, "{name} {id}");
    let took = state["time"]["end"].as_u64().zip(state["time"]["start"].as_u64()).map(|(end, start)| end - start);
    assert_eq!(tool.duration_ms, took, "{name} {id}");
}

fn says(content: &ToolCallContent, text: &str) -> bool {
    matches!(content, ToolCallContent::Content(content) if matches!(&content.content, ContentBlock::Text(block) if block.text == text))
}

fn is_image(content: &ToolCallContent) -> bool {
    matches!(content, ToolCallContent::Content(content) if matches!(content.content, ContentBlock::Image(_)))
}

#[test]
fn streamed_output_is_what_the_snapshots_say() {
    each(|name, facts, events| {
        for part in facts.told("assistant", "tool", None).filter(|part| part["tool"] == "bash") {
            let id = part["callID"].as_str().unwrap();
            let mut streamed = String::new();
            for event in events {
                if let EventKind::ToolUpdated(tool) = &event.kind
                    && tool.tool_call_id == id
                {
                    streamed += tool.output_delta.as_deref().unwrap_or_default();
                }
            }
            let snapshots = facts.events("message.part.updated").filter(|event| event["part"]["id"] == part["id"]);
            let running = snapshots.filter(|event| event["part"]["state"]["status"] == "running");
            let last = running.filter_map(|event| event["part"]["state"]["metadata"]["output"].as_str()).last();
            // A long output is told by its tail.
            let expected = last.filter(|output| !output.starts_with("...\n")).unwrap_or_default();
            assert_eq!(streamed, expected, "{name} {id}");
        }
    });
}

#[test]
fn nothing_of_a_turn_comes_after_its_end() {
    each(|name, _, events| {
        let mut ended = false;
        for event in events {
            match &event.kind {
                EventKind::Done { .. } => ended = true,
                // The next turn.
                EventKind::TextDelta { .. } | EventKind::ToolStarted(_) | EventKind::CompactionStarted { .. } => ended = false,
                EventKind::ToolUpdated(_) | EventKind::ToolCompleted(_) | EventKind::UsageFinal { .. } => {
                    assert!(!ended, "{name}: {event:?}");
                }
                _ => {}
            }
        }
    });
}

#[test]
fn every_request_is_answered_once() {
    each(|name, facts, events| {
        let asked: BTreeSet<&str> = facts.events("permission.asked").filter_map(|event| event["id"].as_str()).collect();
        let mut answers: BTreeMap<&str, (bool, Option<&str>)> = BTreeMap::new();
        let mut requested = BTreeSet::new();
        for event in events {
            match &event.kind {
                EventKind::PermissionRequested(request) => {
                    assert!(requested.insert(request.request_id.as_str()), "{name}");
                    assert!(request.tool_call_id.is_some(), "{name}");
                }
                EventKind::PermissionResolved(answer) => {
                    let known = answers.insert(&answer.request_id, (answer.approved, answer.option_id.as_deref()));
                    assert!(known.is_none(), "{name}");
                }
                _ => {}
            }
        }
        assert_eq!(requested, asked, "{name}");
        // An abort takes the request back: what is replied later is too late.
        let aborted = name == "abort-permission";
        let replied = facts.events("permission.replied").filter(|_| !aborted);
        let replied: BTreeMap<&str, (bool, Option<&str>)> = replied
            .map(|event| {
                let reply = event["reply"].as_str().unwrap();
                (event["requestID"].as_str().unwrap(), (reply != "reject", Some(reply)))
            })
            .chain(asked.iter().filter(|_| aborted).map(|id| (*id, (false, None))))
            .collect();
        assert_eq!(answers, replied, "{name}");

        let questions = facts.events("question.asked").count();
        let count = |matches: fn(&EventKind) -> bool| events.iter().filter(|event| matches(&event.kind)).count();
        assert_eq!(count(|kind| matches!(kind, EventKind::QuestionAsked(_))), questions, "{name}");
        assert_eq!(count(|kind| matches!(kind, EventKind::QuestionAnswered(_))), questions, "{name}");
        let declined = facts.events("question.rejected").count();
        let told = count(|kind| matches!(kind, EventKind::QuestionAnswered(answer) if answer.action == "decline"));
        assert_eq!(told, declined, "{name}");
    });
}

#[test]
fn plans_are_the_todos() {
    let mut seen = 0;
    for recording in recordings() {
        let facts = Facts::read(recording.messages());
        let events = play(&recording.lines());
        let told: Vec<Vec<String>> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Plan { entries } => Some(entries.iter().map(|entry| entry.content.clone()).collect()),
                _ => None,
            })
            .collect();
        let expected: Vec<Vec<String>> = facts
            .events("todo.updated")
            .map(|event| event["todos"].as_array().unwrap().iter().map(|todo| text(&todo["content"])).collect())
            .collect();
        assert_eq!(told, expected, "{}", recording.name);
        seen += told.len();
    }
    assert!(seen > 0);
}

#[test]
fn a_compaction_tells_its_summary_and_nothing_else_does() {
    let mut seen = 0;
    for recording in recordings() {
        let facts = Facts::read(recording.messages());
        let events = play(&recording.lines());
        let asked: Vec<Trigger> = facts
            .told("user", "compaction", None)
            .map(|part| if part["auto"] == true { Trigger::Auto } else { Trigger::Manual })
            .collect();
        let summaries: Vec<String> = facts.told("summary", "text", None).map(|part| text(&part["text"])).collect();
        let mut told = (Vec::new(), Vec::new());
        for event in &events {
            if let EventKind::CompactionFinished(end) = &event.kind {
                assert!(!end.failed, "{}", recording.name);
                assert!(end.pre_tokens.is_some() && end.duration_ms.is_some(), "{}", recording.name);
                told.0.extend(end.trigger);
                told.1.extend(end.summary.clone());
            }
        }
        assert_eq!(told, (asked, summaries), "{}", recording.name);
        seen += told.0.len();
    }
    assert_eq!(seen, 3);
}

#[test]
fn every_recorded_message_is_known() {
    for recording in recordings() {
        let mut normalizer = normalizer();
        let mut out = Vec::new();
        recording.lines().iter().for_each(|line| crate::common::push(normalizer.as_mut(), line, &mut out));
        // A fork that the host does not work with, and late events of the conversation before.
        let foreign = match recording.name.as_str() {
            "events-title-and-edits" => 9,
            "question-rejected" | "read-image-dir" | "two-turns" => 1,
            _ => 0,
        };
        let expected: BTreeMap<String, u64> =
            [("foreign_session".to_owned(), foreign)].into_iter().filter(|(_, n)| *n > 0).collect();
        assert_eq!(*normalizer.unmapped(), expected, "{}", recording.name);
    }
}
