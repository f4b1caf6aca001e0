//! The parts of a message.

use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// `message.part.delta`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Delta<'a> {
    #[serde(borrow, rename = "sessionID")]
    pub session_id: Str<'a>,
    #[serde(borrow, rename = "messageID")]
    pub message_id: Str<'a>,
    #[serde(borrow, rename = "partID")]
    pub part_id: Str<'a>,
    #[serde(borrow)]
    pub field: Str<'a>,
    #[serde(borrow)]
    pub delta: Str<'a>,
}

/// `message.part.updated`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct PartNotice<'a> {
    #[serde(borrow)]
    pub part: Part<'a>,
}

/// A part as it stands. Its kinds share one form, so that the whole event is read in one pass.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Part<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, rename = "messageID")]
    pub message_id: Str<'a>,
    #[serde(borrow, rename = "sessionID")]
    pub session_id: Str<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
    #[serde(default)]
    pub time: Option<PartTime>,
    #[serde(borrow, default)]
    pub metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tool: Option<Str<'a>>,
    #[serde(borrow, default, rename = "callID")]
    pub call_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub state: Option<ToolState<'a>>,
    #[serde(borrow, default)]
    pub reason: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub cost: Option<&'a RawValue>,
    /// In a `compaction`: true where nobody asked for it.
    #[serde(borrow, default)]
    pub auto: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub mime: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub filename: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub url: Option<Str<'a>>,
}

/// Milliseconds since 1970.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(in super::super) struct PartTime {
    pub start: Option<f64>,
    pub end: Option<f64>,
}

/// Where a tool call stands. Input and metadata are each tool's own.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ToolState<'a> {
    #[serde(borrow)]
    pub status: Str<'a>,
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub output: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub error: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub title: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub metadata: Option<&'a RawValue>,
    #[serde(default)]
    pub time: Option<PartTime>,
    #[serde(borrow, default)]
    pub attachments: Option<Vec<Attachment<'a>>>,
}

/// A file that a tool returns beside its text.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Attachment<'a> {
    #[serde(borrow)]
    pub mime: Str<'a>,
    #[serde(borrow)]
    pub url: Str<'a>,
    #[serde(borrow, default)]
    pub filename: Option<Str<'a>>,
}

/// The metadata of a shell command. `exit` is null where the command did not end by itself.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ShellMetadata<'a> {
    #[serde(borrow, default)]
    pub output: Option<Str<'a>>,
    #[serde(default, deserialize_with = "present")]
    pub exit: Option<Option<i64>>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<i64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The metadata of a `task`: which session works for it.
#[derive(Debug, Deserialize)]
pub(in super::super) struct TaskMetadata<'a> {
    #[serde(borrow, default, rename = "sessionId")]
    pub session_id: Option<Str<'a>>,
}

/// The metadata of tools that change files.
#[derive(Debug, Default, Deserialize)]
pub(in super::super) struct EditMetadata<'a> {
    #[serde(borrow, default)]
    pub diff: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub filediff: Option<FileDiff<'a>>,
    #[serde(borrow, default)]
    pub files: Option<Vec<PatchedFile<'a>>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct FileDiff<'a> {
    #[serde(borrow, default)]
    pub file: Option<Str<'a>>,
}

/// One file of a patch.
#[derive(Debug, Deserialize)]
pub(in super::super) struct PatchedFile<'a> {
    #[serde(borrow, rename = "filePath")]
    pub file_path: Str<'a>,
    #[serde(borrow, default, rename = "movePath")]
    pub move_path: Option<Str<'a>>,
    /// `add`, `update`, `delete` or `move`.
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub patch: Option<Str<'a>>,
}
