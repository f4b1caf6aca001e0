//! Names of models as agents write them.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use chat_grammar::catalog::ModelCatalog;

fn find(provider: &str, model: &str) -> Option<(String, String)> {
    let provider = Some(provider).filter(|provider| !provider.is_empty());
    let found = ModelCatalog::published().find(provider, model)?;
    Some((found.provider_id.clone(), found.model_id.clone()))
}

#[test]
fn agents_spellings() {
    let same = [
        ("anthropic", "claude-sonnet-4-5", "anthropic claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5-20250929", "anthropic claude-sonnet-4-5"),
        ("anthropic", "Claude-Sonnet-4.5", "anthropic claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5[1m]", "anthropic claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5-latest", "anthropic claude-sonnet-4-5"),
        ("", "anthropic/claude-sonnet-4-5", "anthropic claude-sonnet-4-5"),
        ("", "claude-4.5-sonnet-thinking", "anthropic claude-sonnet-4-5"),
        ("cursor-gateway", "claude-4.6-sonnet-medium", "anthropic claude-sonnet-4-6"),
        ("my-gateway", "claude-opus-5[thinking=true,context=300k,effort=high,fast=false]", "anthropic claude-opus-5"),
        ("vercel-ai-gateway", "anthropic/claude-sonnet-4.5", "anthropic claude-sonnet-4-5"),
        ("openai", "gpt-5.5", "openai gpt-5.5"),
        ("openai", "gpt-5-5", "openai gpt-5.5"),
        ("openai", "gpt-5.5[high]", "openai gpt-5.5"),
        ("openai", "gpt-5.5[context=272k,reasoning=medium,fast=false]", "openai gpt-5.5"),
        ("openai", "gpt-5-2025-08-07", "openai gpt-5"),
        ("openai", "gpt-5-mini-high", "openai gpt-5-mini"),
        ("openai-codex", "gpt-5.6-luna-2026-07-01", "openai gpt-5.6-luna"),
        ("", "o3-mini", "openai o3-mini"),
        ("google", "models/gemini-2.5-pro", "google gemini-2.5-pro"),
        ("gemini", "gemini-2.5-flash", "google gemini-2.5-flash"),
        ("google-vertex-anthropic", "claude-sonnet-4-5@20250929", "google claude-sonnet-4-5"),
        ("", "claude-opus-5@default", "google claude-opus-5"),
        ("anthropic", "us.anthropic.claude-opus-5", "aws regional.anthropic.claude-opus-5"),
        ("", "eu.anthropic.claude-sonnet-5-v1:0", "aws regional.anthropic.claude-sonnet-5-v1:0"),
        ("aws", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "aws global.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (
            "bedrock",
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "aws regional.anthropic.claude-haiku-4-5-20251001-v1:0",
        ),
        ("aws", "us.anthropic.claude-opus-4-6-v1", "aws regional.anthropic.claude-opus-4-6-v1:0"),
        ("litellm", "bedrock/us.anthropic.claude-sonnet-5-v1:0", "aws regional.anthropic.claude-sonnet-5-v1:0"),
        ("litellm", "vertex_ai/claude-sonnet-4-5@20250929", "google claude-sonnet-4-5"),
        ("openai", "gpt-5.6-sol[ultra]", "openai gpt-5.6-sol"),
        ("openrouter", "anthropic/claude-sonnet-4.5", "openrouter anthropic/claude-sonnet-4.5"),
        ("", "openrouter/anthropic/claude-sonnet-4.5", "openrouter anthropic/claude-sonnet-4.5"),
        ("openrouter", "google/gemini-2.5-flash-preview:thinking", "openrouter google/gemini-2.5-flash-preview:thinking"),
        ("openrouter", "deepseek/deepseek-r1:free", "openrouter deepseek/deepseek-r1:free"),
        ("azure", "gpt-5.5", "openai gpt-5.5"),
    ];
    for (provider, model, expected) in same {
        let found = find(provider, model).map(|(provider, model)| format!("{provider} {model}"));
        assert_eq!(found.as_deref(), Some(expected), "{provider} {model}");
    }
}

#[test]
fn another_model_is_not_found_by_its_relative() {
    for (provider, model) in [
        ("anthropic", "claude-sonnet-5-5"),
        ("anthropic", "claude-sonnet-4-5-fast"),
        ("anthropic", "claude-sonnet-4-5[priority]"),
        ("openai", "gpt-5.5-turbo"),
        ("openai", "gpt-5.5-thinking"),
        ("openrouter", "anthropic/claude-sonnet-4.5:floor"),
        ("moonshotai", "kimi-k9-thinking"),
        ("groq", "claude-sonnet-4-5"),
        ("litellm", "us.anthropic.claude-opus-99-v1:0"),
    ] {
        assert_eq!(find(provider, model), None, "{provider} {model}");
    }
}

#[test]
fn the_published_list_is_whole() {
    let catalog = ModelCatalog::published();
    let models = catalog.list();
    assert!(models.len() > 1000);
    assert_eq!(catalog.as_of().len(), "2026-09-23".len());
    for model in &models {
        let found = catalog.find(Some(&model.provider_id), &model.model_id).expect("a listed model is found by its own name");
        assert_eq!((&found.provider_id, &found.price), (&model.provider_id, &model.price), "{}", model.model_id);
        for price in model.price.iter() {
            let tiers =
                price.tiers.iter().flat_map(|tier| [Some(tier.input), Some(tier.output), tier.cache_read, tier.cache_write]);
            let all = [Some(price.input), Some(price.output), price.cache_read, price.cache_write, price.cache_write1h];
            assert!(
                all.into_iter().chain(tiers).flatten().all(|price| price.is_finite() && price >= 0.0),
                "{}",
                model.model_id
            );
        }
    }
    let limit = catalog.find(Some("anthropic"), "claude-opus-5").and_then(|model| model.context_limit);
    assert_eq!(limit, Some(1_000_000));
}

fn added(catalog: &ModelCatalog, provider: &str, model: &str) -> ModelCatalog {
    let price = serde_json::json!({"input": 99, "output": 99});
    let model = serde_json::json!({"providerId": provider, "modelId": model, "contextLimit": null, "price": price});
    catalog.with(vec![serde_json::from_value(model).expect("a model")])
}

fn input_price(catalog: &ModelCatalog, provider: Option<&str>, model: &str) -> Option<f64> {
    Some(catalog.find(provider, model)?.price.as_ref()?.input)
}

#[test]
fn a_hosts_model_covers_the_one_of_its_name_and_no_other() {
    let published = ModelCatalog::published();
    let own = added(published, "openai", "gpt-4o");
    assert_eq!(input_price(&own, Some("openai"), "gpt-4o"), Some(99.0));
    assert_eq!(input_price(&own, Some("openai"), "gpt-4o-2024-05-13"), Some(5.0));
    // A date that the published list knows as the same model is covered with it.
    let own = added(published, "anthropic", "claude-sonnet-4-5");
    assert_eq!(input_price(&own, Some("anthropic"), "claude-sonnet-4-5-20250929"), Some(99.0));
    assert_eq!(input_price(&own, None, "claude-sonnet-4-5"), Some(99.0));
    // A gateway's own price comes before that of the maker, and is the gateway's alone.
    let own = added(published, "mine", "claude-sonnet-4-5");
    assert_eq!(input_price(&own, Some("mine"), "claude-sonnet-4-5-20250929"), Some(99.0));
    assert_eq!(input_price(&own, None, "claude-sonnet-4-5"), Some(3.0));
    // What only a host knows is found without a provider.
    assert_eq!(input_price(&added(published, "mine", "house-1"), None, "house-1-20260101"), Some(99.0));
}

#[test]
fn a_mode_is_found_behind_a_date_an_effort_or_a_window() {
    let own = added(ModelCatalog::published(), "anthropic", "claude-opus-4-6-fast");
    for name in ["claude-opus-4-6-20260205-fast", "claude-opus-4-6-thinking-fast", "claude-opus-4-6-fast[1m]"] {
        assert_eq!(input_price(&own, Some("anthropic"), name), Some(99.0), "{name}");
    }
    assert_eq!(input_price(&own, Some("anthropic"), "claude-opus-4-6-20260205-flex"), None);
}
