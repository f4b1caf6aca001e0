//! The one serialization of an update: the ACP text with `_meta` spliced in before its last brace.

use super::{Body, Extra, Update};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::Write;
use std::ops::Range;

/// Where an update stands in its turn, and when its native message was read.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub conversation_id: &'a str,
    pub turn_id: &'a str,
    /// 1, 2, 3 … within the turn.
    pub sequence: u64,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// The agent's own message behind an update.
#[derive(Debug, Clone, Copy)]
pub struct Native<'a> {
    /// Which of the agent's streams it came on.
    pub source: &'a str,
    /// The message as JSON text.
    pub message: &'a str,
}

/// Appends the update's JSON text to the buffer. The members stand in a fixed order; `native` is last and holds the agent's
/// message word for word; where in the buffer it does is returned.
pub fn write_update(
    update: &Update,
    place: Place<'_>,
    native: Option<Native<'_>>,
    buffer: &mut Vec<u8>,
) -> Option<Range<usize>> {
    match &update.body {
        Body::Official(body) => append(body, buffer),
        Body::Extension(body) => append(body, buffer),
    }
    // Every variant is an object with at least its tag, so the text ends with a brace and has a member before it.
    buffer.pop();
    let _ = write!(buffer, r#","_meta":{{"amalgm":{{"at":{},"conversationId":"#, place.at);
    append(place.conversation_id, buffer);
    buffer.extend_from_slice(br#","turnId":"#);
    append(place.turn_id, buffer);
    let _ = write!(buffer, r#","sequence":{}"#, place.sequence);
    append_members(&update.extra, buffer);
    let range = native.and_then(|native| append_native(native, update.extra.truncated.is_some(), buffer));
    buffer.extend_from_slice(b"}}}");
    range
}

/// Where the native message stands in an update's JSON text, in bytes, as (start, end).
pub fn native_range(json: &str) -> Option<(usize, usize)> {
    let update: WireUpdate<'_> = serde_json::from_str(json).ok()?;
    let message = update.meta?.amalgm?.native?.message?.get();
    // A borrowed part of `json`.
    let start = (message.as_ptr() as usize).checked_sub(json.as_ptr() as usize)?;
    Some((start, start + message.len()))
}

#[derive(Deserialize)]
struct WireUpdate<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<WireMeta<'a>>,
}

#[derive(Deserialize)]
struct WireMeta<'a> {
    #[serde(borrow)]
    amalgm: Option<WireAmalgm<'a>>,
}

#[derive(Deserialize)]
struct WireAmalgm<'a> {
    #[serde(borrow)]
    native: Option<WireNative<'a>>,
}

#[derive(Deserialize)]
struct WireNative<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

fn append_members(extra: &Extra, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    append(extra, buffer);
    if buffer.len() - start <= "{}".len() {
        buffer.truncate(start);
    } else {
        // `{"a":1}` becomes `,"a":1`.
        buffer.pop();
        if let Some(brace) = buffer.get_mut(start) {
            *brace = b',';
        }
    }
}

fn append_native(native: Native<'_>, truncated: bool, buffer: &mut Vec<u8>) -> Option<Range<usize>> {
    buffer.extend_from_slice(br#","native":{"source":"#);
    append(native.source, buffer);
    if truncated {
        let _ = write!(buffer, r#","truncated":{{"bytes":{}}}}}"#, native.message.len());
        None
    } else {
        buffer.extend_from_slice(br#","message":"#);
        let start = buffer.len();
        // A newline would end the update in the journal; JSON text has them only between tokens.
        match native.message.bytes().any(|byte| byte == b'\n' || byte == b'\r') {
            false => buffer.extend_from_slice(native.message.as_bytes()),
            true => buffer.extend(native.message.bytes().map(|byte| if byte == b'\n' || byte == b'\r' { b' ' } else { byte })),
        }
        let range = start..buffer.len();
        buffer.push(b'}');
        Some(range)
    }
}

fn append<T: Serialize + ?Sized>(value: &T, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    // Writing to memory cannot fail, and none of our types has a map with keys that are no strings.
    if serde_json::to_writer(&mut *buffer, value).is_err() {
        buffer.truncate(start);
        buffer.extend_from_slice(b"null");
    }
}
