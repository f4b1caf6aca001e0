//! Token counts: one part `step-finish` a model call. Messages and sessions repeat the numbers in sums, which are not read.

use super::info::Info;
use super::messages::{PartState, Role};
use super::sessions::Session;
use super::wire::Part;
use chat_grammar::event::{ChatEvent, EventKind};
use chat_grammar::usage::{ContextFullness, TokenCounts, UsageModel, UsageOperation, UsageRecord};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

const SOURCE: &str = "opencode.step_finish";

/// The counts of one call.
#[derive(Debug, Default)]
struct Counts {
    tokens: TokenCounts,
    reasoning: Option<u64>,
    /// Everything that the call read and wrote, which is what the context holds after it.
    total: Option<u64>,
}

/// A model call ended.
pub(super) fn step_finished(session: &mut Session, part: &Part<'_>, info: &Info, out: &mut Vec<ChatEvent>) {
    let message = session.messages.entry(&part.message_id);
    if message.parts.contains_key(&*part.id) {
        return;
    }
    message.parts.insert(part.id.to_string(), PartState::Seen);
    session.messages.step_finished(&part.message_id);
    let counts = part.tokens.and_then(|tokens| serde_json::from_str(tokens.get()).ok()).map(|tokens| counts(&tokens));
    let counts = counts.unwrap_or_default();
    let cost: Option<f64> = part.cost.and_then(|cost| serde_json::from_str(cost.get()).ok());
    // A model without prices costs 0 as well: that says nothing.
    let cost = cost.filter(|cost| *cost > 0.0 && cost.is_finite());
    let record = UsageRecord {
        tokens: counts.tokens,
        reasoning_tokens: counts.reasoning,
        exact: counts.tokens.input_tokens.is_some(),
        native_cost_usd: cost,
        raw: raw(part),
        ..record(session, &part.message_id, &part.id)
    };
    let summary = record.operation == UsageOperation::Compaction;
    let used = counts.total.filter(|_| !summary);
    session.context_used = if summary { None } else { used.or(session.context_used) };
    let size = used.and_then(|_| info.context_size(record.model.provider_id.as_deref(), record.model.model_id.as_deref()));
    emit(session, UsageRecord { context: ContextFullness { used, size }, ..record }, out);
}

/// The model calls that began and whose end will not be told: steps whose counts nobody knows.
pub(super) fn unreported(session: &mut Session, out: &mut Vec<ChatEvent>) {
    for (message_id, step) in session.messages.open_steps() {
        let record = UsageRecord { exact: false, ..record(session, &message_id, &step) };
        emit(session, record, out);
    }
}

fn record(session: &Session, message_id: &str, id: &str) -> UsageRecord {
    let message = session.messages.get(message_id);
    let operation = match message.and_then(|message| message.role) {
        Some(Role::Summary) => UsageOperation::Compaction,
        _ => UsageOperation::ChatStep,
    };
    UsageRecord {
        id: id.to_owned(),
        operation,
        model: UsageModel {
            provider_id: message.and_then(|message| message.provider.clone()),
            model_id: message.and_then(|message| message.model.clone()),
            ..UsageModel::default()
        },
        source: SOURCE.to_owned(),
        exact: true,
        billable: true,
        tokens: TokenCounts::default(),
        reasoning_tokens: None,
        cache_write1h_tokens: None,
        native_cost_usd: None,
        context: ContextFullness::default(),
        parent_tool_call_id: session.call.clone(),
        raw: Value::Null,
    }
}

fn emit(session: &Session, usage: UsageRecord, out: &mut Vec<ChatEvent>) {
    out.push(ChatEvent { kind: EventKind::UsageFinal { usage }, parent_tool_call_id: session.call.clone() });
}

/// Input excludes the cache, and output excludes reasoning, which is added here. A provider that reports nothing gives zeros, and then
/// there is no `total`.
fn counts(tokens: &Value) -> Counts {
    let count = |path: &str| tokens.pointer(path).and_then(Value::as_u64);
    let reasoning = count("/reasoning");
    let output = count("/output").map(|output| output.saturating_add(reasoning.unwrap_or(0)));
    let (input, read, write) = (count("/input"), count("/cache/read"), count("/cache/write"));
    let unknown = count("/total").is_none() && [input, output, read, write].iter().flatten().all(|count| *count == 0);
    if unknown {
        return Counts::default();
    }
    let parts = [input, output, read, write];
    let sum = parts.iter().try_fold(0_u64, |sum, count| sum.checked_add((*count)?));
    Counts {
        tokens: TokenCounts { input_tokens: input, output_tokens: output, cache_read_tokens: read, cache_write_tokens: write },
        reasoning,
        total: count("/total").or(sum),
    }
}

fn raw(part: &Part<'_>) -> Value {
    let value = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let members =
        [("reason", part.reason.as_deref().map(Value::from)), ("tokens", value(part.tokens)), ("cost", value(part.cost))];
    let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(members.collect::<Map<String, Value>>())
}
