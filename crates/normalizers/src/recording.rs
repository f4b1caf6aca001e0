//! Recordings: newline-separated JSON, a header first, then one line a message of either side.

use crate::rpc::Str;
use chat_grammar::event::Side;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Where a recorded line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    Host,
    Agent,
    /// A line of the agent's stderr or a remark of the recorder: never protocol.
    Other,
}

impl Channel {
    /// Who speaks on this channel; `None` where it is not the protocol.
    pub fn side(self) -> Option<Side> {
        match self {
            Self::Host => Some(Side::Host),
            Self::Agent => Some(Side::Agent),
            Self::Other => None,
        }
    }
}

/// One line of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedLine<'a> {
    pub channel: Channel,
    /// Milliseconds since the recording began.
    pub at_ms: u64,
    /// The message as it stood on the wire.
    pub text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct WireLine<'a> {
    #[serde(default)]
    t: Option<f64>,
    #[serde(borrow)]
    ch: Str<'a>,
    #[serde(borrow)]
    msg: &'a RawValue,
}

/// Reads the lines of a recording; the header and lines that are none of a recording are left out.
pub fn read(ndjson: &str) -> Vec<RecordedLine<'_>> {
    ndjson.lines().filter_map(line).collect()
}

/// Reads one line of a recording; `None` where it is none, as the header.
pub fn line(text: &str) -> Option<RecordedLine<'_>> {
    let wire: WireLine<'_> = serde_json::from_str(text).ok()?;
    let channel = match &*wire.ch {
        "stdin" | "http-req" => Channel::Host,
        "stdout" | "sse" | "http-res" => Channel::Agent,
        _ => Channel::Other,
    };
    // A message that is no JSON is recorded as a string.
    let message = wire.msg.get();
    let text = match message.starts_with('"') {
        true => serde_json::from_str::<Str<'_>>(message).map_or(Cow::Borrowed(message), |text| text.0),
        false => Cow::Borrowed(message),
    };
    let at_ms = wire.t.map_or(0, |milliseconds| milliseconds as u64);
    Some(RecordedLine { channel, at_ms, text })
}
