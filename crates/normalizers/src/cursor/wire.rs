//! The members of Cursor's own messages that are read.

use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// `cursor/ask_question`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuestionParams<'a> {
    #[serde(borrow, default)]
    pub tool_call_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub title: Option<Str<'a>>,
    #[serde(borrow)]
    pub questions: Vec<Question<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Question<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, default)]
    pub prompt: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub options: Vec<QuestionOption<'a>>,
    #[serde(default)]
    pub allow_multiple: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct QuestionOption<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(borrow, default)]
    pub label: Option<Str<'a>>,
}

/// The host's answer to one of Cursor's requests.
#[derive(Debug, Deserialize)]
pub(super) struct Answer<'a> {
    #[serde(borrow)]
    pub outcome: &'a RawValue,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Outcome<'a> {
    #[serde(borrow, default)]
    pub outcome: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub reason: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub answers: Option<Vec<Selection<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Selection<'a> {
    #[serde(borrow)]
    pub question_id: Str<'a>,
    #[serde(default)]
    pub selected_option_ids: Vec<String>,
}

/// `cursor/create_plan`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlanParams<'a> {
    #[serde(borrow, default)]
    pub tool_call_id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub name: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub todos: Vec<Todo<'a>>,
}

/// `cursor/update_todos`.
#[derive(Debug, Deserialize)]
pub(super) struct TodosParams<'a> {
    #[serde(borrow)]
    pub todos: Vec<Todo<'a>>,
    #[serde(default)]
    pub merge: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Todo<'a> {
    #[serde(borrow, default)]
    pub id: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub content: Option<Str<'a>>,
    #[serde(borrow, default)]
    pub status: Option<Str<'a>>,
}

/// `cursor/task` and `cursor/generate_image`, as far as they are alike.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallParams<'a> {
    #[serde(borrow)]
    pub tool_call_id: Str<'a>,
    #[serde(borrow, default)]
    pub file_path: Option<Str<'a>>,
}
