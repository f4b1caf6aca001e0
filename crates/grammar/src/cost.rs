//! What tokens cost at the catalog's prices.

use crate::catalog::{ModelCatalog, ModelPrice};
use crate::usage::{TokenCounts, lenient_count};
use serde::Deserialize;

/// Token counts with what their price depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PricedTokens {
    /// The four buckets, in tokens.
    #[serde(flatten)]
    pub tokens: TokenCounts,
    /// How many of the cache writes are kept for an hour, in tokens; unknown counts as none, which is the providers' default.
    #[serde(deserialize_with = "lenient_count")]
    pub cache_write1h_tokens: Option<u64>,
}

/// USD per million tokens of the four buckets, and of cache writes for an hour.
#[derive(Clone, Copy)]
struct Prices {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write1h: Option<f64>,
}

/// The cost of one model call in USD. `None` where the model or one of the prices that enter is unknown, or a count.
#[must_use]
pub fn calculate_cost(usage: PricedTokens, provider_id: Option<&str>, model_id: &str, catalog: &ModelCatalog) -> Option<f64> {
    let price = catalog.find(provider_id, model_id)?.price.as_ref()?;
    cost_of(usage, prices(price, prompt(usage.tokens)?))
}

/// The cost of several calls together, in USD: as that of one, but unknown where a single large prompt would have another
/// price than several small ones.
#[must_use]
pub fn calculate_sum_cost(
    usage: PricedTokens,
    provider_id: Option<&str>,
    model_id: &str,
    catalog: &ModelCatalog,
) -> Option<f64> {
    let price = catalog.find(provider_id, model_id)?.price.as_ref()?;
    let prompt = prompt(usage.tokens)?;
    let one_price = price.tiers.iter().all(|tier| prompt <= tier.above_prompt_tokens);
    one_price.then(|| cost_of(usage, prices(price, prompt)))?
}

/// Size of the prompt in tokens, as far as it is known; input must be.
fn prompt(tokens: TokenCounts) -> Option<u64> {
    let cached = tokens.cache_read_tokens.unwrap_or(0).checked_add(tokens.cache_write_tokens.unwrap_or(0))?;
    tokens.input_tokens?.checked_add(cached)
}

fn prices(price: &ModelPrice, prompt: u64) -> Prices {
    let reached =
        price.tiers.iter().filter(|tier| prompt > tier.above_prompt_tokens).max_by_key(|tier| tier.above_prompt_tokens);
    match reached {
        Some(tier) => Prices {
            input: tier.input,
            output: tier.output,
            cache_read: tier.cache_read,
            cache_write: tier.cache_write,
            cache_write1h: tier.cache_write1h,
        },
        None => Prices {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
            cache_write1h: price.cache_write1h,
        },
    }
}

fn cost_of(usage: PricedTokens, prices: Prices) -> Option<f64> {
    let tokens = usage.tokens;
    let written_for_an_hour = usage.cache_write1h_tokens.unwrap_or(0);
    let parts = [
        part(tokens.input_tokens, Some(prices.input))?,
        part(tokens.output_tokens, Some(prices.output))?,
        part(tokens.cache_read_tokens, prices.cache_read)?,
        match tokens.cache_write_tokens {
            Some(written) => part(Some(written.checked_sub(written_for_an_hour)?), prices.cache_write)?,
            None => part(None, prices.cache_write)?,
        },
        part(Some(written_for_an_hour), prices.cache_write1h)?,
    ];
    let cost = parts.iter().sum::<f64>() / 1_000_000.0;
    (cost.is_finite() && cost >= 0.0).then_some(cost)
}

/// In millionths of a USD. A bucket that a provider neither counts nor prices is no bucket of its own there: its tokens are in
/// the input.
fn part(count: Option<u64>, price: Option<f64>) -> Option<f64> {
    match (count, price) {
        (None, None) | (Some(0), _) => Some(0.0),
        (Some(count), Some(price)) => Some(count as f64 * price),
        _ => None,
    }
}
