//! What each recording must count: the model server's own numbers, and the CLI's account of the turn.

use crate::facts::{Facts, billed, each, records, turns};
use chat_grammar::event::EventKind;
use chat_grammar::usage::{UsageOperation, UsageRecord, UsageStep, finalize_turn_usage};
use serde_json::Value;
use std::collections::BTreeSet;

fn count(value: &Value, member: &str) -> Option<u64> {
    value[member].as_u64()
}

#[test]
fn each_call_of_the_main_loop_counts_what_the_server_sent() {
    each(|name, facts, events| {
        let records = records(events);
        for stream in facts.streams() {
            let Some(usage) = stream.final_usage() else { continue };
            let [record] = records.iter().filter(|record| record.id == stream.id).collect::<Vec<_>>()[..] else {
                panic!("{name}: one step for {}", stream.id)
            };
            assert!(record.exact && record.billable, "{name}");
            let start = &stream.start["message"]["usage"];
            let told = |member: &str| count(usage, member).or_else(|| count(start, member));
            let tokens = &record.tokens;
            assert_eq!(tokens.input_tokens, told("input_tokens"), "{name}");
            assert_eq!(tokens.output_tokens, told("output_tokens"), "{name}");
            assert_eq!(tokens.cache_read_tokens, told("cache_read_input_tokens"), "{name}");
            assert_eq!(tokens.cache_write_tokens, told("cache_creation_input_tokens"), "{name}");
            let hour = start["cache_creation"]["ephemeral_1h_input_tokens"].as_u64();
            assert_eq!(record.cache_write1h_tokens, hour, "{name}");
            let thought = usage["output_tokens_details"]["thinking_tokens"].as_u64();
            assert_eq!(record.reasoning_tokens, thought.or(record.reasoning_tokens), "{name}");
            let model = stream.start["message"]["model"].as_str().expect("a model");
            let priced = if name == "fast_mode" { format!("{model}-fast") } else { model.to_owned() };
            assert_eq!(record.model.model_id, Some(priced), "{name}");
        }
    });
}

/// What the CLI counted in each turn: told so, or as the growth of its totals.
fn accounts(facts: &Facts) -> Vec<[u64; 4]> {
    const MEMBERS: [&str; 4] = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
    let sum = |usages: &Value| -> [u64; 4] {
        let models: Vec<&Value> = usages.as_object().into_iter().flatten().map(|(_, usage)| usage).collect();
        MEMBERS.map(|member| models.iter().filter_map(|usage| usage[member].as_u64()).sum())
    };
    let mut before = [0; 4];
    let results = facts.agent("result").map(|result| {
        let total = sum(&result["modelUsage"]);
        let grown = std::array::from_fn(|bucket| total[bucket] - before[bucket].min(total[bucket]));
        before = total;
        match result.get("model_usage_since_last_result") {
            Some(since) => sum(since),
            None => grown,
        }
    });
    results.collect()
}

#[test]
fn a_turn_costs_what_the_cli_counted() {
    each(|name, facts, events| {
        let turns = turns(events);
        let accounts = accounts(facts);
        assert_eq!(turns.len(), accounts.len(), "{name}");
        for (turn, account) in turns.iter().zip(accounts) {
            let billed = billed(turn);
            match name {
                // The CLI counts no call that was cut off; what such a call put in is known, and its output is not.
                "error_sse_event" => assert_eq!(billed[..2], [Some(40), None]),
                "v2_1_197_error_drop_mid_sse" => assert_eq!(billed[1], None),
                "v2_1_197_interrupt_tool_args" if account == [0; 4] => assert_eq!(billed[..2], [Some(40), None]),
                // The call of the turn that was killed is in no account.
                "resume_after_kill" => assert_eq!(billed[..2], [Some(account[0] + 50), Some(account[1] + 5)]),
                _ => assert_eq!(billed, account.map(Some), "{name}"),
            }
        }
    });
}

#[test]
fn no_id_counts_twice() {
    each(|name, _, events| {
        let records = records(events);
        let ids: BTreeSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
        assert_eq!(ids.len(), records.len(), "{name}");
        // What the CLI says by itself is no call.
        assert!(records.iter().all(|record| record.model.model_id.as_deref() != Some("<synthetic>")), "{name}");
    });
}

#[test]
fn calls_that_stand_on_no_line_are_one_step_a_model() {
    each(|name, _, events| {
        let remainders: Vec<&UsageRecord> =
            records(events).into_iter().filter(|record| record.source == "claude.result.model_usage.remainder").collect();
        let expected: &[(u64, u64, UsageOperation)] = match name {
            "subagent" | "subagent_forward_text" | "v2_1_197_subagent" => &[(620, 27, UsageOperation::ChatStep)],
            "compact_manual" | "v2_1_197_compact_manual" => &[(900, 60, UsageOperation::Compaction)],
            "compact_auto" | "error_context_with_history" => &[(900, 60, UsageOperation::Compaction)],
            "error_drop_mid_sse" => &[(40, 16, UsageOperation::ChatStep)],
            "prompt_suggestion" => return,
            _ => &[],
        };
        let told = remainders.iter().map(|record| {
            let tokens = record.tokens;
            (tokens.input_tokens.expect("known"), tokens.output_tokens.expect("known"), record.operation)
        });
        assert_eq!(told.collect::<Vec<_>>(), expected, "{name}");
    });
}

#[test]
fn a_subagents_calls_belong_to_its_call() {
    let recording = super::one("subagent_background");
    let events = super::play(&recording.lines());
    let own: Vec<(&str, Option<u64>, Option<u64>)> = records(&events)
        .into_iter()
        .filter(|record| record.parent_tool_call_id.as_deref() == Some("toolu_agb"))
        .map(|record| (record.id.as_str(), record.tokens.input_tokens, record.tokens.output_tokens))
        .collect();
    assert_eq!(own, [("msg_mock000220", Some(300), Some(20)), ("msg_mock000224", Some(320), Some(7))]);
}

#[test]
fn the_turns_cost_adds_up_to_the_total() {
    each(|name, facts, events| {
        let mut total = 0.0;
        for (turn, result) in turns(events).iter().zip(facts.agent("result")) {
            let steps: Vec<UsageStep> = records(turn)
                .into_iter()
                .zip(0..)
                .map(|(record, index)| UsageStep { turn_id: "turn".to_owned(), index, record: record.clone() })
                .collect();
            let cost = finalize_turn_usage(&steps, chat_grammar::catalog::ModelCatalog::published())
                .and_then(|usage| usage.cost_usd)
                .unwrap_or(0.0);
            let now = result["total_cost_usd"].as_f64().expect("a total");
            // A new process, and a new conversation, begin again.
            total = if now < total + cost - 1e-9 { cost } else { total + cost };
            assert!((now - total).abs() < 1e-9, "{name}: {now} is not {total}");
        }
    });
}

#[test]
fn the_context_is_the_newest_call_of_the_main_loop() {
    each(|name, facts, events| {
        let streams = facts.streams();
        let newest = streams.iter().filter_map(|stream| stream.final_usage()).next_back();
        let shown = records(events).into_iter().rfind(|record| record.context.used.is_some() && record.context.size.is_some());
        if let (Some(newest), Some(shown)) = (newest, shown) {
            let used: u64 = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
                .iter()
                .filter_map(|member| newest[*member].as_u64())
                .sum();
            let newer = matches!(name, "error_drop_mid_sse" | "error_sse_event" | "interrupt_with_queue" | "compact_manual");
            assert!(newer || shown.context.used == Some(used), "{name}: {:?} is not {used}", shown.context);
        }
    });
}

#[test]
fn a_session_in_the_fast_mode_is_never_priced_as_another() {
    let recording = super::one("fast_mode");
    let events = super::play(&recording.lines());
    let models: Vec<Option<&str>> =
        records(&events).into_iter().filter(|record| record.billable).map(|record| record.model.model_id.as_deref()).collect();
    assert_eq!(models, [Some("claude-opus-5-5-fast"); 2]);
}

#[test]
fn only_sums_that_contradict_the_calls_are_told() {
    each(|name, _, events| {
        let told: Vec<&str> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Debug { detail, .. } => detail.as_deref(),
                _ => None,
            })
            .collect();
        let expected: &[&str] = match name {
            // The CLI does not count the call that was cut.
            "error_sse_event" | "v2_1_197_error_drop_mid_sse" => &["modelUsage: input 20 instead of 40"],
            _ => &[],
        };
        assert_eq!(told, expected, "{name}");
    });
}

#[test]
fn what_was_cut_is_told_as_an_estimate() {
    let told = |name: &str| {
        let recording = super::one(name);
        let events = super::play(&recording.lines());
        let steps = records(&events).into_iter().filter(|record| record.operation == UsageOperation::ChatStep);
        let steps: Vec<_> = steps
            .map(|record| (record.tokens.input_tokens, record.tokens.output_tokens, record.exact, record.billable))
            .collect();
        steps
    };
    assert_eq!(told("interrupt_text")[0], (Some(40), Some(16), false, true));
    // Two calls that were cut are in the sum of both; the third came whole.
    let cut = (Some(20), None, false, false);
    assert_eq!(told("error_drop_mid_sse"), [(Some(20), Some(10), true, true), cut, cut, (Some(40), Some(16), false, true)]);
}
