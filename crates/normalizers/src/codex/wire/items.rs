//! Items: the parts of a turn.

use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// `item/started` and `item/completed`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ItemNotice<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub item: &'a RawValue,
    #[serde(default)]
    pub started_at_ms: Option<i64>,
    #[serde(default)]
    pub completed_at_ms: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ItemTag<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow)]
    pub id: Str<'a>,
}

/// An `agentMessage` or a `plan`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct TextItem<'a> {
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ReasoningItem<'a> {
    #[serde(borrow, default)]
    pub summary: Option<Vec<Str<'a>>>,
    #[serde(borrow, default)]
    pub content: Option<Vec<Str<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct CommandItem<'a> {
    #[serde(borrow)]
    pub command: Str<'a>,
    #[serde(borrow, default)]
    pub cwd: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub process_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub source: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub command_actions: Option<Vec<CommandAction<'a>>>,
    #[serde(borrow, default)]
    pub aggregated_output: Option<Str<'a>>,
    #[serde(default)]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub duration_ms: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct CommandAction<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub path: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct FileChangeItem<'a> {
    #[serde(borrow)]
    pub changes: &'a RawValue,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct FileChange<'a> {
    #[serde(borrow)]
    pub path: Str<'a>,
    #[serde(borrow)]
    pub kind: FileChangeKind<'a>,
    #[serde(borrow, default)]
    pub diff: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct FileChangeKind<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub move_path: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct McpItem<'a> {
    #[serde(borrow)]
    pub server: Str<'a>,
    #[serde(borrow)]
    pub tool: Str<'a>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<Message<'a>>,
    #[serde(default)]
    pub duration_ms: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct Message<'a> {
    #[serde(borrow)]
    pub message: Str<'a>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct McpResult<'a> {
    #[serde(borrow, default)]
    pub content: Option<Vec<&'a RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct DynamicItem<'a> {
    #[serde(borrow, default)]
    pub namespace: Option<Str<'a>>,
    #[serde(borrow)]
    pub tool: Str<'a>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub content_items: Option<&'a RawValue>,
    #[serde(default)]
    pub success: Option<bool>,
    #[serde(default)]
    pub duration_ms: Option<i64>,
}

/// `inputText {text}` or `inputImage {imageUrl}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ContentItem<'a> {
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub image_url: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct WebSearchItem<'a> {
    #[serde(borrow, default)]
    pub query: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub results: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct WebSearchAction<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub url: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub pattern: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ImageViewItem<'a> {
    #[serde(borrow)]
    pub path: Str<'a>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ReviewItem<'a> {
    #[serde(borrow, default)]
    pub review: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct CollabItem<'a> {
    #[serde(borrow)]
    pub tool: Str<'a>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub receiver_thread_ids: Option<Vec<Str<'a>>>,
    #[serde(borrow, default)]
    pub prompt: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub model: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub agents_states: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct SubAgentItem<'a> {
    #[serde(borrow)]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub agent_thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub agent_path: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub model: Option<Str<'a>>,
}

/// An item of a type that this version of ours does not know.
#[derive(Debug, Deserialize)]
pub(in super::super) struct UnknownItem<'a> {
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
}
