//! Token counts: one record a model call, and the sum of a turn. A count that nobody reported is `None`, never 0.

mod list;
mod normalize;
mod settle;
mod spellings;

pub use normalize::normalize_usage;
pub use settle::{aggregate_turn_usage, finalize_turn_usage};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The largest count that there is: what JavaScript holds exactly. A greater one is unknown.
pub const MAX_COUNT: u64 = (1 << 53) - 1;

/// The four buckets, in tokens. They do not overlap: input excludes cache reads and writes, output includes reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenCounts {
    /// Neither read from a cache nor written to one.
    #[serde(deserialize_with = "lenient_count")]
    pub input_tokens: Option<u64>,
    /// Reasoning included.
    #[serde(deserialize_with = "lenient_count")]
    pub output_tokens: Option<u64>,
    /// Input that was read from the provider's cache.
    #[serde(deserialize_with = "lenient_count")]
    pub cache_read_tokens: Option<u64>,
    /// Input that was written to the provider's cache, whatever the time it is kept.
    #[serde(deserialize_with = "lenient_count")]
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
    /// The revision of the agent in the execution's contract.
    pub agent_revision_id: Option<String>,
    /// As the agent or the contract calls it.
    pub provider_id: Option<String>,
    /// As the agent or the contract calls it.
    pub model_id: Option<String>,
    /// Several models, or one that runs in a mode with a price of its own: that of the contract may not stand in its place.
    #[serde(skip)]
    pub is_undetermined: bool,
}

/// Fullness of the context window, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextFullness {
    /// How much of it is used.
    #[serde(deserialize_with = "lenient_count")]
    pub used: Option<u64>,
    /// How much there is.
    #[serde(deserialize_with = "lenient_count")]
    pub size: Option<u64>,
}

/// A step before it has a place in a turn: what a normalizer emits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRecord {
    /// The provider's own message or response id where there is one; a report repeated under it counts once.
    pub id: String,
    /// What the record counts.
    pub operation: UsageOperation,
    /// Whose tokens these are.
    #[serde(default)]
    pub model: UsageModel,
    /// Which of the agent's records the numbers come from, such as `codex_app_server`.
    pub source: String,
    /// False for an estimate, and for a call whose numbers the agent did not give.
    pub exact: bool,
    /// Whether the call enters the turn's sum.
    pub billable: bool,
    /// The four buckets, in tokens.
    #[serde(flatten)]
    pub tokens: TokenCounts,
    /// Part of the output, in tokens.
    #[serde(default, deserialize_with = "lenient_count")]
    pub reasoning_tokens: Option<u64>,
    /// Part of the cache writes, in tokens: those that are kept for an hour.
    #[serde(default, deserialize_with = "lenient_count")]
    pub cache_write1h_tokens: Option<u64>,
    /// In USD, as the agent reported it.
    #[serde(default)]
    pub native_cost_usd: Option<f64>,
    /// Of the session's context after the call, in tokens.
    #[serde(default)]
    pub context: ContextFullness,
    /// The tool call of the subagent that made the call.
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
    /// The turn in which the call was made.
    pub turn_id: String,
    /// 0, 1, 2 … within the turn.
    pub index: u64,
    /// What was reported.
    #[serde(flatten)]
    pub record: UsageRecord,
}

/// The part of a turn's usage that one model has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// Sums, in tokens.
    #[serde(flatten)]
    pub tokens: TokenCounts,
    /// As in the steps.
    pub provider_id: Option<String>,
    /// As in the steps.
    pub model_id: Option<String>,
    /// How many steps the sums hold.
    pub steps: u64,
    /// In USD.
    pub cost_usd: Option<f64>,
}

/// Where a cost comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// The agent's own number.
    Native,
    /// Prices of the catalog, at least in part.
    Catalog,
}

/// A turn's settled usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnUsage {
    /// Sums, in tokens; a bucket that a step does not know is unknown.
    #[serde(flatten)]
    pub tokens: TokenCounts,
    /// How many records the sums hold.
    pub steps: u64,
    /// Whether all of them are exact.
    pub exact: bool,
    /// Part of the output, in tokens.
    #[serde(default, deserialize_with = "lenient_count")]
    pub reasoning_tokens: Option<u64>,
    /// In USD; unknown where a step has neither the agent's number nor a price, or lacks a count.
    pub cost_usd: Option<f64>,
    /// The same tokens at the catalog's prices, in USD.
    pub market_cost_usd: Option<f64>,
    /// Where `cost_usd` comes from; none where it is unknown.
    pub cost_source: Option<CostSource>,
    /// In order of first use.
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

    /// The sum of nothing.
    pub const ZERO: Self =
        Self { input_tokens: Some(0), output_tokens: Some(0), cache_read_tokens: Some(0), cache_write_tokens: Some(0) };
}

impl UsageRecord {
    /// The record without what is no number of tokens or USD, as no JavaScript number holds it: such a count is unknown, and so is
    /// a cost that is negative or not finite.
    #[must_use]
    pub fn bounded(self) -> Self {
        let TokenCounts { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = self.tokens;
        Self {
            tokens: TokenCounts {
                input_tokens: held(input_tokens),
                output_tokens: held(output_tokens),
                cache_read_tokens: held(cache_read_tokens),
                cache_write_tokens: held(cache_write_tokens),
            },
            reasoning_tokens: held(self.reasoning_tokens),
            cache_write1h_tokens: held(self.cache_write1h_tokens),
            native_cost_usd: self.native_cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0),
            context: ContextFullness { used: held(self.context.used), size: held(self.context.size) },
            ..self
        }
    }
}

/// The name of a model that serves a call in a mode with a price of its own, such as `fast`, as price lists write it. A window in
/// brackets stays at the end.
#[must_use]
pub fn model_in_mode(model: &str, mode: &str) -> String {
    let (name, window) = model.split_at(model.find('[').unwrap_or(model.len()));
    match name.strip_suffix(mode).is_some_and(|rest| rest.ends_with('-')) {
        true => model.to_owned(),
        false => format!("{name}-{mode}{window}"),
    }
}

/// A number of tokens that a JavaScript number holds; any other is unknown.
#[must_use]
pub fn held(count: Option<u64>) -> Option<u64> {
    count.filter(|count| *count <= MAX_COUNT)
}

/// The sum of two counts; unknown where one is, or where it is greater than [`MAX_COUNT`].
fn add(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    left?.checked_add(right?).filter(|sum| *sum <= MAX_COUNT)
}

/// The count that a JSON value is. What is no whole number from 0 to [`MAX_COUNT`] counts nothing.
fn count_of(value: &Value) -> Option<u64> {
    let whole = |number: f64| (number.fract() == 0.0 && (0.0..=MAX_COUNT as f64).contains(&number)).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(whole)).filter(|count| *count <= MAX_COUNT)
}

/// Reads a count as [`count_of`] does, so that a bad one makes one number unknown, not the whole record unreadable.
pub(crate) fn lenient_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<Value>::deserialize(deserializer)?.as_ref().and_then(count_of))
}
