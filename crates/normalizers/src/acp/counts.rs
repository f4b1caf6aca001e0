//! What the answer to a prompt counts: for the turn, and for each model in `_meta.quota`.

use super::wire::{Malformed, PromptAnswer};
use crate::numbers::count;
use chat_grammar::usage::{TokenCounts, UsageModel};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

const PROMPT_SOURCE: &str = "acp.prompt_response";
const QUOTA_SOURCE: &str = "acp.prompt_response.quota";

/// What an answer counts.
pub(super) struct Counted<'a> {
    pub tokens: TokenCounts,
    pub reasoning: Option<u64>,
    pub model: UsageModel,
    pub source: &'static str,
    pub exact: bool,
    pub raw: &'a RawValue,
}

impl Counted<'_> {
    /// Nothing was counted.
    pub(super) fn is_nothing(&self) -> bool {
        total(self.tokens) == 0
    }
}

/// Counts that agents leave out, or send as null, are unknown; what is no count is unknown too.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    #[serde(deserialize_with = "count", default)]
    total_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    output_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    thought_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    cached_read_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    cached_write_tokens: Option<u64>,
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
    model_usage: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct ModelQuota<'a> {
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    token_count: Option<&'a RawValue>,
}

/// Of Gemini: cached input is part of the input, and nobody says how much of it.
#[derive(Debug, Default, Deserialize)]
struct GeminiCounts {
    #[serde(deserialize_with = "count", default)]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    output_tokens: Option<u64>,
}

/// Of codex-acp and claude-agent-acp, which differ in the name of the cache writes.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelCounts {
    #[serde(deserialize_with = "count", default)]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    output_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    cached_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default, alias = "cacheWriteInputTokens")]
    cached_write_tokens: Option<u64>,
}

/// `None` where the answer counts nothing.
pub(super) fn of_prompt<'a>(answer: &PromptAnswer<'a>) -> Result<Option<Counted<'a>>, Malformed> {
    // Whatever else an agent keeps in its `_meta` is none of our business.
    let meta: Meta<'_> = answer.meta.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default();
    let usage = answer.usage.filter(|usage| usage.get() != "null");
    let quota = meta.quota.as_ref().and_then(|quota| quota.token_count);
    let by_model = meta.quota.as_ref().and_then(|quota| quota.model_usage);
    let models: Vec<ModelQuota<'_>> = by_model.and_then(|models| serde_json::from_str(models.get()).ok()).unwrap_or_default();
    let model = match models.as_slice() {
        [only] => UsageModel { model_id: only.model.as_deref().map(str::to_owned), ..UsageModel::default() },
        models => UsageModel { is_undetermined: models.len() > 1, ..UsageModel::default() },
    };
    let mut counted = match (usage, quota) {
        (Some(raw), _) => {
            let (tokens, reasoning) = buckets(&serde_json::from_str(raw.get())?);
            Counted { tokens, reasoning, model, source: PROMPT_SOURCE, exact: true, raw }
        }
        (None, Some(raw)) => {
            let counts: GeminiCounts = serde_json::from_str(raw.get()).unwrap_or_default();
            let (input_tokens, output_tokens) = (counts.input_tokens, counts.output_tokens);
            let tokens = TokenCounts { input_tokens, output_tokens, ..TokenCounts::default() };
            Counted { tokens, reasoning: None, model, source: QUOTA_SOURCE, exact: false, raw }
        }
        (None, None) => return Ok(None),
    };
    // The turn's own sum is that of the main loop; the models' has the calls beside it as well (claude-agent-acp 0.101.0, whose
    // cost is that of all).
    let all = models.iter().map(|model| of_model(model.token_count)).fold(TokenCounts::ZERO, TokenCounts::plus);
    let is_known = all.input_tokens.is_some() && all.output_tokens.is_some();
    if let Some(raw) = by_model.filter(|_| is_known && !counted.is_nothing() && total(all) > total(counted.tokens)) {
        counted = Counted { tokens: all, reasoning: None, source: QUOTA_SOURCE, raw, ..counted };
    }
    Ok(Some(counted))
}

fn of_model(json: Option<&RawValue>) -> TokenCounts {
    let counts: ModelCounts = json.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default();
    TokenCounts {
        input_tokens: counts.input_tokens,
        output_tokens: counts.output_tokens,
        cache_read_tokens: counts.cached_input_tokens,
        cache_write_tokens: counts.cached_write_tokens,
    }
}

fn total(tokens: TokenCounts) -> u64 {
    let all = [tokens.input_tokens, tokens.output_tokens, tokens.cache_read_tokens, tokens.cache_write_tokens];
    all.into_iter().flatten().fold(0, u64::saturating_add)
}

/// The buckets. Reasoning is part of the output, unless the total says that it was counted apart (OpenCode 1.18.33).
fn buckets(counts: &Counts) -> (TokenCounts, Option<u64>) {
    let reasoning = counts.thought_tokens;
    let (input, output) = (counts.input_tokens, counts.output_tokens);
    let (read, write) = (counts.cached_read_tokens, counts.cached_write_tokens);
    let parts =
        [input, output, read, write, reasoning].into_iter().try_fold(0_u64, |sum, part| sum.checked_add(part.unwrap_or(0)));
    let apart = reasoning.filter(|reasoning| *reasoning > 0 && parts.is_some() && counts.total_tokens == parts);
    let tokens = TokenCounts {
        input_tokens: input,
        output_tokens: output.map(|output| output.saturating_add(apart.unwrap_or(0))),
        cache_read_tokens: read,
        cache_write_tokens: write,
    };
    (tokens, reasoning)
}
