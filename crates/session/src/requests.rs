//! What callers ask, read out of JSON: every field is checked before anything happens.

use chat_grammar::prompt::check_prompt;
use chat_grammar::records::ExecutionHandle;
use chat_grammar::{ChatError, ErrorCode, Result};
use serde_json::{Map, Value};

/// A request that nobody waits for here.
pub(crate) fn not_pending(request_id: &str) -> ChatError {
    let message = format!("request {request_id:?} does not wait for an answer here: it is unknown or was answered already");
    ChatError::new(ErrorCode::RequestNotPending, message)
}

/// `startSession`.
#[derive(Debug)]
pub(crate) struct StartSession {
    pub(crate) execution: ExecutionHandle,
    pub(crate) session_id: Option<String>,
    pub(crate) title: Option<String>,
}

/// `resumeSession`.
#[derive(Debug)]
pub(crate) struct ResumeSession {
    pub(crate) execution: ExecutionHandle,
    pub(crate) session_id: String,
}

/// `send`.
#[derive(Debug)]
pub(crate) struct Send {
    pub(crate) execution: ExecutionHandle,
    pub(crate) prompt: Value,
    pub(crate) turn_id: Option<String>,
}

impl StartSession {
    pub(crate) fn from_json(json: &str) -> Result<Self> {
        let members = object(json, &["execution", "sessionId", "title"])?;
        Ok(Self {
            execution: ExecutionHandle::from_value(members.get("execution"))?,
            session_id: optional_id(&members, "sessionId")?,
            title: optional_text(&members, "title")?,
        })
    }
}

impl ResumeSession {
    pub(crate) fn from_json(json: &str) -> Result<Self> {
        let members = object(json, &["execution", "sessionId"])?;
        let session_id = optional_id(&members, "sessionId")?;
        Ok(Self {
            execution: ExecutionHandle::from_value(members.get("execution"))?,
            session_id: session_id.ok_or_else(|| invalid("sessionId", "is missing"))?,
        })
    }
}

impl Send {
    pub(crate) fn from_json(json: &str) -> Result<Self> {
        let mut members = object(json, &["execution", "prompt", "turnId"])?;
        let execution = ExecutionHandle::from_value(members.get("execution"))?;
        let turn_id = optional_id(&members, "turnId")?;
        let prompt = members.remove("prompt").unwrap_or(Value::Null);
        check_prompt(&prompt)?;
        Ok(Self { execution, prompt, turn_id })
    }
}

fn object(json: &str, known: &[&str]) -> Result<Map<String, Value>> {
    let members = members(json)?;
    match members.keys().find(|key| !known.contains(&key.as_str())) {
        Some(unknown) => Err(invalid(unknown, format!("is no option here; known: {}", known.join(", ")))),
        None => Ok(members),
    }
}

/// The members of an object.
pub(crate) fn members(json: &str) -> Result<Map<String, Value>> {
    match serde_json::from_str(json) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(invalid("options", "must be an object")),
        Err(error) => Err(invalid("options", format!("is no JSON: {error}"))),
    }
}

fn optional_id(members: &Map<String, Value>, field: &str) -> Result<Option<String>> {
    match optional_text(members, field)? {
        Some(id) if id.is_empty() => Err(invalid(field, "must not be empty")),
        id => Ok(id),
    }
}

/// A text that may be left out.
pub(crate) fn optional_text(members: &Map<String, Value>, field: &str) -> Result<Option<String>> {
    match members.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(field, "must be a string")),
    }
}

/// What is wrong with an option.
pub(crate) fn invalid(field: &str, problem: impl std::fmt::Display) -> ChatError {
    ChatError::at(ErrorCode::InvalidOptions, field, problem)
}
