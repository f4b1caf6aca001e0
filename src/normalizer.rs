//! `…/normalizers`.

use crate::error::{json, parse, to_napi};
use chat_grammar::event::{FinishReason, Side};
use chat_grammar::{ChatError, ErrorCode};
use chat_normalizers::Options;
use chat_normalizers::public::{JsonNormalizer, UpdateParts, recording_updates};
use napi::bindgen_prelude::{Either, Latin1String, Uint8Array, Uint32Array, Utf16String};
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

/// Updates as parts: five numbers an update.
#[napi(object, object_from_js = false)]
pub struct NativeUpdateParts {
    /// An update's form; the place of its id; the place of its text's block, and where the text begins and ends there, in UTF-16
    /// units. Form 6 is an update that stands in `whole`, in their order.
    pub items: Uint32Array,
    pub ids: Vec<String>,
    #[napi(ts_type = "Array<string>")]
    pub blocks: Vec<Either<Latin1String, Utf16String>>,
    /// A JSON array.
    #[napi(ts_type = "string")]
    pub whole: Either<Latin1String, Utf16String>,
}

impl From<UpdateParts> for NativeUpdateParts {
    fn from(parts: UpdateParts) -> Self {
        let UpdateParts { items, ids, blocks, whole } = parts;
        Self { items: items.into(), ids, blocks: blocks.into_iter().map(engine_text).collect(), whole: engine_text(whole) }
    }
}

/// Text in the form in which the engine takes it without decoding.
fn engine_text(text: String) -> Either<Latin1String, Utf16String> {
    match text.is_ascii() {
        true => Either::A(Latin1String::from(text)),
        false => Either::B(Utf16String::from(text)),
    }
}

/// The ACP updates of a whole recording; throws `INVALID_OPTIONS` for an agent that is not known.
#[napi(catch_unwind)]
pub fn normalize_recording(harness: String, ndjson: Uint8Array) -> napi::Result<NativeUpdateParts> {
    recording_updates(&harness, &ndjson).map(NativeUpdateParts::from).ok_or_else(|| unknown(&harness))
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

fn unknown(harness: &str) -> napi::Error {
    to_napi(ChatError::at(ErrorCode::InvalidOptions, "harness", format_args!("no agent is called {harness:?}")))
}
