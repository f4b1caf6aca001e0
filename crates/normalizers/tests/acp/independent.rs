//! What each recording must mean, worked out from its raw messages and the facts about the protocol alone.

use crate::support::{self, Recording, meanings};
use crate::written::written;
use chat_grammar::event::{DecidedBy, EventKind, Stop};
use chat_grammar::transcript::Transcript;
use chat_grammar::usage::{UsageOperation, UsageRecord};
use chat_normalizers::Channel;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// A recording's messages.
struct Facts {
    messages: Vec<(Channel, Value)>,
    /// What the agent says of its past, by place.
    replayed: Vec<bool>,
    /// The host's requests with their method and their answer.
    answers: Vec<(String, Value)>,
}

impl Facts {
    fn read(recording: &Recording) -> Self {
        let messages = recording.messages();
        let (mut replays, mut replayed, mut answers) = (false, Vec::new(), Vec::new());
        let mut open: HashMap<String, String> = HashMap::new();
        for (channel, message) in &messages {
            match (channel, message["method"].as_str(), message.get("id")) {
                (Channel::Host, Some(method), Some(id)) => {
                    replays = match method {
                        "session/load" | "session/resume" => true,
                        "session/prompt" => false,
                        _ => replays,
                    };
                    open.insert(id.to_string(), method.to_owned());
                }
                (Channel::Agent, None, Some(id)) => {
                    answers.extend(open.remove(&id.to_string()).map(|method| (method, message.clone())))
                }
                _ => {}
            }
            replayed.push(replays);
        }
        Self { messages, replayed, answers }
    }

    /// The agent's updates that are none of its past.
    fn updates(&self) -> impl Iterator<Item = &Value> {
        self.messages.iter().zip(&self.replayed).filter_map(|((channel, message), replayed)| {
            let live = *channel == Channel::Agent && message["method"] == "session/update" && !replayed;
            live.then_some(&message["params"]["update"])
        })
    }

    /// The agent's requests for leave, with the kind of the option that the host chose; none where it was cancelled.
    fn permissions(&self) -> Vec<(&Value, Option<String>)> {
        let asked = self
            .messages
            .iter()
            .filter(|(channel, message)| *channel == Channel::Agent && message["method"] == "session/request_permission");
        let answered = |request: &Value| {
            let answer = self.messages.iter().find(|(channel, message)| {
                *channel == Channel::Host && message.get("method").is_none() && message["id"] == request["id"]
            });
            let option = answer.map(|(_, answer)| answer["result"]["outcome"]["optionId"].clone())?;
            let options = request["params"]["options"].as_array().expect("options");
            let chosen = options.iter().find(|offered| offered["optionId"] == option)?;
            chosen["kind"].as_str().map(str::to_owned)
        };
        asked.map(|(_, request)| (&request["params"], answered(request))).collect()
    }

    /// The answers to prompts, and whether the agent called a tool before it gave them.
    fn prompts(&self) -> Vec<(&Value, bool)> {
        let mut called = false;
        let mut asked: Vec<&Value> = Vec::new();
        let mut prompts = Vec::new();
        for ((channel, message), replayed) in self.messages.iter().zip(&self.replayed) {
            match channel {
                Channel::Host if message["method"] == "session/prompt" => {
                    asked.push(&message["id"]);
                    called = false;
                }
                Channel::Agent if message.get("method").is_none() && asked.contains(&&message["id"]) => {
                    asked.retain(|id| **id != message["id"]);
                    prompts.push((message, called));
                }
                Channel::Agent => called |= !replayed && message["params"]["update"]["sessionUpdate"] == "tool_call",
                _ => {}
            }
        }
        prompts
    }

    fn agent(&self) -> Option<&str> {
        let initialized = self.answers.iter().find(|(method, _)| method == "initialize")?;
        initialized.1["result"]["agentInfo"]["name"].as_str()
    }
}

fn each(check: impl Fn(&Recording, &Facts)) {
    for recording in support::recordings() {
        check(&recording, &Facts::read(&recording));
    }
}

fn said(facts: &Facts, kind: &str) -> String {
    facts
        .updates()
        .filter(|update| update["sessionUpdate"] == kind)
        .filter_map(|update| update["content"]["text"].as_str())
        .collect()
}

#[test]
fn texts_and_thoughts_are_what_the_agent_says_now() {
    each(|recording, facts| {
        let events = support::play(recording.harness, &recording.lines());
        let (mut text, mut thought) = (String::new(), String::new());
        for kind in meanings(&events) {
            match kind {
                EventKind::TextDelta { text: piece, .. } => text += piece,
                EventKind::ReasoningDelta { text: piece, .. } => thought += piece,
                _ => {}
            }
        }
        assert_eq!(text, said(facts, "agent_message_chunk"), "{}", recording.name);
        assert_eq!(thought, said(facts, "agent_thought_chunk"), "{}", recording.name);
    });
}

/// What a call must come to.
#[derive(Default)]
struct Expected {
    fields: Map<String, Value>,
    /// The agent's own word for the tool, where it has one: claude-agent-acp does.
    word: Option<String>,
    terminal: String,
    exit: Option<Value>,
}

fn merge(expected: &mut Expected, said: &Value) {
    for (name, value) in said.as_object().expect("a call") {
        if !value.is_null() && name != "_meta" {
            expected.fields.insert(name.clone(), value.clone());
        }
    }
    if let Some(word) = said["_meta"]["claudeCode"]["toolName"].as_str() {
        expected.word = Some(word.to_owned());
    }
    expected.terminal += said["_meta"]["terminal_output_delta"]["data"].as_str().unwrap_or("");
    if let Some(exit) = said["_meta"].get("terminal_exit") {
        expected.exit = Some(exit.clone());
    }
}

/// The calls in the order in which they were first spoken of.
fn expected_calls(recording: &Recording, facts: &Facts) -> Vec<(String, Expected)> {
    let mut calls: Vec<(String, Expected)> = Vec::new();
    for ((channel, message), replayed) in facts.messages.iter().zip(&facts.replayed) {
        if *channel != Channel::Agent || *replayed {
            continue;
        }
        let update = &message["params"]["update"];
        let is_call = matches!(update["sessionUpdate"].as_str(), Some("tool_call" | "tool_call_update"));
        let asked = &message["params"]["toolCall"];
        let said = if is_call { update } else { asked };
        let Some(id) = said["toolCallId"].as_str() else { continue };
        match calls.iter_mut().find(|(known, _)| known == id) {
            Some((_, call)) if is_call => merge(call, said),
            Some(_) => {}
            // Cursor's requests make no call known.
            None if is_call || recording.harness == "acp" => {
                let mut call = Expected::default();
                merge(&mut call, said);
                calls.push((id.to_owned(), call));
            }
            None => {}
        }
    }
    calls
}

/// The canonical name of a tool: by the agent's own word, else by what kind of call it is. Of an MCP tool it is the tool's own.
fn named(harness: &str, id: &str, call: &Expected) -> &'static str {
    let text = |name: &str| call.fields.get(name).and_then(Value::as_str).unwrap_or_default();
    // Some builds of Cursor send the headers of the diff as its text.
    let creates =
        |block: &Value| block["type"] == "diff" && matches!(block["oldText"].as_str(), None | Some("" | "-- /dev/null"));
    let content = call.fields.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match (call.word.as_deref(), text("title"), text("kind")) {
        (Some("mcp__echo__say"), ..) | (_, "mcp.echo.say" | "MCP: tool", _) => "say",
        (Some("Bash"), ..) => "Bash",
        (Some("Read"), ..) => "Read",
        (Some("Edit"), ..) => "Edit",
        (Some("Write"), ..) => "Write",
        (_, "mcp.echo.fail", _) => "fail",
        (_, "tiny_text", _) => "text",
        (_, "Find", "search") => "Glob",
        (_, "Ask Question", "other") => "AskUserQuestion",
        (_, "Generate Image", "other") => "GenerateImage",
        (_, title, "other") if title.starts_with("Create Plan") => "CreatePlan",
        (_, title, "other") if title.starts_with("Task") => "Agent",
        // The name stands at the beginning of the id.
        (..) if id.starts_with("write_file__") => "Write",
        (_, _, "execute") => "Bash",
        (_, _, "read") => "Read",
        (_, _, "edit") if harness == "cursor" && !content.is_empty() && content.iter().all(creates) => "Write",
        (_, _, "edit") => "Edit",
        (word, title, kind) => panic!("{id}: {word:?} {title} {kind}"),
    }
}

fn fails(recording: &Recording, call: &Expected, leave: Option<&Option<String>>) -> bool {
    let output = &call.fields.get("rawOutput").cloned().unwrap_or_default();
    let code = |value: &Value| value.as_i64().is_some_and(|code| code != 0);
    let exit = call.exit.as_ref().is_some_and(|exit| code(&exit["exit_code"]) || exit["signal"].is_string());
    let command = call.fields.get("kind") == Some(&json!("execute"));
    let rejected = leave.is_some_and(|kind| kind.as_deref().is_none_or(|kind| kind.starts_with("reject")));
    let cursor_error = recording.harness == "cursor" && output["error"].is_string();
    call.fields.get("status") != Some(&json!("completed"))
        || rejected
        || cursor_error
        || (command && (exit || code(&output["exitCode"]) || code(&output["metadata"]["exit"])))
}

#[test]
fn every_call_comes_to_what_was_said_of_it() {
    let (mut calls, mut failed) = (0, 0);
    for recording in support::recordings() {
        let facts = Facts::read(&recording);
        let name = &recording.name;
        let mut transcript = Transcript::new();
        written(&recording).iter().for_each(|update| transcript.add(&update.text));
        let parts: Vec<Value> = serde_json::from_str(transcript.parts_json().get()).expect("parts");
        let parts: Vec<&Value> = parts.iter().filter(|part| part["type"] == "tool").collect();
        let expected = expected_calls(&recording, &facts);
        let ids = |calls: &[(String, Expected)]| calls.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
        let shown: Vec<String> = parts.iter().map(|part| part["toolCallId"].as_str().expect("an id").to_owned()).collect();
        assert_eq!(shown, ids(&expected), "{name}");
        let permissions = facts.permissions();
        for ((id, call), part) in expected.iter().zip(parts) {
            let leave = permissions.iter().find(|(asked, _)| asked["toolCall"]["toolCallId"] == **id).map(|(_, leave)| leave);
            let fails = fails(&recording, call, leave);
            assert_eq!(part["status"], if fails { "failed" } else { "completed" }, "{name} {id}");
            let field = |name: &str| call.fields.get(name).cloned().unwrap_or_default();
            assert_eq!(part["name"], json!(named(recording.harness, id, call)), "{name} {id}");
            assert_eq!(part["kind"], field("kind"), "{name} {id}");
            // Only the request for leave has Cursor's good title and input of an MCP tool, only a message of its own a task's.
            let elsewhere = recording.harness == "cursor" && field("kind") == "other";
            if !elsewhere {
                assert_eq!(part["title"], field("title"), "{name} {id}");
                assert_eq!(part["input"], field("rawInput"), "{name} {id}");
            }
            match call.fields.get("rawOutput") {
                // Of a command it has the exit code, and what the agent said.
                Some(Value::String(output)) if field("kind") == "execute" => {
                    let (code, text) = match output.strip_prefix("Exit code ").and_then(|rest| rest.split_once('\n')) {
                        Some((code, text)) => (json!(code.parse::<i64>().expect("a number")), text),
                        None => (Value::Null, output.as_str()),
                    };
                    assert_eq!(part["output"], json!({ "exitCode": code, "output": text }), "{name} {id}");
                }
                Some(Value::Object(output)) if field("kind") == "execute" && part["mcp"].is_null() => {
                    let shown = part["output"].as_object().expect("an object");
                    assert!(output.iter().all(|(member, value)| shown.get(member) == Some(value)), "{name} {id}");
                    let code = output.get("exitCode").or_else(|| output.get("metadata")?.get("exit"));
                    assert_eq!(shown.get("exitCode"), Some(code.unwrap_or(&Value::Null)), "{name} {id}");
                }
                Some(output) => assert_eq!(part["output"], *output, "{name} {id}"),
                None if call.exit.is_some() => {
                    assert_eq!(part["output"]["output"], call.terminal, "{name} {id}");
                    assert_eq!(part["output"]["exitCode"], call.exit.clone().unwrap_or_default()["exit_code"], "{name} {id}");
                }
                None if field("kind") == "execute" => assert!(part["output"]["exitCode"].is_null(), "{name} {id}"),
                None => {}
            }
            let content = field("content");
            let shows = |block: &Value| part["content"].as_array().is_some_and(|shown| shown.contains(block));
            let is_header = |block: &&Value| block["newText"].as_str().is_some_and(|text| text.starts_with("++ "));
            for block in
                content.as_array().into_iter().flatten().filter(|block| block["type"] != "terminal" && !is_header(block))
            {
                assert!(shows(block), "{name} {id}: {block}");
            }
            if fails {
                assert_ne!(part["content"], json!([]), "{name} {id} says why");
                failed += 1;
            }
            calls += 1;
        }
    }
    assert!(calls > 50 && failed > 15, "{calls} {failed}");
}

#[test]
fn every_prompt_ends_as_the_agent_answers() {
    each(|recording, facts| {
        let vital = ["initialize", "authenticate", "session/new", "session/load", "session/resume"];
        let expected: Vec<Stop> = facts
            .answers
            .iter()
            .filter(|(method, answer)| {
                method == "session/prompt" || (vital.contains(&method.as_str()) && answer.get("error").is_some())
            })
            .map(|(_, answer)| match answer["result"]["stopReason"].as_str() {
                None => Stop::Failed,
                Some("cancelled") => Stop::Cancelled,
                Some("refusal") => Stop::Refusal,
                Some("max_tokens") => Stop::MaxTokens,
                Some(_) => Stop::EndTurn,
            })
            .collect();
        let events = support::play(recording.harness, &recording.lines());
        let stops = meanings(&events).filter_map(|kind| match kind {
            EventKind::Done { stop_reason, .. } => Some(*stop_reason),
            _ => None,
        });
        assert_eq!(stops.collect::<Vec<_>>(), expected, "{}", recording.name);
        let errors = meanings(&events).filter(|kind| matches!(kind, EventKind::Error(_))).count();
        assert_eq!(errors, expected.iter().filter(|stop| **stop == Stop::Failed).count(), "{}", recording.name);
    });
}

#[test]
fn usage_is_what_the_answers_count() {
    let mut counted = 0;
    for recording in support::recordings() {
        let facts = Facts::read(&recording);
        let events = support::play(recording.harness, &recording.lines());
        let records: Vec<&UsageRecord> = meanings(&events)
            .filter_map(|kind| match kind {
                EventKind::UsageFinal { usage } if usage.billable => Some(usage),
                _ => None,
            })
            .collect();
        let told = |answer: &Value, called: bool| {
            let usage = &answer["result"]["usage"];
            let quota = &answer["result"]["_meta"]["quota"]["token_count"];
            let zero = |value: &Value| value.as_u64().is_none_or(|count| count == 0);
            // Of a turn in which the model spoke, zeros say that nobody counted.
            let last_call_only = facts.agent() == Some("OpenCode") && called;
            if usage.is_object() && (zero(&usage["totalTokens"]) || last_call_only) {
                return Some([Value::Null, Value::Null, Value::Null, Value::Null]);
            }
            // Where the models counted more than the turn's own sum, that has the calls beside the main loop as well.
            let models = answer["result"]["_meta"]["quota"]["model_usage"].as_array().into_iter().flatten();
            let models: Vec<&Value> = models.map(|model| &model["token_count"]).collect();
            let of_models = |names: &[&str]| {
                let count = |model: &&Value| names.iter().find_map(|name| model[*name].as_u64());
                models.iter().filter_map(count).sum::<u64>()
            };
            if usage["totalTokens"].as_u64().is_some_and(|total| of_models(&["totalTokens"]) > total) {
                return Some(
                    [
                        &["inputTokens"][..],
                        &["outputTokens"],
                        &["cachedInputTokens"],
                        &["cachedWriteTokens", "cacheWriteInputTokens"],
                    ]
                    .map(|names| of_models(names).into()),
                );
            }
            let apart = ["inputTokens", "outputTokens", "cachedReadTokens", "cachedWriteTokens", "thoughtTokens"];
            let parts: u64 = apart.iter().filter_map(|name| usage[name].as_u64()).sum();
            let mut output = usage["outputTokens"].clone();
            if usage["totalTokens"] == parts
                && let (Some(count), Some(thought)) = (output.as_u64(), usage["thoughtTokens"].as_u64())
            {
                output = (count + thought).into();
            }
            let of_usage = || {
                [usage["inputTokens"].clone(), output, usage["cachedReadTokens"].clone(), usage["cachedWriteTokens"].clone()]
            };
            let of_quota = || [quota["input_tokens"].clone(), quota["output_tokens"].clone(), Value::Null, Value::Null];
            match (usage.is_object(), quota.is_object()) {
                (true, _) => Some(of_usage()),
                (false, true) => Some(of_quota()),
                (false, false) => None,
            }
        };
        let expected: Vec<[Value; 4]> =
            facts.prompts().into_iter().filter_map(|(answer, called)| told(answer, called)).collect();
        let shown: Vec<[Value; 4]> = records
            .iter()
            .map(|record| {
                let tokens = &record.tokens;
                [
                    json!(tokens.input_tokens),
                    json!(tokens.output_tokens),
                    json!(tokens.cache_read_tokens),
                    json!(tokens.cache_write_tokens),
                ]
            })
            .collect();
        assert_eq!(shown, expected, "{}", recording.name);
        assert!(records.iter().all(|record| record.operation == UsageOperation::ChatTurn), "{}", recording.name);
        for record in &records {
            let tokens = &record.tokens;
            let all = [tokens.input_tokens, tokens.output_tokens, tokens.cache_read_tokens, tokens.cache_write_tokens];
            if let (Some(stated), true) = (record.raw["totalTokens"].as_u64(), tokens.input_tokens.is_some()) {
                assert_eq!(all.into_iter().flatten().sum::<u64>(), stated, "{}: the buckets are the total", recording.name);
            }
            let known = tokens.input_tokens.is_some() && !record.raw["input_tokens"].is_u64();
            assert_eq!(record.exact, known, "{}", recording.name);
        }
        counted += records.len();
        // Of OpenCode's, one of nothing is that of a call that was cut.
        let least = u64::from(facts.agent() == Some("OpenCode"));
        let full = |update: &&Value| {
            update["sessionUpdate"] == "usage_update" && update["used"].as_u64().is_some_and(|used| used >= least)
        };
        let written = written(&recording);
        let context: Vec<&Value> = written.iter().map(|update| &update.json).filter(full).collect();
        let sent: Vec<Value> = facts
            .messages
            .iter()
            .filter(|(channel, _)| *channel == Channel::Agent)
            .map(|(_, message)| message["params"]["update"].clone())
            .filter(|update| full(&update))
            .collect();
        assert_eq!(context.len(), sent.len(), "{}", recording.name);
        for (shown, sent) in context.iter().zip(&sent) {
            assert_eq!(
                (&shown["used"], &shown["size"], shown.get("cost")),
                (&sent["used"], &sent["size"], None),
                "{}",
                recording.name
            );
        }
    }
    assert!(counted > 30, "{counted}");
}

#[test]
fn every_request_for_leave_is_told_with_its_answer() {
    each(|recording, facts| {
        let events = support::play(recording.harness, &recording.lines());
        let mut asked = meanings(&events).filter_map(|kind| match kind {
            EventKind::PermissionRequested(request) if request.action != "CreatePlan" => Some(request),
            _ => None,
        });
        let mut resolved = meanings(&events).filter_map(|kind| match kind {
            EventKind::PermissionResolved(resolved) if resolved.option_id.as_deref() != Some("accepted") => Some(resolved),
            _ => None,
        });
        for (request, kind) in facts.permissions() {
            let (asked, resolved) = (asked.next().expect("asked"), resolved.next().expect("resolved"));
            assert_eq!(asked.title, request["toolCall"]["title"].as_str().expect("a title"), "{}", recording.name);
            let options: Vec<Value> = asked
                .options
                .iter()
                .map(|option| json!({ "optionId": option.option_id, "name": option.name, "kind": option.kind }))
                .collect();
            assert_eq!(json!(options), request["options"], "{}", recording.name);
            assert_eq!(asked.tool_call_id.as_deref(), request["toolCall"]["toolCallId"].as_str(), "{}", recording.name);
            let allowed = kind.as_deref().is_some_and(|kind| kind.starts_with("allow"));
            assert_eq!((resolved.approved, resolved.by), (allowed, DecidedBy::Host), "{}", recording.name);
        }
        assert!(asked.next().is_none() && resolved.next().is_none(), "{}", recording.name);
    });
}
