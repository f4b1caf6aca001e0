//! Failures: what they are called, and what a user should do about them.

use crate::failures::{
    self, AUTH_KEY, AUTH_LOGIN, BAD_REQUEST, MAX_TOKENS, NO_MODEL, NO_SESSION, OVERFLOW, OVERLOADED, QUOTA, RATE_LIMITED,
    SERVER_ERROR, Sort, UNKNOWN, UNREACHABLE,
};
use chat_grammar::event::{ErrorEvent, FailureClass};

const BUDGET: Sort = (FailureClass::Model, "budget_exceeded", false);

/// What the CLI said about a call of the model that failed, in a message of its own.
#[derive(Debug, Clone, Default)]
pub(super) struct ApiError {
    pub message: String,
    /// Such as `rate_limit`.
    pub word: Option<String>,
    /// Such as `usage_limit_reached`.
    pub detail: Option<String>,
    pub status: Option<u64>,
}

/// The failure of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure<'a> {
    pub message: &'a str,
    pub subtype: Option<&'a str>,
    pub terminal_reason: Option<&'a str>,
    pub error: Option<&'a ApiError>,
    pub detail: Option<&'a str>,
    pub status: Option<u64>,
}

/// The failure as an event.
pub(super) fn event(failure: &Failure<'_>) -> ErrorEvent {
    failures::event(failure.message, sort(failure))
}

fn sort(failure: &Failure<'_>) -> Sort {
    let lower = failure.message.to_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|needle| lower.contains(needle));
    let detail = failure.detail.or(failure.error.and_then(|error| error.detail.as_deref()));
    let status = failure.status.or(failure.error.and_then(|error| error.status));
    if failure.subtype == Some("error_max_budget_usd") {
        return BUDGET;
    }
    if failure.terminal_reason == Some("prompt_too_long") || has(&["prompt is too long", "context window", "context_length"]) {
        return OVERFLOW;
    }
    match detail {
        Some("usage_limit_reached") => return QUOTA,
        Some("connection_failed") => return UNREACHABLE,
        Some("max_output_tokens") => return MAX_TOKENS,
        _ => {}
    }
    let auth = if has(&["api key", "x-api-key"]) { AUTH_KEY } else { AUTH_LOGIN };
    let word = failure.error.and_then(|error| error.word.as_deref());
    let by_word = match word {
        Some("authentication_failed" | "oauth_org_not_allowed") => Some(auth),
        Some("billing_error") => Some(QUOTA),
        Some("rate_limit") if has(&["usage limit", "hit your"]) => Some(QUOTA),
        Some("rate_limit") => Some(RATE_LIMITED),
        Some("overloaded") => Some(OVERLOADED),
        // Also said where no server answered (2.1.197).
        Some("server_error") if status.is_none() && has(UNREACHED) => Some(UNREACHABLE),
        // Said of every status of 500 and more.
        Some("server_error") => status.and_then(|status| by_status(status, auth)).or(Some(SERVER_ERROR)),
        Some("model_not_found") => Some(NO_MODEL),
        Some("max_output_tokens") => Some(MAX_TOKENS),
        Some("invalid_request") => Some(BAD_REQUEST),
        _ => None,
    };
    let sort = by_word.or_else(|| status.and_then(|status| by_status(status, auth)));
    sort.unwrap_or_else(|| by_text(&has, auth))
}

fn by_status(status: u64, auth: Sort) -> Option<Sort> {
    Some(match status {
        401 | 403 => auth,
        402 => QUOTA,
        404 => NO_MODEL,
        429 => RATE_LIMITED,
        503 | 529 => OVERLOADED,
        400..=499 => BAD_REQUEST,
        500..=599 => SERVER_ERROR,
        _ => return None,
    })
}

/// What the CLI says where nobody answers.
const UNREACHED: &[&str] =
    &["unable to connect", "connection refused", "econnrefused", "connection error", "fetch failed", "enotfound", "timed out"];

/// By the words of the message, for failures that the CLI gives no name.
fn by_text(has: &dyn Fn(&[&str]) -> bool, auth: Sort) -> Sort {
    if has(&["no conversation found", "no session found"]) {
        NO_SESSION
    } else if has(&["invalid api key", "not logged in", "/login", "log in", "oauth", "authentication"]) {
        auth
    } else if has(&["usage limit", "credit balance", "quota"]) {
        QUOTA
    } else if has(&["rate limit", "too many requests"]) {
        RATE_LIMITED
    } else if has(&["overloaded"]) {
        OVERLOADED
    } else if has(UNREACHED) {
        UNREACHABLE
    } else {
        UNKNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiError, Failure, sort};
    use chat_grammar::event::FailureClass;

    fn reason(message: &str, word: Option<&str>, status: Option<u64>) -> (FailureClass, &'static str) {
        let error = ApiError { message: message.to_owned(), word: word.map(str::to_owned), detail: None, status };
        let failure =
            Failure { message, subtype: None, terminal_reason: None, error: Some(&error), detail: None, status: None };
        let (class, reason, _) = sort(&failure);
        (class, reason)
    }

    #[test]
    fn a_failure_is_sorted_by_the_most_exact_word() {
        assert_eq!(reason("API Error: 529 Overloaded", Some("server_error"), Some(529)).1, "overloaded");
        assert_eq!(reason("Invalid API key", Some("authentication_failed"), Some(401)), (FailureClass::Auth, "invalid_key"));
        let unreached = reason("API Error: Unable to connect to API (ConnectionRefused)", Some("server_error"), None);
        assert_eq!(unreached, (FailureClass::Transport, "unreachable"));
        assert_eq!(reason("API Error: internal error", Some("server_error"), None).1, "server_error");
        assert_eq!(reason("Not logged in", Some("authentication_failed"), None).1, "login_required");
        assert_eq!(reason("Credit balance is too low", Some("billing_error"), Some(400)).1, "quota_exceeded");
        assert_eq!(reason("API Error: 400", Some("unknown"), Some(400)).1, "invalid_request");
        assert_eq!(reason("No conversation found with session ID: x", None, None).1, "session_not_found");
        assert_eq!(reason("what is that", None, None), (FailureClass::Runtime, "agent_error"));
    }
}
