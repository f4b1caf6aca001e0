//! Failures: what they are called, and what a user should do about them.

use super::wire::{ErrorBody, Refusal};
use chat_grammar::event::{ErrorEvent, FailureClass};
use serde_json::Value;

type Sort = (FailureClass, &'static str, bool);

const AUTH_KEY: Sort = (FailureClass::Auth, "invalid_key", false);
const RATE_LIMITED: Sort = (FailureClass::Model, "rate_limited", true);
const OVERLOADED: Sort = (FailureClass::Model, "overloaded", true);
const SERVER_ERROR: Sort = (FailureClass::Model, "server_error", true);
const QUOTA: Sort = (FailureClass::Model, "quota_exceeded", false);
const OVERFLOW: Sort = (FailureClass::Model, "context_overflow", false);
const NO_MODEL: Sort = (FailureClass::Model, "model_not_found", false);
const BAD_REQUEST: Sort = (FailureClass::Model, "invalid_request", false);
const BAD_OUTPUT: Sort = (FailureClass::Model, "invalid_output", false);
const STREAM_CUT: Sort = (FailureClass::Transport, "stream_cut", true);
const UNREACHABLE: Sort = (FailureClass::Transport, "unreachable", true);
const NO_AGENT: Sort = (FailureClass::Runtime, "invalid_configuration", false);
const NO_SESSION: Sort = (FailureClass::Runtime, "session_not_found", false);
const REFUSED_REQUEST: Sort = (FailureClass::Runtime, "request_refused", false);
const UNKNOWN: Sort = (FailureClass::Runtime, "agent_error", false);

/// What an error of a session means for its turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Failure {
    /// The host asked for it.
    Aborted,
    /// The answer was cut at the model's limit.
    Length,
    /// The provider does not let the answer through.
    Filtered(String),
    Failed(ErrorEvent),
}

/// Sorts an error by its name.
pub(super) fn failure(error: &ErrorBody<'_>) -> Failure {
    let data = error.data.as_ref();
    let message = data.and_then(|data| data.message.as_deref()).filter(|message| !message.is_empty());
    let text = first_line(&unwrap_message(message.unwrap_or(&error.name)));
    let sort = match &*error.name {
        "MessageAbortedError" => return Failure::Aborted,
        "MessageOutputLengthError" => return Failure::Length,
        "ContentFilterError" => return Failure::Filtered(text),
        "ProviderAuthError" => AUTH_KEY,
        "ContextOverflowError" => OVERFLOW,
        "StructuredOutputError" => BAD_OUTPUT,
        "APIError" => {
            let body = data.and_then(|data| data.response_body.as_deref()).unwrap_or_default();
            let sort = data.and_then(|data| data.status_code).and_then(|status| sort_by_status(status, &text, body));
            sort.unwrap_or_else(|| match (sort_by_text(&text), data.and_then(|data| data.is_retryable)) {
                (UNKNOWN, Some(true)) => SERVER_ERROR,
                (UNKNOWN, _) => BAD_REQUEST,
                (sort, _) => sort,
            })
        }
        _ => sort_by_text(&text),
    };
    Failure::Failed(event(text, sort))
}

/// The failure of a request that was to begin a turn.
pub(super) fn refusal(status: u16, body: &Refusal<'_>) -> ErrorEvent {
    let message = body.data.as_ref().and_then(|data| data.message.as_deref()).or(body.message.as_deref());
    let text = message.filter(|message| !message.is_empty()).map(first_line);
    let text = text.unwrap_or_else(|| format!("The server refused the request with status {status}"));
    let sort = match status {
        404 => NO_SESSION,
        400..=499 => REFUSED_REQUEST,
        _ => UNKNOWN,
    };
    event(text, sort)
}

/// The failure of a turn that the agent says nothing about.
pub(super) fn unexplained() -> ErrorEvent {
    event("The turn failed".to_owned(), UNKNOWN)
}

/// True where a prompt was given up before anything of it was stored, after which no other end comes: for an agent that does not exist,
/// and where the message ends in a stack trace, as the server writes it about a prompt that broke.
pub(super) fn gives_up_prompt(error: &ErrorBody<'_>) -> bool {
    let message = error.data.as_ref().and_then(|data| data.message.as_deref()).unwrap_or_default();
    message.contains("\n    at ")
}

fn event(message: String, (class, reason, retryable): Sort) -> ErrorEvent {
    ErrorEvent { message, class, reason: reason.to_owned(), retryable }
}

/// Without the stack trace that may follow.
fn first_line(text: &str) -> String {
    text.split_once("\n    at ").map_or(text, |(message, _)| message).trim().to_owned()
}

/// The sentence for a person, where the text is a provider's JSON.
fn unwrap_message(text: &str) -> String {
    let json = Some(text).filter(|text| text.trim_start().starts_with('{'));
    let value = json.and_then(|json| serde_json::from_str::<Value>(json).ok());
    let message = value.as_ref().and_then(|value| {
        let paths = ["/error/message", "/message", "/detail", "/error"];
        paths.iter().find_map(|path| value.pointer(path)?.as_str())
    });
    message.unwrap_or(text).to_owned()
}

fn sort_by_status(status: u16, message: &str, body: &str) -> Option<Sort> {
    let out_of_quota = || ["insufficient_quota", "usage limit", "billing"].iter().any(|word| body.contains(word));
    Some(match status {
        401 | 403 => AUTH_KEY,
        402 => QUOTA,
        404 => NO_MODEL,
        413 => OVERFLOW,
        429 if out_of_quota() => QUOTA,
        429 => RATE_LIMITED,
        503 | 529 => OVERLOADED,
        400..=499 => match sort_by_text(message) {
            UNKNOWN => BAD_REQUEST,
            sort => sort,
        },
        500..=599 => SERVER_ERROR,
        _ => return None,
    })
}

/// By the words of the message, for failures that have no better name.
fn sort_by_text(message: &str) -> Sort {
    let lower = message.to_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|needle| lower.contains(needle));
    if has(&["agent not found"]) {
        NO_AGENT
    } else if has(&["model not found", "model_not_found"]) {
        NO_MODEL
    } else if has(&["api key", "unauthorized"]) {
        AUTH_KEY
    } else if has(&["context length", "context window", "context_length_exceeded"]) {
        OVERFLOW
    } else if has(&["quota", "usage limit", "credit balance"]) {
        QUOTA
    } else if has(&["rate limit", "rate_limit", "too many requests"]) {
        RATE_LIMITED
    } else if has(&["overloaded", "high demand"]) {
        OVERLOADED
    } else if has(&["connection reset", "stream ended", "terminated", "socket hang up", "closed unexpectedly"]) {
        STREAM_CUT
    } else if has(&["unable to connect", "cannot connect", "econnrefused", "fetch failed", "enotfound", "timed out"]) {
        UNREACHABLE
    } else {
        UNKNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, failure, gives_up_prompt, refusal, sort_by_text};
    use crate::opencode::wire::{ErrorBody, Refusal};
    use chat_grammar::event::FailureClass;

    fn failed(json: &str) -> (FailureClass, String, String) {
        let error: ErrorBody<'_> = serde_json::from_str(json).unwrap();
        match failure(&error) {
            Failure::Failed(error) => (error.class, error.reason, error.message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn errors_are_sorted_by_name_and_status() {
        let sorted = failed(r#"{"name":"APIError","data":{"message":"No","statusCode":401}}"#);
        assert_eq!(sorted, (FailureClass::Auth, "invalid_key".to_owned(), "No".to_owned()));
        assert_eq!(failed(r#"{"name":"APIError","data":{"message":"No","statusCode":529}}"#).1, "overloaded");
        let quota = r#"{"name":"APIError","data":{"message":"No","statusCode":429,"responseBody":"insufficient_quota"}}"#;
        assert_eq!(failed(quota).1, "quota_exceeded");
        assert_eq!(failed(r#"{"name":"APIError","data":{"message":"Unable to connect","isRetryable":true}}"#).1, "unreachable");
        assert_eq!(failed(r#"{"name":"SomethingNew"}"#).2, "SomethingNew");
        assert_eq!(failed(r#"{"name":"ProviderAuthError","data":{"message":"missing"}}"#).0, FailureClass::Auth);
    }

    #[test]
    fn a_stack_trace_is_no_message() {
        let broken = r#"{"name":"UnknownError","data":{"message":"Model not found: a/b.\n    at x (y.js:1)"}}"#;
        assert_eq!(failed(broken).2, "Model not found: a/b.");
        assert!(gives_up_prompt(&serde_json::from_str(broken).unwrap()));
        assert_eq!(sort_by_text("Model not found: a/b.").1, "model_not_found");
        assert_eq!(refusal(404, &Refusal::default()).reason, "session_not_found");
    }
}
