//! `…/usage`.

use crate::error::{json, parse, to_napi};
use chat_grammar::catalog::{CatalogModel, ModelCatalog};
use chat_grammar::cost::{PricedTokens, calculate_cost};
use chat_grammar::usage::{UsageStep, aggregate_turn_usage, finalize_turn_usage, normalize_usage};
use napi_derive::napi;

/// Models with their prices.
#[napi]
pub struct NativeCatalog {
    catalog: ModelCatalog,
}

#[napi]
impl NativeCatalog {
    /// The published prices.
    #[napi(constructor, catch_unwind)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { catalog: ModelCatalog::published().clone() }
    }

    /// The day of the published prices.
    #[napi(catch_unwind)]
    pub fn as_of(&self) -> String {
        self.catalog.as_of().to_owned()
    }

    /// A model as JSON; `null` where it is unknown.
    #[napi(catch_unwind)]
    pub fn find(&self, provider_id: Option<String>, model_id: String) -> napi::Result<String> {
        json(&self.catalog.find(provider_id.as_deref(), &model_id)).map_err(to_napi)
    }

    /// Every model, as a JSON array.
    #[napi(catch_unwind)]
    pub fn list(&self) -> napi::Result<String> {
        json(&self.catalog.list()).map_err(to_napi)
    }

    /// A catalog in which a JSON array of models covers those of the same provider and name.
    #[napi(catch_unwind)]
    pub fn with(&self, models_json: String) -> napi::Result<NativeCatalog> {
        let models: Vec<CatalogModel> = parse("models", &models_json).map_err(to_napi)?;
        Ok(Self { catalog: self.catalog.with(models) })
    }
}

/// A record from counts in any known spelling; `context_json` is an object of members that are known better.
#[napi(catch_unwind, js_name = "normalizeUsage")]
pub fn read_usage(input_json: String, context_json: String) -> napi::Result<String> {
    let input = parse("input", &input_json).map_err(to_napi)?;
    let context = parse("context", &context_json).map_err(to_napi)?;
    normalize_usage(&input, &context).and_then(|record| json(&record)).map_err(to_napi)
}

/// Sums a turn's billable steps; `null` where there is none.
#[napi(catch_unwind, js_name = "aggregateTurnUsage")]
pub fn sum_turn_usage(steps_json: String) -> napi::Result<String> {
    let steps: Vec<UsageStep> = parse("steps", &steps_json).map_err(to_napi)?;
    json(&aggregate_turn_usage(&steps)).map_err(to_napi)
}

/// Settles the usage of a turn's steps; `null` where none is billable.
#[napi(catch_unwind, js_name = "finalizeTurnUsage")]
pub fn settle_turn_usage(steps_json: String, catalog: &NativeCatalog) -> napi::Result<String> {
    let steps: Vec<UsageStep> = parse("steps", &steps_json).map_err(to_napi)?;
    json(&finalize_turn_usage(&steps, &catalog.catalog)).map_err(to_napi)
}

/// The cost of one model call in USD.
#[napi(catch_unwind, js_name = "calculateCost")]
pub fn cost_of_call(
    usage_json: String,
    provider_id: Option<String>,
    model_id: String,
    catalog: &NativeCatalog,
) -> napi::Result<Option<f64>> {
    let usage: PricedTokens = parse("usage", &usage_json).map_err(to_napi)?;
    Ok(calculate_cost(usage, provider_id.as_deref(), &model_id, &catalog.catalog))
}
