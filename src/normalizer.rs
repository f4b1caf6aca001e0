//! `…/normalizers`.

use crate::error::{json, parse, to_napi};
use chat_grammar::event::{FinishReason, Side};
use chat_grammar::{ChatError, ErrorCode};
use chat_normalizers::Options;
use chat_normalizers::public::JsonNormalizer;
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use serde_json::Value;

/// One native session's messages in, its events out. Events are JSON arrays.
#[napi]
pub struct NativeNormalizer {
    normalizer: JsonNormalizer,
}

#[napi]
impl NativeNormalizer {
    /// The normalizer of an agent; throws `INVALID_OPTIONS` for an agent that is not known.
    #[napi(constructor, catch_unwind)]
    pub fn new(harness: String, provider_session_id: Option<String>, cwd: Option<String>) -> napi::Result<Self> {
        let options = Options { cwd, provider_session_id, model: None };
        let normalizer = JsonNormalizer::new(&harness, options).ok_or_else(|| unknown(&harness))?;
        Ok(Self { normalizer })
    }

    /// The normalizer behind an agent's per-message function; `alone` where it reads one message only.
    #[napi(factory, catch_unwind)]
    pub fn per_message(harness: String, alone: bool) -> napi::Result<Self> {
        let normalizer = JsonNormalizer::per_message(&harness, alone).ok_or_else(|| unknown(&harness))?;
        Ok(Self { normalizer })
    }

    /// Reads one message.
    #[napi(catch_unwind)]
    pub fn push(&mut self, line: String, from_host: bool, provider_session_id: Option<String>) -> String {
        self.normalizer.push(&line, side(from_host), provider_session_id.as_deref())
    }

    /// Reads one message as bytes; invalid UTF-8 is replaced.
    #[napi(catch_unwind)]
    pub fn push_bytes(&mut self, line: Uint8Array, from_host: bool) -> String {
        self.normalizer.push(&String::from_utf8_lossy(&line), side(from_host), None)
    }

    /// Closes what is open; `reason` is `end`, `cancelled` or `error`.
    #[napi(catch_unwind)]
    pub fn finish(&mut self, reason: String) -> String {
        self.normalizer.finish(match reason.as_str() {
            "cancelled" => FinishReason::Cancelled,
            "error" => FinishReason::Error,
            _ => FinishReason::End,
        })
    }

    /// How many messages no rule knew, by kind, as a JSON object.
    #[napi(catch_unwind)]
    pub fn unmapped(&self) -> napi::Result<String> {
        json(self.normalizer.unmapped()).map_err(to_napi)
    }
}

/// What an item of Codex is to a reader: `{tool, name, title, detail, input, output, error?}`.
#[napi(catch_unwind)]
pub fn describe_codex_item(item_json: String) -> napi::Result<String> {
    let item: Value = parse("item", &item_json).map_err(to_napi)?;
    json(&chat_normalizers::describe_item(&item)).map_err(to_napi)
}

/// The sentence for a person in an error of Codex; `null` where there is none.
#[napi(catch_unwind)]
pub fn codex_error_message(error_json: String) -> napi::Result<Option<String>> {
    let error: Value = parse("error", &error_json).map_err(to_napi)?;
    Ok(chat_normalizers::error_message(&error))
}

fn side(from_host: bool) -> Side {
    match from_host {
        true => Side::Host,
        false => Side::Agent,
    }
}

pub(crate) fn unknown(harness: &str) -> napi::Error {
    to_napi(ChatError::at(ErrorCode::InvalidOptions, "harness", format_args!("no agent is called {harness:?}")))
}
