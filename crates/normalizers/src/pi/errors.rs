//! Failures: what they are called, and what a user should do about them.

use chat_grammar::event::{ErrorEvent, FailureClass};
use serde_json::Value;

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
const ABORTED: Sort = (FailureClass::Runtime, "aborted", true);
const REFUSED: Sort = (FailureClass::Runtime, "request_refused", false);
const UNKNOWN: Sort = (FailureClass::Runtime, "agent_error", false);

/// The failure of a model call, from its `errorMessage`.
pub(super) fn model_failure(error: Option<&str>) -> ErrorEvent {
    event(error.unwrap_or("The model call failed"), error.map_or(UNKNOWN, |error| sort(error).unwrap_or(UNKNOWN)))
}

/// The failure of a turn that was aborted, but by nobody on the host's side.
pub(super) fn aborted(error: Option<&str>) -> ErrorEvent {
    let message = error.unwrap_or("The turn was aborted, but not by the user");
    event(message, sort(message).unwrap_or(ABORTED))
}

/// A prompt that Pi did not take.
pub(super) fn refused_prompt(error: Option<&str>) -> ErrorEvent {
    let message = error.unwrap_or("The prompt was refused");
    event(message, sort(message).unwrap_or(REFUSED))
}

fn event(message: &str, (class, reason, retryable): Sort) -> ErrorEvent {
    ErrorEvent { message: sentence(message), class, reason: reason.to_owned(), retryable }
}

/// The sentence for a person: Pi's own where it is one, else the one in the provider's JSON, as in `401 {"error":{…}}`.
pub(super) fn sentence(text: &str) -> String {
    let value = text.find('{').and_then(|start| serde_json::from_str::<Value>(text.get(start..)?).ok());
    let message = value.as_ref().and_then(|value| {
        let paths = ["/error/message", "/message", "/detail", "/error"];
        paths.iter().find_map(|path| value.pointer(path)?.as_str())
    });
    message.unwrap_or(text).to_owned()
}

fn sort(text: &str) -> Option<Sort> {
    let lower = text.to_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|needle| lower.contains(needle));
    // The words say more than the status: an overflow is a 400, a used-up quota a 429.
    let by_words = if has(&["prompt is too long", "context_length_exceeded", "context window", "maximum context length"]) {
        OVERFLOW
    } else if has(&["insufficient_quota", "quota exceeded", "usage limit", "credit balance"]) {
        QUOTA
    } else if has(&["no api key found", "/login", "log in", "logged in", "oauth token"]) {
        AUTH_LOGIN
    } else if has(&["authentication_error", "invalid_api_key", "invalid x-api-key", "incorrect api key", "invalid api key"]) {
        AUTH_KEY
    } else if has(&["rate_limit", "rate limit", "too many requests"]) {
        RATE_LIMITED
    } else if has(&["overloaded"]) {
        OVERLOADED
    } else if has(&["model not found", "model_not_found", "no model selected"]) {
        NO_MODEL
    } else if has(&["other side closed", "terminated", "socket hang up", "econnreset", "stream ended", "premature close"]) {
        STREAM_CUT
    } else if has(&["fetch failed", "econnrefused", "enotfound", "etimedout", "connection error", "network", "timed out"]) {
        UNREACHABLE
    } else {
        return status(text).and_then(by_status);
    };
    Some(by_words)
}

/// The HTTP status with which Pi begins a provider's error.
fn status(text: &str) -> Option<u16> {
    let word = text.split_whitespace().next()?;
    (word.len() == 3).then(|| word.parse().ok())?
}

fn by_status(status: u16) -> Option<Sort> {
    Some(match status {
        401 | 403 => AUTH_KEY,
        402 => QUOTA,
        404 => NO_MODEL,
        408 => UNREACHABLE,
        429 => RATE_LIMITED,
        503 | 529 => OVERLOADED,
        400..=499 => BAD_REQUEST,
        500..=599 => SERVER_ERROR,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{aborted, model_failure, refused_prompt, sentence};
    use chat_grammar::event::FailureClass;

    #[test]
    fn a_failure_is_sorted_by_its_words_then_by_its_status() {
        let reason = |text: &str| model_failure(Some(text)).reason;
        assert_eq!(reason(r#"400 {"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}"#), "context_overflow");
        assert_eq!(reason("429 rate limited"), "rate_limited");
        assert_eq!(reason("429 "), "rate_limited");
        assert_eq!(reason("529 overloaded"), "overloaded");
        assert_eq!(reason(r#"500 {"error":{"message":"Internal server error"}}"#), "server_error");
        assert_eq!(reason("terminated: other side closed (UND_ERR_SOCKET)"), "stream_cut");
        assert_eq!(reason("something else"), "agent_error");
        assert_eq!(model_failure(Some("401 nope")).class, FailureClass::Auth);
        assert_eq!(aborted(Some("This operation was aborted")).reason, "aborted");
        assert_eq!(refused_prompt(Some("No API key found for the selected model.")).reason, "login_required");
        assert_eq!(refused_prompt(Some("Cannot read properties of undefined")).reason, "request_refused");
    }

    #[test]
    fn a_sentence_is_taken_out_of_json() {
        assert_eq!(sentence(r#"401 {"type":"error","error":{"message":"invalid x-api-key"}}"#), "invalid x-api-key");
        assert_eq!(sentence("Use {braces}"), "Use {braces}");
    }
}
