//! The account at the end of a turn: the CLI says what it counted for each model, and what is more than the known steps becomes
//! a step of its own. Compactions, subagents' answers and cut calls show nowhere else.

use super::speed::Mode;
use super::usage::{Certainty, Meter, PendingCall, Step, Totals, emit, record};
use super::wire::{ModelUsage, ModelUsages, ResultLine, Usage};
use chat_grammar::event::ChatEvent;
use chat_grammar::usage::{TokenCounts, UsageOperation, UsageRecord};
use serde_json::{Value, json};

/// What the CLI counted besides the known steps.
const REMAINDER_SOURCE: &str = "claude.result.model_usage.remainder";
/// The CLI's sum of the turn.
const TURN_SOURCE: &str = "claude.result.model_usage";

/// How the turn went, as far as it matters for the account.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settlement<'a> {
    /// The model of the session.
    pub model: Option<&'a str>,
    /// For the ids of what is made up here.
    pub id: &'a str,
    pub ended_well: bool,
    pub compacted: bool,
}

/// What was counted for one model.
#[derive(Debug, Clone, Default)]
struct Entry {
    /// `None`: all models together.
    model: Option<String>,
    canonical: Option<String>,
    counts: TokenCounts,
    /// Of the cache writes, those for an hour.
    long_writes: Option<u64>,
    reasoning: Option<u64>,
}

impl Meter {
    /// `result`: every call since the last one is counted.
    pub(super) fn settle(&mut self, result: &ResultLine<'_>, how: Settlement<'_>, out: &mut Vec<ChatEvent>) {
        let complete: Vec<PendingCall> = self.pending.extract_if(.., |call| call.settled).collect();
        complete.into_iter().for_each(|call| self.step(call, Certainty::Exact, out));

        let usages = |raw: Option<&serde_json::value::RawValue>| -> Option<ModelUsages> {
            raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        };
        let totals = usages(result.model_usage);
        for (model, usage) in totals.iter().flatten() {
            self.window(model, usage.context_window);
        }
        let before = self.totals.take();
        let grown = match (&totals, &before) {
            (Some(now), Some(before)) => Some(grown(now, &before.models)),
            _ => None,
        };
        let said = usages(result.model_usage_since_last_result);
        let cost = said.as_ref().and_then(cost).or_else(|| grown_cost(result.total_cost_usd, before.as_ref()));
        let since = said.or(grown);
        self.totals = match (totals, result.total_cost_usd, before) {
            (Some(models), cost, before) => {
                Some(Totals { cost_usd: cost.or(before.map(|before| before.cost_usd)).unwrap_or(0.0), models })
            }
            (None, Some(cost_usd), before) => {
                Some(Totals { cost_usd, models: before.map(|before| before.models).unwrap_or_default() })
            }
            (None, None, before) => before,
        };

        let pending = std::mem::take(&mut self.pending);
        match &since {
            Some(since) => self.share(entries(since), pending, how, out),
            None => pending.into_iter().for_each(|call| self.step(call, Certainty::OutputUnknown, out)),
        }
        self.sum(result, since.as_ref(), cost, how, out);
        self.compare(result, since.as_ref().map(|since| Entry::sum(&entries(since)).counts), how, out);
        self.snapshot(format!("{}:context", how.id), out);
        self.steps.clear();
        self.cut = false;
    }

    /// Gives each model's count to its calls.
    fn share(&mut self, mut entries: Vec<Entry>, pending: Vec<PendingCall>, how: Settlement<'_>, out: &mut Vec<ChatEvent>) {
        let models = self.steps.iter().map(|step| &step.model).chain(pending.iter().map(|call| &call.model));
        let all_known = models.into_iter().all(|model| entries.iter().any(|entry| entry.is_of(model.as_deref())));
        // Where a call's model is none of those that were counted, only the sum of all can be compared.
        if !all_known && entries.len() != 1 {
            entries = vec![Entry::sum(&entries)];
        }
        let mut pending = pending;
        for entry in entries {
            let mine = |model: &Option<String>| !all_known || entry.is_of(model.as_deref());
            let steps = self.steps.iter().filter(|step| mine(&step.model));
            let rest = steps.into_iter().try_fold(entry.clone(), Entry::minus).unwrap_or_default();
            let calls: Vec<PendingCall> = pending.extract_if(.., |call| mine(&call.model)).collect();
            self.share_rest(&Entry { model: entry.model.clone(), ..rest }, calls, how, out);
        }
    }

    fn share_rest(&mut self, rest: &Entry, calls: Vec<PendingCall>, how: Settlement<'_>, out: &mut Vec<ChatEvent>) {
        if rest.is_empty() {
            // The CLI counted none of them.
            return calls.into_iter().for_each(|call| self.step(call, Certainty::OutputUnknown, out));
        }
        if let [call] = calls.as_slice()
            && rest.is_input_of(&call.usage)
        {
            let known = Certainty::Output {
                tokens: rest.counts.output_tokens,
                reasoning: rest.reasoning,
                exact: how.ended_well && !call.streamed,
            };
            return calls.into_iter().for_each(|call| self.step(call, known, out));
        }
        let parents: Vec<&Option<String>> = calls.iter().map(|call| &call.parent).collect();
        let parent = match parents.split_first() {
            Some((first, others)) if others.iter().all(|parent| parent == first) && !how.compacted => (*first).clone(),
            _ => None,
        };
        let cut = calls.iter().any(|call| call.parent.is_none());
        let operation = match how.compacted && calls.is_empty() {
            true => UsageOperation::Compaction,
            false => UsageOperation::ChatStep,
        };
        calls.into_iter().for_each(|call| self.step(call, Certainty::CountedElsewhere, out));
        self.steps.push(Step {
            call: None,
            is_sure: false,
            is_main: false,
            model: rest.model.clone(),
            counts: rest.counts,
            long_writes: rest.long_writes,
            reasoning: rest.reasoning,
        });
        let id = format!("{}:{}", how.id, rest.model.as_deref().unwrap_or("all"));
        let record = UsageRecord {
            operation,
            source: REMAINDER_SOURCE.to_owned(),
            // Of a turn that did not end well the CLI estimates what was cut.
            exact: how.ended_well && !cut,
            tokens: rest.counts,
            cache_write1h_tokens: rest.long_writes,
            reasoning_tokens: rest.reasoning,
            parent_tool_call_id: parent,
            ..record(id, self.speed.priced(rest.model.clone(), &Mode::default()))
        };
        emit(record, out);
    }

    /// The CLI's own sum of the turn and its cost: billed only where no call was seen.
    fn sum(
        &self,
        result: &ResultLine<'_>,
        since: Option<&ModelUsages>,
        cost: Option<f64>,
        how: Settlement<'_>,
        out: &mut Vec<ChatEvent>,
    ) {
        let usage = result.usage.and_then(|raw| serde_json::from_str::<Usage>(raw.get()).ok());
        let all = match since {
            Some(since) => Entry::sum(&entries(since)),
            None => usage.map(Entry::of_main_loop).unwrap_or_default(),
        };
        let counted = !all.is_empty();
        if !counted && cost.is_none_or(|cost| cost == 0.0) {
            return;
        }
        let model = match since {
            Some(since) => only_model(since),
            // The sum of the main loop.
            None => how.model,
        };
        let model = model.map(str::to_owned);
        let raw = |raw: Option<&serde_json::value::RawValue>| -> Value {
            raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
        };
        let record = UsageRecord {
            operation: UsageOperation::ChatTurn,
            source: TURN_SOURCE.to_owned(),
            exact: how.ended_well,
            billable: self.steps.is_empty() && counted,
            tokens: all.counts,
            cache_write1h_tokens: all.long_writes,
            native_cost_usd: cost,
            raw: json!({ "usage": raw(result.usage), "modelUsage": raw(result.model_usage) }),
            ..record(format!("{}:turn", how.id), self.speed.priced(model, &Mode::default()))
        };
        emit(record, out);
    }
}

impl Entry {
    fn of(model: &str, usage: &ModelUsage) -> Self {
        Self {
            model: Some(model.to_owned()),
            canonical: usage.canonical_model.clone(),
            counts: TokenCounts {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cache_read_tokens: usage.cache_read_input_tokens,
                cache_write_tokens: usage.cache_creation_input_tokens,
            },
            long_writes: usage.cache_creation_ephemeral1h_input_tokens,
            reasoning: usage.thinking_tokens,
        }
    }

    fn of_main_loop(usage: Usage) -> Self {
        Self { counts: usage.counts(), long_writes: usage.long_writes(), ..Self::default() }
    }

    /// True for the model that was counted here.
    fn is_of(&self, model: Option<&str>) -> bool {
        let Some(model) = model else { return false };
        let names = [self.model.as_deref(), self.canonical.as_deref()];
        names.into_iter().flatten().any(|name| is_same_model(name, model))
    }

    fn sum(entries: &[Self]) -> Self {
        let zero = TokenCounts {
            input_tokens: Some(0),
            output_tokens: Some(0),
            cache_read_tokens: Some(0),
            cache_write_tokens: Some(0),
        };
        let plus = |left: Option<u64>, right: Option<u64>| left.zip(right).and_then(|(left, right)| left.checked_add(right));
        let nothing = Self { counts: zero, long_writes: Some(0), reasoning: Some(0), ..Self::default() };
        entries.iter().fold(nothing, |sum, entry| Self {
            counts: sum.counts.plus(entry.counts),
            long_writes: plus(sum.long_writes, entry.long_writes),
            reasoning: plus(sum.reasoning, entry.reasoning),
            ..sum
        })
    }

    /// What is left without this step; `None` where the step is more than was counted. An output that nobody knows is left.
    fn minus(self, step: &Step) -> Option<Self> {
        let left = |all: Option<u64>, part: Option<u64>| match (all, part) {
            (Some(all), Some(part)) => all.checked_sub(part).map(Some),
            (all, _) => Some(all),
        };
        Some(Self {
            counts: TokenCounts {
                input_tokens: left(self.counts.input_tokens, step.counts.input_tokens)?,
                output_tokens: left(self.counts.output_tokens, step.counts.output_tokens)?,
                cache_read_tokens: left(self.counts.cache_read_tokens, step.counts.cache_read_tokens)?,
                cache_write_tokens: left(self.counts.cache_write_tokens, step.counts.cache_write_tokens)?,
            },
            long_writes: self.long_writes.zip(step.long_writes).and_then(|(all, part)| all.checked_sub(part)),
            reasoning: self.reasoning.zip(step.reasoning).and_then(|(all, part)| all.checked_sub(part)),
            ..self
        })
    }

    fn is_empty(&self) -> bool {
        let counts = self.counts;
        let all = [counts.input_tokens, counts.output_tokens, counts.cache_read_tokens, counts.cache_write_tokens];
        all.into_iter().all(|count| count.is_none_or(|count| count == 0))
    }

    /// True where the input side is that of the call.
    fn is_input_of(&self, usage: &Usage) -> bool {
        let call = usage.counts();
        self.counts.input_tokens == call.input_tokens
            && self.counts.cache_read_tokens.unwrap_or(0) == call.cache_read_tokens.unwrap_or(0)
            && self.counts.cache_write_tokens.unwrap_or(0) == call.cache_write_tokens.unwrap_or(0)
    }
}

/// True for two names of one model: they differ by a date at the end, and by a window in brackets.
pub(super) fn is_same_model(left: &str, right: &str) -> bool {
    let (left, right) = (plain(left), plain(right));
    left == right || dated(left, right) || dated(right, left)
}

fn plain(model: &str) -> &str {
    model.split_once('[').map_or(model, |(name, _)| name)
}

fn dated(long: &str, short: &str) -> bool {
    let date = long.strip_prefix(short).and_then(|rest| rest.strip_prefix('-'));
    date.is_some_and(|date| date.len() == 8 && date.bytes().all(|digit| digit.is_ascii_digit()))
}

fn entries(usages: &ModelUsages) -> Vec<Entry> {
    usages.iter().map(|(model, usage)| Entry::of(model, usage)).collect()
}

/// The model that all tokens are of.
fn only_model(usages: &ModelUsages) -> Option<&str> {
    let mut counted = usages.iter().filter(|(model, usage)| !Entry::of(model, usage).is_empty());
    let (model, _) = counted.next()?;
    counted.next().is_none().then_some(model)
}

/// What each model's totals grew by; totals that shrank were counted anew.
fn grown(now: &ModelUsages, before: &ModelUsages) -> ModelUsages {
    let minus = |now: Option<u64>, before: Option<u64>| now.and_then(|now| now.checked_sub(before.unwrap_or(0)));
    let growth = |(model, now): (&String, &ModelUsage)| {
        let before = before.get(model).cloned().unwrap_or_default();
        let shrank = [
            (now.input_tokens, before.input_tokens),
            (now.output_tokens, before.output_tokens),
            (now.cache_read_input_tokens, before.cache_read_input_tokens),
        ];
        if shrank.into_iter().any(|(now, before)| now.zip(before).is_some_and(|(now, before)| now < before)) {
            return (model.clone(), now.clone());
        }
        let growth = ModelUsage {
            input_tokens: minus(now.input_tokens, before.input_tokens),
            output_tokens: minus(now.output_tokens, before.output_tokens),
            cache_read_input_tokens: minus(now.cache_read_input_tokens, before.cache_read_input_tokens),
            cache_creation_input_tokens: minus(now.cache_creation_input_tokens, before.cache_creation_input_tokens),
            cache_creation_ephemeral1h_input_tokens: minus(
                now.cache_creation_ephemeral1h_input_tokens,
                before.cache_creation_ephemeral1h_input_tokens,
            ),
            thinking_tokens: minus(now.thinking_tokens, before.thinking_tokens),
            cost_usd: now.cost_usd.map(|now| (now - before.cost_usd.unwrap_or(0.0)).max(0.0)),
            context_window: now.context_window,
            canonical_model: now.canonical_model.clone(),
        };
        (model.clone(), growth)
    };
    now.iter().map(growth).collect()
}

fn cost(usages: &ModelUsages) -> Option<f64> {
    usages.values().try_fold(0.0, |sum, usage| Some(sum + usage.cost_usd?))
}

/// What the total cost grew by; a total that fell began anew.
fn grown_cost(total: Option<f64>, before: Option<&Totals>) -> Option<f64> {
    let (total, before) = (total?, before?);
    Some(if total >= before.cost_usd { total - before.cost_usd } else { total })
}
