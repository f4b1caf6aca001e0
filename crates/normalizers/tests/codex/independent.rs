//! What each recording must mean, worked out from its raw messages and the facts about the protocol alone.

use crate::common::{self, Recording};
use chat_grammar::acp::{ContentBlock, ToolCallContent};
use chat_grammar::event::{ChatEvent, EventKind, Stop, ToolCompleted, ToolStarted, Visibility};
use chat_grammar::usage::{TokenCounts, UsageOperation, UsageRecord};
use chat_normalizers::Channel;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const TOOL_ITEMS: [&str; 8] = [
    "commandExecution",
    "fileChange",
    "mcpToolCall",
    "dynamicToolCall",
    "webSearch",
    "imageView",
    "collabAgentToolCall",
    "subAgentActivity",
];

/// A recording's messages, and which threads they are about.
struct Facts {
    messages: Vec<(Channel, Value)>,
    /// Threads that the host opened.
    own: BTreeSet<String>,
    /// A sub-agent's thread and the item that made it.
    children: BTreeMap<String, String>,
    /// By the place of a request of the host: the answer.
    answers: HashMap<usize, Value>,
}

impl Facts {
    fn read(recording: &Recording) -> Self {
        let messages = recording.messages();
        let mut open: HashMap<String, usize> = HashMap::new();
        let mut answers = HashMap::new();
        let mut own = BTreeSet::new();
        let mut children = BTreeMap::new();
        for (place, (channel, message)) in messages.iter().enumerate() {
            let method = message["method"].as_str();
            let id = message.get("id").map(Value::to_string);
            match (channel, method, id) {
                (Channel::Host, Some(method), Some(id)) => {
                    if method == "initialize" {
                        open.clear();
                    }
                    open.insert(id, place);
                }
                (Channel::Agent, None, Some(id)) => {
                    let request = open.remove(&id).expect("an answer has a request");
                    let asked = messages[request].1["method"].as_str().unwrap_or("");
                    if ["thread/start", "thread/resume", "thread/fork"].contains(&asked) {
                        own.extend(message["result"]["thread"]["id"].as_str().map(str::to_owned));
                    }
                    answers.insert(request, message.clone());
                }
                (Channel::Agent, Some("item/started" | "item/completed"), None) => {
                    let item = &message["params"]["item"];
                    let named = item["receiverThreadIds"].as_array().into_iter().flatten().chain([&item["agentThreadId"]]);
                    for child in named.filter_map(Value::as_str) {
                        children.entry(child.to_owned()).or_insert_with(|| text(&item["id"]));
                    }
                }
                _ => {}
            }
        }
        Self { messages, own, children, answers }
    }

    /// The agent's notifications of a method, with their place and params.
    fn notices<'a>(&'a self, method: &'a str) -> impl Iterator<Item = (usize, &'a Value)> {
        self.messages.iter().enumerate().filter_map(move |(place, (channel, message))| {
            let found = *channel == Channel::Agent && message["method"] == method && message.get("id").is_none();
            found.then_some((place, &message["params"]))
        })
    }

    fn is_own(&self, params: &Value) -> bool {
        params["threadId"].as_str().is_some_and(|id| self.own.contains(id))
    }

    fn began(&self, thread: &str, turn: &Value) -> bool {
        self.notices("turn/started").any(|(_, start)| start["threadId"] == thread && start["turn"]["id"] == *turn)
    }

    /// The place where the turn of an item ended, and how.
    fn turn_end(&self, params: &Value) -> Option<(usize, String)> {
        self.notices("turn/completed")
            .find(|(_, end)| end["threadId"] == params["threadId"] && end["turn"]["id"] == params["turnId"])
            .map(|(place, end)| (place, text(&end["turn"]["status"])))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}

fn each(check: impl Fn(&str, &Facts, &[ChatEvent])) {
    for recording in common::codex() {
        let facts = Facts::read(&recording);
        let events = common::play(&recording.lines());
        check(&recording.name, &facts, &events);
    }
}

/// The answers of a thread as its items tell them. What a lost connection cut off counts only where it was not said again.
fn answers_of(facts: &Facts, thread: &str) -> Vec<String> {
    struct Answer {
        id: String,
        text: String,
        whole: bool,
        cut: bool,
    }
    let mut answers: Vec<Answer> = Vec::new();
    for (channel, message) in &facts.messages {
        let params = &message["params"];
        if *channel != Channel::Agent || params["threadId"] != thread {
            continue;
        }
        let is_answer = params["item"]["type"] == "agentMessage";
        match message["method"].as_str() {
            Some("item/started") if is_answer => {
                answers.push(Answer { id: text(&params["item"]["id"]), text: String::new(), whole: false, cut: false })
            }
            Some("item/agentMessage/delta") => {
                let answer = answers.iter_mut().rfind(|answer| params["itemId"] == answer.id).expect("a started item");
                answer.text += params["delta"].as_str().unwrap_or("");
            }
            Some("item/completed") if is_answer => {
                let known = answers.iter().rposition(|answer| params["item"]["id"] == answer.id);
                let known = known.unwrap_or_else(|| {
                    answers.push(Answer { id: text(&params["item"]["id"]), text: String::new(), whole: false, cut: false });
                    answers.len() - 1
                });
                answers[known].text = text(&params["item"]["text"]);
                answers[known].whole = true;
            }
            Some("error") if params["willRetry"] == true => {
                answers.iter_mut().filter(|answer| !answer.whole).for_each(|answer| answer.cut = true);
            }
            _ => {}
        }
    }
    let said_again = |place: usize| {
        answers[place].cut && answers[place + 1..].iter().any(|later| later.text.starts_with(&answers[place].text))
    };
    let kept = (0..answers.len()).filter(|place| !said_again(*place) && !answers[*place].text.is_empty());
    kept.map(|place| answers[place].text.clone()).collect()
}

/// The messages among events, each whole, in the order in which they began.
fn shown(events: &[ChatEvent], parent: Option<&str>) -> Vec<String> {
    let mut messages: Vec<(String, String)> = Vec::new();
    for event in events.iter().filter(|event| event.parent_tool_call_id.as_deref() == parent) {
        if let EventKind::TextDelta { text, message_id } = &event.kind {
            let id = message_id.clone().unwrap_or_default();
            match messages.iter_mut().find(|message| message.0 == id) {
                Some(message) => message.1 += text,
                None => messages.push((id, text.clone())),
            }
        }
    }
    messages.into_iter().map(|message| message.1).collect()
}

#[test]
fn the_text_is_what_the_items_say() {
    each(|name, facts, events| {
        let expected: Vec<String> = facts.own.iter().flat_map(|thread| answers_of(facts, thread)).collect();
        let mut shown = shown(events, None);
        let mut expected_sorted = expected.clone();
        // Two threads at the same time are told apart by their messages, not by their order.
        if facts.own.len() > 1 {
            shown.sort();
            expected_sorted.sort();
        }
        assert_eq!(shown, expected_sorted, "{name}");
    });
}

#[test]
fn a_sub_agents_text_stays_with_its_call() {
    let mut seen = 0;
    each(|name, facts, events| {
        for (thread, call) in &facts.children {
            assert_eq!(shown(events, Some(call)), answers_of(facts, thread), "{name}");
        }
        let parents: BTreeSet<&str> = events.iter().filter_map(|event| event.parent_tool_call_id.as_deref()).collect();
        let known: BTreeSet<&str> = facts.children.values().map(String::as_str).collect();
        assert!(parents.is_subset(&known), "{name}: {parents:?}");
    });
    for recording in common::codex() {
        seen += Facts::read(&recording).children.len();
    }
    assert!(seen >= 3, "the recordings show sub-agents");
}

#[test]
fn thoughts_are_what_the_items_say() {
    each(|name, facts, events| {
        for (_, params) in facts.notices("item/completed").filter(|(_, params)| params["item"]["type"] == "reasoning") {
            let item = &params["item"];
            for (field, visibility) in [("summary", Visibility::Summary), ("content", Visibility::Full)] {
                let parts: Vec<String> = item[field].as_array().into_iter().flatten().map(text).collect();
                let prefix = text(&item["id"]);
                let mut told = String::new();
                for event in events {
                    if let EventKind::ReasoningDelta { text, message_id, visibility: voice } = &event.kind
                        && *voice == visibility
                        && message_id.as_ref().is_some_and(|id| id.starts_with(&prefix))
                    {
                        told += text;
                    }
                }
                assert_eq!(told, parts.join("\n\n"), "{name} {field}");
            }
        }
        for (_, params) in facts.notices("item/completed").filter(|(_, params)| params["item"]["type"] == "plan") {
            let told: String = events
                .iter()
                .filter_map(|event| match &event.kind {
                    EventKind::ReasoningDelta { text, visibility: Visibility::Plan, .. } => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(told, text(&params["item"]["text"]), "{name}");
        }
    });
}

fn started(events: &[ChatEvent]) -> Vec<&ToolStarted> {
    events.iter().filter_map(|event| if let EventKind::ToolStarted(tool) = &event.kind { Some(tool) } else { None }).collect()
}

fn completed(events: &[ChatEvent]) -> Vec<&ToolCompleted> {
    events.iter().filter_map(|event| if let EventKind::ToolCompleted(tool) = &event.kind { Some(tool) } else { None }).collect()
}

/// The params of an item's start, and the place and the params of its end.
type ToolItem<'a> = (&'a Value, Option<(usize, &'a Value)>);

#[test]
fn every_tool_item_ends_in_one_state() {
    each(|name, facts, events| {
        let (starts, ends) = (started(events), completed(events));
        let mut items: BTreeMap<String, ToolItem<'_>> = BTreeMap::new();
        for (_, params) in facts.notices("item/started") {
            if TOOL_ITEMS.contains(&text(&params["item"]["type"]).as_str()) {
                items.insert(text(&params["item"]["id"]), (params, None));
            }
        }
        for (place, params) in facts.notices("item/completed") {
            if let Some(item) = items.get_mut(&text(&params["item"]["id"])) {
                item.1 = Some((place, params));
            }
        }
        for (id, (start, end)) in &items {
            let start_events: Vec<_> = starts.iter().filter(|tool| tool.tool_call_id == *id).collect();
            let end_events: Vec<_> = ends.iter().filter(|tool| tool.tool_call_id == *id).collect();
            assert_eq!((start_events.len(), end_events.len()), (1, 1), "{name} {id}");
            check_start(name, &start["item"], start_events[0]);
            // An end that comes after its turn was broken off is too late.
            let broken = facts.turn_end(start).filter(|(_, status)| status != "completed");
            let in_time = end.filter(|(place, _)| broken.as_ref().is_none_or(|(turn_end, _)| place < turn_end));
            match in_time {
                Some((_, params)) => check_end(name, &params["item"], end_events[0]),
                None => {
                    assert!(end_events[0].is_error, "{name} {id}");
                    assert!(!end_events[0].content.is_empty(), "{name} {id} says why");
                }
            }
        }
        // Nothing but tool items and reviews is a call.
        let reviews = facts.notices("item/started").filter(|(_, params)| params["item"]["type"] == "enteredReviewMode").count();
        assert_eq!(starts.len(), items.len() + reviews, "{name}");
        assert_eq!(starts.len(), ends.len(), "{name}");
    });
}

fn check_start(name: &str, item: &Value, tool: &ToolStarted) {
    let adds_only =
        item["changes"].as_array().is_some_and(|changes| changes.iter().all(|change| change["kind"]["type"] == "add"));
    let tool_name = match item["type"].as_str() {
        Some("commandExecution") => "Bash".to_owned(),
        Some("fileChange") if adds_only => "Write".to_owned(),
        Some("fileChange") => "Edit".to_owned(),
        Some("mcpToolCall" | "dynamicToolCall") => text(&item["tool"]),
        Some("webSearch") => "WebSearch".to_owned(),
        Some("imageView") => "Read".to_owned(),
        _ => "Agent".to_owned(),
    };
    assert_eq!(tool.tool_name, tool_name, "{name}");
    match item["type"].as_str() {
        Some("commandExecution") => {
            assert_eq!(tool.input["command"], item["command"], "{name}");
            assert_eq!(tool.input["cwd"], item["cwd"], "{name}");
            assert!(!tool.title.starts_with("/bin/bash"), "{name}: {}", tool.title);
        }
        Some("mcpToolCall") => {
            assert_eq!(tool.input, item["arguments"], "{name}");
            let mcp = tool.mcp.as_ref().expect("an MCP tool");
            assert_eq!(
                (&*mcp.server, &*mcp.tool),
                (item["server"].as_str().unwrap(), item["tool"].as_str().unwrap()),
                "{name}"
            );
        }
        Some("dynamicToolCall") => assert_eq!(tool.input, item["arguments"], "{name}"),
        Some("fileChange") => assert_eq!(tool.input["changes"], item["changes"], "{name}"),
        Some("imageView") => assert_eq!(tool.input["path"], item["path"], "{name}"),
        Some("collabAgentToolCall") => assert_eq!(tool.input["tool"], item["tool"], "{name}"),
        Some("subAgentActivity") => assert_eq!(tool.input["agentThreadId"], item["agentThreadId"], "{name}"),
        Some("webSearch") => {}
        other => panic!("{name}: no check for {other:?}"),
    }
}

fn check_end(name: &str, item: &Value, tool: &ToolCompleted) {
    let bad_status = ["failed", "declined"].contains(&item["status"].as_str().unwrap_or(""));
    let bad_exit = item["exitCode"].as_i64().is_some_and(|code| code != 0);
    let failed = bad_status || bad_exit || item["success"] == false;
    assert_eq!(tool.is_error, failed, "{name} {}", tool.tool_call_id);
    assert!(!failed || !tool.content.is_empty(), "{name}: a failure says why");
    match item["type"].as_str() {
        Some("commandExecution") => {
            assert_eq!(tool.output["exitCode"], item["exitCode"], "{name}");
            if let Some(output) = item["aggregatedOutput"].as_str() {
                assert_eq!(tool.output["output"], output, "{name}");
            }
        }
        Some("mcpToolCall") if !item["result"].is_null() => {
            assert_eq!(tool.output, item["result"], "{name}");
            assert_eq!(tool.content.len(), item["result"]["content"].as_array().map_or(0, Vec::len), "{name}");
        }
        Some("fileChange") => {
            let paths = item["changes"].as_array().map_or(0, Vec::len);
            assert_eq!(tool.locations.as_ref().map_or(0, Vec::len), paths, "{name}");
        }
        Some("mcpToolCall") => {
            let message = item["error"]["message"].as_str().expect("why there is no result");
            assert!(shows(tool, message), "{name}: {message}");
        }
        Some("dynamicToolCall") => {
            let items = item["contentItems"].as_array().map_or(&[][..], Vec::as_slice);
            assert_eq!(tool.output["contentItems"], item["contentItems"], "{name}");
            assert_eq!(tool.content.len(), items.len(), "{name}");
            items.iter().filter_map(|item| item["text"].as_str()).for_each(|text| assert!(shows(tool, text), "{name}: {text}"));
        }
        // What is searched is known at the end.
        Some("webSearch") => {
            let input = tool.input.as_ref().expect("an input");
            assert_eq!((&input["query"], &input["action"]), (&item["query"], &item["action"]), "{name}");
        }
        Some("collabAgentToolCall") => assert_eq!(tool.output["agentsStates"], item["agentsStates"], "{name}"),
        Some("imageView" | "subAgentActivity") => {}
        other => panic!("{name}: no check for {other:?}"),
    }
}

/// One of the blocks is this text.
fn shows(tool: &ToolCompleted, text: &str) -> bool {
    tool.content.iter().any(|content| {
        matches!(content, ToolCallContent::Content(content)
            if matches!(&content.content, ContentBlock::Text(block) if block.text == text))
    })
}

const BUCKETS: [&str; 5] =
    ["inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningOutputTokens"];

fn buckets(breakdown: &Value) -> [i64; 5] {
    BUCKETS.map(|bucket| breakdown[bucket].as_i64().unwrap_or(0))
}

fn minus(now: [i64; 5], before: [i64; 5]) -> [i64; 5] {
    std::array::from_fn(|bucket| now[bucket] - before[bucket])
}

/// The calls that the running totals of all threads tell of: each growth is one. The first total of a thread that was loaded
/// with a past is that past, and a total that shrank was set anew.
fn growths(facts: &Facts) -> Vec<[i64; 5]> {
    let mut totals: HashMap<String, [i64; 5]> = HashMap::new();
    let loaded: BTreeSet<String> = (facts.answers.iter())
        .filter(|(request, _)| {
            ["thread/resume", "thread/fork"].iter().any(|method| facts.messages[**request].1["method"] == *method)
        })
        .map(|(_, answer)| text(&answer["result"]["thread"]["id"]))
        .collect();
    let mut growths = Vec::new();
    for (_, params) in facts.notices("thread/tokenUsage/updated") {
        let thread = text(&params["threadId"]);
        let total = buckets(&params["tokenUsage"]["total"]);
        let before = match totals.insert(thread.clone(), total) {
            Some(before) => before,
            None if loaded.contains(&thread) && !facts.began(&thread, &params["turnId"]) => total,
            None => [0; 5],
        };
        let growth = minus(total, before);
        let growth = if growth.iter().any(|count| *count < 0) { total } else { growth };
        if growth != [0; 5] {
            growths.push(growth);
        }
    }
    growths
}

fn steps(events: &[ChatEvent]) -> Vec<&UsageRecord> {
    let records =
        events.iter().filter_map(|event| if let EventKind::UsageFinal { usage } = &event.kind { Some(usage) } else { None });
    records.filter(|usage| usage.billable).collect()
}

fn counted(record: &UsageRecord) -> Option<[i64; 5]> {
    let tokens = &record.tokens;
    let count = |count: Option<u64>| count.and_then(|count| i64::try_from(count).ok());
    let (read, write) = (count(tokens.cache_read_tokens)?, count(tokens.cache_write_tokens)?);
    Some([
        count(tokens.input_tokens)? + read + write,
        read,
        write,
        count(tokens.output_tokens)?,
        count(record.reasoning_tokens)?,
    ])
}

#[test]
fn each_model_call_counts_once() {
    each(|name, facts, events| {
        let steps = steps(events);
        let mut told: Vec<[i64; 5]> = steps.iter().filter_map(|record| counted(record)).collect();
        let mut expected = growths(facts);
        told.sort_unstable();
        expected.sort_unstable();
        assert_eq!(told, expected, "{name}");
        let ids: BTreeSet<&str> = steps.iter().map(|record| record.id.as_str()).collect();
        assert_eq!(ids.len(), steps.len(), "{name}: ids are unique");
        assert!(steps.iter().all(|record| record.native_cost_usd.is_none()), "{name}: Codex tells no cost");
        let raw = facts.notices("rawResponse/completed").map(|(_, params)| text(&params["responseId"]));
        raw.for_each(|response| assert!(ids.contains(response.as_str()), "{name}: {response}"));
        // Compactions are as many as the reports that came while one went on.
        let compactions = steps.iter().filter(|record| record.operation == UsageOperation::Compaction).count();
        let items = facts.notices("item/completed").filter(|(_, params)| params["item"]["type"] == "contextCompaction").count();
        assert_eq!(compactions, items, "{name}");
    });
}

#[test]
fn a_call_is_priced_by_the_model_and_tier_that_the_server_was_asked_for() {
    let mut in_fast_mode = 0;
    for recording in common::codex() {
        let events = common::play(&recording.lines());
        let header = recording.header();
        let Some(requests) = header["model_requests"].as_array() else { continue };
        let steps = steps(&events);
        // Where calls failed or went unreported, nothing says which request was whose.
        if steps.len() != requests.len() || steps.iter().any(|step| step.parent_tool_call_id.is_some()) {
            continue;
        }
        for (step, request) in steps.iter().zip(requests) {
            let Some(model) = request["model"].as_str() else { continue };
            let fast = request["service_tier"] == "priority";
            let expected = if fast { format!("{model}-fast") } else { model.to_owned() };
            assert_eq!(step.model.model_id.as_deref(), Some(expected.as_str()), "{}", recording.name);
            in_fast_mode += u32::from(fast);
        }
    }
    assert!(in_fast_mode > 0);
}

/// Steps of which nobody said what they took.
#[test]
fn calls_that_reported_nothing_are_known_to_be_unknown() {
    let unknown = |name: &str| {
        let recording = common::codex().into_iter().find(|recording| recording.name == name).expect("a recording");
        let events = common::play(&recording.lines());
        let steps = steps(&events);
        let unknown: Vec<&UsageRecord> = steps.into_iter().filter(|step| counted(step).is_none()).collect();
        assert!(unknown.iter().all(|step| !step.exact && step.tokens == TokenCounts::default()), "{name}");
        unknown.len()
    };
    // A response without counts in a turn that ends well; in a review; before the process was killed; one that was too long.
    let silent = ["usage-identical-steps", "review-mode", "killed-mid-turn-then-resume", "error-incomplete-max-output"];
    assert_eq!(silent.map(unknown), [1; 4]);
    assert_eq!(["text-stream", "usage-three-steps", "compact-manual", "thread-fork"].map(unknown), [0; 4]);
}

/// How full the context is, as the last report about each thread says: after calls, compactions and contexts that were too long.
#[test]
fn the_context_is_what_the_last_report_says() {
    let mut compared = 0;
    each(|name, facts, events| {
        let mut last: HashMap<String, Value> = HashMap::new();
        for (_, params) in facts.notices("thread/tokenUsage/updated") {
            last.insert(text(&params["threadId"]), params["tokenUsage"].clone());
        }
        let [report] = &last.into_values().collect::<Vec<_>>()[..] else { return };
        let mut contexts = events.iter().filter_map(|event| match &event.kind {
            EventKind::UsageFinal { usage } => Some((usage.context.used, usage.context.size)),
            _ => None,
        });
        let told = contexts.next_back();
        let expected = (report["last"]["totalTokens"].as_u64(), report["modelContextWindow"].as_u64());
        assert_eq!(told, Some(expected), "{name}");
    });
    for recording in common::codex() {
        compared += usize::from(Facts::read(&recording).notices("thread/tokenUsage/updated").next().is_some());
    }
    assert!(compared > 50, "{compared} recordings");
}

#[test]
fn no_call_is_made_up() {
    for recording in common::codex() {
        let events = common::play(&recording.lines());
        let header = recording.header();
        // Where the traffic of the process was recorded whole, its model calls are not listed again.
        if header.get("egress").is_some() {
            continue;
        }
        let requests = header["model_requests"].as_array().map_or(0, Vec::len);
        assert!(steps(&events).len() <= requests, "{}: {} requests", recording.name, requests);
    }
}

#[test]
fn turns_end_as_the_agent_says() {
    each(|name, facts, events| {
        let mut expected: Vec<(usize, Stop)> = Vec::new();
        for (place, params) in facts.notices("turn/completed").filter(|(_, params)| facts.is_own(params)) {
            let stop = match params["turn"]["status"].as_str() {
                Some("interrupted") => Stop::Cancelled,
                Some("failed") => Stop::Failed,
                _ => Stop::EndTurn,
            };
            expected.push((place, stop));
        }
        let begins = ["thread/start", "thread/resume", "thread/fork", "turn/start", "review/start"];
        for (request, answer) in &facts.answers {
            let method = facts.messages[*request].1["method"].as_str().unwrap_or("");
            if begins.contains(&method) && answer.get("error").is_some() {
                expected.push((*request, Stop::Failed));
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

#[test]
fn every_request_is_answered_once() {
    each(|name, facts, events| {
        let mut leave = 0;
        let mut questions = 0;
        for (channel, message) in &facts.messages {
            if *channel == Channel::Agent && message.get("id").is_some() {
                match message["method"].as_str() {
                    Some("item/tool/requestUserInput") => questions += 1,
                    Some("mcpServer/elicitation/request") if message["params"]["_meta"]["codex_approval_kind"].is_null() => {
                        questions += 1
                    }
                    Some(method) if method.ends_with("requestApproval") || method.starts_with("mcpServer") => leave += 1,
                    _ => {}
                }
            }
        }
        let count = |matches: fn(&EventKind) -> bool| events.iter().filter(|event| matches(&event.kind)).count();
        assert_eq!(count(|kind| matches!(kind, EventKind::PermissionRequested(_))), leave, "{name}");
        assert_eq!(count(|kind| matches!(kind, EventKind::PermissionResolved(_))), leave, "{name}");
        assert_eq!(count(|kind| matches!(kind, EventKind::QuestionAsked(_))), questions, "{name}");
        assert_eq!(count(|kind| matches!(kind, EventKind::QuestionAnswered(_))), questions, "{name}");
    });
}

#[test]
fn every_recorded_message_is_known() {
    for recording in common::codex() {
        let mut normalizer = common::normalizer();
        let mut out = Vec::new();
        recording.lines().iter().for_each(|line| common::push(normalizer.as_mut(), line, &mut out));
        // One recording holds a line of the host that is no JSON.
        let expected = usize::from(recording.name == "thread-start-bad-override");
        assert_eq!(normalizer.unmapped().len(), expected, "{}: {:?}", recording.name, normalizer.unmapped());
    }
}
