//! Counts in every spelling, and the sums of turns.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use chat_grammar::catalog::ModelCatalog;
use chat_grammar::usage::{
    CostSource, MAX_COUNT, TokenCounts, TurnUsage, UsageOperation, UsageRecord, UsageStep, aggregate_turn_usage,
    finalize_turn_usage, normalize_usage,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::path::Path;

fn normalize(input: &Value) -> UsageRecord {
    normalize_usage(input, &Map::new()).expect("no context, no error")
}

/// Input, output, cache reads, cache writes.
fn buckets(tokens: TokenCounts) -> [Option<u64>; 4] {
    [tokens.input_tokens, tokens.output_tokens, tokens.cache_read_tokens, tokens.cache_write_tokens]
}

fn total(tokens: TokenCounts) -> Option<u64> {
    let [input, output, read, write] = buckets(tokens);
    Some(input? + output? + read.unwrap_or(0) + write.unwrap_or(0))
}

fn step(record: UsageRecord) -> UsageStep {
    UsageStep { turn_id: "turn".into(), index: 0, record }
}

/// A step from the members in which it differs.
fn step_with(id: &str, context: Value) -> UsageStep {
    let mut members = json!({ "id": id, "exact": true });
    let (Value::Object(all), Value::Object(given)) = (&mut members, context) else { panic!("an object") };
    all.extend(given);
    step(normalize_usage(&Value::Null, all).expect("members of a record"))
}

fn settle(steps: &[UsageStep]) -> TurnUsage {
    finalize_turn_usage(steps, ModelCatalog::published()).expect("a billable step")
}

#[test]
fn every_spelling() {
    let none = None;
    let spellings: [(&str, Value, [Option<u64>; 4]); 28] = [
        (
            "Anthropic, as issue reports have it",
            json!({"input_tokens": 3, "cache_creation_input_tokens": 1200, "cache_read_input_tokens": 15000, "output_tokens": 480}),
            [Some(3), Some(480), Some(15000), Some(1200)],
        ),
        (
            "Anthropic with writes by time only",
            json!({"input_tokens": 3, "output_tokens": 7, "cache_creation": {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 500}}),
            [Some(3), Some(7), none, Some(900)],
        ),
        (
            "Claude Code's modelUsage",
            json!({"inputTokens": 20, "outputTokens": 2, "cacheReadInputTokens": 5, "cacheCreationInputTokens": 6, "costUSD": 0.00012, "contextWindow": 1_000_000}),
            [Some(20), Some(2), Some(5), Some(6)],
        ),
        (
            "OpenAI chat",
            json!({"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050, "prompt_tokens_details": {"cached_tokens": 200}, "completion_tokens_details": {"reasoning_tokens": 20}}),
            [Some(800), Some(50), Some(200), none],
        ),
        ("OpenAI chat without a cache", json!({"prompt_tokens": 10, "completion_tokens": 5}), [Some(10), Some(5), none, none]),
        (
            "OpenAI responses",
            json!({"input_tokens": 3000, "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 50}, "output_tokens": 40, "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 3040}),
            [Some(2850), Some(40), Some(100), Some(50)],
        ),
        (
            "Gemini",
            json!({"promptTokenCount": 100, "cachedContentTokenCount": 30, "candidatesTokenCount": 20, "thoughtsTokenCount": 15, "toolUsePromptTokenCount": 5, "totalTokenCount": 140}),
            [Some(75), Some(35), Some(30), none],
        ),
        (
            "Gemini without a total",
            json!({"usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 15}}),
            [Some(100), Some(35), none, none],
        ),
        (
            "ACP",
            json!({"totalTokens": 35000, "inputTokens": 500, "outputTokens": 1500, "cachedReadTokens": 30000, "cachedWriteTokens": 3000, "thoughtTokens": 200}),
            [Some(500), Some(1500), Some(30000), Some(3000)],
        ),
        (
            "ACP of OpenCode, whose thoughts are beside the output",
            json!({"inputTokens": 800, "outputTokens": 20, "totalTokens": 1030, "thoughtTokens": 10, "cachedReadTokens": 200}),
            [Some(800), Some(30), Some(200), none],
        ),
        (
            "ACP of Cursor's form",
            json!({"totalTokens": 150, "inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 30}),
            [Some(100), Some(20), Some(30), none],
        ),
        (
            "the whole response of ACP",
            json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 6}}}),
            [Some(5), Some(6), none, none],
        ),
        (
            "a quota of gemini-cli",
            json!({"stopReason": "end_turn", "_meta": {"quota": {"token_count": {"input_tokens": 200, "output_tokens": 40}}}}),
            [Some(200), Some(40), none, none],
        ),
        (
            "Codex",
            json!({"inputTokens": 100, "cachedInputTokens": 40, "outputTokens": 10, "reasoningOutputTokens": 5, "totalTokens": 110, "cacheWriteInputTokens": 30}),
            [Some(30), Some(10), Some(40), Some(30)],
        ),
        (
            "Codex with its running total",
            json!({"total": {"inputTokens": 900, "outputTokens": 90, "totalTokens": 990}, "last": {"inputTokens": 12, "cachedInputTokens": 10, "outputTokens": 3, "totalTokens": 15}, "modelContextWindow": 258_400}),
            [Some(2), Some(3), Some(10), none],
        ),
        (
            "Codex exec",
            json!({"type": "turn.completed", "usage": {"input_tokens": 12632, "cached_input_tokens": 3456, "output_tokens": 81}}),
            [Some(9176), Some(81), Some(3456), none],
        ),
        (
            "a stored rollout of Codex",
            json!({"type": "token_count", "info": {"total_token_usage": {"input_tokens": 9000, "output_tokens": 900}, "last_token_usage": {"input_tokens": 1000, "cached_input_tokens": 200, "output_tokens": 100, "reasoning_output_tokens": 20, "total_tokens": 1100}, "model_context_window": 258_400}}),
            [Some(800), Some(100), Some(200), none],
        ),
        (
            "codex-acp",
            json!({"totalTokens": 120, "inputTokens": 100, "cachedInputTokens": 30, "cachedWriteTokens": 10, "outputTokens": 20, "reasoningOutputTokens": 0}),
            [Some(60), Some(20), Some(30), Some(10)],
        ),
        (
            "Pi",
            json!({"input": 1000, "output": 70, "cacheRead": 300, "cacheWrite": 0, "reasoning": 40, "totalTokens": 1370, "cost": {"input": 0.002, "total": 0.00271}}),
            [Some(1000), Some(70), Some(300), Some(0)],
        ),
        (
            "Pi's zeros of a failed call",
            json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}),
            [none; 4],
        ),
        (
            "OpenCode, whose reasoning is beside the output",
            json!({"total": 1050, "input": 800, "output": 30, "reasoning": 20, "cache": {"read": 200, "write": 0}}),
            [Some(800), Some(50), Some(200), Some(0)],
        ),
        (
            "OpenCode's zeros where the provider said nothing",
            json!({"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}),
            [none; 4],
        ),
        (
            "a total input",
            json!({"totalInputTokens": 100, "cachedInputTokens": 40, "outputTokens": 10, "thoughtTokens": 5}),
            [Some(60), Some(10), Some(40), none],
        ),
        (
            "a list of kinds",
            json!({"tokenList": [{"type": "input", "count": 12}, {"type": "cache_read", "count": 3}, {"type": "output", "count": 4}]}),
            [Some(12), Some(4), Some(3), none],
        ),
        (
            "a list of calls",
            json!({"tokenList": [{"inputTokens": 5, "outputTokens": 1, "cachedReadTokens": 2}, {"inputTokens": 7, "outputTokens": 2, "cachedReadTokens": 0}]}),
            [Some(12), Some(3), Some(2), none],
        ),
        (
            "our own record",
            json!({"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "cacheWriteTokens": 4}),
            [Some(1), Some(2), Some(3), Some(4)],
        ),
        (
            "impossible counts",
            json!({"inputTokens": -1, "outputTokens": 1.5, "cacheReadTokens": "7", "cacheWriteTokens": 18_014_398_509_481_984_u64}),
            [none; 4],
        ),
        (
            "more cache than input",
            json!({"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}}),
            [none, Some(1), Some(9), none],
        ),
    ];
    for (what, input, expected) in spellings {
        assert_eq!(buckets(normalize(&input).tokens), expected, "{what}");
    }
}

#[test]
fn what_stands_beside_the_counts() {
    let message = json!({
        "type": "assistant",
        "message": {"id": "msg_1", "model": "claude-opus-4-8", "usage": {"input_tokens": 3, "output_tokens": 210, "cache_creation_input_tokens": 3904,
            "cache_creation": {"ephemeral_1h_input_tokens": 3904, "ephemeral_5m_input_tokens": 0}, "output_tokens_details": {"thinking_tokens": 150}}}
    });
    let record = normalize(&message);
    assert_eq!((record.id.as_str(), record.source.as_str()), ("msg_1", "anthropic"));
    assert_eq!(record.model.model_id.as_deref(), Some("claude-opus-4-8"));
    assert_eq!((record.cache_write1h_tokens, record.reasoning_tokens), (Some(3904), Some(150)));
    assert!(record.exact && record.billable);
    assert_eq!(record.raw, message);

    let open_code = normalize(
        &json!({"id": "prt_1", "type": "step-finish", "cost": 0.01, "tokens": {"input": 10, "output": 100, "reasoning": 0, "cache": {"read": 5000, "write": 200}}}),
    );
    assert_eq!((open_code.native_cost_usd, open_code.source.as_str()), (Some(0.01), "opencode"));
    let pi =
        normalize(&json!({"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3, "cost": {"total": 0.5}}));
    assert_eq!((pi.native_cost_usd, pi.source.as_str()), (Some(0.5), "pi"));

    let full = normalize(
        &json!({"tokenList": {"inputTokens": 5, "outputTokens": 6}, "inputContextSize": 7000, "contextLimit": 200_000}),
    );
    assert_eq!((full.context.used, full.context.size), (Some(7000), Some(200_000)));
    let running = normalize(&json!({"cumulativeTokenList": {"inputTokens": 5, "outputTokens": 6}}));
    assert_eq!((buckets(running.tokens), running.billable, running.exact), ([Some(5), Some(6), None, None], false, false));
}

#[test]
fn how_full_the_context_is_bills_nothing() {
    let unknown = normalize(&json!({"sessionUpdate": "usage_update", "used": null, "size": 200_000}));
    assert_eq!((unknown.operation, unknown.billable), (UsageOperation::ContextSnapshot, false));
    assert_eq!((unknown.context.used, unknown.context.size), (None, Some(200_000)));
    let estimate =
        json!({"inputTokens": 0, "cachedInputTokens": 0, "outputTokens": 0, "reasoningOutputTokens": 0, "totalTokens": 4120});
    let compacted = normalize(&json!({"total": {"totalTokens": 99}, "last": estimate, "modelContextWindow": 258_400}));
    assert_eq!(
        (compacted.operation, compacted.billable, buckets(compacted.tokens)),
        (UsageOperation::ContextSnapshot, false, [None; 4])
    );
    assert_eq!((compacted.context.used, compacted.context.size), (Some(4120), Some(258_400)));
    assert_eq!(finalize_turn_usage(&[step(unknown), step(compacted)], ModelCatalog::published()), None);
}

#[test]
fn a_context_wins_and_must_fit() {
    let context = json!({"id": "resp_1", "operation": "chat_turn", "model": {"providerId": "openai", "modelId": "gpt-5"}, "cacheWriteTokens": 0});
    let input = json!({"model": "gpt-5-2025-08-07", "usage": {"prompt_tokens": 5, "completion_tokens": 1}});
    let record = normalize_usage(&input, context.as_object().expect("an object")).expect("a fitting context");
    assert_eq!((record.id.as_str(), record.operation), ("resp_1", UsageOperation::ChatTurn));
    assert_eq!(record.model.model_id.as_deref(), Some("gpt-5"));
    assert_eq!(buckets(record.tokens), [Some(5), Some(1), None, Some(0)]);
    let snapshot = json!({"operation": "context_snapshot"});
    assert!(!normalize_usage(&input, snapshot.as_object().expect("an object")).expect("a fitting context").billable);
    let wrong = json!({"operation": "chat"});
    assert!(normalize_usage(&input, wrong.as_object().expect("an object")).is_err());
}

#[test]
fn a_mode_with_a_price_of_its_own_is_not_the_base_model() {
    let usage = |speed: &str| {
        let counts = json!({"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "speed": speed});
        normalize(&json!({"id": "msg", "model": "claude-opus-4-8", "provider": "anthropic", "usage": counts}))
    };
    assert_eq!(usage("fast").model.model_id.as_deref(), Some("claude-opus-4-8-fast"));
    assert_eq!(settle(&[step(usage("fast"))]).cost_usd, None);
    assert_eq!(settle(&[step(usage("standard"))]).cost_usd, Some(0.000_05));
}

#[test]
fn repeated_reports_count_once_with_the_latest_numbers() {
    let line = |output: u64| {
        let usage = json!({"input_tokens": 4, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 20000, "output_tokens": output});
        step(normalize(&json!({"message": {"id": "msg_02A", "model": "claude-sonnet-4-5", "usage": usage}})))
    };
    let usage = settle(&[line(1), line(1), line(260)]);
    assert_eq!((usage.steps, buckets(usage.tokens)), (1, [Some(4), Some(260), Some(20000), Some(500)]));
    // What is worse known does not replace what is well known.
    let mut cut = line(1);
    cut.record.exact = false;
    let usage = settle(&[line(260), cut]);
    assert_eq!((usage.exact, usage.tokens.output_tokens), (true, Some(260)));
    // Without an id nobody knows that they are one.
    let mut nameless = line(5);
    nameless.record.id = String::new();
    assert_eq!(settle(&[nameless.clone(), nameless]).steps, 2);
}

#[test]
fn steps_are_preferred_to_the_sum_of_a_turn() {
    let counts = |input: u64| json!({"inputTokens": input, "outputTokens": 1, "cacheReadTokens": 0, "cacheWriteTokens": 0});
    let sum = |context: Value| {
        let mut members = counts(100);
        members["operation"] = json!("chat_turn");
        members.as_object_mut().expect("an object").extend(context.as_object().expect("an object").clone());
        step_with("turn", members)
    };
    assert_eq!(settle(&[step_with("a", counts(40)), sum(json!({}))]).tokens.input_tokens, Some(40));
    assert_eq!(settle(&[sum(json!({}))]).tokens.input_tokens, Some(100));
    // An estimate of a step is worse than an exact sum.
    let mut estimate = step_with("a", counts(40));
    estimate.record.exact = false;
    assert_eq!(settle(&[estimate.clone(), sum(json!({}))]).tokens.input_tokens, Some(100));
    assert_eq!(settle(&[estimate, sum(json!({"exact": false}))]).tokens.input_tokens, Some(40));
    // Its cost is that of the turn, whatever is counted.
    let usage = settle(&[step_with("a", counts(40)), sum(json!({"nativeCostUsd": 0.15}))]);
    assert_eq!((usage.cost_usd, usage.cost_source), (Some(0.15), Some(CostSource::Native)));
    assert_eq!(usage.models[0].cost_usd, Some(0.15));
    let mut compaction = step_with("c", counts(7));
    compaction.record.operation = UsageOperation::Compaction;
    assert_eq!(settle(&[compaction, sum(json!({}))]).tokens.input_tokens, Some(107));
}

#[test]
fn the_agents_own_cost_comes_first_and_the_catalogs_stands_beside_it() {
    let counts = |model: &str, cost: Option<f64>| {
        json!({"inputTokens": 1_000_000, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0, "nativeCostUsd": cost,
            "model": {"providerId": "anthropic", "modelId": model}})
    };
    let native =
        settle(&[step_with("a", counts("claude-haiku-4-5", Some(0.01))), step_with("b", counts("my-model", Some(0.02)))]);
    assert_eq!((native.cost_usd, native.cost_source, native.market_cost_usd), (Some(0.03), Some(CostSource::Native), None));
    assert_eq!(native.models.iter().map(|model| model.cost_usd).collect::<Vec<_>>(), [Some(0.01), Some(0.02)]);

    let catalog = settle(&[step_with("a", counts("claude-haiku-4-5", None)), step_with("b", counts("claude-haiku-4-5", None))]);
    assert_eq!(
        (catalog.cost_usd, catalog.cost_source, catalog.market_cost_usd),
        (Some(2.0), Some(CostSource::Catalog), Some(2.0))
    );
    assert_eq!((catalog.models.len(), catalog.models[0].steps, catalog.models[0].cost_usd), (1, 2, Some(2.0)));

    let beside = settle(&[step_with("a", counts("claude-haiku-4-5", Some(0.5)))]);
    assert_eq!((beside.cost_usd, beside.market_cost_usd), (Some(0.5), Some(1.0)));

    let half = settle(&[step_with("a", counts("claude-haiku-4-5", None)), step_with("b", counts("my-model", None))]);
    assert_eq!((half.cost_usd, half.cost_source, half.market_cost_usd), (None, None, None));
    let models: Vec<_> = half.models.iter().map(|model| (model.model_id.as_deref(), model.cost_usd)).collect();
    assert_eq!(models, [(Some("claude-haiku-4-5"), Some(1.0)), (Some("my-model"), None)]);
}

#[test]
fn a_price_that_the_gateway_states_is_the_markets() {
    let call = |from_provider: bool| {
        let pi = json!({"input": 1_000_000, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1_000_000,
            "provider": "anthropic", "model": "claude-haiku-4-5", "cost": {"total": 0.4, "totalFromProvider": from_provider}});
        settle(&[step(normalize(&pi))])
    };
    let (stated, listed) = (call(true), call(false));
    assert_eq!((stated.cost_usd, stated.cost_source, stated.market_cost_usd), (Some(0.4), Some(CostSource::Native), Some(0.4)));
    assert_eq!((listed.cost_usd, listed.cost_source, listed.market_cost_usd), (Some(0.4), Some(CostSource::Native), Some(1.0)));
}

#[test]
fn the_cost_of_a_turn_leaves_the_market_price_of_its_steps_beside_it() {
    let counts = json!({"inputTokens": 1_000_000, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0});
    let mut call = counts.clone();
    call["model"] = json!({"providerId": "anthropic", "modelId": "claude-haiku-4-5"});
    let mut turn = counts;
    turn["operation"] = json!("chat_turn");
    turn["billable"] = json!(false);
    turn["nativeCostUsd"] = json!(0.7);
    let usage = settle(&[step_with("a", call.clone()), step_with("turn", turn.clone())]);
    assert_eq!((usage.cost_usd, usage.cost_source, usage.market_cost_usd), (Some(0.7), Some(CostSource::Native), Some(1.0)));
    // A mode without a published price has no market price, whatever the agent says that it cost.
    call["model"]["modelId"] = json!("claude-haiku-4-5-fast");
    let usage = settle(&[step_with("a", call), step_with("turn", turn)]);
    assert_eq!((usage.cost_usd, usage.cost_source, usage.market_cost_usd), (Some(0.7), Some(CostSource::Native), None));
}

#[test]
fn a_sum_leaves_prices_and_repeats_alone() {
    let counts =
        json!({"inputTokens": 5, "outputTokens": 1, "model": {"providerId": "anthropic", "modelId": "claude-haiku-4-5"}});
    let usage = aggregate_turn_usage(&[step_with("a", counts.clone()), step_with("a", counts)]).expect("two steps");
    assert_eq!((usage.steps, usage.tokens.input_tokens, usage.tokens.cache_read_tokens), (2, Some(10), None));
    assert_eq!((usage.cost_usd, usage.market_cost_usd), (None, None));
    assert_eq!(aggregate_turn_usage(&[]), None);
}

/// What Codex's other interfaces repeat and mix with noise, one call at a time.
#[test]
fn reported_bugs() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cases/usage.ndjson");
    let cases = std::fs::read_to_string(file).expect("the cases");
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).expect("JSON");
        let records = case["input"].as_array().expect("messages").iter().map(normalize);
        let counted: Vec<UsageStep> = records.filter(|record| record.tokens != TokenCounts::default()).map(step).collect();
        let mut calls: Vec<TokenCounts> = Vec::new();
        for (index, call) in counted.iter().enumerate() {
            let repeated = counted[..index].iter().any(|former| former.record.id == call.record.id);
            if !repeated || call.record.id.is_empty() {
                calls.push(call.record.tokens);
            }
        }
        assert_eq!(json!(calls), case["expect"]["usage"], "{}", case["id"]);
        let sum = calls.iter().fold(TokenCounts::ZERO, |sum, call| sum.plus(*call));
        let usage = settle(&counted);
        assert_eq!((usage.tokens, usage.steps), (sum, calls.len() as u64), "{}", case["id"]);
    }
}

/// Reasoning is part of the output and is not paid twice: 1000 × 1.25 + 800 × 10 + 2000 × 0.125 millionths.
#[test]
fn reasoning_within_the_output_costs_what_output_costs() {
    let openai = json!({"prompt_tokens": 3000, "completion_tokens": 800, "total_tokens": 3800, "prompt_tokens_details": {"cached_tokens": 2000},
        "completion_tokens_details": {"reasoning_tokens": 600}, "model": "gpt-5", "provider": "openai"});
    // The same call, as OpenCode and Gemini count it: 200 of output and 600 of reasoning beside it.
    let open_code = json!({"tokens": {"total": 3800, "input": 1000, "output": 200, "reasoning": 600, "cache": {"read": 2000, "write": 0}},
        "modelID": "gpt-5", "providerID": "openai"});
    for call in [openai, open_code] {
        let usage = settle(&[step(normalize(&call))]);
        assert_eq!((usage.tokens.output_tokens, usage.reasoning_tokens), (Some(800), Some(600)));
        let cost = usage.cost_usd.expect("a price");
        assert!((cost - 0.0095).abs() < 0.000_01, "{cost}");
    }
}

/// Every object called `tokenUsage` or `usage` with a total, in what Codex sent.
fn reports(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(object) => {
            for (name, member) in object {
                let is_report = name == "tokenUsage" || name == "usage" && member.get("total_tokens").is_some();
                if is_report && member.is_object() { found.push(member.clone()) } else { reports(member, found) }
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| reports(entry, found)),
        Value::String(text) if text.starts_with('{') => {
            if let Ok(inner) = serde_json::from_str(text) {
                reports(&inner, found);
            }
        }
        _ => {}
    }
}

#[test]
fn buckets_of_every_codex_recording_make_up_its_totals() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings/codex");
    let mut calls = 0;
    for file in std::fs::read_dir(folder).expect("recordings").map(|file| file.expect("a file").path()) {
        if file.extension().is_none_or(|extension| extension != "ndjson") {
            continue;
        }
        let mut found = Vec::new();
        for line in std::fs::read_to_string(&file).expect("text").lines() {
            reports(&serde_json::from_str(line).expect("JSON"), &mut found);
        }
        for report in found {
            let record = normalize(&report);
            let last = report.get("last").unwrap_or(&report);
            let stated = last.get("totalTokens").or_else(|| last.get("total_tokens")).and_then(Value::as_u64);
            if record.operation == UsageOperation::ContextSnapshot {
                assert_eq!(record.context.used, stated, "{}", file.display());
            } else {
                assert_eq!(total(record.tokens), stated, "{}: {report}", file.display());
                calls += 1;
            }
        }
    }
    assert!(calls > 100, "{calls} calls were read");
}

fn any_count() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![4 => (0_u64..1_000_000).prop_map(Some), 1 => Just(None), 1 => (0..=MAX_COUNT).prop_map(Some)]
}

prop_compose! {
    fn any_tokens()(input in any_count(), output in any_count(), read in any_count(), write in any_count()) -> TokenCounts {
        TokenCounts { input_tokens: input, output_tokens: output, cache_read_tokens: read, cache_write_tokens: write }
    }
}

fn steps_of(all: &[TokenCounts]) -> Vec<UsageStep> {
    let id = |index: usize| format!("call {index}");
    all.iter().enumerate().map(|(index, tokens)| step_with(&id(index), serde_json::to_value(tokens).expect("JSON"))).collect()
}

/// Any JSON number and what is none.
fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_u64..1000).prop_map(Value::from),
        Just(Value::Null),
        ".{0,3}".prop_map(Value::from),
    ]
}

proptest! {
    #[test]
    fn sums_do_not_depend_on_how_steps_are_split(all in prop::collection::vec(any_tokens(), 2..8), at in 1_usize..7) {
        let at = at.min(all.len() - 1);
        let sum = |part: &[TokenCounts]| settle(&steps_of(part));
        let (left, right, whole) = (sum(&all[..at]), sum(&all[at..]), sum(&all));
        prop_assert_eq!(left.tokens.plus(right.tokens), whole.tokens);
        prop_assert_eq!(left.steps + right.steps, whole.steps);
    }

    #[test]
    fn a_bucket_that_a_step_does_not_know_is_unknown(all in prop::collection::vec(any_tokens(), 1..8)) {
        let usage = settle(&steps_of(&all));
        for (index, sum) in buckets(usage.tokens).into_iter().enumerate() {
            let counts: Option<Vec<u64>> = all.iter().map(|tokens| buckets(*tokens)[index]).collect();
            let expected = counts.map(|counts| counts.iter().sum::<u64>()).filter(|sum| *sum <= MAX_COUNT);
            prop_assert_eq!(sum, expected);
        }
    }

    #[test]
    fn no_count_is_impossible(values in prop::collection::vec(any_number(), 8), pick in 0_usize..5) {
        let names = [
            ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cacheWrite1hTokens", "total_tokens", "thoughtTokens", "used"],
            ["prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_input_tokens", "cacheWrite1h", "total_tokens", "reasoning_tokens", "size"],
            ["promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount", "x", "totalTokenCount", "thoughtsTokenCount", "size"],
            ["inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteInputTokens", "x", "totalTokens", "reasoningOutputTokens", "modelContextWindow"],
            ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "totalTokens", "reasoning", "inputContextSize"],
        ];
        let object: Map<String, Value> = names[pick].iter().map(|name| (*name).to_owned()).zip(values).collect();
        let record = normalize(&Value::Object(object));
        let more = [record.reasoning_tokens, record.cache_write1h_tokens, record.context.used, record.context.size];
        for count in buckets(record.tokens).into_iter().chain(more).flatten() {
            prop_assert!(count <= MAX_COUNT);
        }
    }

    #[test]
    fn inclusive_counts_are_taken_apart(input in 0_u64..1_000_000, output in 0_u64..1_000_000, read in 0_u64..1_000_000, write in 0_u64..1_000_000) {
        let all = input + read + write;
        let responses = json!({"input_tokens": all, "output_tokens": output, "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": write}});
        let codex = json!({"inputTokens": all, "outputTokens": output, "cachedInputTokens": read, "cacheWriteInputTokens": write});
        for inclusive in [responses, codex] {
            prop_assert_eq!(buckets(normalize(&inclusive).tokens), [input, output, read, write].map(Some));
        }
    }
}

#[test]
fn a_cost_of_nothing_is_no_price_of_open_code_and_pi() {
    let open_code = |cost: f64| json!({"id": "prt", "type": "step-finish", "cost": cost, "tokens": {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}}});
    let pi = |from_provider: bool| json!({"usage": {"input": 5, "output": 4, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 9, "cost": {"total": 0, "totalFromProvider": from_provider}}});
    let costs = [open_code(0.0), open_code(0.5), pi(false), pi(true)].map(|input| normalize(&input).native_cost_usd);
    assert_eq!(costs, [None, Some(0.5), None, Some(0.0)]);
}

#[test]
fn what_counts_a_turn_is_no_call() {
    let acp =
        json!({"stopReason": "end_turn", "usage": {"totalTokens": 304_000, "inputTokens": 300_000, "outputTokens": 4000}});
    let claude = json!({"type": "result", "usage": {"input_tokens": 10, "output_tokens": 5}, "total_cost_usd": 0.5});
    let codex = json!({"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 5}});
    let pi = json!({"role": "assistant", "stopReason": "stop", "usage": {"input": 5, "output": 4, "totalTokens": 9}});
    let bedrock = json!({"stopReason": "end_turn", "output": {"message": {}}, "usage": {"inputTokens": 5, "outputTokens": 4}});
    let operations = [acp, claude, codex, pi, bedrock].map(|input| normalize(&input).operation);
    let (turn, call) = (UsageOperation::ChatTurn, UsageOperation::ChatStep);
    assert_eq!(operations, [turn, turn, turn, call, call]);
}

#[test]
fn a_list_of_all_calls_so_far_is_no_cost_of_the_turn() {
    let calls = json!([{"inputTokens": 5, "outputTokens": 3, "cost": 1, "model": "a"}, {"inputTokens": 7, "outputTokens": 1, "cost": 2, "model": "b"}]);
    let so_far = normalize(&json!({ "cumulativeTokenList": calls }));
    assert_eq!((so_far.billable, so_far.exact, so_far.native_cost_usd), (false, false, None));
    let turn = normalize(&json!({ "tokenList": calls }));
    assert_eq!((turn.billable, turn.native_cost_usd, turn.model.model_id), (true, Some(3.0), None));
}

#[test]
fn a_turns_cost_that_is_told_twice_counts_once() {
    let call = step(normalize(&json!({"id": "c", "input_tokens": 10, "output_tokens": 5})));
    let mut told = normalize(&json!({"id": "t", "stopReason": "end_turn", "usage": {"inputTokens": 10, "outputTokens": 5}}));
    (told.billable, told.native_cost_usd) = (false, Some(0.5));
    assert_eq!(settle(&[call, step(told.clone()), step(told)]).cost_usd, Some(0.5));
}

#[test]
fn input_is_unknown_where_its_cached_part_is_no_number() {
    for cached in [json!("200"), json!(-1), json!(0.5)] {
        let record = normalize(
            &json!({"prompt_tokens": 1000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": cached}}),
        );
        assert_eq!((record.tokens.input_tokens, record.tokens.output_tokens, record.exact), (None, Some(5), false));
    }
    let none = json!({"prompt_tokens": 1000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": null}});
    assert_eq!(normalize(&none).tokens.input_tokens, Some(1000));
}

#[test]
fn a_mode_stands_before_the_window_of_the_models_name() {
    let call = |model: &str| json!({"model": model, "usage": {"input_tokens": 1, "output_tokens": 1, "speed": "fast"}});
    let names = ["claude-opus-4-8", "claude-opus-4.8[1m]", "claude-opus-4-8-fast"]
        .map(|model| normalize(&call(model)).model.model_id.expect("a model"));
    assert_eq!(names, ["claude-opus-4-8-fast", "claude-opus-4.8-fast[1m]", "claude-opus-4-8-fast"]);
}
