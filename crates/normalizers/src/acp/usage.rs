//! Token counts: how full the context is, and what a prompt cost in all. ACP has no numbers of single model calls.

use super::calls::value;
use super::normalize::Acp;
use super::wire::{Malformed, PromptAnswer, read};
use chat_grammar::event::{ChatEvent, EventKind, Relayed};
use chat_grammar::relay::Members;
use chat_grammar::usage::{ContextFullness, TokenCounts, UsageModel, UsageOperation, UsageRecord};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

const PROMPT_SOURCE: &str = "acp.prompt_response";
const QUOTA_SOURCE: &str = "acp.prompt_response.quota";
const CONTEXT_SOURCE: &str = "acp.usage_update";

/// What the agent reported.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    context: ContextFullness,
    snapshots: u64,
    prompts: u64,
    /// The model said something in this turn.
    spoke: bool,
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

    /// The turn ended without an account of what it took.
    pub(super) fn abandon(&mut self) {
        self.settle();
        self.spoke = false;
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

/// Counts that agents leave out, or send as null, are unknown; what is no count is unknown too.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Counts<'a> {
    #[serde(borrow)]
    total_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    output_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    thought_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    cached_read_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    cached_write_tokens: Option<&'a RawValue>,
}

/// `_meta.quota`, in which gemini-cli 0.61.0 says all that it says, and codex-acp and claude-agent-acp which models they used.
#[derive(Debug, Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default)]
    quota: Option<Quota<'a>>,
}

#[derive(Debug, Deserialize)]
struct Quota<'a> {
    #[serde(borrow, default)]
    token_count: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model_usage: Option<Vec<ModelQuota<'a>>>,
}

#[derive(Debug, Deserialize)]
struct ModelQuota<'a> {
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct QuotaCounts<'a> {
    #[serde(borrow)]
    input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    output_tokens: Option<&'a RawValue>,
}

fn count(json: Option<&RawValue>) -> Option<u64> {
    serde_json::from_str(json?.get()).ok()
}

impl Acp {
    /// `usage_update`. It is passed on where it says both numbers, without the session's cost, which is no matter of the context.
    pub(super) fn usage_update(&mut self, mut update: Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let raw = update_value(&update);
        let context = ContextFullness { used: count(read(&update, "used")?), size: count(read(&update, "size")?) };
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
        // Whatever else an agent keeps in its `_meta` is none of our business.
        let meta: Meta<'_> = answer.meta.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default();
        let usage = answer.usage.filter(|usage| usage.get() != "null");
        let quota = meta.quota.as_ref().and_then(|quota| quota.token_count);
        let (tokens, reasoning, raw, source) = match (usage, quota) {
            (Some(usage), _) => {
                let (tokens, reasoning) = counts(&serde_json::from_str(usage.get())?);
                (tokens, reasoning, usage, PROMPT_SOURCE)
            }
            (None, Some(quota)) => {
                let counted: QuotaCounts<'_> = serde_json::from_str(quota.get()).unwrap_or_default();
                // Cached input is part of the input here, and nobody says how much of it.
                let tokens = TokenCounts {
                    input_tokens: count(counted.input_tokens),
                    output_tokens: count(counted.output_tokens),
                    ..TokenCounts::default()
                };
                (tokens, None, quota, QUOTA_SOURCE)
            }
            (None, None) => return Ok(()),
        };
        let exact = source == PROMPT_SOURCE;
        let nothing = [tokens.input_tokens, tokens.output_tokens, tokens.cache_read_tokens, tokens.cache_write_tokens]
            .iter()
            .all(|count| count.is_none_or(|count| count == 0));
        let unreported = nothing && spoke;
        // A cancelled turn reports zeros also where the model spoke (claude-agent-acp 0.101.0, OpenCode 1.18.33).
        let (tokens, reasoning) = if unreported { (TokenCounts::default(), None) } else { (tokens, reasoning) };
        let mut models = meta.quota.and_then(|quota| quota.model_usage).unwrap_or_default().into_iter();
        let (first, is_undetermined) = (models.next(), models.next().is_some());
        let model_id = first.filter(|_| !is_undetermined).and_then(|only| only.model).map(Cow::into_owned);
        let record = UsageRecord {
            id: format!("{}:turn:{}", self.session.id().unwrap_or("session"), self.ledger.prompts),
            operation: UsageOperation::ChatTurn,
            model: UsageModel { model_id, is_undetermined, ..UsageModel::default() },
            source: source.to_owned(),
            exact: exact && !unreported,
            tokens,
            reasoning_tokens: reasoning,
            native_cost_usd: cost.filter(|cost| !(unreported && *cost == 0.0)),
            raw: value(Some(raw))?,
            ..empty()
        };
        out.push(EventKind::UsageFinal { usage: record }.into());
        Ok(())
    }
}

/// The buckets. Reasoning is part of the output, unless the total says that it was counted apart (OpenCode 1.18.33).
fn counts(counts: &Counts<'_>) -> (TokenCounts, Option<u64>) {
    let reasoning = count(counts.thought_tokens);
    let (input, output) = (count(counts.input_tokens), count(counts.output_tokens));
    let (read, write) = (count(counts.cached_read_tokens), count(counts.cached_write_tokens));
    let parts =
        [input, output, read, write, reasoning].into_iter().try_fold(0_u64, |sum, part| sum.checked_add(part.unwrap_or(0)));
    let apart = reasoning.filter(|reasoning| *reasoning > 0 && parts.is_some() && count(counts.total_tokens) == parts);
    let tokens = TokenCounts {
        input_tokens: input,
        output_tokens: output.map(|output| output.saturating_add(apart.unwrap_or(0))),
        cache_read_tokens: read,
        cache_write_tokens: write,
    };
    (tokens, reasoning)
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
