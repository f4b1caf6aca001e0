//! Requests of both sides and their answers.

use super::notices::Turn;
use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The answer to `thread/start`, `thread/resume` and `thread/fork`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ThreadAnswer<'a> {
    #[serde(borrow)]
    pub thread: ThreadRef<'a>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ThreadRef<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
}

/// The answer to `turn/start` and `review/start`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct TurnAnswer<'a> {
    #[serde(borrow)]
    pub turn: Turn<'a>,
}

/// What the host's requests say about their thread.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in super::super) struct HostParams<'a> {
    #[serde(borrow)]
    pub thread_id: Option<Str<'a>>,
    /// Of one turn alone.
    #[serde(borrow)]
    pub service_tier_for_turn: Option<Str<'a>>,
}

/// The params of every request of the agent that is a permission request or a question, together: few share a field's name
/// with another type.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AgentRequest<'a> {
    #[serde(borrow, default)]
    pub thread_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub turn_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub item_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub reason: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub command: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub cwd: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub available_decisions: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub permissions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub questions: Option<Vec<Question<'a>>>,
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub mode: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub server_name: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub requested_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub url: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub elicitation_id: Option<Str<'a>>,
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<ElicitationMeta<'a>>,
}

/// `_meta` of an elicitation that asks for leave to call a tool.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ElicitationMeta<'a> {
    #[serde(borrow, default)]
    pub codex_approval_kind: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tool_name: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub tool_params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub persist: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Question<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, default)]
    pub header: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub question: Option<Str<'a>>,
    #[serde(default)]
    pub is_other: Option<bool>,
    #[serde(default)]
    pub is_secret: Option<bool>,
    #[serde(borrow, default)]
    pub options: Option<Vec<QuestionOption<'a>>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct QuestionOption<'a> {
    #[serde(borrow)]
    pub label: Str<'a>,
    #[serde(borrow, default)]
    pub description: Option<Str<'a>>,
}

/// The host's answer to any request of the agent.
#[derive(Debug, Deserialize)]
pub(in super::super) struct HostAnswer<'a> {
    #[serde(borrow, default)]
    pub decision: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub permissions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub scope: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub answers: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub action: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<&'a RawValue>,
}

/// `serverRequest/resolved`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ResolvedNotice<'a> {
    #[serde(borrow)]
    pub request_id: &'a RawValue,
}
