//! The envelope of JSON-RPC messages, read without looking into them.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Deref;

/// A string that borrows from the line where it has no escapes, also inside an `Option` or a `Vec`, where serde copies a `Cow`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Str<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A request, a notification or a response.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub method: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// The error of a response.
#[derive(Debug, Deserialize)]
pub(crate) struct RpcError<'a> {
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
}

/// A notification whose params are of a known form, read in one pass.
#[derive(Debug, Deserialize)]
struct Notification<'a, P> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    params: P,
}

/// The method of a line that begins with it, as the lines of agents do. Only looked at, so that the line can then be read in one
/// pass; any other line is read as an envelope first.
pub(crate) fn leading_method(line: &str) -> Option<&str> {
    let (method, _) = line.strip_prefix("{\"method\":\"")?.split_once('"')?;
    (!method.contains('\\')).then_some(method)
}

/// The params of a notification; `None` where the line is no notification or its params are of another form.
pub(crate) fn params<'a, P: Deserialize<'a>>(line: &'a str) -> Option<P> {
    let notification: Notification<'a, P> = serde_json::from_str(line).ok()?;
    notification.id.is_none().then_some(notification.params)
}

/// Why a line is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoMessage {
    /// It is no JSON.
    InvalidJson,
    /// It is JSON of another form.
    InvalidMessage,
}

impl NoMessage {
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::InvalidJson => "invalid_json",
            Self::InvalidMessage => "invalid_message",
        }
    }
}

/// Reads the envelope of a line.
pub(crate) fn envelope(line: &str) -> Result<Envelope<'_>, NoMessage> {
    serde_json::from_str(line).map_err(|error| match error.is_data() {
        true => NoMessage::InvalidMessage,
        false => NoMessage::InvalidJson,
    })
}

/// A request's id as readers of events see it: a number as its digits, a string without its quotes.
pub(crate) fn id_text(id: &RawValue) -> String {
    let text = id.get();
    serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned())
}
