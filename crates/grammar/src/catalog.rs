//! What models cost: the published price list that `scripts/catalog.mjs` writes, and a host's own prices above it.
//!
//! A model is found by its exact name, after known ways of writing one are undone; never by a prefix. So a model that the
//! list does not have, and a mode whose price is not published, has no price instead of that of a relative.

mod names;

use crate::usage::lenient_count;
use names::{Asked, key, provider_key};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

/// Prices in USD per million tokens. A price that is not published is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    /// Of input that is neither read from a cache nor written to one.
    pub input: f64,
    /// Of output, reasoning included.
    pub output: f64,
    /// Of input that is read from a cache.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Of input that is written to a cache, for five minutes where the provider knows several times.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Of input that is written to a cache for an hour.
    #[serde(default)]
    pub cache_write1h: Option<f64>,
    /// Other prices for large prompts; the largest size that a prompt exceeds counts, for all of its tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
}

/// Prices of calls whose prompt (input, cache reads and cache writes) is larger than a size. USD per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PriceTier {
    /// In tokens; a prompt of exactly this size still has the lower prices.
    pub above_prompt_tokens: u64,
    /// As in [`ModelPrice`].
    pub input: f64,
    /// As in [`ModelPrice`].
    pub output: f64,
    /// As in [`ModelPrice`].
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// As in [`ModelPrice`].
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// As in [`ModelPrice`].
    #[serde(default)]
    pub cache_write1h: Option<f64>,
}

/// A model as one provider sells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogModel {
    /// Such as `anthropic`, `openai`, `google`, `aws`, `openrouter`.
    pub provider_id: String,
    /// The name under which the catalog lists it.
    pub model_id: String,
    /// The largest context, in tokens.
    #[serde(default, deserialize_with = "lenient_count")]
    pub context_limit: Option<u64>,
    /// `None` where no price is published, or none that tokens alone decide.
    #[serde(default)]
    pub price: Option<ModelPrice>,
}

/// Models with their prices. Cheap to clone; never changes.
#[derive(Debug, Clone)]
pub struct ModelCatalog {
    as_of: Arc<str>,
    /// The published list first; what a host adds covers it.
    layers: Vec<Arc<Layer>>,
}

#[derive(Debug, Default)]
struct Layer {
    models: Vec<CatalogModel>,
    providers: HashMap<String, Provider>,
}

#[derive(Debug, Default)]
struct Provider {
    /// Positions in the layer's models by [`key`].
    by_name: HashMap<String, usize>,
    /// Whose models it sells at their prices as well.
    fallbacks: Vec<String>,
}

static PUBLISHED: LazyLock<ModelCatalog> =
    LazyLock::new(|| match serde_json::from_str::<List>(include_str!("../data/catalog.json")) {
        Ok(list) => list.into_catalog(),
        // Tests read the same text: a release cannot come here.
        Err(_) => ModelCatalog { as_of: "".into(), layers: vec![Arc::default()] },
    });

/// The published list as it is stored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    as_of: String,
    providers: Vec<ListedProvider>,
}

#[derive(Deserialize)]
struct ListedProvider {
    id: String,
    fallbacks: Vec<String>,
    models: Vec<ListedModel>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedModel {
    id: String,
    names: Vec<String>,
    context_limit: Option<u64>,
    price: Option<ModelPrice>,
}

/// A model with the places of its provider and its name in what was asked for.
#[derive(Clone, Copy)]
struct Found<'a> {
    provider: usize,
    name: usize,
    model: &'a CatalogModel,
}

impl List {
    fn into_catalog(self) -> ModelCatalog {
        let mut layer = Layer::default();
        for provider in self.providers {
            for ListedModel { id, names, context_limit, price } in provider.models {
                let model = CatalogModel { provider_id: provider.id.clone(), model_id: id, context_limit, price };
                layer.add(model, &names);
            }
            layer.providers.entry(provider_key(&provider.id)).or_default().fallbacks = provider.fallbacks;
        }
        ModelCatalog { as_of: self.as_of.into(), layers: vec![Arc::new(layer)] }
    }
}

impl Layer {
    fn add(&mut self, model: CatalogModel, names: &[String]) {
        let provider = self.providers.entry(provider_key(&model.provider_id)).or_default();
        let position = self.models.len();
        for name in std::iter::once(&model.model_id).chain(names) {
            provider.by_name.entry(key(name)).or_insert(position);
        }
        self.models.push(model);
    }

    fn get(&self, provider: &str, name: &str) -> Option<&CatalogModel> {
        self.models.get(*self.providers.get(provider)?.by_name.get(name)?)
    }

    /// What one of the providers sells, under the most exact name.
    fn first(&self, names: &[String], providers: &[String]) -> Option<Found<'_>> {
        names.iter().enumerate().find_map(|(name, spelling)| {
            providers
                .iter()
                .enumerate()
                .find_map(|(provider, seller)| Some(Found { provider, name, model: self.get(seller, spelling)? }))
        })
    }

    fn of_any_provider(&self, name: &str) -> Option<&CatalogModel> {
        self.models.iter().find(|model| key(&model.model_id) == name)
    }
}

impl ModelCatalog {
    /// The prices that this release came with.
    #[must_use]
    pub fn published() -> &'static Self {
        &PUBLISHED
    }

    /// The day of the published prices, such as `2026-09-23`.
    #[must_use]
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// A catalog in which these models cover those of the same provider and name.
    #[must_use]
    pub fn with(&self, models: Vec<CatalogModel>) -> Self {
        let mut layer = Layer::default();
        // The later of two equal ones counts.
        models.into_iter().rev().for_each(|model| layer.add(model, &[]));
        let mut layers = self.layers.clone();
        layers.push(Arc::new(layer));
        Self { as_of: Arc::clone(&self.as_of), layers }
    }

    /// Every model, those that a host added first.
    #[must_use]
    pub fn list(&self) -> Vec<&CatalogModel> {
        let mut seen = HashSet::new();
        let all = self.layers.iter().rev().flat_map(|layer| &layer.models);
        all.filter(|model| seen.insert((provider_key(&model.provider_id), key(&model.model_id)))).collect()
    }

    /// The model that an agent calls `model_id`, in any of the ways in which agents write it: with a date, a provider or a
    /// region before it, parameters in brackets, an effort behind it.
    ///
    /// - A provider that the catalog knows sells what the catalog says it sells.
    /// - A provider that it does not know is a gateway: it is taken to pass on what only its maker sells, at list price.
    /// - Without a provider the model's maker is meant, and where the catalog knows none, any provider that the host added.
    ///
    /// What a host added counts where it is the model that is found, or is named more exactly by the same provider, or is of a
    /// provider that is meant more.
    #[must_use]
    pub fn find(&self, provider_id: Option<&str>, model_id: &str) -> Option<&CatalogModel> {
        let asked = Asked::read(provider_id, model_id)?;
        let published = self.layers.first()?;
        let providers = asked.providers(|name| published.providers.get(name).map(|known| known.fallbacks.as_slice()));
        let mut best: Option<Found<'_>> = None;
        for layer in &self.layers {
            let own = layer.first(&asked.names, &providers);
            let cover = |found: &Found<'_>| {
                let model = layer.get(&provider_key(&found.model.provider_id), &key(&found.model.model_id))?;
                Some(Found { model, ..*found })
            };
            best = match (best, own) {
                (Some(below), Some(own)) if (own.provider, own.name) <= (below.provider, below.name) => Some(own),
                (Some(below), _) => Some(cover(&below).unwrap_or(below)),
                (None, own) => own,
            };
        }
        let added = || self.layers.iter().skip(1).rev().filter(|_| provider_id.is_none());
        let any = || added().find_map(|layer| asked.names.iter().find_map(|name| layer.of_any_provider(name)));
        best.map(|found| found.model).or_else(any)
    }
}
