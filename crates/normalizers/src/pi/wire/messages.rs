//! Messages: of the model, of tools, and of everything else that stands in the context.

use crate::numbers::{amount, count};
use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// `message_update`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct UpdateLine<'a> {
    #[serde(borrow, rename = "assistantMessageEvent")]
    pub event: AssistantEvent<'a>,
}

/// One step of a message that streams. 0.74 repeats the whole message beside it, which is not read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AssistantEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(default)]
    pub content_index: u64,
    #[serde(borrow, default)]
    pub delta: Option<Str<'a>>,
    /// Of `text_end` and `thinking_end`: the whole block.
    #[serde(borrow, default)]
    pub content: Option<Str<'a>>,
    /// Of `toolcall_start`; 0.74 has neither id nor name there.
    #[serde(borrow, default)]
    pub id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tool_name: Option<Str<'a>>,
    /// Of `toolcall_end`.
    #[serde(borrow, default)]
    pub tool_call: Option<ToolCallBlock<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ToolCallBlock<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
}

/// `message_start` and `message_end`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct MessageLine<'a> {
    #[serde(borrow)]
    pub message: Message<'a>,
}

/// A message of any role; the model's has most of these fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Message<'a> {
    #[serde(borrow)]
    pub role: Str<'a>,
    /// A text, or an array of blocks.
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub api: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub provider: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub model: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub stop_reason: Option<Str<'a>>,
    /// The provider's word behind the stop reason.
    #[serde(borrow, default)]
    pub raw_stop_reason: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub error_message: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub response_id: Option<Str<'a>>,
    /// Milliseconds since 1970, the same at the start and at the end of a message.
    #[serde(default)]
    pub timestamp: Option<i64>,
    #[serde(default)]
    pub duration_ms: Option<f64>,
    /// Of a `toolResult`.
    #[serde(borrow, default)]
    pub tool_call_id: Option<Str<'a>>,
    #[serde(default)]
    pub is_error: Option<bool>,
    #[serde(borrow, default)]
    pub details: Option<&'a RawValue>,
    /// Of a `system` message.
    #[serde(borrow, default)]
    pub sections: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tools_added: Option<&'a RawValue>,
}

/// A block of an answer that is whole.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub thinking: Option<Str<'a>>,
    #[serde(default)]
    pub redacted: Option<bool>,
    /// Of a `toolCall`.
    #[serde(borrow, default)]
    pub id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub name: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
}

/// The parts of a system message.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Sections<'a> {
    #[serde(borrow, default)]
    pub cwd: Option<Str<'a>>,
}

/// A tool that the model was told about.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ToolDeclaration<'a> {
    #[serde(borrow)]
    pub name: Str<'a>,
}

/// The tokens of one model call. The cache counts are no part of the input.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Usage {
    #[serde(deserialize_with = "count", default)]
    pub input: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub output: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub cache_read: Option<u64>,
    #[serde(deserialize_with = "count", default)]
    pub cache_write: Option<u64>,
    #[serde(deserialize_with = "count", rename = "cacheWrite1h", default)]
    pub cache_write_1h: Option<u64>,
    /// Part of the output.
    #[serde(deserialize_with = "count", default)]
    pub reasoning: Option<u64>,
    #[serde(default)]
    pub cost: Option<Cost>,
}

/// In USD.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(in super::super) struct Cost {
    #[serde(deserialize_with = "amount", default)]
    pub total: Option<f64>,
    /// The gateway stated it.
    #[serde(rename = "totalFromProvider", default)]
    pub is_stated: Option<bool>,
}

impl Cost {
    /// In USD. A model without prices costs 0 as well, which says nothing unless the gateway said it.
    pub(in super::super) fn known(self) -> Option<f64> {
        self.total.filter(|total| *total > 0.0 || self.is_stated == Some(true))
    }
}
