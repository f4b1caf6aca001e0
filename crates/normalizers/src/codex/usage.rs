//! Token counts. Reports repeat, and some are no reports of a call at all; the thread's running total tells them apart.

use super::Malformed;
use super::threads::Thread;
use super::wire::{Breakdown, RawResponseNotice, TokenUsage, UsageNotice};
use chat_grammar::event::{ChatEvent, EventKind};
use chat_grammar::usage::{ContextFullness, TokenCounts, UsageOperation, UsageRecord};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

const SOURCE: &str = "codex_app_server";
const SNAPSHOT_SOURCE: &str = "codex_app_server_context_snapshot";

/// What a thread has reported.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    total: Option<Breakdown>,
    /// Calls that were reported one by one and whose running total has not come yet.
    ahead: Breakdown,
    turns: HashMap<String, TurnReports>,
    /// Model calls that were reported one by one, so that a repeated report is known as one.
    responses: HashSet<String>,
    context: ContextFullness,
    /// The fullness that readers know.
    told: ContextFullness,
}

/// What is known of the reports about one turn.
#[derive(Debug, Default)]
struct TurnReports {
    /// The turn runs or ran in this process. What is said about any other is replayed.
    live: bool,
    records: u64,
}

impl Ledger {
    /// A turn runs in this process.
    pub(super) fn live(&mut self, turn_id: &str) {
        match self.turns.get_mut(turn_id) {
            Some(turn) => turn.live = true,
            None => {
                self.turns.insert(turn_id.to_owned(), TurnReports { live: true, records: 0 });
            }
        }
    }

    fn is_live(&self, turn_id: &str) -> bool {
        self.turns.get(turn_id).is_some_and(|turn| turn.live)
    }

    /// The thread was loaded again: what it says about its past is replayed.
    pub(super) fn reload(&mut self) {
        self.turns.values_mut().for_each(|turn| turn.live = false);
        self.ahead = Breakdown::default();
    }

    /// The counts of a call came, and the total that holds them has not.
    pub(super) fn is_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// How many tokens the context holds.
    pub(super) fn context_used(&self) -> Option<u64> {
        self.context.used
    }

    fn number(&mut self, turn_id: &str) -> u64 {
        let turn = self.turns.entry(turn_id.to_owned()).or_default();
        turn.records = turn.records.saturating_add(1);
        turn.records
    }
}

/// `thread/tokenUsage/updated`.
pub(super) fn updated(thread: &mut Thread, notice: &UsageNotice<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
    let usage: TokenUsage = serde_json::from_str(notice.token_usage.get())?;
    let ledger = &mut thread.usage;
    let turn_id = notice.turn_id.as_deref().unwrap_or_default().to_owned();
    let replayed = notice.turn_id.is_some() && !ledger.is_live(&turn_id);
    let estimate = usage.last.is_empty();
    let before = ledger.total.replace(usage.total);
    ledger.context.used = usage.last.total_tokens.or(ledger.context.used);
    ledger.context.size = usage.model_context_window.or(ledger.context.size);
    if let Some(compaction) = thread.compaction.as_mut().filter(|_| estimate) {
        compaction.post_tokens = usage.last.total_tokens;
    }

    let call = match before {
        _ if replayed || estimate => Breakdown::default(),
        Some(before) if before == usage.total => Breakdown::default(),
        Some(before) => usage.total.since(before).unwrap_or(usage.last),
        None => usage.last,
    };
    // A total that is told again as it was, or of nothing: the call that ended had no counts.
    let stands = usage.total.is_empty() || before == Some(usage.total) && !estimate;
    let call = match call.is_empty() {
        true => call,
        false => {
            thread.messages.take_unreported();
            call.since(std::mem::take(&mut thread.usage.ahead)).unwrap_or_default()
        }
    };
    if stands && !replayed {
        unreported(thread, out);
    }
    let raw = serde_json::from_str(notice.token_usage.get())?;
    if !call.is_empty() {
        step(thread, &turn_id, None, Some(call), raw, out);
    } else if thread.usage.context != thread.usage.told {
        snapshot(thread, &turn_id, estimate, raw, out);
    }
    Ok(())
}

/// `rawResponse/completed`: one model call, as soon as it ended.
pub(super) fn response(thread: &mut Thread, notice: &RawResponseNotice<'_>, raw: Value, out: &mut Vec<ChatEvent>) {
    if !thread.usage.responses.insert(notice.response_id.to_string()) {
        return;
    }
    thread.messages.take_unreported();
    if let Some(usage) = notice.usage {
        thread.usage.ahead = thread.usage.ahead.plus(usage);
        thread.usage.context.used = usage.total_tokens.or(thread.usage.context.used);
    }
    let turn_id = notice.turn_id.as_deref().unwrap_or_default();
    step(thread, turn_id, Some(&notice.response_id), notice.usage, raw, out);
}

/// The model spoke, and its call ended without a report: a step whose counts nobody knows.
pub(super) fn unreported(thread: &mut Thread, out: &mut Vec<ChatEvent>) {
    if thread.messages.take_unreported() {
        let turn_id = thread.turn.as_ref().map(|turn| turn.id.clone()).unwrap_or_default();
        step(thread, &turn_id, None, None, Value::Null, out);
    }
}

fn step(
    thread: &mut Thread,
    turn_id: &str,
    response_id: Option<&str>,
    counts: Option<Breakdown>,
    raw: Value,
    out: &mut Vec<ChatEvent>,
) {
    let number = thread.usage.number(turn_id);
    let operation = match thread.compaction {
        Some(_) => UsageOperation::Compaction,
        None => UsageOperation::ChatStep,
    };
    let id = response_id.map_or_else(|| format!("{}:{turn_id}:{number}", thread.id), str::to_owned);
    if thread.usage.context.size.is_some() {
        thread.usage.told = thread.usage.context;
    }
    let model = match &thread.compaction {
        Some(compaction) if number == 1 && !compaction.is_asked_for() => thread.last_model.clone(),
        _ => None,
    };
    let model = model.or_else(|| thread.model.clone());
    if operation == UsageOperation::ChatStep {
        thread.last_model.clone_from(&model);
    }
    let record = UsageRecord {
        id,
        operation,
        model: thread.tier.priced(thread.provider.clone(), model),
        exact: counts.is_some(),
        tokens: counts.map(Breakdown::counts).unwrap_or_default(),
        reasoning_tokens: counts.and_then(|counts| counts.reasoning_output_tokens),
        raw,
        ..record(thread)
    };
    emit(thread, record, out);
}

fn snapshot(thread: &mut Thread, turn_id: &str, estimate: bool, raw: Value, out: &mut Vec<ChatEvent>) {
    let number = thread.usage.number(turn_id);
    thread.usage.told = thread.usage.context;
    let record = UsageRecord {
        id: format!("{}:{turn_id}:context:{number}", thread.id),
        operation: UsageOperation::ContextSnapshot,
        source: SNAPSHOT_SOURCE.to_owned(),
        exact: !estimate,
        billable: false,
        raw,
        ..record(thread)
    };
    emit(thread, record, out);
}

fn record(thread: &Thread) -> UsageRecord {
    UsageRecord {
        id: String::new(),
        operation: UsageOperation::ChatStep,
        model: thread.tier.priced(thread.provider.clone(), thread.model.clone()),
        source: SOURCE.to_owned(),
        exact: true,
        billable: true,
        tokens: TokenCounts::default(),
        reasoning_tokens: None,
        cache_write1h_tokens: None,
        native_cost_usd: None,
        context: thread.usage.context,
        parent_tool_call_id: thread.parent.clone(),
        raw: Value::Null,
    }
}

fn emit(thread: &Thread, usage: UsageRecord, out: &mut Vec<ChatEvent>) {
    out.push(ChatEvent { kind: EventKind::UsageFinal { usage }, parent_tool_call_id: thread.parent.clone() });
}

impl Breakdown {
    fn buckets(self) -> [Option<u64>; 5] {
        [
            self.input_tokens,
            self.cached_input_tokens,
            self.cache_write_input_tokens,
            self.output_tokens,
            self.reasoning_output_tokens,
        ]
    }

    /// True where no bucket counts anything, whatever the sum says.
    fn is_empty(self) -> bool {
        self.buckets().iter().all(|count| count.is_none_or(|count| count == 0))
    }

    /// What was counted after `before`; `None` where a count shrank, since the total was then set anew.
    fn since(self, before: Self) -> Option<Self> {
        let minus = |now: Option<u64>, before: Option<u64>| match now {
            Some(now) => now.checked_sub(before.unwrap_or(0)).map(Some),
            None => Some(None),
        };
        Some(Self {
            total_tokens: minus(self.total_tokens, before.total_tokens)?,
            input_tokens: minus(self.input_tokens, before.input_tokens)?,
            cached_input_tokens: minus(self.cached_input_tokens, before.cached_input_tokens)?,
            cache_write_input_tokens: minus(self.cache_write_input_tokens, before.cache_write_input_tokens)?,
            output_tokens: minus(self.output_tokens, before.output_tokens)?,
            reasoning_output_tokens: minus(self.reasoning_output_tokens, before.reasoning_output_tokens)?,
        })
    }

    fn plus(self, more: Self) -> Self {
        let plus = |left: Option<u64>, right: Option<u64>| match (left, right) {
            (Some(left), Some(right)) => Some(left.saturating_add(right)),
            (left, right) => left.or(right),
        };
        Self {
            total_tokens: plus(self.total_tokens, more.total_tokens),
            input_tokens: plus(self.input_tokens, more.input_tokens),
            cached_input_tokens: plus(self.cached_input_tokens, more.cached_input_tokens),
            cache_write_input_tokens: plus(self.cache_write_input_tokens, more.cache_write_input_tokens),
            output_tokens: plus(self.output_tokens, more.output_tokens),
            reasoning_output_tokens: plus(self.reasoning_output_tokens, more.reasoning_output_tokens),
        }
    }

    /// The buckets that do not overlap.
    fn counts(self) -> TokenCounts {
        let cached = self.cached_input_tokens.unwrap_or(0).saturating_add(self.cache_write_input_tokens.unwrap_or(0));
        TokenCounts {
            input_tokens: self.input_tokens.map(|input| input.saturating_sub(cached)),
            output_tokens: self.output_tokens,
            cache_read_tokens: self.cached_input_tokens,
            cache_write_tokens: self.cache_write_input_tokens,
        }
    }
}
