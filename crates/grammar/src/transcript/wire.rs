//! The members of an update's JSON that a message is made of. Everything else is passed over unread.

use crate::event::{McpTool, Trigger, Visibility};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireUpdate<'a> {
    #[serde(borrow, rename = "sessionUpdate")]
    pub(super) kind: Cow<'a, str>,
    /// A block in chunks, a list in tool calls.
    #[serde(borrow, default)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) message_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) title: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "kind")]
    pub(super) tool_kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) status: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) raw_input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) raw_output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) entries: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) severity: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) description: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) compaction_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) outcome: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    pub(super) meta: WireMeta<'a>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireMeta<'a> {
    #[serde(borrow, default)]
    pub(super) amalgm: WireAmalgm<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireAmalgm<'a> {
    pub(super) at: Option<i64>,
    pub(super) sequence: Option<u64>,
    #[serde(borrow)]
    pub(super) parent_tool_call_id: Option<Cow<'a, str>>,
    pub(super) reasoning: Option<Visibility>,
    pub(super) mcp: Option<McpTool>,
    #[serde(borrow)]
    pub(super) delta: WireDelta<'a>,
    pub(super) compaction: Option<WireCompaction>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireDelta<'a> {
    #[serde(borrow)]
    pub(super) output: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireCompaction {
    pub(super) trigger: Option<Trigger>,
    pub(super) pre_tokens: Option<u64>,
    pub(super) post_tokens: Option<u64>,
    pub(super) duration_ms: Option<u64>,
}

/// A content block, as far as a message tells them apart.
pub(super) enum Block<'a> {
    Text(Cow<'a, str>),
    Other,
}

#[derive(Deserialize)]
struct WireBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

impl<'a> WireUpdate<'a> {
    /// The content as a block; `None` where it is none.
    pub(super) fn block(&self) -> Option<Block<'a>> {
        let block: WireBlock<'a> = serde_json::from_str(self.content?.get()).ok()?;
        match (block.kind.as_ref(), block.text) {
            ("text", Some(text)) => Some(Block::Text(text)),
            ("text", None) => None,
            _ => Some(Block::Other),
        }
    }
}
