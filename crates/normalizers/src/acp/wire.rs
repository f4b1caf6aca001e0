//! The members of messages that are read.

use crate::rpc::Str;
use chat_grammar::acp::{PlanEntry, PlanEntryPriority, PlanEntryStatus, ToolKind};
use chat_grammar::relay::Members;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;

/// A message that is not of the form that its kind promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

impl From<serde_json::Error> for Malformed {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

/// The JSON of a value of ours.
pub(crate) fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    // None of our types has a map with keys that are no strings.
    to_raw_value(value).unwrap_or_default()
}

/// A member as it was sent; `None` where it is absent or null.
pub(super) fn read<'a, T: Deserialize<'a>>(members: &Members<'a>, name: &str) -> Result<Option<T>, Malformed> {
    match members.original(name) {
        None => Ok(None),
        Some(value) if value.get() == "null" => Ok(None),
        Some(value) => Ok(Some(serde_json::from_str(value.get())?)),
    }
}

/// A member that is a text.
pub(super) fn text<'a>(members: &Members<'a>, name: &str) -> Result<Option<Cow<'a, str>>, Malformed> {
    Ok(read::<Str<'a>>(members, name)?.map(|text| text.0))
}

/// A member that has to be there and is a text.
pub(super) fn needed<'a>(members: &Members<'a>, name: &str) -> Result<Cow<'a, str>, Malformed> {
    text(members, name)?.ok_or(Malformed)
}

/// `session/update`.
#[derive(Debug, Deserialize)]
pub(super) struct UpdateParams<'a> {
    #[serde(borrow, default, rename = "sessionId")]
    pub session_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub update: &'a RawValue,
}

/// The session and the update of a `session/update` that is written as agents write it, read in one pass. `None` for every other line:
/// it is read by its envelope.
pub(super) fn leading_update(line: &str) -> Option<(&str, Members<'_>)> {
    let rest = line.strip_prefix(r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":""#)?;
    let (session_id, rest) = rest.split_once('"')?;
    let (update, rest) = Members::read_first(rest.strip_prefix(r#","update":"#)?)?;
    let is_plain = !session_id.bytes().any(|byte| byte == b'\\' || byte.is_ascii_control());
    (is_plain && rest.trim_end() == "}}").then_some((session_id, update))
}

/// A content block, as far as they are told apart.
#[derive(Debug, Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub text: Option<Str<'a>>,
}

/// A content of a tool call, as far as they are told apart.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolContent<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub old_text: Option<&'a RawValue>,
}

impl<'a> ToolContent<'a> {
    /// The text, where the content is one.
    pub(super) fn text(&self) -> Option<Cow<'a, str>> {
        let block: Block<'a> = serde_json::from_str(self.content?.get()).ok()?;
        block.text.filter(|_| &*block.kind == "text").map(|text| text.0)
    }
}

/// An entry of a plan.
#[derive(Debug, Deserialize)]
pub(super) struct WireEntry<'a> {
    #[serde(borrow)]
    content: Str<'a>,
    #[serde(borrow, default)]
    priority: Option<Str<'a>>,
    #[serde(borrow, default)]
    status: Option<Str<'a>>,
}

impl WireEntry<'_> {
    pub(super) fn entry(&self) -> PlanEntry {
        let priority = match self.priority.as_deref() {
            Some("high") => PlanEntryPriority::High,
            Some("low") => PlanEntryPriority::Low,
            _ => PlanEntryPriority::Medium,
        };
        let status = match self.status.as_deref() {
            Some("completed") => PlanEntryStatus::Completed,
            Some("in_progress") => PlanEntryStatus::InProgress,
            _ => PlanEntryStatus::Pending,
        };
        PlanEntry::new(self.content.to_string(), priority, status)
    }
}

/// The params of a request of the host.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HostParams<'a> {
    #[serde(borrow, default)]
    pub session_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub cwd: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub mode_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub model_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub mcp_servers: Option<Vec<McpServer<'a>>>,
}

/// An MCP server that the host gives to the agent.
#[derive(Debug, Deserialize)]
pub(super) struct McpServer<'a> {
    #[serde(borrow)]
    pub name: Str<'a>,
}

/// The answer to `session/new`, `session/load` and `session/resume`, and to settings.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InitializeAnswer<'a> {
    #[serde(borrow, default)]
    pub agent_info: Option<AgentInfo<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AgentInfo<'a> {
    #[serde(borrow, default)]
    pub name: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionAnswer<'a> {
    #[serde(borrow, default)]
    pub session_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub modes: Option<Modes<'a>>,
    #[serde(borrow, default)]
    pub models: Option<Models<'a>>,
    #[serde(borrow, default)]
    pub config_options: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Modes<'a> {
    #[serde(borrow, default)]
    pub current_mode_id: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Models<'a> {
    #[serde(borrow, default)]
    pub current_model_id: Option<Str<'a>>,
}

/// A setting of the session.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigOption<'a> {
    #[serde(borrow, default)]
    pub category: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub current_value: Option<&'a RawValue>,
}

/// The answer to `session/prompt`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptAnswer<'a> {
    #[serde(borrow, default)]
    pub stop_reason: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<&'a RawValue>,
}

/// The error of a response.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WireError<'a> {
    #[serde(default)]
    pub code: Option<i64>,
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
}

/// `session/request_permission`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionParams<'a> {
    #[serde(borrow, default)]
    pub session_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub tool_call: &'a RawValue,
    #[serde(borrow, default)]
    pub options: Vec<WireOption<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireOption<'a> {
    #[serde(borrow)]
    pub option_id: Str<'a>,
    #[serde(borrow, default)]
    pub name: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub kind: Option<Str<'a>>,
}

/// The host's answer to a permission request.
#[derive(Debug, Deserialize)]
pub(super) struct PermissionAnswer<'a> {
    #[serde(borrow)]
    pub outcome: PermissionOutcome<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionOutcome<'a> {
    #[serde(borrow, default)]
    pub option_id: Option<Str<'a>>,
}

/// `elicitation/create`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ElicitationParams<'a> {
    #[serde(borrow, default)]
    pub session_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tool_call_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub mode: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub requested_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub url: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub elicitation_id: Option<Str<'a>>,
}

/// The host's answer to an elicitation.
#[derive(Debug, Deserialize)]
pub(super) struct ElicitationAnswer<'a> {
    #[serde(borrow, default)]
    pub action: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
}

/// `$/cancel_request`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CancelParams<'a> {
    #[serde(borrow)]
    pub request_id: &'a RawValue,
}

/// The members of an update's `_meta` that say what the update itself has no word for (codex-acp 2.6.0 sends a command's output there).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolMeta {
    pub terminal_output_delta: Option<TerminalDelta>,
    pub terminal_exit: Option<TerminalExit>,
    pub is_mcp_tool_call: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TerminalDelta {
    pub data: String,
}

/// How a command in a terminal ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct TerminalExit {
    #[serde(default)]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub signal: Option<String>,
}

/// ACP's word for a kind of tool; `Other` for a word that it does not have.
pub(super) fn tool_kind(word: Option<&str>) -> ToolKind {
    match word {
        Some("read") => ToolKind::Read,
        Some("edit") => ToolKind::Edit,
        Some("delete") => ToolKind::Delete,
        Some("move") => ToolKind::Move,
        Some("search") => ToolKind::Search,
        Some("execute") => ToolKind::Execute,
        Some("think") => ToolKind::Think,
        Some("fetch") => ToolKind::Fetch,
        Some("switch_mode") => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}
