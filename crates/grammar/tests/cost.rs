//! Published prices against sums by hand, and what must have no price.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use chat_grammar::catalog::{CatalogModel, ModelCatalog, ModelPrice};
use chat_grammar::cost::{PricedTokens, calculate_cost, calculate_sum_cost};
use chat_grammar::usage::TokenCounts;
use proptest::prelude::*;

/// Input, output, cache reads, cache writes, and the part of these that is kept for an hour.
fn usage([input, output, read, write, hour]: [u64; 5]) -> PricedTokens {
    let tokens = TokenCounts {
        input_tokens: Some(input),
        output_tokens: Some(output),
        cache_read_tokens: Some(read),
        cache_write_tokens: Some(write),
    };
    PricedTokens { tokens, cache_write1h_tokens: Some(hour) }
}

fn cost(provider: &str, model: &str, counts: [u64; 5]) -> Option<f64> {
    let provider = Some(provider).filter(|provider| !provider.is_empty());
    calculate_cost(usage(counts), provider, model, ModelCatalog::published())
}

#[test]
fn published_prices() {
    let examples: [(&str, &str, &str, [u64; 5], f64); 14] = [
        // 1000 × 3 + 500 × 15 + 10,000 × 0.30 + 2000 × 3.75 = 21,000 millionths
        ("cache reads and five-minute writes", "anthropic", "claude-sonnet-4-5", [1000, 500, 10_000, 2000, 0], 0.021),
        // 3 × 1 + 7 × 5 + 12,000 × 0.10 + 3904 × 2
        ("one-hour writes", "anthropic", "claude-haiku-4-5", [3, 7, 12_000, 3904, 3904], 0.009_046),
        // 100 × 5 + 200 × 25 + 600 × 6.25 + 400 × 10
        ("writes of both kinds", "anthropic", "claude-opus-4-8", [100, 200, 0, 1000, 400], 0.013_25),
        // 150,000 × 6 + 60,000 × 0.60 + 1000 × 22.50: the cache counts for the prompt's size
        ("a long prompt", "anthropic", "claude-sonnet-4-5", [150_000, 1000, 60_000, 0, 0], 0.9585),
        // 1000 × 6 + 200,000 × 12
        ("one-hour writes of a long prompt", "anthropic", "claude-sonnet-4-5", [1000, 0, 0, 200_000, 200_000], 2.406),
        // 200,000 × 3 + 1000 × 15
        ("a prompt just not long", "anthropic", "claude-sonnet-4-5", [200_000, 1000, 0, 0, 0], 0.615),
        // 1000 × 1.25 + 800 × 10 + 2000 × 0.125, of the output 600 reasoning
        ("reasoning within the output", "openai", "gpt-5", [1000, 800, 2000, 0, 0], 0.0095),
        // 272,000 × 10 + 100 × 45
        ("a long prompt of OpenAI", "openai", "gpt-5.5", [272_000, 100, 0, 0, 0], 2.7245),
        // 1000 × 4 + 100 × 20 + 5000 × 0.40 + 800 × 5
        ("cache writes of OpenAI", "openai", "gpt-5.6-sol", [1000, 100, 5000, 800, 0], 0.012),
        // 100,000 × 1.25 + 2000 × 10 + 50,000 × 0.125
        ("Gemini", "google", "gemini-2.5-pro", [100_000, 2000, 50_000, 0, 0], 0.151_25),
        // 200,001 × 2.50 + 10 × 15
        ("a long prompt of Gemini", "google", "gemini-2.5-pro", [200_001, 10, 0, 0, 0], 0.500_152_5),
        // 1000 × 3.30 + 1000 × 16.50: a region costs a tenth more
        (
            "a region of Bedrock",
            "amazon-bedrock",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            [1000, 1000, 0, 0, 0],
            0.0198,
        ),
        // 1000 × 10 + 100 × 50
        ("a fast mode", "openrouter", "anthropic/claude-opus-4.8-fast", [1000, 100, 0, 0, 0], 0.015),
        // 1,000,000 × 0.2288 + 1000 × 0.3432
        ("DeepSeek", "deepseek", "deepseek-v3.2", [1_000_000, 1000, 0, 0, 0], 0.229_143_2),
    ];
    for (what, provider, model, counts, expected) in examples {
        let cost = cost(provider, model, counts).unwrap_or_else(|| panic!("{what} has no price"));
        assert!((cost - expected).abs() < 0.000_01, "{what}: {cost} instead of {expected}");
    }
}

#[test]
fn what_has_no_published_price_costs_nothing_known() {
    let unknown = [
        ("anthropic", "claude-sonnet-4-5-fast"),
        ("anthropic", "claude-opus-4-8[fast=true]"),
        ("anthropic", "claude-sonnet-5-5"),
        ("anthropic", "claude-opus-4-8-priority"),
        ("anthropic", "<synthetic>"),
        ("anthropic", "gpt-5"),
        ("openai", "gpt-5.5-fast"),
        ("openai", "gpt-5.5-flex"),
        ("openai", "gpt-99"),
        ("openrouter", "deepseek/deepseek-r1:free"),
        ("openrouter", "anthropic/claude-sonnet-4.5:nitro"),
        ("my-gateway", "my-model"),
        // Who serves open weights sets the price.
        ("my-gateway", "gpt-oss-120b"),
        ("ollama", "gemma-2-27b-it"),
        // The price depends on the time of day.
        ("deepseek", "deepseek-chat"),
        ("", "default"),
        ("", ""),
    ];
    for (provider, model) in unknown {
        assert_eq!(cost(provider, model, [1000, 100, 0, 0, 0]), None, "{provider} {model}");
    }
}

#[test]
fn an_unknown_count_or_price_makes_the_cost_unknown() {
    let catalog = ModelCatalog::published();
    let known = usage([10, 10, 10, 10, 0]);
    let of = |usage: PricedTokens, model| calculate_cost(usage, Some("anthropic"), model, catalog);
    assert!(of(known, "claude-sonnet-4-5").is_some());
    let edits: [fn(&mut TokenCounts); 4] = [
        |tokens| tokens.input_tokens = None,
        |tokens| tokens.output_tokens = None,
        |tokens| tokens.cache_read_tokens = None,
        |tokens| tokens.cache_write_tokens = None,
    ];
    for edit in edits {
        let mut tokens = known.tokens;
        edit(&mut tokens);
        assert_eq!(of(PricedTokens { tokens, ..known }, "claude-sonnet-4-5"), None);
    }
    // Claude 2 had no cache: tokens of one have no price, and no count of them is missing.
    assert_eq!(of(known, "claude-2"), None);
    let tokens = TokenCounts { cache_read_tokens: None, cache_write_tokens: None, ..known.tokens };
    assert!(of(PricedTokens { tokens, ..known }, "claude-2").is_some());
    // More for an hour than was written at all.
    assert_eq!(of(usage([10, 10, 10, 10, 11]), "claude-sonnet-4-5"), None);
}

#[test]
fn a_sum_of_calls_is_priced_only_where_one_price_holds() {
    let catalog = ModelCatalog::published();
    let sum = |counts| calculate_sum_cost(usage(counts), Some("anthropic"), "claude-sonnet-4-5", catalog);
    assert_eq!(sum([100_000, 0, 100_000, 0, 0]), cost("anthropic", "claude-sonnet-4-5", [100_000, 0, 100_000, 0, 0]));
    assert_eq!(sum([100_000, 0, 100_001, 0, 0]), None);
}

#[test]
fn a_hosts_own_prices_come_first() {
    let price = ModelPrice { input: 1.0, output: 2.0, cache_read: None, cache_write: None, cache_write1h: None, tiers: vec![] };
    let model = |provider: &str, model: &str| CatalogModel {
        provider_id: provider.into(),
        model_id: model.into(),
        context_limit: Some(1000),
        price: Some(price.clone()),
    };
    let catalog = ModelCatalog::published().with(vec![model("anthropic", "claude-sonnet-4-5"), model("mine", "my-model")]);
    let cost = |provider: Option<&str>, model: &str| calculate_cost(usage([1_000_000, 0, 0, 0, 0]), provider, model, &catalog);
    assert_eq!(cost(Some("anthropic"), "claude-sonnet-4-5-20250929"), Some(1.0));
    assert_eq!(cost(Some("mine"), "my-model"), Some(1.0));
    assert_eq!(cost(None, "my-model"), Some(1.0));
    assert_eq!(cost(Some("anthropic"), "claude-haiku-4-5"), Some(1.0));
    assert_eq!(cost(Some("anthropic"), "claude-opus-4-8"), Some(5.0));
    assert_eq!(catalog.list().len(), ModelCatalog::published().list().len() + 1);
    assert_eq!(catalog.as_of(), ModelCatalog::published().as_of());
}

proptest! {
    #[test]
    fn more_tokens_never_cost_less(counts: [u32; 4], more in 0_u32..1_000_000) {
        let counts = counts.map(u64::from);
        let [input, output, read, write] = counts;
        let before = cost("anthropic", "claude-sonnet-4-5", [input, output, read, write, 0]).expect("a known price");
        let after = cost("anthropic", "claude-sonnet-4-5", [input + u64::from(more), output, read, write, 0]).expect("a known price");
        prop_assert!(before >= 0.0 && after >= before);
    }
}
