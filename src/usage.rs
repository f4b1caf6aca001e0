//! `…/usage`.

use crate::error::{json, parse, to_napi};
use chat_grammar::usage::{UsageStep, finalize_turn_usage};
use napi_derive::napi;

/// Settles the usage of a turn's steps; `null` where none is billable.
#[napi(catch_unwind, js_name = "finalizeTurnUsage")]
pub fn settle_turn_usage(steps_json: String) -> napi::Result<String> {
    let steps: Vec<UsageStep> = parse("steps", &steps_json).map_err(to_napi)?;
    json(&finalize_turn_usage(&steps)).map_err(to_napi)
}
