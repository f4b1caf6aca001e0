//! What each recording must show of texts, thoughts, calls, requests and ends.

use crate::facts::{Facts, each};
use chat_grammar::acp::{ContentBlock, ToolCallContent};
use chat_grammar::event::{ChatEvent, EventKind, Stop, ToolCompleted, ToolStarted, Visibility};
use chat_normalizers::Channel;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Texts by message, in the order in which the messages began.
type Messages = Vec<(String, String)>;

fn append(messages: &mut Messages, id: &str, text: &str) {
    match messages.iter_mut().find(|message| message.0 == id) {
        Some(message) => message.1 += text,
        None => messages.push((id.to_owned(), text.to_owned())),
    }
}

fn shown(events: &[ChatEvent], parent: Option<&str>) -> Messages {
    let mut messages = Vec::new();
    for event in events.iter().filter(|event| event.parent_tool_call_id.as_deref() == parent) {
        if let EventKind::TextDelta { text, message_id } = &event.kind {
            append(&mut messages, message_id.as_deref().unwrap_or(""), text);
        }
    }
    messages
}

/// What the recording says that the main loop answered: the whole blocks, and of messages without any what was streamed.
fn answers(facts: &Facts) -> Messages {
    let mut messages: Messages = Vec::new();
    let own = |text: &str| !text.is_empty();
    let blocks = facts.blocks();
    let whole = blocks.iter().filter(|block| block.parent.is_none() && !block.failure && block.block["type"] == "text");
    let whole: Vec<(&str, &str)> = whole.map(|block| (block.message_id, block.block["text"].as_str().unwrap_or(""))).collect();
    for (channel, message) in &facts.messages {
        if *channel != Channel::Agent {
            continue;
        }
        match message["type"].as_str() {
            Some("stream_event") if message["event"]["type"] == "message_start" => {
                let id = message["event"]["message"]["id"].as_str().unwrap_or("");
                if !whole.iter().any(|(known, _)| *known == id) {
                    let stream = facts.streams().into_iter().find(|stream| stream.id == id).expect("a stream");
                    let texts = stream.texts("text_delta", "text");
                    texts.iter().filter(|text| own(text)).for_each(|text| append(&mut messages, id, text));
                }
            }
            Some("assistant") if message["parent_tool_use_id"].is_null() && message["error"].is_null() => {
                let id = message["message"]["id"].as_str().unwrap_or("");
                for block in message["message"]["content"].as_array().into_iter().flatten() {
                    if let Some(text) = block["text"].as_str().filter(|text| own(text)) {
                        append(&mut messages, id, text);
                    }
                }
            }
            _ => {}
        }
    }
    messages
}

#[test]
fn the_text_is_what_the_model_said() {
    each(|name, facts, events| {
        let shown = shown(events, None);
        let expected = match name {
            // A retry says the text again: the first piece stays, and what goes beyond it follows.
            "error_drop_mid_sse" => {
                vec![("msg_mock000139".to_owned(), "This text will be cut off before its end arrives.".to_owned())]
            }
            "v2_1_197_error_drop_mid_sse" => {
                answers(facts).into_iter().take(1).map(|(id, _)| (id, answers(facts)[1].1.clone())).collect()
            }
            // The other model says again what was taken back.
            "stop_refusal" => answers(facts).into_iter().take(2).collect(),
            // The hook's text is in the result only, and so is the structured output.
            "hooks_block_prompt" | "structured_output" => {
                let result = facts.agent("result").next().expect("a result");
                let text =
                    (result["uuid"].as_str().expect("an id").to_owned(), result["result"].as_str().expect("a text").to_owned());
                [text].into_iter().chain(answers(facts)).collect()
            }
            _ => answers(facts),
        };
        assert_eq!(shown, expected, "{name}");
    });
}

#[test]
fn a_subagents_text_stays_with_its_call() {
    let seen = std::cell::Cell::new(0);
    each(|name, facts, events| {
        let mut by_parent: BTreeMap<&str, Messages> = BTreeMap::new();
        for block in facts.blocks() {
            if let (Some(parent), Some(text)) = (block.parent, block.block["text"].as_str()) {
                append(by_parent.entry(parent).or_default(), block.message_id, text);
            }
        }
        seen.set(seen.get() + by_parent.len());
        for (parent, expected) in by_parent {
            assert_eq!(shown(events, Some(parent)), expected, "{name}");
        }
    });
    assert!(seen.get() >= 2, "the recordings show subagents that speak");
}

#[test]
fn thoughts_are_what_the_model_thought() {
    each(|name, facts, events| {
        let mut expected: Messages = Vec::new();
        let mut redacted = 0;
        for block in facts.blocks() {
            redacted += usize::from(block.block["type"] == "redacted_thinking");
            if let Some(text) = block.block["thinking"].as_str().filter(|text| !text.is_empty()) {
                append(&mut expected, block.message_id, text);
            }
        }
        let mut told: Messages = Vec::new();
        let mut hidden = 0;
        for event in events {
            match &event.kind {
                EventKind::ReasoningDelta { visibility: Visibility::Redacted, text, .. } => {
                    assert_eq!(text, "", "{name}");
                    hidden += 1;
                }
                EventKind::ReasoningDelta { text, message_id, .. } => {
                    append(&mut told, message_id.as_deref().unwrap_or(""), text)
                }
                _ => {}
            }
        }
        assert_eq!((told, hidden), (expected, redacted), "{name}");
    });
}

fn started(events: &[ChatEvent]) -> Vec<(&ToolStarted, Option<&str>)> {
    let tools = events.iter().filter_map(|event| match &event.kind {
        EventKind::ToolStarted(tool) => Some((tool, event.parent_tool_call_id.as_deref())),
        _ => None,
    });
    tools.collect()
}

fn completed(events: &[ChatEvent]) -> Vec<&ToolCompleted> {
    let tools = events.iter().filter_map(|event| match &event.kind {
        EventKind::ToolCompleted(tool) => Some(tool),
        _ => None,
    });
    tools.collect()
}

/// The last input that readers were told.
fn input<'a>(events: &'a [ChatEvent], start: &'a ToolStarted) -> &'a Value {
    let mut told = events.iter().filter_map(|event| match &event.kind {
        EventKind::ToolUpdated(tool) if tool.tool_call_id == start.tool_call_id => tool.input.as_ref(),
        _ => None,
    });
    told.next_back().unwrap_or(&start.input)
}

#[test]
fn every_call_is_told_whole() {
    each(|name, facts, events| {
        let (starts, ends) = (started(events), completed(events));
        let mut calls = 0;
        for call in facts.blocks().iter().filter(|block| block.block["type"] == "tool_use") {
            calls += 1;
            let id = call.block["id"].as_str().expect("an id");
            let [(start, parent)] = starts.iter().filter(|(tool, _)| tool.tool_call_id == id).collect::<Vec<_>>()[..] else {
                panic!("{name}: {id} starts once")
            };
            assert_eq!(*parent, call.parent, "{name} {id}");
            let native = call.block["name"].as_str().expect("a name");
            match native.strip_prefix("mcp__") {
                Some(rest) => {
                    let mcp = start.mcp.as_ref().expect("an MCP tool");
                    assert_eq!(format!("{}__{}", mcp.server, mcp.tool), rest, "{name}");
                    assert_eq!(start.tool_name, mcp.tool, "{name}");
                }
                None => assert_eq!(start.tool_name, if native == "Task" { "Agent" } else { native }, "{name}"),
            }
            let answer = facts.messages.iter().find_map(|(channel, message)| {
                let allowed = *channel == Channel::Host && message["response"]["response"]["behavior"] == "allow";
                let asked = facts.agent("control_request").find(|asked| asked["request"]["tool_use_id"] == id)?;
                let answered = allowed && message["response"]["request_id"] == asked["request_id"];
                answered.then(|| message["response"]["response"]["updatedInput"].clone())
            });
            // What the user answered is no input.
            let answer = answer.filter(|_| native != "AskUserQuestion");
            let expected = answer.unwrap_or_else(|| call.block["input"].clone());
            assert_eq!(*input(events, start), expected, "{name} {id}");
            assert_eq!(ends.iter().filter(|tool| tool.tool_call_id == id).count(), 1, "{name}: {id} ends once");
        }
        // Calls that were only streamed are those whose input was cut off.
        let cut = matches!(name, "interrupt_tool_args" | "v2_1_197_interrupt_tool_args");
        assert_eq!(starts.len(), calls + usize::from(cut), "{name}");
        assert_eq!(starts.len(), ends.len(), "{name}");
    });
}

fn texts(tool: &ToolCompleted) -> Vec<&str> {
    tool.content
        .iter()
        .filter_map(|content| match content {
            ToolCallContent::Content(content) => match &content.content {
                ContentBlock::Text(text) => Some(text.text.as_str()),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

#[test]
fn every_result_is_shown() {
    each(|name, facts, events| {
        let (starts, ends) = (started(events), completed(events));
        for (result, structured) in facts.results() {
            let id = result["tool_use_id"].as_str().expect("an id");
            let tool = ends.iter().find(|tool| tool.tool_call_id == id).unwrap_or_else(|| panic!("{name}: {id} ends"));
            let (start, _) = starts.iter().find(|(tool, _)| tool.tool_call_id == id).expect("a start");
            assert_eq!(tool.is_error, result["is_error"] == true, "{name} {id}");
            assert!(!tool.content.is_empty(), "{name} {id} shows something");
            if start.tool_name == "Bash" {
                check_shell(name, result, structured, tool);
                continue;
            }
            if tool.is_error {
                continue;
            }
            // Of an output in a file the structured result is whole; a subagent's words stand there alone.
            let persisted = result["content"].as_str().is_some_and(|text| text.starts_with("<persisted-output>"));
            let apart = if structured.is_array() { structured } else { &structured["content"] };
            let content =
                if (persisted || start.tool_name == "Agent") && apart.is_array() { apart } else { &result["content"] };
            let told = texts(tool);
            match content {
                Value::String(text) => assert!(told.contains(&text.as_str()), "{name} {id}: {text:?} in {told:?}"),
                Value::Array(blocks) => {
                    assert_eq!(tool.content.len(), blocks.len(), "{name} {id}");
                    for (block, shown) in blocks.iter().zip(&tool.content) {
                        check_block(name, block, shown);
                    }
                }
                other => panic!("{name}: {other}"),
            }
        }
    });
}

fn check_block(name: &str, block: &Value, shown: &ToolCallContent) {
    let ToolCallContent::Content(shown) = shown else { panic!("{name}: a block is content") };
    let text = block["text"].as_str().unwrap_or("");
    match (&shown.content, block["type"].as_str()) {
        (ContentBlock::Text(shown), Some("text")) => assert_eq!(shown.text, text, "{name}"),
        (ContentBlock::Image(shown), Some("image")) => {
            assert_eq!(json!([shown.data, shown.mime_type]), json!([block["source"]["data"], block["source"]["media_type"]]));
        }
        // What the CLI made texts of.
        (ContentBlock::ResourceLink(shown), Some("text")) => {
            assert_eq!(text, format!("[Resource link: {}] {}", shown.name, shown.uri), "{name}");
        }
        (ContentBlock::Resource(_), Some("text")) => assert!(text.starts_with("[Resource from "), "{name}"),
        (ContentBlock::Text(shown), Some("tool_reference")) => assert_eq!(json!(shown.text), block["tool_name"], "{name}"),
        (shown, kind) => panic!("{name}: {kind:?} as {shown:?}"),
    }
}

fn check_shell(name: &str, result: &Value, structured: &Value, tool: &ToolCompleted) {
    let text = result["content"].as_str().unwrap_or("");
    let code = text.strip_prefix("Exit code ").and_then(|rest| rest.split('\n').next()?.parse::<i64>().ok());
    let background = !structured["backgroundTaskId"].is_null();
    let expected = match (tool.is_error, code) {
        (true, code) => json!(code),
        (false, _) if background => Value::Null,
        (false, _) => json!(0),
    };
    assert_eq!(tool.output["exitCode"], expected, "{name}");
    if let Some(stdout) = structured["stdout"].as_str().filter(|_| !tool.is_error && !background) {
        assert_eq!(tool.output["output"], stdout, "{name}");
    }
    if let (Some(_), Some((_, streams))) = (code, text.split_once('\n')) {
        assert_eq!(tool.output["output"], streams, "{name}");
    }
}

#[test]
fn turns_end_as_the_agent_says() {
    each(|name, facts, events| {
        let expected = facts.agent("result").map(|result| {
            let reason = result["terminal_reason"].as_str().unwrap_or("");
            match (result["subtype"].as_str(), result["stop_reason"].as_str()) {
                _ if reason.starts_with("aborted") => Stop::Cancelled,
                (Some("error_max_turns"), _) => Stop::MaxTurnRequests,
                (_, Some("refusal")) => Stop::Refusal,
                _ if result["api_error"] == "max_output_tokens" => Stop::MaxTokens,
                _ if result["is_error"] == true => Stop::Failed,
                _ => Stop::EndTurn,
            }
        });
        let expected: Vec<Stop> = expected.collect();
        let told = events.iter().filter_map(|event| match &event.kind {
            EventKind::Done { stop_reason, .. } => Some(*stop_reason),
            _ => None,
        });
        let told: Vec<Stop> = told.collect();
        assert_eq!(told, expected, "{name}");
        let errors = events.iter().filter(|event| matches!(event.kind, EventKind::Error(_))).count();
        assert_eq!(errors, told.iter().filter(|stop| **stop == Stop::Failed).count(), "{name}: one error a failed turn");
    });
}

#[test]
fn every_request_is_answered_once() {
    each(|name, facts, events| {
        let asked: Vec<&Value> = facts
            .agent("control_request")
            .map(|line| &line["request"])
            .filter(|request| request["subtype"] == "can_use_tool")
            .collect();
        let questions = asked.iter().filter(|request| request["tool_name"] == "AskUserQuestion").count();
        let count = |matches: fn(&EventKind) -> bool| events.iter().filter(|event| matches(&event.kind)).count();
        let leave = asked.len() - questions;
        assert_eq!(count(|kind| matches!(kind, EventKind::PermissionRequested(_))), leave, "{name}");
        assert_eq!(count(|kind| matches!(kind, EventKind::PermissionResolved(_))), leave, "{name}");
        assert_eq!(count(|kind| matches!(kind, EventKind::QuestionAsked(_))), questions, "{name}");
        assert_eq!(count(|kind| matches!(kind, EventKind::QuestionAnswered(_))), questions, "{name}");
        for event in events {
            if let EventKind::PermissionResolved(resolved) = &event.kind {
                let answer = facts.messages.iter().find(|(channel, message)| {
                    *channel == Channel::Host && message["response"]["request_id"] == resolved.request_id
                });
                let allowed = answer.is_some_and(|(_, message)| message["response"]["response"]["behavior"] == "allow");
                assert_eq!(resolved.approved, allowed, "{name}");
            }
        }
    });
}

#[test]
fn compactions_have_the_numbers_of_their_boundary() {
    each(|name, facts, events| {
        let boundaries = facts.agent("system").filter(|line| line["subtype"] == "compact_boundary");
        let expected: Vec<Value> = boundaries
            .map(|line| {
                json!([
                    line["compact_metadata"]["trigger"],
                    line["compact_metadata"]["pre_tokens"],
                    line["compact_metadata"]["post_tokens"]
                ])
            })
            .collect();
        let mut begun = 0;
        let mut told = Vec::new();
        for event in events {
            match &event.kind {
                EventKind::CompactionStarted { .. } => begun += 1,
                EventKind::CompactionFinished(end) if !end.failed => {
                    told.push(json!([end.trigger, end.pre_tokens, end.post_tokens]));
                }
                _ => {}
            }
        }
        let failed = usize::from(name == "compact_failed");
        assert_eq!((told.len() + failed, told), (begun, expected), "{name}");
    });
}

#[test]
fn every_recorded_message_is_known() {
    for recording in super::recordings() {
        let mut normalizer = super::normalizer();
        let mut out = Vec::new();
        recording.lines().iter().for_each(|line| crate::common::push(normalizer.as_mut(), line, &mut out));
        // One recording holds a line of the host that is no JSON.
        let expected = usize::from(recording.name == "control_misc");
        assert_eq!(normalizer.unmapped().len(), expected, "{}: {:?}", recording.name, normalizer.unmapped());
    }
}
