//! What failures are called, whichever agent reports them: class, reason, and whether trying again may help.

use chat_grammar::event::{ErrorEvent, FailureClass};
use serde_json::Value;

/// Class, reason, and whether trying again may help.
pub(crate) type Sort = (FailureClass, &'static str, bool);

pub(crate) const AUTH_KEY: Sort = (FailureClass::Auth, "invalid_key", false);
pub(crate) const AUTH_LOGIN: Sort = (FailureClass::Auth, "login_required", false);
pub(crate) const RATE_LIMITED: Sort = (FailureClass::Model, "rate_limited", true);
pub(crate) const OVERLOADED: Sort = (FailureClass::Model, "overloaded", true);
pub(crate) const SERVER_ERROR: Sort = (FailureClass::Model, "server_error", true);
pub(crate) const QUOTA: Sort = (FailureClass::Model, "quota_exceeded", false);
pub(crate) const OVERFLOW: Sort = (FailureClass::Model, "context_overflow", false);
pub(crate) const NO_MODEL: Sort = (FailureClass::Model, "model_not_found", false);
pub(crate) const MAX_TOKENS: Sort = (FailureClass::Model, "max_tokens", false);
pub(crate) const BAD_REQUEST: Sort = (FailureClass::Model, "invalid_request", false);
pub(crate) const STREAM_CUT: Sort = (FailureClass::Transport, "stream_cut", true);
pub(crate) const UNREACHABLE: Sort = (FailureClass::Transport, "unreachable", true);
pub(crate) const NO_SESSION: Sort = (FailureClass::Runtime, "session_not_found", false);
pub(crate) const UNKNOWN: Sort = (FailureClass::Runtime, "agent_error", false);

/// A failure of a sort.
pub(crate) fn event(message: impl Into<String>, (class, reason, retryable): Sort) -> ErrorEvent {
    ErrorEvent { message: message.into(), class, reason: reason.to_owned(), retryable }
}

/// The sentence for a person, where the text is a provider's JSON.
pub(crate) fn unwrap_message(text: &str) -> String {
    let json = Some(text).filter(|text| text.trim_start().starts_with('{'));
    let value = json.and_then(|json| serde_json::from_str::<Value>(json).ok());
    let message = value.as_ref().and_then(|value| {
        let paths = ["/error/message", "/message", "/detail", "/error"];
        paths.iter().find_map(|path| value.pointer(path)?.as_str())
    });
    message.unwrap_or(text).to_owned()
}
