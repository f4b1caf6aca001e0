//! What each recording must mean, worked out from its raw messages and the facts about the protocol alone.

use crate::common::Recording;
use chat_grammar::acp::{ContentBlock, ToolCallContent};
use chat_grammar::event::{ChatEvent, EventKind, Stop, ToolCompleted, ToolStarted, Visibility};
use chat_grammar::usage::{UsageOperation, UsageRecord};
use chat_normalizers::Channel;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The parsed messages of a recording, in order.
struct Facts {
    messages: Vec<(Channel, Value)>,
}

impl Facts {
    fn read(recording: &Recording) -> Self {
        Self { messages: recording.messages() }
    }

    /// The agent's events of a kind, with their places.
    fn events<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (usize, &'a Value)> {
        let all = self.messages.iter().enumerate();
        all.filter(move |(_, (channel, message))| *channel == Channel::Agent && message["type"] == kind)
            .map(|(place, (_, message))| (place, message))
    }

    /// The whole messages of the model, with their places.
    fn answers(&self) -> impl Iterator<Item = (usize, &Value)> {
        let ends = self.events("message_end").map(|(place, message)| (place, &message["message"]));
        ends.filter(|(_, message)| message["role"] == "assistant")
    }

    /// The blocks of all answers, and the deltas of one that was never told whole.
    fn blocks(&self, kind: &str, field: &str) -> Vec<String> {
        let mut told = Vec::new();
        let mut streaming: BTreeMap<u64, String> = BTreeMap::new();
        for (channel, message) in &self.messages {
            if *channel != Channel::Agent {
                continue;
            }
            let event = &message["assistantMessageEvent"];
            if event["type"] == format!("{kind}_delta") {
                *streaming.entry(event["contentIndex"].as_u64().unwrap_or(0)).or_default() += &text(&event["delta"]);
            }
            if message["type"] == "message_end" && message["message"]["role"] == "assistant" {
                streaming.clear();
                let blocks = message["message"]["content"].as_array().into_iter().flatten();
                let blocks = blocks.filter(|block| block["type"] == kind && block["redacted"] != true);
                told.extend(blocks.map(|block| text(&block[field])));
            }
        }
        told.extend(streaming.into_values());
        told.retain(|text| !text.is_empty());
        told
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}

fn each(check: impl Fn(&str, &Facts, &[ChatEvent])) {
    for recording in crate::recordings() {
        let events = crate::play(&recording.lines());
        check(&recording.name, &Facts::read(&recording), &events);
    }
}

fn append(messages: &mut Vec<(String, String)>, id: &Option<String>, text: &str) {
    let id = id.clone().expect("every piece belongs to a message");
    match messages.iter_mut().find(|message| message.0 == id) {
        Some(message) => message.1 += text,
        None => messages.push((id, text.to_owned())),
    }
}

#[test]
fn the_text_is_what_the_model_said() {
    each(|name, facts, events| {
        let mut shown = Vec::new();
        for event in events {
            if let EventKind::TextDelta { text, message_id } = &event.kind {
                append(&mut shown, message_id, text);
            }
        }
        let shown: Vec<String> = shown.into_iter().map(|message| message.1).collect();
        assert_eq!(shown, facts.blocks("text", "text"), "{name}");
    });
}

#[test]
fn thoughts_are_what_the_model_thought() {
    each(|name, facts, events| {
        let mut shown = Vec::new();
        for event in events {
            if let EventKind::ReasoningDelta { text, message_id, visibility: Visibility::Full } = &event.kind {
                append(&mut shown, message_id, text);
            }
        }
        let shown: Vec<String> = shown.into_iter().map(|message| message.1).collect();
        assert_eq!(shown, facts.blocks("thinking", "thinking"), "{name}");
    });
}

/// What a call came to, put together from its events.
struct Call<'a> {
    started: &'a ToolStarted,
    input: Value,
    title: String,
    streamed: String,
    ended: Vec<&'a ToolCompleted>,
}

fn calls(events: &[ChatEvent]) -> BTreeMap<&str, Call<'_>> {
    let mut calls: BTreeMap<&str, Call<'_>> = BTreeMap::new();
    for event in events {
        match &event.kind {
            EventKind::ToolStarted(tool) => {
                let call = Call {
                    started: tool,
                    input: tool.input.clone(),
                    title: tool.title.clone(),
                    streamed: String::new(),
                    ended: Vec::new(),
                };
                assert!(calls.insert(&tool.tool_call_id, call).is_none(), "{} starts twice", tool.tool_call_id);
            }
            EventKind::ToolUpdated(tool) => {
                let call = calls.get_mut(tool.tool_call_id.as_str()).expect("a call that started");
                call.streamed += tool.output_delta.as_deref().unwrap_or("");
                call.input = tool.input.clone().unwrap_or(call.input.clone());
                call.title = tool.title.clone().unwrap_or(call.title.clone());
            }
            EventKind::ToolCompleted(tool) => {
                let call = calls.get_mut(tool.tool_call_id.as_str()).expect("a call that started");
                call.ended.push(tool);
            }
            _ => {}
        }
    }
    calls
}

fn shown_text(content: &[ToolCallContent]) -> Vec<String> {
    let texts = content.iter().filter_map(|content| match content {
        ToolCallContent::Content(content) => match &content.content {
            ContentBlock::Text(text) => Some(text.text.clone()),
            ContentBlock::Image(image) => Some(image.data.clone()),
            _ => None,
        },
        _ => None,
    });
    texts.collect()
}

#[test]
fn every_execution_is_a_call_with_its_input_and_output() {
    each(|name, facts, events| {
        let calls = calls(events);
        let mut executed = 0;
        for (_, start) in facts.events("tool_execution_start") {
            executed += 1;
            let id = text(&start["toolCallId"]);
            let call = calls.get(id.as_str()).unwrap_or_else(|| panic!("{name}: no call {id}"));
            let expected = match start["toolName"].as_str() {
                Some("bash") => "Bash",
                Some("read") => "Read",
                Some("write") => "Write",
                Some("edit") => "Edit",
                Some("mcp__echo__say") => "say",
                other => panic!("{name}: {other:?}"),
            };
            assert_eq!(call.started.tool_name, expected, "{name}");
            assert_eq!(call.input, start["args"], "{name}");
            if expected == "Bash" {
                assert_eq!(call.title, text(&start["args"]["command"]), "{name}");
            }
            let [ended] = call.ended.as_slice() else { panic!("{name} {id}: {} ends", call.ended.len()) };
            let (_, end) = facts.events("tool_execution_end").find(|(_, end)| end["toolCallId"] == *id).expect("an end");
            check_end(name, end, ended);
            let pieces = facts.events("tool_execution_update").filter(|(_, update)| update["toolCallId"] == *id);
            let last = pieces.map(|(_, update)| &update["partialResult"]).last();
            let whole = last.is_none_or(|last| last["details"]["truncation"].is_null());
            if let (Some(last), true) = (last, whole) {
                assert_eq!(call.streamed, text(&last["content"][0]["text"]), "{name} {id}");
            }
        }
        let host_commands =
            facts.messages.iter().filter(|(channel, message)| *channel == Channel::Host && message["type"] == "bash");
        assert_eq!(calls.len(), executed + host_commands.count(), "{name}");
    });
}

fn check_end(name: &str, end: &Value, tool: &ToolCompleted) {
    let result = &end["result"];
    assert_eq!(json!(tool.is_error), end["isError"], "{name}");
    let blocks = result["content"].as_array().into_iter().flatten();
    let expected: Vec<String> =
        blocks.map(|block| text(if block["type"] == "image" { &block["data"] } else { &block["text"] })).collect();
    assert_eq!(shown_text(&tool.content), expected, "{name}: every block in its order");
    assert_eq!(tool.duration_ms, end["durationMs"].as_u64(), "{name}");
    let structured = &result["structuredContent"];
    match end["toolName"].as_str() {
        Some("bash") => {
            assert_eq!(tool.output["exitCode"], structured["exit_code"], "{name}");
            if !structured.is_null() {
                assert_eq!(tool.output["output"], structured["output"], "{name}");
            }
        }
        Some("edit") => assert!(tool.content.iter().any(|content| matches!(content, ToolCallContent::Diff(_))), "{name}"),
        _ if !structured.is_null() => assert_eq!(tool.output, *structured, "{name}"),
        _ => {}
    }
}

#[test]
fn turns_end_as_the_agent_says() {
    each(|name, facts, events| {
        let mut expected: Vec<(usize, Stop)> = Vec::new();
        let settled: Vec<(usize, &Value)> = facts.events("agent_settled").collect();
        let ends = if settled.is_empty() && name.starts_with("old") { facts.events("agent_end").collect() } else { settled };
        for (place, end) in ends {
            let (_, last) = facts.answers().filter(|(answer, _)| *answer < place).last().expect("an answer");
            let stop = match (end["aborted"].as_bool(), last["stopReason"].as_str()) {
                (Some(true), _) => Stop::Cancelled,
                (_, Some("error")) if last["rawStopReason"] == "refusal" => Stop::Refusal,
                (_, Some("error")) => Stop::Failed,
                _ => Stop::EndTurn,
            };
            expected.push((place, stop));
        }
        for (place, response) in facts.events("response").filter(|(_, response)| response["command"] == "prompt") {
            let busy = text(&response["error"]).contains("already processing");
            match (response["success"].as_bool(), response["data"]["disposition"].as_str()) {
                (Some(false), _) if !busy => expected.push((place, Stop::Failed)),
                (_, Some("handled")) => expected.push((place, Stop::EndTurn)),
                _ => {}
            }
        }
        expected.sort_by_key(|(place, _)| *place);
        let told: Vec<Stop> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Done { stop_reason, .. } => Some(*stop_reason),
                _ => None,
            })
            .collect();
        assert_eq!(told, expected.iter().map(|(_, stop)| *stop).collect::<Vec<_>>(), "{name}");
        let errors = events.iter().filter(|event| matches!(event.kind, EventKind::Error(_))).count();
        assert_eq!(errors, told.iter().filter(|stop| **stop == Stop::Failed).count(), "{name}: one error a failed turn");
    });
}

fn steps(events: &[ChatEvent]) -> Vec<&UsageRecord> {
    let records =
        events.iter().filter_map(|event| if let EventKind::UsageFinal { usage } = &event.kind { Some(usage) } else { None });
    records.filter(|usage| usage.billable).collect()
}

const BUCKETS: [&str; 4] = ["input", "output", "cacheRead", "cacheWrite"];

fn counts(usage: &Value) -> [u64; 4] {
    BUCKETS.map(|bucket| usage[bucket].as_u64().unwrap_or(0))
}

fn told(record: &UsageRecord) -> Option<[u64; 4]> {
    let tokens = &record.tokens;
    Some([tokens.input_tokens?, tokens.output_tokens?, tokens.cache_read_tokens?, tokens.cache_write_tokens?])
}

#[test]
fn each_model_call_counts_once_with_its_cost() {
    each(|name, facts, events| {
        let usages = facts.answers().map(|(_, answer)| &answer["usage"]);
        let compactions = facts.events("compaction_end").map(|(_, end)| &end["result"]["usage"]);
        let mut expected: Vec<([u64; 4], Option<f64>, Option<u64>)> = usages
            .chain(compactions)
            .filter(|usage| counts(usage) != [0; 4])
            .map(|usage| (counts(usage), usage["cost"]["total"].as_f64(), usage["reasoning"].as_u64()))
            .collect();
        let steps = steps(events);
        let known = steps.iter().filter_map(|step| Some((told(step)?, step.native_cost_usd, step.reasoning_tokens)));
        let mut known: Vec<_> = known.collect();
        let by_counts = |left: &([u64; 4], _, _), right: &([u64; 4], _, _)| left.0.cmp(&right.0);
        known.sort_by(by_counts);
        expected.sort_by(by_counts);
        assert_eq!(known, expected, "{name}");
        let compactions = steps.iter().filter(|step| step.operation == UsageOperation::Compaction).count();
        assert_eq!(compactions, facts.events("compaction_end").count(), "{name}");
        for step in &steps {
            if step.raw.is_object() && told(step).is_some() {
                assert_eq!(step.cache_write1h_tokens, step.raw["cacheWrite1h"].as_u64(), "{name}: {}", step.id);
            }
            if let (Some(counts), Some(stated)) = (told(step), step.raw["totalTokens"].as_u64()) {
                assert_eq!(counts.iter().sum::<u64>(), stated, "{name}: the buckets are the total of {}", step.id);
            }
            let answer = facts.answers().find(|(_, answer)| answer["responseId"] == step.id.as_str());
            if let Some((_, answer)) = answer {
                assert_eq!(step.model.model_id.as_deref(), answer["model"].as_str(), "{name}");
                assert_eq!(step.model.provider_id.as_deref(), answer["provider"].as_str(), "{name}");
                // An answer that was cut off reports what had come until then.
                let cut = ["error", "aborted"].contains(&answer["stopReason"].as_str().unwrap_or(""));
                let whole = !cut || answer["rawStopReason"].is_string();
                assert_eq!(step.exact, whole && counts(&answer["usage"]) != [0; 4], "{name}: {}", step.id);
            }
        }
    });
}

/// Pi counts by itself: its totals of the session are the sum of all steps so far, and of what a resumed session had.
#[test]
fn the_steps_sum_up_to_the_sessions_totals() {
    let mut compared = 0;
    for recording in crate::recordings() {
        let facts = Facts::read(&recording);
        let lines = recording.lines();
        for (place, stats) in facts.events("response").filter(|(_, response)| response["command"] == "get_session_stats") {
            let events = crate::play(&lines[..=place]);
            let history = facts.events("response").filter(|(_, response)| response["command"] == "get_messages");
            let history = history.flat_map(|(_, response)| response["data"]["messages"].as_array().into_iter().flatten());
            let mut sum = [0; 4];
            let mut cost = 0.0;
            for usage in history.map(|message| &message["usage"]) {
                counts(usage).iter().zip(&mut sum).for_each(|(count, sum)| *sum += count);
                cost += usage["cost"]["total"].as_f64().unwrap_or(0.0);
            }
            for step in steps(&events) {
                told(step).expect("a known count").iter().zip(&mut sum).for_each(|(count, sum)| *sum += count);
                cost += step.native_cost_usd.expect("a known cost");
            }
            assert_eq!(sum, counts(&stats["data"]["tokens"]), "{}", recording.name);
            let difference = cost - stats["data"]["cost"].as_f64().unwrap_or(-1.0);
            assert!(difference.abs() < 1e-9, "{}: {difference} USD", recording.name);
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared} totals");
}

#[test]
fn every_dialog_is_told_and_ends_once() {
    each(|name, facts, events| {
        let needs_answer = ["select", "confirm", "input", "editor"];
        let dialogs = facts.events("extension_ui_request");
        let dialogs = dialogs.filter(|(_, request)| needs_answer.contains(&request["method"].as_str().unwrap_or("")));
        let ids: Vec<String> = dialogs.map(|(_, request)| text(&request["id"])).collect();
        let mut asked = Vec::new();
        let mut ended = Vec::new();
        for event in events {
            match &event.kind {
                EventKind::PermissionRequested(request) => asked.push(request.request_id.clone()),
                EventKind::QuestionAsked(request) => asked.push(request.request_id.clone()),
                EventKind::PermissionResolved(answer) => ended.push(answer.request_id.clone()),
                EventKind::QuestionAnswered(answer) => ended.push(answer.request_id.clone()),
                _ => {}
            }
        }
        assert_eq!(asked, ids, "{name}");
        assert_eq!(ended, ids, "{name}");
        let leave = events.iter().filter(|event| matches!(event.kind, EventKind::PermissionRequested(_))).count();
        assert_eq!(leave, usize::from(name.starts_with("ext-permission")), "{name}");
    });
}

#[test]
fn every_recorded_message_is_known() {
    for recording in crate::recordings() {
        let mut normalizer = crate::normalizer();
        let mut out = Vec::new();
        recording.lines().iter().for_each(|line| crate::common::push(normalizer.as_mut(), line, &mut out));
        // One recording holds a line of the host that is no command.
        let expected = usize::from(recording.name == "bad-commands");
        assert_eq!(normalizer.unmapped().len(), expected, "{}: {:?}", recording.name, normalizer.unmapped());
    }
}
