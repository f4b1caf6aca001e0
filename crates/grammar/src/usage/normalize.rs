//! Token counts in the spellings of agents and provider APIs to one record.

use super::spellings::{
    CACHE_READ, CACHE_WRITE, CONTEXT_SIZE, CONTEXT_USED, COST, DEEPEST, INPUT, Names, OUTPUT, READ_OF_INPUT, REASONING,
    RUNNING_TOTAL, TOOL_INPUT, TOTAL, WHOLE_INPUT, WRAPPERS, WRITE_1H, WRITE_5M, WRITE_OF_INPUT,
};
use super::{ContextFullness, TokenCounts, UsageModel, UsageOperation, UsageRecord, add, count_of, list, model_in_mode};
use crate::error::{ChatError, ErrorCode, Result};
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// What an agent or a provider API says about one model call, as a record of ours: buckets that do not overlap, and nothing
/// counted that was not said. Counts are tokens; negative, fractional, too large or non-numeric ones become `None`.
///
/// The id is the response's; of Codex's reports, which have none, it is the running total, so that a repeat is known as one.
///
/// A source that counts the cache within its input has it taken out. Where a source states a total, what its counts include is
/// read from that. `context` holds members of the record that the caller knows better: they win.
///
/// # Errors
/// `INVALID_OPTIONS` at `context` where its members do not fit a record.
pub fn normalize_usage(input: &Value, context: &Map<String, Value>) -> Result<UsageRecord> {
    let mut record = read(input);
    record.raw = input.clone();
    let mut record =
        with_context(record, context).map_err(|error| ChatError::at(ErrorCode::InvalidOptions, "context", error))?;
    record.billable &= record.operation != UsageOperation::ContextSnapshot;
    // A service tier or speed other than the usual one has another price: it is part of the model's name.
    if let (Some(mode), Some(model)) = (mode_of(input), record.model.model_id.as_mut()) {
        *model = model_in_mode(model, &mode);
    }
    Ok(record)
}

fn with_context(record: UsageRecord, context: &Object) -> serde_json::Result<UsageRecord> {
    let mut members = serde_json::to_value(record)?;
    for (name, value) in context {
        match (members.get_mut(name), value) {
            (Some(Value::Object(known)), Value::Object(given)) if name != "raw" => {
                known.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
            (Some(member), value) => *member = value.clone(),
            (None, _) => {}
        }
    }
    serde_json::from_value(members)
}

fn read(input: &Value) -> UsageRecord {
    let mut path = Vec::new();
    let running_total = input.get(RUNNING_TOTAL).filter(|_| input.get("tokenList").is_none());
    let found = locate(input, &mut path, 0) || running_total.is_some_and(|list| locate(list, &mut path, 0));
    if let Some(calls) = found.then(|| sum_of_calls(path.last().copied())).flatten() {
        let context = context_of(&path);
        return match running_total {
            None => UsageRecord { context, ..calls },
            Some(_) => UsageRecord { context, billable: false, exact: false, native_cost_usd: None, ..calls },
        };
    }
    let listed = path.last().and_then(|value| list::by_kind(value.as_array()?));
    let here = listed.as_ref().or_else(|| path.last().and_then(|value| value.as_object())).filter(|_| found);
    let mut record = here.map_or_else(nothing, counted);
    let context = context_of(&path);
    record.context = ContextFullness { used: context.used.or(record.context.used), size: context.size };
    if here.is_none() && (record.context.used.is_some() || record.context.size.is_some()) {
        record.operation = UsageOperation::ContextSnapshot;
    }
    if here.is_some() && is_sum_of_turn(&path, &record.source) && record.operation == UsageOperation::ChatStep {
        record.operation = UsageOperation::ChatTurn;
    }
    record.billable = record.operation != UsageOperation::ContextSnapshot && running_total.is_none();
    record.exact &= running_total.is_none();
    if record.billable {
        let cost = inner_first(&path, |object| COST.iter().find_map(|name| cost_at(object, name)));
        let is_price = |cost: &f64| *cost > 0.0 || is_of_gateway(&path) || !here.is_some_and(says_zero_for_no_price);
        record.native_cost_usd = cost.filter(is_price);
    }
    let text = |names: &[&str]| {
        inner_first(&path, |object| names.iter().find_map(|name| object.get(*name)?.as_str().map(str::to_owned)))
    };
    let id = text(&["responseId", "response_id", "id"]);
    record.id = id.or_else(|| inner_first(&path, id_by_running_total)).unwrap_or_default();
    record.model = UsageModel {
        agent_revision_id: None,
        provider_id: text(&["providerId", "providerID", "provider"]),
        model_id: text(&["modelId", "modelID", "model", "modelVersion"]),
        ..UsageModel::default()
    };
    record
}

/// What counts a turn: ACP's answer to a prompt, and the last lines of Claude Code and of `codex exec`.
fn is_sum_of_turn(path: &[&Value], source: &str) -> bool {
    // A message of Pi's and an answer of Bedrock's stop for a reason as well.
    let answers_a_prompt = |object: &Object| {
        object.get("stopReason").is_some_and(Value::is_string) && !object.contains_key("role") && !object.contains_key("output")
    };
    let ends_a_turn = |object: &Object| matches!(object.get("type").and_then(Value::as_str), Some("result" | "turn.completed"));
    source == "acp"
        || path.iter().filter_map(|value| value.as_object()).any(|object| answers_a_prompt(object) || ends_a_turn(object))
}

/// The spellings of OpenCode and Pi, which say that a call cost 0 where they know no price.
fn says_zero_for_no_price(object: &Object) -> bool {
    object.get("cache").is_some_and(Value::is_object) || object.contains_key("cacheRead") || object.contains_key("cacheWrite")
}

/// Pi marks a cost that the gateway stated.
fn is_of_gateway(path: &[&Value]) -> bool {
    inner_first(path, |object| at(object, "cost.totalFromProvider")?.as_bool()).unwrap_or_default()
}

/// Codex repeats the report of a call and gives it no id; but for repeats its running total grows with each.
fn id_by_running_total(object: &Object) -> Option<String> {
    let forms = [("last", "total"), ("last_token_usage", "total_token_usage")];
    let total = forms.iter().find_map(|(last, total)| object.get(*total).filter(|_| object.contains_key(*last)))?;
    let numbers = total.as_object()?.values().filter(|value| value.is_number());
    let numbers: Vec<String> = numbers.map(Value::to_string).collect();
    (!numbers.is_empty()).then(|| format!("total:{}", numbers.join(":")))
}

/// Walks to the value that holds counts. `path` gets every value on the way, that one last.
fn locate<'a>(value: &'a Value, path: &mut Vec<&'a Value>, depth: usize) -> bool {
    path.push(value);
    let holds_counts = match value {
        Value::Object(object) => [INPUT, WHOLE_INPUT, OUTPUT]
            .iter()
            .any(|names| names.iter().any(|name| object.get(*name).is_some_and(Value::is_number))),
        Value::Array(entries) => !entries.is_empty(),
        _ => false,
    };
    if holds_counts {
        return true;
    }
    if let Value::Object(object) = value
        && depth < DEEPEST
    {
        let mut deeper =
            WRAPPERS.iter().filter_map(|name| object.get(*name)).filter(|value| value.is_object() || value.is_array());
        let length = path.len();
        if deeper.any(|value| {
            path.truncate(length);
            locate(value, path, depth + 1)
        }) {
            return true;
        }
        path.truncate(length);
    }
    false
}

/// Of a list with one entry a model call.
fn sum_of_calls(value: Option<&Value>) -> Option<UsageRecord> {
    let entries = value?.as_array().filter(|entries| list::by_kind(entries).is_none())?;
    let mut calls = entries.iter().map(read);
    let first = calls.next()?;
    Some(calls.fold(first, |sum, call| UsageRecord {
        operation: UsageOperation::ChatTurn,
        exact: sum.exact && call.exact,
        tokens: sum.tokens.plus(call.tokens),
        reasoning_tokens: add(sum.reasoning_tokens, call.reasoning_tokens),
        cache_write1h_tokens: add(sum.cache_write1h_tokens, call.cache_write1h_tokens),
        native_cost_usd: sum.native_cost_usd.zip(call.native_cost_usd).map(|(sum, cost)| sum + cost),
        model: if sum.model == call.model { sum.model } else { UsageModel { is_undetermined: true, ..UsageModel::default() } },
        ..sum
    }))
}

fn nothing() -> UsageRecord {
    UsageRecord {
        id: String::new(),
        operation: UsageOperation::ChatStep,
        model: UsageModel::default(),
        source: "unknown".to_owned(),
        exact: false,
        billable: true,
        tokens: TokenCounts::default(),
        reasoning_tokens: None,
        cache_write1h_tokens: None,
        native_cost_usd: None,
        context: ContextFullness::default(),
        parent_tool_call_id: None,
        raw: Value::Null,
    }
}

/// What an object counts, before it is known what includes what.
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    read: Option<u64>,
    write: Option<u64>,
    reasoning: Option<u64>,
}

impl Counts {
    fn buckets(&self, cache_within_input: bool, reasoning_beside_output: bool) -> TokenCounts {
        let cached = self.read.unwrap_or(0).saturating_add(self.write.unwrap_or(0));
        let apart = self.reasoning.filter(|_| reasoning_beside_output).unwrap_or(0);
        TokenCounts {
            input_tokens: self.input.and_then(|input| if cache_within_input { input.checked_sub(cached) } else { Some(input) }),
            output_tokens: add(self.output, Some(apart)),
            cache_read_tokens: self.read,
            cache_write_tokens: self.write,
        }
    }
}

fn counted(object: &Object) -> UsageRecord {
    let count = |names: Names| names.iter().find_map(|name| at(object, name)).and_then(count_of);
    let own_input = count(INPUT);
    let long_writes = count(WRITE_1H);
    let counts = Counts {
        input: own_input.or_else(|| Some(count(WHOLE_INPUT)?.saturating_add(count(TOOL_INPUT).unwrap_or(0)))),
        output: count(OUTPUT),
        read: count(CACHE_READ).or_else(|| count(READ_OF_INPUT)),
        write: count(CACHE_WRITE).or_else(|| count(WRITE_OF_INPUT)).or_else(|| match (count(WRITE_5M), long_writes) {
            (None, None) => None,
            (short, long) => short.unwrap_or(0).checked_add(long.unwrap_or(0)),
        }),
        reasoning: count(REASONING),
    };
    let total = count(TOTAL);
    let is_open_code = object.get("cache").is_some_and(Value::is_object);
    let is_gemini = WHOLE_INPUT
        .iter()
        .any(|name| name.to_lowercase().replace('_', "").ends_with("tokencount") && object.contains_key(*name));

    // Part of the input is cached, and nobody says how much.
    let is_muddled = |names: Names| {
        names.iter().filter_map(|name| at(object, name)).any(|value| !value.is_null() && count_of(value).is_none())
    };
    let counts = match is_muddled(READ_OF_INPUT) || is_muddled(WRITE_OF_INPUT) {
        true => Counts { input: None, ..counts },
        false => counts,
    };

    let within = own_input.is_none() || count(READ_OF_INPUT).is_some() || count(WRITE_OF_INPUT).is_some();
    let beside = is_open_code || is_gemini;
    let readings = [(within, beside), (within, !beside), (!within, beside), (!within, !beside)];
    let mut tokens = readings.map(|(within, beside)| counts.buckets(within, beside));
    let usual = tokens[0];
    let stated = tokens.iter_mut().find(|tokens| total.is_some() && total == sum(**tokens)).map(|tokens| *tokens);
    let tokens = stated.unwrap_or(usual);

    let all = [counts.input, counts.output, counts.read, counts.write, counts.reasoning];
    let is_empty = all.iter().all(|count| count.is_none_or(|count| count == 0));
    let mut record = UsageRecord {
        source: source(object, is_open_code, is_gemini).to_owned(),
        exact: tokens.input_tokens.is_some() && tokens.output_tokens.is_some(),
        tokens,
        reasoning_tokens: counts.reasoning,
        cache_write1h_tokens: long_writes,
        ..nothing()
    };
    match total {
        // Codex estimates the context that way after a compaction.
        Some(total) if is_empty && total > 0 => {
            let unknown = UsageRecord { operation: UsageOperation::ContextSnapshot, source: record.source, ..nothing() };
            UsageRecord { context: ContextFullness { used: Some(total), size: None }, ..unknown }
        }
        // OpenCode and Pi say zero where the provider said nothing.
        None if is_empty && is_open_code => UsageRecord { source: record.source, ..nothing() },
        Some(0) if object.contains_key("input") => UsageRecord { source: record.source, ..nothing() },
        _ => {
            if record.tokens == TokenCounts::default() {
                record.exact = false;
            }
            record
        }
    }
}

/// All tokens; unknown without input or output.
fn sum(tokens: TokenCounts) -> Option<u64> {
    let cached = tokens.cache_read_tokens.unwrap_or(0).checked_add(tokens.cache_write_tokens.unwrap_or(0))?;
    tokens.input_tokens?.checked_add(tokens.output_tokens?)?.checked_add(cached)
}

fn source(object: &Object, is_open_code: bool, is_gemini: bool) -> &'static str {
    let has = |names: &[&str]| names.iter().any(|name| object.contains_key(*name));
    match () {
        () if is_open_code => "opencode",
        () if is_gemini => "gemini",
        () if has(&["prompt_tokens", "completion_tokens"]) => "openai_chat",
        () if has(&["cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation"]) => "anthropic",
        () if has(&["input_tokens_details"]) => "openai_responses",
        () if has(&["cachedInputTokens", "reasoningOutputTokens", "cached_input_tokens", "reasoning_output_tokens"]) => "codex",
        () if has(&["cachedReadTokens", "cachedWriteTokens", "thoughtTokens"]) => "acp",
        () if has(&["cacheRead", "cacheWrite"]) => "pi",
        () => "unknown",
    }
}

fn context_of(path: &[&Value]) -> ContextFullness {
    let count = |names: Names| inner_first(path, |object| names.iter().find_map(|name| at(object, name).and_then(count_of)));
    let size = count(CONTEXT_SIZE);
    // Codex: the whole of the last call is what the context holds.
    let last = || {
        inner_first(path, |object| {
            count_of(
                object
                    .get("last")
                    .or_else(|| object.get("last_token_usage"))?
                    .as_object()
                    .and_then(|last| TOTAL.iter().find_map(|name| last.get(*name)))?,
            )
        })
    };
    ContextFullness { used: count(CONTEXT_USED).or_else(last), size }
}

/// A way of serving the call that has a price of its own.
fn mode_of(input: &Value) -> Option<String> {
    let mut path = Vec::new();
    locate(input, &mut path, 0);
    let usual = ["standard", "default", "auto", ""];
    let word = |name: &str| {
        inner_first(&path, |object| object.get(name)?.as_str().map(str::to_lowercase))
            .filter(|word| !usual.contains(&word.as_str()))
    };
    ["speed", "service_tier", "serviceTier"].into_iter().find_map(word)
}

fn at<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    match name.split_once('.') {
        Some((outer, inner)) => object.get(outer)?.get(inner),
        None => object.get(name),
    }
}

fn cost_at(object: &Object, name: &str) -> Option<f64> {
    at(object, name)?.as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0)
}

fn inner_first<T>(path: &[&Value], find: impl Fn(&Object) -> Option<T>) -> Option<T> {
    path.iter().rev().find_map(|value| find(value.as_object()?))
}
