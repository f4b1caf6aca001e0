//! Failures: what they are called, and what a user should do about them.

use super::wire::TurnError;
use crate::failures::{
    self, AUTH_KEY, AUTH_LOGIN, BAD_REQUEST, MAX_TOKENS, NO_MODEL, OVERFLOW, OVERLOADED, QUOTA, RATE_LIMITED, SERVER_ERROR,
    STREAM_CUT, Sort, UNKNOWN, UNREACHABLE, unwrap_message,
};
use chat_grammar::event::{ErrorEvent, FailureClass, Retry};
use serde_json::Value;
use serde_json::value::RawValue;

const REFUSED: Sort = (FailureClass::Model, "refused", false);

/// The failure of a turn.
pub(super) fn turn_failure(error: &TurnError<'_>) -> ErrorEvent {
    let info = error.codex_error_info.map(RawValue::get).and_then(|info| serde_json::from_str::<Value>(info).ok());
    let message = unwrap_message(&error.message);
    let sort = sort_by_info(info.as_ref(), &error.message).unwrap_or_else(|| sort_by_text(&error.message));
    failures::event(message, sort)
}

/// The failure of a turn that the agent says nothing about.
pub(super) fn unexplained() -> ErrorEvent {
    failures::event("The turn failed", UNKNOWN)
}

/// The failure of a request that was to start a session or a turn.
pub(super) fn request_failure(message: &str) -> ErrorEvent {
    let lower = message.to_lowercase();
    let has = |needle: &str| lower.contains(needle);
    let sort = if has("failed to load configuration") {
        (FailureClass::Runtime, "invalid_configuration", false)
    } else if has("no rollout found") || has("thread not found") || has("invalid session id") {
        (FailureClass::Runtime, "session_not_found", false)
    } else if has("mcp server") {
        (FailureClass::Runtime, "mcp_server_failed", false)
    } else if has("not initialized") || has("invalid request") || has("requires experimentalapi") {
        (FailureClass::Runtime, "protocol", false)
    } else {
        match sort_by_text(message) {
            UNKNOWN => (FailureClass::Runtime, "request_refused", false),
            sort => sort,
        }
    };
    failures::event(unwrap_message(message), sort)
}

/// The retry that a message such as `Reconnecting... 2/5` tells; without numbers in it, the `count`th of the turn.
pub(super) fn retry(message: &str, count: u64) -> Retry {
    let numbers = message.split_whitespace().rev().find_map(|word| {
        let (attempt, limit) = word.split_once('/')?;
        Some((attempt.parse().ok()?, limit.parse().ok()?))
    });
    let (attempt, limit) = match numbers {
        Some((attempt, limit)) => (attempt, Some(limit)),
        None => (count, None),
    };
    Retry { attempt, limit, delay_ms: None }
}

/// By `codexErrorInfo`: a word, or an object of one key with the HTTP status in it.
fn sort_by_info(info: Option<&Value>, message: &str) -> Option<Sort> {
    let (word, status) = match info? {
        Value::String(word) => (word.as_str(), None),
        Value::Object(object) => {
            let (word, detail) = object.iter().next()?;
            (word.as_str(), detail.get("httpStatusCode").and_then(Value::as_u64))
        }
        _ => return None,
    };
    Some(match word {
        "contextWindowExceeded" => OVERFLOW,
        "usageLimitExceeded" => QUOTA,
        "serverOverloaded" => OVERLOADED,
        "internalServerError" => SERVER_ERROR,
        "modelNotFound" => NO_MODEL,
        "unauthorized" => auth(message),
        "badRequest" => BAD_REQUEST,
        "cyberPolicy" => REFUSED,
        "sandboxError" => (FailureClass::Runtime, "sandbox", false),
        "httpConnectionFailed" | "responseStreamConnectionFailed" | "responseTooManyFailedAttempts" => {
            status.and_then(|status| sort_by_status(status, message)).unwrap_or(UNREACHABLE)
        }
        "responseStreamDisconnected" => status.and_then(|status| sort_by_status(status, message)).unwrap_or(STREAM_CUT),
        _ => return None,
    })
}

fn sort_by_status(status: u64, message: &str) -> Option<Sort> {
    Some(match status {
        401 | 403 => auth(message),
        402 => QUOTA,
        404 => NO_MODEL,
        429 => RATE_LIMITED,
        503 | 529 => OVERLOADED,
        400..=499 => BAD_REQUEST,
        500..=599 => SERVER_ERROR,
        _ => return None,
    })
}

/// By the words of the message, for failures that Codex gives no name.
fn sort_by_text(message: &str) -> Sort {
    let lower = message.to_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|needle| lower.contains(needle));
    if has(&["missing environment variable", "invalid_api_key", "incorrect api key", "invalid api key"]) {
        AUTH_KEY
    } else if has(&["not logged in", "log in", "login", "sign in", "unauthorized", "refresh token"]) {
        AUTH_LOGIN
    } else if has(&["context_length_exceeded", "context window"]) {
        OVERFLOW
    } else if has(&["insufficient_quota", "usage limit", "quota"]) {
        QUOTA
    } else if has(&["rate_limit", "rate limit", "too many requests"]) {
        RATE_LIMITED
    } else if has(&["overloaded", "high demand"]) {
        OVERLOADED
    } else if has(&["model_not_found"]) || (has(&["model"]) && has(&["not found", "not supported", "does not exist"])) {
        NO_MODEL
    } else if has(&["max_output_tokens"]) {
        MAX_TOKENS
    } else if has(&["content_filter", "content policy", "usage policy"]) {
        REFUSED
    } else if has(&["stream disconnected", "stream closed", "idle timeout", "connection closed"]) {
        STREAM_CUT
    } else if has(&["connection failed", "connection refused", "error sending request", "dns error", "timed out"]) {
        UNREACHABLE
    } else if let Some(sort) = status_in(&lower).and_then(|status| sort_by_status(status, message)) {
        sort
    } else if has(&["invalid_request_error"]) {
        BAD_REQUEST
    } else {
        UNKNOWN
    }
}

fn auth(message: &str) -> Sort {
    match message.to_lowercase().contains("api key") {
        true => AUTH_KEY,
        false => AUTH_LOGIN,
    }
}

/// The number in `unexpected status 404 Not Found`.
fn status_in(message: &str) -> Option<u64> {
    message.split("status ").nth(1)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{request_failure, retry, sort_by_text, unwrap_message};
    use chat_grammar::event::{FailureClass, Retry};

    #[test]
    fn a_retry_says_which_of_how_many() {
        assert_eq!(retry("Reconnecting... 2/5", 9), Retry { attempt: 2, limit: Some(5), delay_ms: None });
        assert_eq!(retry("Reconnecting... waiting for network", 3), Retry { attempt: 3, limit: None, delay_ms: None });
        assert_eq!(retry("Reconnecting... 2/5 (timeout)", 1).limit, Some(5));
    }

    #[test]
    fn a_message_is_taken_out_of_json() {
        assert_eq!(unwrap_message(r#"{"error":{"message":"No such model"}}"#), "No such model");
        assert_eq!(unwrap_message(r#"{"detail":"Not here"}"#), "Not here");
        assert_eq!(unwrap_message("{broken"), "{broken");
        assert_eq!(unwrap_message("plain"), "plain");
    }

    #[test]
    fn a_failure_is_sorted_by_its_words() {
        assert_eq!(sort_by_text("The 'gpt-5.9' model is not supported").1, "model_not_found");
        assert_eq!(sort_by_text("Missing environment variable: `KEY`.").0, FailureClass::Auth);
        assert_eq!(sort_by_text("unexpected status 503 Service Unavailable: busy").1, "overloaded");
        assert_eq!(request_failure("failed to load configuration: x").class, FailureClass::Runtime);
        assert_eq!(request_failure("what is that").reason, "request_refused");
    }
}
