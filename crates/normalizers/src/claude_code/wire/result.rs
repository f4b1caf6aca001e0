//! `result`: the end of a turn; and token counts.

use crate::numbers::{amount, count};
use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub(in super::super) struct ResultLine<'a> {
    #[serde(borrow, default)]
    pub uuid: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub session_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub subtype: Option<Str<'a>>,
    #[serde(default)]
    pub is_error: Option<bool>,
    #[serde(borrow, default)]
    pub result: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub errors: Option<Vec<Str<'a>>>,
    #[serde(borrow, default)]
    pub stop_reason: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub terminal_reason: Option<Str<'a>>,
    #[serde(deserialize_with = "count", default)]
    pub num_turns: Option<u64>,
    #[serde(borrow, default)]
    pub local_command: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub api_error: Option<Str<'a>>,
    #[serde(deserialize_with = "count", default)]
    pub api_error_status: Option<u64>,
    #[serde(deserialize_with = "amount", default)]
    pub total_cost_usd: Option<f64>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow, rename = "modelUsage", default)]
    pub model_usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub fast_mode_state: Option<Str<'a>>,
    /// The API's ids of the calls of the main loop. Absent in 2.1.197.
    #[serde(borrow, default)]
    pub begun_message_ids: Option<Vec<Str<'a>>>,
    /// Absent in 2.1.197.
    #[serde(borrow, default)]
    pub model_usage_since_last_result: Option<&'a RawValue>,
}

/// Token counts of the Messages API. Input excludes what was read from the cache or written to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(in super::super) struct Usage {
    #[serde(deserialize_with = "count", default)]
    pub input_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub output_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    pub cache_creation: Option<CacheCreation>,
    #[serde(default)]
    pub output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(in super::super) struct CacheCreation {
    #[serde(deserialize_with = "count", default)]
    pub ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(in super::super) struct OutputDetails {
    #[serde(deserialize_with = "count", default)]
    pub thinking_tokens: Option<u64>,
}

/// What the CLI counted for each model.
pub(in super::super) type ModelUsages = BTreeMap<String, ModelUsage>;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ModelUsage {
    #[serde(deserialize_with = "count", default)]
    pub input_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub output_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub cache_creation_ephemeral1h_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub thinking_tokens: Option<u64>,
    #[serde(deserialize_with = "amount", rename = "costUSD", default)]
    pub cost_usd: Option<f64>,
    #[serde(deserialize_with = "count", default)]
    pub context_window: Option<u64>,
    #[serde(default)]
    pub canonical_model: Option<String>,
}
