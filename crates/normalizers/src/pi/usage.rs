//! Token counts: one record a message of the model, as Pi gives it with its cost, and one a compaction.

use super::normalize::Pi;
use super::wire::{ContextUsage, Cost, Usage};
use chat_grammar::event::{ChatEvent, EventKind};
use chat_grammar::usage::{ContextFullness, TokenCounts, UsageModel, UsageOperation, UsageRecord};
use serde_json::Value;
use std::collections::HashMap;

const SOURCE: &str = "pi_rpc";
const SNAPSHOT_SOURCE: &str = "pi_rpc_context_snapshot";

/// What was reported.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// How often each id was used in this turn: some providers give the same to every response.
    ids: HashMap<String, u64>,
    snapshots: u64,
    context: ContextFullness,
    /// The fullness that readers know.
    told: ContextFullness,
    model: UsageModel,
}

/// One model call, as far as it is known.
#[derive(Debug)]
pub(super) struct ModelCall {
    pub id: String,
    pub model: UsageModel,
    pub usage: Usage,
    pub raw: Value,
    /// The provider sent all of its answer.
    pub whole: bool,
}

impl Ledger {
    /// The window of the model that runs, in tokens.
    pub(super) fn window(&mut self, size: Option<u64>) {
        // Pi says 0 where it knows no model.
        if size.is_some_and(|size| size > 0) {
            self.context.size = size;
        }
    }

    pub(super) fn end_turn(&mut self) {
        self.ids.clear();
    }

    fn free_id(&mut self, id: String) -> String {
        let count = self.ids.entry(id.clone()).or_default();
        *count = count.saturating_add(1);
        match *count {
            1 => id,
            count => format!("{id}#{count}"),
        }
    }

    fn record(&self, id: String, operation: UsageOperation) -> UsageRecord {
        UsageRecord {
            id,
            operation,
            model: self.model.clone(),
            source: SOURCE.to_owned(),
            exact: true,
            billable: true,
            tokens: TokenCounts::default(),
            reasoning_tokens: None,
            cache_write1h_tokens: None,
            native_cost_usd: None,
            context: self.context,
            parent_tool_call_id: None,
            raw: Value::Null,
        }
    }

    fn emit(&mut self, usage: UsageRecord, out: &mut Vec<ChatEvent>) {
        if usage.context.size.is_some() {
            self.told = usage.context;
        }
        out.push(EventKind::UsageFinal { usage }.into());
    }
}

impl Usage {
    /// True where nothing was counted, as in messages that failed and from providers that report nothing. A call that was made
    /// costs tokens, so that zeros are no count.
    pub(super) fn is_empty(&self) -> bool {
        [self.input, self.output, self.cache_read, self.cache_write].iter().all(|count| count.is_none_or(|count| count == 0))
    }

    fn total(&self) -> Option<u64> {
        let counts = [self.input, self.output, self.cache_read, self.cache_write];
        counts.iter().try_fold(0_u64, |sum, count| sum.checked_add((*count)?))
    }
}

impl Pi {
    /// A model call ended, well or not.
    pub(super) fn model_called(&mut self, call: ModelCall, out: &mut Vec<ChatEvent>) {
        let ModelCall { id, model, usage, raw, whole } = call;
        let id = self.usage.free_id(id);
        self.usage.model = model;
        let known = !usage.is_empty();
        if known && whole {
            self.usage.context.used = usage.total();
        }
        let record = fill(self.usage.record(id, UsageOperation::ChatStep), &usage, raw);
        self.usage.emit(UsageRecord { exact: known && whole, ..record }, out);
    }

    /// The model calls of a compaction.
    pub(super) fn compaction_called(&mut self, id: &str, usage: &Usage, raw: Value, out: &mut Vec<ChatEvent>) {
        let record = fill(self.usage.record(id.to_owned(), UsageOperation::Compaction), usage, raw);
        // The context that it leaves is told with the next call.
        let context = ContextFullness::default();
        self.usage.emit(UsageRecord { exact: !usage.is_empty(), context, ..record }, out);
    }

    /// How full the context is, as the session says. An estimate where no call has just reported the same.
    pub(super) fn context_told(&mut self, context: &ContextUsage, out: &mut Vec<ChatEvent>) {
        self.usage.window(context.context_window);
        let Some(used) = context.tokens else { return };
        let exact = self.usage.context.used == Some(used);
        self.usage.context.used = Some(used);
        if self.usage.context == self.usage.told || self.usage.context.size.is_none() {
            return;
        }
        self.usage.snapshots = self.usage.snapshots.saturating_add(1);
        let id = format!("context:{}:{used}", self.usage.snapshots);
        let record = self.usage.record(id, UsageOperation::ContextSnapshot);
        self.usage.emit(UsageRecord { source: SNAPSHOT_SOURCE.to_owned(), exact, billable: false, ..record }, out);
    }

    /// A compaction left the context smaller; nobody knows yet how small.
    pub(super) fn context_compacted(&mut self) {
        self.usage.context.used = None;
    }
}

fn fill(record: UsageRecord, usage: &Usage, raw: Value) -> UsageRecord {
    if usage.is_empty() {
        return UsageRecord { raw, ..record };
    }
    UsageRecord {
        tokens: TokenCounts {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
        },
        reasoning_tokens: usage.reasoning,
        cache_write1h_tokens: usage.cache_write_1h,
        native_cost_usd: usage.cost.and_then(Cost::known),
        raw,
        ..record
    }
}
