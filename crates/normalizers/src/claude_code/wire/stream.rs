//! `stream_event`: the model's answer as it comes, in the events of the Messages API.

use crate::numbers::count;
use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What every line says of itself.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Tag<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub subtype: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub uuid: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct StreamLine<'a> {
    #[serde(borrow)]
    pub event: StreamEvent<'a>,
    #[serde(borrow, default)]
    pub parent_tool_use_id: Option<Str<'a>>,
    /// Absent in 2.1.197.
    #[serde(borrow, default)]
    pub api_message_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub thinking_display: Option<Str<'a>>,
    #[serde(default)]
    pub abandoned_blocks: Option<AbandonedBlocks>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(default)]
    pub index: Option<u64>,
    #[serde(borrow, default)]
    pub delta: Option<StreamDelta<'a>>,
    #[serde(borrow, default)]
    pub content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

/// The delta of a block, or of the message.
#[derive(Debug, Deserialize)]
pub(in super::super) struct StreamDelta<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub thinking: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub partial_json: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub stop_reason: Option<Str<'a>>,
}

/// The blocks of a cut stream that will never be whole.
#[derive(Debug, Deserialize)]
pub(in super::super) struct AbandonedBlocks {
    #[serde(deserialize_with = "count", default)]
    pub from_block_index: Option<u64>,
}

/// The message of a `message_start`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct MessageHead<'a> {
    #[serde(borrow, default)]
    pub id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub model: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}
