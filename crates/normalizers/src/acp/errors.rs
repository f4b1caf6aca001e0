//! Failures: what they are called, and what a user should do about them.

use super::wire::WireError;
use chat_grammar::event::{ErrorEvent, FailureClass};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

type Sort = (FailureClass, &'static str, bool);

const AUTH_KEY: Sort = (FailureClass::Auth, "invalid_key", false);
const AUTH_LOGIN: Sort = (FailureClass::Auth, "login_required", false);
const RATE_LIMITED: Sort = (FailureClass::Model, "rate_limited", true);
const OVERLOADED: Sort = (FailureClass::Model, "overloaded", true);
const SERVER_ERROR: Sort = (FailureClass::Model, "server_error", true);
const QUOTA: Sort = (FailureClass::Model, "quota_exceeded", false);
const OVERFLOW: Sort = (FailureClass::Model, "context_overflow", false);
const NO_MODEL: Sort = (FailureClass::Model, "model_not_found", false);
const BAD_REQUEST: Sort = (FailureClass::Model, "invalid_request", false);
const STREAM_CUT: Sort = (FailureClass::Transport, "stream_cut", true);
const UNREACHABLE: Sort = (FailureClass::Transport, "unreachable", true);
const NO_SESSION: Sort = (FailureClass::Runtime, "session_not_found", false);
const PROTOCOL: Sort = (FailureClass::Runtime, "protocol", false);
const UNKNOWN: Sort = (FailureClass::Runtime, "agent_error", false);

/// ACP: authentication required.
const AUTH_REQUIRED: i64 = -32_000;
/// ACP: resource not found, which a session is.
const NOT_FOUND: i64 = -32_002;
/// ACP: the request was cancelled.
pub(super) const CANCELLED: i64 = -32_800;

/// What an error response tells a user.
pub(super) fn failure(error: &WireError<'_>) -> ErrorEvent {
    let message = sentence(error);
    let words = format!("{message} {} {}", error.message.as_deref().unwrap_or(""), error.data.map_or("", RawValue::get));
    let (class, reason, retryable) = sort(error.code.unwrap_or(0), &words);
    ErrorEvent { message, class, reason: reason.to_owned(), retryable }
}

/// The failure of a session that the agent answers with another one than was asked for.
pub(super) fn other_session(asked: &str, answered: &str) -> ErrorEvent {
    let (class, reason, retryable) = PROTOCOL;
    let message = format!("The agent opened the session {answered:?} instead of {asked:?}");
    ErrorEvent { message, class, reason: reason.to_owned(), retryable }
}

/// The sentence for a person. The message is often the protocol's own (`Internal error`); then the data has the agent's.
fn sentence(error: &WireError<'_>) -> String {
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow, default)]
        message: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        details: Option<Cow<'a, str>>,
    }
    let data = error.data.map_or("", RawValue::get);
    let told = match serde_json::from_str::<Data<'_>>(data) {
        Ok(data) => data.message.or(data.details).map(Cow::into_owned),
        // Words alone, or a list of what is wrong with the params.
        Err(_) => match serde_json::from_str::<Value>(data) {
            Ok(Value::String(words)) => Some(words),
            Ok(Value::Array(issues)) => issues.first().and_then(|issue| issue.get("message")?.as_str()).map(str::to_owned),
            _ => None,
        },
    };
    let told = told.filter(|told| !told.trim().is_empty());
    told.unwrap_or_else(|| error.message.as_deref().unwrap_or("The agent refused the request").to_owned())
}

fn sort(code: i64, words: &str) -> Sort {
    let lower = words.to_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|needle| lower.contains(needle));
    match code {
        AUTH_REQUIRED => return if has(&["api key", "api_key"]) { AUTH_KEY } else { AUTH_LOGIN },
        NOT_FOUND => return NO_SESSION,
        // gemini-cli 0.61.0 answers with the provider's HTTP status.
        400..=599 => {
            if let Some(sort) = by_status(code, &has) {
                return sort;
            }
        }
        _ => {}
    }
    if has(&["session"]) && has(&["not found", "no previous sessions"]) {
        NO_SESSION
    } else if has(&["invalid api key", "invalid_api_key", "incorrect api key"]) {
        AUTH_KEY
    } else if has(&["authenticat", "log in", "login", "sign in", "unauthorized", "401"]) {
        AUTH_LOGIN
    } else if has(&["context_length_exceeded", "context window", "prompt is too long"]) {
        OVERFLOW
    } else if has(&["insufficient_quota", "quota", "usage limit", "billing", "upgrade your plan"]) {
        QUOTA
    } else if has(&["rate_limit", "rate limit", "too many requests"]) {
        RATE_LIMITED
    } else if has(&["overloaded", "high demand"]) {
        OVERLOADED
    } else if has(&["model_not_found", "model not found", "invalid model"]) {
        NO_MODEL
    } else if has(&["server_error", "internal server error"]) {
        SERVER_ERROR
    } else if has(&["invalid_request", "bad request"]) {
        BAD_REQUEST
    } else if has(&["stream failed", "stream disconnected", "stream closed", "connection closed", "upstream closed"]) {
        STREAM_CUT
    } else if has(&["connection refused", "econnrefused", "fetch failed", "enotfound", "timed out", "network"]) {
        UNREACHABLE
    } else if matches!(code, -32_700 | -32_602..=-32_600) {
        PROTOCOL
    } else {
        UNKNOWN
    }
}

fn by_status(status: i64, has: &dyn Fn(&[&str]) -> bool) -> Option<Sort> {
    Some(match status {
        401 | 403 if has(&["api key", "api_key"]) => AUTH_KEY,
        401 | 403 => AUTH_LOGIN,
        402 => QUOTA,
        404 => NO_MODEL,
        429 if has(&["quota"]) => QUOTA,
        429 => RATE_LIMITED,
        503 | 529 => OVERLOADED,
        500..=599 => SERVER_ERROR,
        400 if has(&["api key not valid", "api_key_invalid"]) => AUTH_KEY,
        400 => BAD_REQUEST,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::wire::WireError;
    use super::failure;

    fn sorted(json: &str) -> (String, String) {
        let error = failure(&serde_json::from_str::<WireError<'_>>(json).unwrap());
        (error.reason, error.message)
    }

    #[test]
    fn a_failure_is_told_in_the_agents_words() {
        for (json, reason, message) in [
            (r#"{"code":-32000,"message":"Authentication required"}"#, "login_required", "Authentication required"),
            (r#"{"code":-32000,"message":"Gemini API key is missing."}"#, "invalid_key", "Gemini API key is missing."),
            (r#"{"code":-32603,"message":"Internal error","data":{"details":"No disk"}}"#, "agent_error", "No disk"),
            (r#"{"code":-32602,"message":"Invalid params","data":[{"message":"cwd"}]}"#, "protocol", "cwd"),
            (r#"{"code":-32603,"message":"x","data":"fetch failed"}"#, "unreachable", "fetch failed"),
            (r#"{"code":-32602,"message":"Session not found: a"}"#, "session_not_found", "Session not found: a"),
            (r#"{"code":-32603,"message":"Prompt failed","data":{"errorKind":"rate_limit"}}"#, "rate_limited", "Prompt failed"),
            (r#"{"code":429,"message":"slow down"}"#, "rate_limited", "slow down"),
            (r#"{"code":400,"message":"bad"}"#, "invalid_request", "bad"),
            (
                r#"{"code":-32002,"message":"Session nope not found","data":{"sessionId":"nope"}}"#,
                "session_not_found",
                "Session nope not found",
            ),
            ("{}", "agent_error", "The agent refused the request"),
        ] {
            assert_eq!(sorted(json), (reason.to_owned(), message.to_owned()), "{json}");
        }
    }
}
