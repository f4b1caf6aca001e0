//! How each recorded turn must end, and what it must have cost, worked out from the raw messages alone.

use crate::facts::Facts;
use crate::{play, recordings};
use chat_grammar::event::{ChatEvent, EventKind, Stop};
use chat_grammar::usage::{UsageOperation, UsageRecord};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

type Step = (bool, [Option<u64>; 5], Option<String>);

fn steps(events: &[ChatEvent]) -> Vec<&UsageRecord> {
    events
        .iter()
        .filter_map(|event| if let EventKind::UsageFinal { usage } = &event.kind { Some(usage) } else { None })
        .collect()
}

fn step(record: &UsageRecord) -> Step {
    let tokens = &record.tokens;
    let counts = [
        tokens.input_tokens,
        tokens.output_tokens,
        tokens.cache_read_tokens,
        tokens.cache_write_tokens,
        record.reasoning_tokens,
    ];
    (record.operation == UsageOperation::Compaction, counts, record.native_cost_usd.map(|cost| cost.to_string()))
}

#[test]
fn each_model_call_counts_once() {
    for recording in recordings() {
        let (name, facts, events) = (&recording.name, &Facts::read(recording.messages()), &play(&recording.lines()));
        let mut expected: Vec<Step> = Vec::new();
        for role in ["assistant", "summary"] {
            let finished: Vec<&Value> = facts.told(role, "step-finish", None).collect();
            for part in &finished {
                let tokens = &part["tokens"];
                let known = tokens["total"].is_u64();
                let count = |value: &Value| value.as_u64().filter(|_| known);
                let reasoning = count(&tokens["reasoning"]);
                let output = count(&tokens["output"]).map(|output| output + reasoning.unwrap());
                let cost = part["cost"].as_f64().filter(|cost| *cost > 0.0).map(|cost| cost.to_string());
                let (read, write) = (count(&tokens["cache"]["read"]), count(&tokens["cache"]["write"]));
                expected.push((role == "summary", [count(&tokens["input"]), output, read, write, reasoning], cost));
            }
            // A call that began and was not finished reported nothing.
            let began = facts.told(role, "step-start", None).count();
            expected.extend((finished.len()..began).map(|_| (role == "summary", [None; 5], None)));
        }
        let steps = steps(events);
        let mut told: Vec<Step> = steps.iter().map(|record| step(record)).collect();
        told.sort();
        expected.sort();
        assert_eq!(told, expected, "{name}");
        let ids: BTreeSet<&str> = steps.iter().map(|record| record.id.as_str()).collect();
        assert_eq!(ids.len(), steps.len(), "{name}: ids are unique");
        assert!(steps.iter().all(|record| record.billable && record.model.model_id.is_some()), "{name}");
        for record in steps {
            assert_eq!(record.exact, record.tokens.input_tokens.is_some(), "{name}: {}", record.id);
            if let Some(stated) = record.raw["tokens"]["total"].as_u64() {
                let (_, [input, output, read, write, _], _) = step(record);
                let all: Option<u64> = [input, output, read, write].into_iter().sum();
                assert_eq!(all, Some(stated), "{name}: the buckets are the total of {}", record.id);
            }
        }
    }
}

/// The sums that the server keeps of a session grow with the same calls.
#[test]
fn the_steps_add_up_to_the_sums_of_the_session() {
    let mut whole = 0;
    for recording in recordings() {
        let facts = Facts::read(recording.messages());
        let events = play(&recording.lines());
        // A revert takes back what it cost.
        if facts.own.len() > 1 || recording.name == "events-revert" {
            continue;
        }
        let mut sums = vec![[0; 4]];
        for record in steps(&events).into_iter().filter(|step| step.parent_tool_call_id.is_none()) {
            let counts = &record.tokens;
            let mut sum = *sums.last().unwrap();
            let counts = [counts.input_tokens, counts.output_tokens, counts.cache_read_tokens, counts.cache_write_tokens];
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count.unwrap_or(0));
            sums.push(sum);
        }
        let told = facts.events("session.updated").filter(|event| facts.own.contains(event["sessionID"].as_str().unwrap()));
        let told = told.map(|event| {
            let tokens = &event["info"]["tokens"];
            let count = |path: &str| tokens.pointer(path).and_then(Value::as_u64).unwrap();
            [count("/input"), count("/output") + count("/reasoning"), count("/cache/read"), count("/cache/write")]
        });
        let told: Vec<[u64; 4]> = told.collect();
        assert!(told.iter().all(|sum| sums.contains(sum)), "{}: {told:?} {sums:?}", recording.name);
        whole += usize::from(told.last() == sums.last());
    }
    assert!(whole >= 40, "the last sum is that of all steps in {whole}");
}

/// A prompt and everything until the next, joined with the next where the session did not become idle between them.
fn turn_ends(facts: &Facts) -> Vec<Stop> {
    let starts = |message: &Value| {
        let path = message["path"].as_str().unwrap_or("").split('?').next().unwrap().to_owned();
        let asks = ["/prompt_async", "/message", "/summarize"].iter().any(|tail| path.ends_with(tail));
        message["method"] == "POST" && asks
    };
    let mut turns: Vec<Vec<&Value>> = Vec::new();
    for (_, message) in &facts.messages {
        let over = |turn: &Vec<&Value>| {
            turn.iter().any(|message| {
                message["type"] == "session.idle"
                    || message["type"] == "session.error"
                    || message["status"].as_u64() >= Some(400)
            }) || turn.iter().any(|message| message["body"]["info"]["finish"].is_string())
        };
        if starts(message) && turns.last().is_none_or(over) {
            turns.push(Vec::new());
        }
        if let Some(turn) = turns.last_mut() {
            turn.push(message);
        }
    }
    turns.iter().map(|turn| turn_end(turn)).collect()
}

fn turn_end(turn: &[&Value]) -> Stop {
    let properties =
        |kind: &'static str| turn.iter().filter(move |message| message["type"] == kind).map(|message| &message["properties"]);
    let session = turn[0]["path"].as_str().unwrap().split('/').nth(2).unwrap();
    let aborted = properties("session.error").any(|error| error["error"]["name"] == "MessageAbortedError");
    let last = properties("message.updated")
        .map(|event| &event["info"])
        .rfind(|info| info["role"] == "assistant" && info["sessionID"] == session);
    let refused = turn.iter().any(|message| message["status"].as_u64() >= Some(400));
    match last {
        _ if aborted => Stop::Cancelled,
        Some(info) if info["finish"] == "length" => Stop::MaxTokens,
        Some(info) if info["finish"] == "content-filter" => Stop::Refusal,
        Some(info) if info["error"].is_object() => Stop::Failed,
        Some(_) => Stop::EndTurn,
        None if refused || properties("session.error").next().is_some() => Stop::Failed,
        None => Stop::EndTurn,
    }
}

#[test]
fn turns_end_as_the_server_says() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for recording in recordings() {
        let facts = Facts::read(recording.messages());
        let events = play(&recording.lines());
        let ends = events.iter().filter_map(|event| match &event.kind {
            EventKind::Done { stop_reason, .. } => Some(*stop_reason),
            _ => None,
        });
        let told: Vec<Stop> = ends.collect();
        assert_eq!(told, turn_ends(&facts), "{}", recording.name);
        let errors = events.iter().filter(|event| matches!(event.kind, EventKind::Error(_))).count();
        let failed = told.iter().filter(|stop| **stop == Stop::Failed).count();
        assert_eq!(errors, failed, "{}: one error a failed turn", recording.name);
        told.iter().for_each(|stop| *seen.entry(format!("{stop:?}")).or_default() += 1);
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}
