//! Token counts of older forms: of a turn so far instead of a call, without the running total of the thread.

use super::{Object, first};
use serde_json::{Value, json};
use std::collections::HashMap;

const COUNTS: [&str; 6] =
    ["totalTokens", "inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningOutputTokens"];
const CACHE_WRITES: [&str; 3] = ["cacheWriteInputTokens", "cacheWriteTokens", "cacheCreationInputTokens"];

/// What was reported, by thread.
#[derive(Debug, Default)]
pub(super) struct Totals(HashMap<String, Thread>);

#[derive(Debug, Default)]
struct Thread {
    /// All that was counted before the turn that is being counted.
    before: Counts,
    turn: Option<String>,
    /// What the turn has had so far.
    of_turn: Counts,
    /// How many calls of the turn were reported.
    calls: usize,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts([Option<u64>; 6]);

impl Counts {
    fn read(usage: &Value) -> Self {
        Self(COUNTS.map(|name| usage.get(name).and_then(Value::as_u64)))
    }

    fn plus(self, more: Self) -> Self {
        let mut sums = self.0;
        for (sum, count) in sums.iter_mut().zip(more.0) {
            *sum = match (*sum, count) {
                (Some(left), Some(right)) => Some(left.saturating_add(right)),
                (left, right) => left.or(right),
            };
        }
        Self(sums)
    }

    fn json(self) -> Value {
        Value::Object(COUNTS.iter().zip(self.0).filter_map(|(name, count)| Some(((*name).to_owned(), count?.into()))).collect())
    }
}

impl Totals {
    /// A turn of the thread begins or ends: what comes next counts from nothing.
    pub(super) fn turn_changed(&mut self, thread: &str) {
        if let Some(thread) = self.0.get_mut(thread) {
            thread.change(None);
        }
    }

    /// The params of today's reports for those of one report.
    pub(super) fn reports(&mut self, thread: &str, params: &Object) -> Vec<Object> {
        let Some(Value::Object(mut usage)) = params.get("tokenUsage").cloned() else { return vec![params.clone()] };
        for name in ["total", "last", "lastTurn"] {
            match usage.get_mut(name) {
                Some(Value::Object(counts)) => cache_writes(counts),
                Some(Value::Array(calls)) => calls.iter_mut().filter_map(Value::as_object_mut).for_each(cache_writes),
                _ => {}
            }
        }
        let reported = |usage: Object| {
            let mut report = params.clone();
            report.insert("tokenUsage".to_owned(), Value::Object(usage));
            report
        };
        let turn = super::word(params, &["turnId"]);
        let has_total = usage.get("total").is_some_and(Value::is_object);
        match (usage.remove("lastTurn"), usage.get("last").cloned()) {
            (_, Some(last)) if last.is_object() => {
                if !has_total {
                    let known = self.0.entry(thread.to_owned()).or_default();
                    known.of_turn = known.of_turn.plus(Counts::read(&last));
                    usage.insert("total".to_owned(), known.total().json());
                }
                vec![reported(usage)]
            }
            (Some(Value::Array(calls)), _) => {
                let known = self.0.entry(thread.to_owned()).or_default();
                known.enter(turn);
                // A list grows: its first calls were reported before.
                let new = calls.iter().skip(known.calls);
                let reports = new.map(|call| {
                    known.of_turn = known.of_turn.plus(Counts::read(call));
                    reported(with(&usage, call, known.total()))
                });
                let reports = reports.collect();
                known.calls = known.calls.max(calls.len());
                reports
            }
            (Some(counts), _) => {
                let known = self.0.entry(thread.to_owned()).or_default();
                known.enter(turn);
                known.of_turn = Counts::read(&counts);
                vec![reported(with(&usage, &counts, known.total()))]
            }
            (None, _) => vec![reported(usage)],
        }
    }
}

impl Thread {
    fn enter(&mut self, turn: Option<String>) {
        if turn.is_some() && turn != self.turn {
            self.change(turn);
        }
    }

    fn change(&mut self, turn: Option<String>) {
        self.before = self.total();
        self.of_turn = Counts::default();
        self.calls = 0;
        self.turn = turn;
    }

    fn total(&self) -> Counts {
        self.before.plus(self.of_turn)
    }
}

fn with(usage: &Object, last: &Value, total: Counts) -> Object {
    let mut usage = usage.clone();
    usage.insert("last".to_owned(), last.clone());
    usage.insert("total".to_owned(), json!(total.json()));
    usage
}

fn cache_writes(counts: &mut Object) {
    if let Some(count) = first(counts, &CACHE_WRITES) {
        counts.insert("cacheWriteInputTokens".to_owned(), count);
    }
}
