//! Token counts: how full the context is, and what a prompt cost in all. ACP has no numbers of single model calls.

use super::calls::value;
use super::counts;
use super::normalize::Acp;
use super::wire::{Malformed, PromptAnswer, read};
use chat_grammar::event::{ChatEvent, EventKind, Relayed};
use chat_grammar::relay::Members;
use chat_grammar::usage::{ContextFullness, TokenCounts, UsageModel, UsageOperation, UsageRecord};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

const CONTEXT_SOURCE: &str = "acp.usage_update";

/// What the agent reported.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    context: ContextFullness,
    snapshots: u64,
    prompts: u64,
    /// The model said or called something in this turn.
    spoke: bool,
    /// It called a tool, whose result goes to another call of the model.
    called: bool,
    /// What the session cost so far, in USD.
    cost: Option<f64>,
    /// The same at the end of the turn before; `None` where nobody knows.
    settled: Option<f64>,
}

impl Ledger {
    /// A session that has cost nothing yet.
    pub(super) fn open_new(&mut self) {
        *self = Self { settled: Some(0.0), prompts: self.prompts, snapshots: self.snapshots, ..Self::default() };
    }

    /// A session with a past whose cost is not known.
    pub(super) fn open_old(&mut self) {
        *self = Self { prompts: self.prompts, snapshots: self.snapshots, ..Self::default() };
    }

    /// The model said something.
    pub(super) fn speaks(&mut self) {
        self.spoke = true;
    }

    /// The model called a tool.
    pub(super) fn calls(&mut self) {
        self.spoke = true;
        self.called = true;
    }

    /// The turn ended without an account of what it took.
    pub(super) fn abandon(&mut self) {
        self.settle();
        self.spoke = false;
        self.called = false;
    }

    /// What the turn cost: the session's cost less what it was before, to a billionth of a dollar, since agents add up floats.
    fn settle(&mut self) -> Option<f64> {
        let cost = self.cost.take();
        let before = std::mem::replace(&mut self.settled, cost);
        let turn = cost? - before?;
        (turn >= 0.0).then(|| (turn * 1e9).round() / 1e9)
    }
}

#[derive(Deserialize)]
struct Cost<'a> {
    amount: f64,
    #[serde(borrow)]
    currency: Cow<'a, str>,
}

impl Acp {
    /// `usage_update`. It is passed on where it says both numbers, without the session's cost, which is no matter of the context.
    pub(super) fn usage_update(&mut self, mut update: Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let raw = update_value(&update);
        let used = count(read(&update, "used")?).filter(|used| *used > 0 || !self.session.counts_last_call_only());
        let context = ContextFullness { used, size: count(read(&update, "size")?) };
        let cost: Option<Cost<'_>> = read(&update, "cost").ok().flatten();
        if let Some(cost) = cost.filter(|cost| cost.currency == "USD") {
            self.ledger.cost = Some(cost.amount);
        }
        update.remove("cost");
        if self.ledger.context != context || self.ledger.snapshots == 0 {
            self.ledger.context = context;
            self.ledger.snapshots += 1;
        }
        let record = UsageRecord {
            id: format!("{}:context:{}", self.session.id().unwrap_or("session"), self.ledger.snapshots),
            operation: UsageOperation::ContextSnapshot,
            source: CONTEXT_SOURCE.to_owned(),
            billable: false,
            context,
            raw,
            ..empty()
        };
        let meaning = EventKind::UsageFinal { usage: record };
        out.push(match (context.used, context.size) {
            (Some(_), Some(_)) => {
                EventKind::Relayed(Box::new(Relayed { update: update.into(), meaning: Some(meaning) })).into()
            }
            _ => meaning.into(),
        });
        Ok(())
    }

    /// What the answer to a prompt says it took, as one record of the turn.
    pub(super) fn prompt_usage(&mut self, answer: &PromptAnswer<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        self.ledger.prompts += 1;
        let cost = self.ledger.settle();
        let spoke = std::mem::take(&mut self.ledger.spoke);
        let called = std::mem::take(&mut self.ledger.called);
        let Some(counted) = counts::of_prompt(answer)? else { return Ok(()) };
        // A cancelled turn reports zeros also where the model spoke (claude-agent-acp 0.101.0, OpenCode 1.18.33).
        let unreported = counted.is_nothing() && spoke;
        let unknown = unreported || called && self.session.counts_last_call_only();
        let (tokens, reasoning) = if unknown { (TokenCounts::default(), None) } else { (counted.tokens, counted.reasoning) };
        let record = UsageRecord {
            id: format!("{}:turn:{}", self.session.id().unwrap_or("session"), self.ledger.prompts),
            operation: UsageOperation::ChatTurn,
            model: counted.model,
            source: counted.source.to_owned(),
            exact: counted.exact && !unknown,
            tokens,
            reasoning_tokens: reasoning,
            native_cost_usd: cost.filter(|cost| !(unreported && *cost == 0.0)),
            raw: value(Some(counted.raw))?,
            ..empty()
        };
        out.push(EventKind::UsageFinal { usage: record }.into());
        Ok(())
    }
}

fn count(json: Option<&RawValue>) -> Option<u64> {
    serde_json::from_str(json?.get()).ok()
}

fn update_value(update: &Members<'_>) -> Value {
    let members = ["used", "size", "cost"].iter().filter_map(|name| Some(((*name).to_owned(), value(update.get(name)).ok()?)));
    Value::Object(members.filter(|(_, value)| !value.is_null()).collect())
}

fn empty() -> UsageRecord {
    UsageRecord {
        id: String::new(),
        operation: UsageOperation::ChatTurn,
        model: UsageModel::default(),
        source: String::new(),
        exact: true,
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
