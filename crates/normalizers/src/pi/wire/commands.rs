//! Commands of the host and the answers to them.

use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A line that the host wrote: a command, or its answer to a dialog of an extension.
#[derive(Debug, Deserialize)]
pub(in super::super) struct HostLine<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub id: Option<Str<'a>>,
    /// Of `bash`: the command line.
    #[serde(borrow, default)]
    pub command: Option<Str<'a>>,
    /// Of `extension_ui_response`: what was picked or typed.
    #[serde(borrow, default)]
    pub value: Option<Str<'a>>,
    #[serde(default)]
    pub confirmed: Option<bool>,
    #[serde(default)]
    pub cancelled: Option<bool>,
}

/// `response`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Response<'a> {
    #[serde(borrow, default)]
    pub id: Option<Str<'a>>,
    #[serde(borrow)]
    pub command: Str<'a>,
    pub success: bool,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<Str<'a>>,
}

/// The data of an accepted `prompt`, `steer` or `follow_up`; 0.74 sends none.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Accepted<'a> {
    #[serde(borrow, default)]
    pub disposition: Option<Str<'a>>,
}

/// The data of `get_state`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct State<'a> {
    #[serde(borrow, default)]
    pub model: Option<Model<'a>>,
    #[serde(borrow, default)]
    pub thinking_level: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub session_file: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub session_id: Option<Str<'a>>,
}

/// A model, as in `get_state` and as the data of `set_model`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Model<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(default)]
    pub context_window: Option<u64>,
}

/// The data of `get_available_thinking_levels`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Levels<'a> {
    #[serde(borrow)]
    pub levels: Vec<Str<'a>>,
}

/// The data of `get_commands`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Commands<'a> {
    #[serde(borrow)]
    pub commands: Vec<Command<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct Command<'a> {
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow, default)]
    pub description: Option<Str<'a>>,
}

/// The data of `get_session_stats`, of which only the fullness of the context is news.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Stats<'a> {
    #[serde(borrow, default)]
    pub context_usage: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ContextUsage {
    #[serde(default)]
    pub tokens: Option<u64>,
    #[serde(default)]
    pub context_window: Option<u64>,
}

/// The data of `bash`, the host's own command.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct BashResult<'a> {
    #[serde(borrow, default)]
    pub output: Option<Str<'a>>,
    #[serde(default)]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub cancelled: Option<bool>,
}
