//! `…/input`.

use crate::error::to_napi;
use napi_derive::napi;

/// Checks a prompt and returns it; throws `INVALID_PROMPT` naming the block and the field at fault.
#[napi(catch_unwind)]
pub fn normalize_prompt(prompt_json: String) -> napi::Result<String> {
    chat_grammar::prompt::normalize_prompt(&prompt_json).map(|prompt| prompt.to_string()).map_err(to_napi)
}
