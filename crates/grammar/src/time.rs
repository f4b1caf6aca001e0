//! Times as records carry them: ISO 8601 in UTC with milliseconds.

use std::time::{Duration, UNIX_EPOCH};

/// Milliseconds since 1970 as ISO 8601 in UTC, such as `2026-11-30T18:24:00.111Z`. Times before 1970 are shown as 1970.
pub fn iso8601(milliseconds: i64) -> String {
    let since_epoch = Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0));
    humantime::format_rfc3339_millis(UNIX_EPOCH + since_epoch).to_string()
}

/// Milliseconds since 1970 of an ISO 8601 time in UTC; `None` where the text is none.
pub fn parse_iso8601(text: &str) -> Option<i64> {
    let time = humantime::parse_rfc3339(text).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}
