//! Messages of the agent's side, and the properties of events that are about no part.

use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A message of the agent's side: an event of the stream, or the answer to a request.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Envelope<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub properties: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(default)]
    pub status: Option<u16>,
    #[serde(borrow, default)]
    pub body: Option<&'a RawValue>,
}

/// An event whose properties are of a known form, read in one pass.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Event<P> {
    pub properties: P,
}

/// `session.idle` and `session.compacted`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct SessionOnly<'a> {
    #[serde(borrow, rename = "sessionID")]
    pub session_id: Str<'a>,
}

/// `session.created` and `session.updated`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct SessionNotice<'a> {
    #[serde(borrow)]
    pub info: SessionInfo<'a>,
}

/// A session as the server stores it.
#[derive(Debug, Deserialize)]
pub(in super::super) struct SessionInfo<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, default, rename = "parentID")]
    pub parent_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub title: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub directory: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub agent: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub model: Option<SessionModel<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct SessionModel<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, rename = "providerID")]
    pub provider_id: Str<'a>,
}

/// `session.status`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct StatusNotice<'a> {
    #[serde(borrow, rename = "sessionID")]
    pub session_id: Str<'a>,
    #[serde(borrow)]
    pub status: Status<'a>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct Status<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    #[serde(default)]
    pub attempt: Option<u64>,
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
}

/// `session.error`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ErrorNotice<'a> {
    #[serde(borrow, default, rename = "sessionID")]
    pub session_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub error: Option<ErrorBody<'a>>,
}

/// A failure by its name.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ErrorBody<'a> {
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow, default)]
    pub data: Option<ErrorData<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in super::super) struct ErrorData<'a> {
    #[serde(borrow)]
    pub message: Option<Str<'a>>,
    pub status_code: Option<u16>,
    pub is_retryable: Option<bool>,
    #[serde(borrow)]
    pub response_body: Option<Str<'a>>,
}

/// `message.updated`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct MessageNotice<'a> {
    #[serde(borrow)]
    pub info: MessageInfo<'a>,
}

/// A message without its parts.
#[derive(Debug, Deserialize)]
pub(in super::super) struct MessageInfo<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, rename = "sessionID")]
    pub session_id: Str<'a>,
    #[serde(borrow)]
    pub role: Str<'a>,
    #[serde(borrow, default, rename = "providerID")]
    pub provider_id: Option<Str<'a>>,
    #[serde(borrow, default, rename = "modelID")]
    pub model_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub finish: Option<Str<'a>>,
    /// True in the summary of a compaction; an object in a user message.
    #[serde(borrow, default)]
    pub summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<ErrorBody<'a>>,
    #[serde(default)]
    pub time: Option<MessageTime>,
}

/// Milliseconds since 1970.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(in super::super) struct MessageTime {
    pub created: Option<f64>,
    pub completed: Option<f64>,
}

/// `todo.updated`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct TodoNotice<'a> {
    #[serde(borrow, rename = "sessionID")]
    pub session_id: Str<'a>,
    #[serde(borrow)]
    pub todos: Vec<Todo<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct Todo<'a> {
    #[serde(borrow)]
    pub content: Str<'a>,
    #[serde(borrow)]
    pub status: Str<'a>,
    #[serde(borrow, default)]
    pub priority: Option<Str<'a>>,
}

/// `permission.asked`, and `permission.updated` of older servers, which has the call's ids beside and the permission as `type`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct PermissionAsked<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, rename = "sessionID")]
    pub session_id: Str<'a>,
    #[serde(borrow, alias = "type")]
    pub permission: Str<'a>,
    #[serde(borrow, default)]
    pub title: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub patterns: Option<Vec<Str<'a>>>,
    #[serde(borrow, default)]
    pub metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub always: Option<Vec<Str<'a>>>,
    #[serde(borrow, default)]
    pub tool: Option<ToolPlace<'a>>,
    #[serde(borrow, default, rename = "messageID")]
    pub message_id: Option<Str<'a>>,
    #[serde(borrow, default, rename = "callID")]
    pub call_id: Option<Str<'a>>,
}

/// Which call a request is about.
#[derive(Debug, Deserialize)]
pub(in super::super) struct ToolPlace<'a> {
    #[serde(borrow, rename = "messageID")]
    pub message_id: Str<'a>,
    #[serde(borrow, rename = "callID")]
    pub call_id: Str<'a>,
}

/// `permission.replied` in both spellings.
#[derive(Debug, Deserialize)]
pub(in super::super) struct PermissionReplied<'a> {
    #[serde(borrow, rename = "requestID", alias = "permissionID")]
    pub request_id: Str<'a>,
    #[serde(borrow, alias = "response")]
    pub reply: Str<'a>,
}

/// `question.asked`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct QuestionAsked<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, rename = "sessionID")]
    pub session_id: Str<'a>,
    #[serde(borrow)]
    pub questions: Vec<Question<'a>>,
    #[serde(borrow, default)]
    pub tool: Option<ToolPlace<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct Question<'a> {
    #[serde(borrow)]
    pub question: Str<'a>,
    #[serde(borrow, default)]
    pub header: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub options: Option<Vec<QuestionOption<'a>>>,
    #[serde(default)]
    pub multiple: Option<bool>,
    /// False where only an option may be picked.
    #[serde(default)]
    pub custom: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct QuestionOption<'a> {
    #[serde(borrow)]
    pub label: Str<'a>,
    #[serde(borrow, default)]
    pub description: Option<Str<'a>>,
}

/// `question.replied` and `question.rejected`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct QuestionReplied<'a> {
    #[serde(borrow, rename = "requestID")]
    pub request_id: Str<'a>,
    /// The labels that were picked, a list for each question.
    #[serde(borrow, default)]
    pub answers: Option<Vec<Vec<Str<'a>>>>,
}
