//! The control protocol: requests of both sides and their answers.

use crate::numbers::count;
use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, Deserialize)]
pub(in super::super) struct RequestLine<'a> {
    #[serde(borrow)]
    pub request_id: Str<'a>,
    #[serde(borrow)]
    pub request: &'a RawValue,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct RequestTag<'a> {
    #[serde(borrow)]
    pub subtype: Str<'a>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct CancelLine<'a> {
    #[serde(borrow)]
    pub request_id: Str<'a>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ResponseLine<'a> {
    #[serde(borrow)]
    pub response: Response<'a>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct Response<'a> {
    #[serde(borrow)]
    pub subtype: Str<'a>,
    #[serde(borrow)]
    pub request_id: Str<'a>,
    #[serde(borrow, default)]
    pub response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<Str<'a>>,
}

/// `can_use_tool`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct CanUseTool<'a> {
    #[serde(borrow)]
    pub tool_name: Str<'a>,
    #[serde(borrow)]
    pub input: &'a RawValue,
    #[serde(borrow, default)]
    pub tool_use_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub agent_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub permission_suggestions: Option<Vec<&'a RawValue>>,
}

/// `elicitation`: an MCP server asks the user.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Elicitation<'a> {
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub url: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub elicitation_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub requested_schema: Option<&'a RawValue>,
}

/// What the host answers to a request of the CLI.
#[derive(Debug, Default, Deserialize)]
pub(in super::super) struct Decision<'a> {
    #[serde(borrow, default)]
    pub behavior: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub message: Option<Str<'a>>,
    #[serde(borrow, rename = "updatedInput", default)]
    pub updated_input: Option<&'a RawValue>,
    #[serde(borrow, rename = "updatedPermissions", default)]
    pub updated_permissions: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub action: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
}

/// The questions of AskUserQuestion.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Questions<'a> {
    #[serde(borrow, default)]
    pub questions: Vec<Question<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct Question<'a> {
    #[serde(borrow)]
    pub question: Str<'a>,
    #[serde(borrow, default)]
    pub header: Option<Str<'a>>,
    #[serde(rename = "multiSelect", default)]
    pub multi_select: Option<bool>,
    #[serde(borrow, default)]
    pub options: Vec<QuestionOption<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct QuestionOption<'a> {
    #[serde(borrow)]
    pub label: Str<'a>,
    #[serde(borrow, default)]
    pub description: Option<Str<'a>>,
}

/// The input of an answered AskUserQuestion.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Answers<'a> {
    #[serde(borrow, default)]
    pub answers: Option<&'a RawValue>,
}

/// What the answer to `initialize` says, as far as it is read.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Initialized<'a> {
    #[serde(borrow, default)]
    pub commands: Option<Vec<Command<'a>>>,
    #[serde(borrow, default)]
    pub current_permission_mode: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub models: Option<&'a RawValue>,
}

/// A model that the user may choose.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct OfferedModel<'a> {
    #[serde(borrow, default)]
    pub value: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub resolved_model: Option<Str<'a>>,
    #[serde(default)]
    pub supports_fast_mode: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct Command<'a> {
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow, default)]
    pub description: Option<Str<'a>>,
    #[serde(borrow, rename = "argumentHint", default)]
    pub argument_hint: Option<Str<'a>>,
}

/// The answers to `set_model` and `get_context_usage`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Answered<'a> {
    #[serde(borrow, default)]
    pub model: Option<Str<'a>>,
    #[serde(deserialize_with = "count", rename = "maxTokens", default)]
    pub max_tokens: Option<u64>,
}

/// A prompt of the host.
#[derive(Debug, Deserialize)]
pub(in super::super) struct PromptLine<'a> {
    #[serde(borrow)]
    pub message: super::UserMessage<'a>,
}
