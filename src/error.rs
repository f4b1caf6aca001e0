//! Errors as they cross the border.

use chat_grammar::{ChatError, ErrorCode};
use serde::de::DeserializeOwned;

/// The one form of an error: its message is the JSON text `{code, message, details}`, from which the facade makes the class.
pub(crate) fn to_napi(error: ChatError) -> napi::Error {
    napi::Error::from_reason(error.to_wire())
}

/// Reads an argument that crossed as JSON text.
///
/// # Errors
/// `INVALID_OPTIONS` naming the argument.
pub(crate) fn parse<T: DeserializeOwned>(argument: &str, json: &str) -> Result<T, ChatError> {
    serde_json::from_str(json).map_err(|error| ChatError::at(ErrorCode::InvalidOptions, argument, error))
}

/// Writes an answer that crosses as JSON text.
///
/// # Errors
/// `RUNTIME_ERROR` where the value has no JSON form.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> Result<String, ChatError> {
    serde_json::to_string(value).map_err(|error| ChatError::runtime(format!("an answer has no JSON form: {error}")))
}
