//! `…/events`.

use crate::error::to_napi;
use chat_grammar::{ChatError, ErrorCode};
use chat_normalizers::public::session_updates;
use napi_derive::napi;

/// The ACP updates of one event, as a JSON array; throws `INVALID_OPTIONS` with the path of the member at fault.
#[napi(catch_unwind)]
pub fn to_session_updates(event_json: String) -> napi::Result<String> {
    session_updates(&event_json).map_err(|fault| to_napi(ChatError::at(ErrorCode::InvalidOptions, fault.path, fault.problem)))
}
