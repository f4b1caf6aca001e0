//! The member `raw`: the native message behind an event.

use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A message as its envelope shows it. `payload` and `textDelta` are of older forms of Codex.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Str<'a>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text_delta: Option<&'a RawValue>,
}

/// The JSON of `raw`. Of a notification `payload` is its params; of every other message it is the whole message, and of a
/// line that is no JSON its text.
pub(super) fn json(line: &str, source: &str) -> String {
    let source = text(source);
    if serde_json::from_str::<&RawValue>(line).is_err() {
        return format!(r#"{{"source":{source},"payload":{}}}"#, text(line));
    }
    let Ok(message) = serde_json::from_str::<Message<'_>>(line) else {
        return format!(r#"{{"source":{source},"payload":{line}}}"#);
    };
    let notified = message.params.or(message.payload).filter(|_| message.id.is_none() && message.text_delta.is_none());
    let payload = notified.map_or(line, RawValue::get);
    format!(r#"{{"source":{source},"method":{},"payload":{payload}}}"#, text(&message.method))
}

fn text(text: &str) -> String {
    // A string always has a JSON form.
    serde_json::to_string(text).unwrap_or_default()
}
