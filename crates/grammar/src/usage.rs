//! Token counts: one record a model call, and the sum of a turn. A count that nobody reported is `None`, never 0.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The four buckets, in tokens. They do not overlap: input excludes cache reads and writes, output includes reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenCounts {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cache_read_tokens: Option<u64>,
    pub cache_write_tokens: Option<u64>,
}

/// What a record counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageOperation {
    /// One model invocation.
    ChatStep,
    /// The sum of a turn, from an agent that reports nothing finer.
    ChatTurn,
    /// A model invocation that compacts the context.
    Compaction,
    /// How full the context is; never billable.
    ContextSnapshot,
}

/// Which model a record is about, as far as the agent says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageModel {
    pub agent_revision_id: Option<String>,
    pub provider_id: Option<String>,
    pub model_id: Option<String>,
}

/// Fullness of the context window, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextFullness {
    pub used: Option<u64>,
    pub size: Option<u64>,
}

/// A step before it has a place in a turn: what a normalizer emits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRecord {
    /// The provider's own message or response id where there is one; a report repeated under it counts once.
    pub id: String,
    pub operation: UsageOperation,
    #[serde(default)]
    pub model: UsageModel,
    /// Which of the agent's records the numbers come from, such as `codex_app_server`.
    pub source: String,
    pub exact: bool,
    pub billable: bool,
    #[serde(flatten)]
    pub tokens: TokenCounts,
    /// Part of the output, in tokens.
    #[serde(default)]
    pub reasoning_tokens: Option<u64>,
    /// Part of the cache writes, in tokens.
    #[serde(default)]
    pub cache_write1h_tokens: Option<u64>,
    /// In USD, as the agent reported it.
    #[serde(default)]
    pub native_cost_usd: Option<f64>,
    #[serde(default)]
    pub context: ContextFullness,
    #[serde(default)]
    pub parent_tool_call_id: Option<String>,
    /// The provider's record, untouched.
    #[serde(default)]
    pub raw: Value,
}

/// One provider model invocation with its place in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageStep {
    pub turn_id: String,
    /// 0, 1, 2 … within the turn.
    pub index: u64,
    #[serde(flatten)]
    pub record: UsageRecord,
}

/// The part of a turn's usage that one model has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    #[serde(flatten)]
    pub tokens: TokenCounts,
    pub provider_id: Option<String>,
    pub model_id: Option<String>,
    pub steps: u64,
    pub cost_usd: Option<f64>,
}

/// A turn's settled usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnUsage {
    #[serde(flatten)]
    pub tokens: TokenCounts,
    pub steps: u64,
    pub exact: bool,
    pub reasoning_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub market_cost_usd: Option<f64>,
    pub cost_source: Option<String>,
    pub models: Vec<ModelUsage>,
}

impl TokenCounts {
    /// The sum bucket by bucket; a bucket that either side does not know is unknown.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: add(self.input_tokens, other.input_tokens),
            output_tokens: add(self.output_tokens, other.output_tokens),
            cache_read_tokens: add(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: add(self.cache_write_tokens, other.cache_write_tokens),
        }
    }

    const ZERO: Self =
        Self { input_tokens: Some(0), output_tokens: Some(0), cache_read_tokens: Some(0), cache_write_tokens: Some(0) };
}

fn add(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    left?.checked_add(right?)
}

/// The one place where a turn's usage is settled: snapshots are left out, a report repeated under one id counts once, and
/// steps are preferred to an agent's sum of the turn. `None` where no step is billable. Cost: the agent's own number where
/// every step has one, else what it says that the turn cost, else unknown.
pub fn finalize_turn_usage(steps: &[UsageStep]) -> Option<TurnUsage> {
    let mut seen = std::collections::HashSet::new();
    let billable: Vec<&UsageRecord> = steps
        .iter()
        .map(|step| &step.record)
        .filter(|record| {
            record.billable && record.operation != UsageOperation::ContextSnapshot && seen.insert(record.id.as_str())
        })
        .collect();
    let has_steps = billable.iter().any(|record| record.operation != UsageOperation::ChatTurn);
    let counted: Vec<&UsageRecord> =
        billable.into_iter().filter(|record| !has_steps || record.operation != UsageOperation::ChatTurn).collect();
    if counted.is_empty() {
        return None;
    }

    let mut models: Vec<ModelUsage> = Vec::new();
    for record in &counted {
        let same =
            |usage: &ModelUsage| usage.provider_id == record.model.provider_id && usage.model_id == record.model.model_id;
        let position = models.iter().position(same).unwrap_or_else(|| {
            models.push(ModelUsage {
                tokens: TokenCounts::ZERO,
                provider_id: record.model.provider_id.clone(),
                model_id: record.model.model_id.clone(),
                steps: 0,
                cost_usd: Some(0.0),
            });
            models.len() - 1
        });
        if let Some(usage) = models.get_mut(position) {
            usage.tokens = usage.tokens.plus(record.tokens);
            usage.steps += 1;
            usage.cost_usd = usage.cost_usd.zip(record.native_cost_usd).map(|(sum, cost)| sum + cost);
        }
    }
    let of_steps = counted.iter().try_fold(0.0, |sum, record| record.native_cost_usd.map(|cost| sum + cost));
    let turns = steps.iter().map(|step| &step.record).filter(|record| record.operation == UsageOperation::ChatTurn);
    let of_turn = turns.filter_map(|record| record.native_cost_usd).reduce(|sum, cost| sum + cost);
    let cost_usd = of_steps.or(of_turn);
    Some(TurnUsage {
        tokens: counted.iter().fold(TokenCounts::ZERO, |sum, record| sum.plus(record.tokens)),
        steps: counted.len() as u64,
        exact: counted.iter().all(|record| record.exact),
        reasoning_tokens: counted.iter().try_fold(0_u64, |sum, record| sum.checked_add(record.reasoning_tokens?)),
        cost_usd,
        market_cost_usd: None,
        cost_source: cost_usd.map(|_| "native".to_owned()),
        models,
    })
}
