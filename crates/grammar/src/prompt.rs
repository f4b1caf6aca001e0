//! Prompts: checked block by block against ACP, and kept as they are.

use crate::error::{ChatError, ErrorCode, Result};
use serde_json::{Map, Value, json};

/// Checks a prompt, given as JSON text, and returns it. No block is merged, reordered or dropped.
///
/// # Errors
/// `INVALID_PROMPT` naming the block by index and the field at fault.
pub fn normalize_prompt(json: &str) -> Result<Value> {
    let value: Value = serde_json::from_str(json).map_err(|error| invalid(None, format!("prompt is no JSON: {error}")))?;
    check_prompt(&value)?;
    Ok(value)
}

/// Checks a prompt.
///
/// # Errors
/// `INVALID_PROMPT` naming the block by index and the field at fault.
pub fn check_prompt(prompt: &Value) -> Result<()> {
    let Value::Object(members) = prompt else {
        return Err(invalid(None, "prompt must be an object { parts: ContentBlock[] }"));
    };
    if let Some(unknown) = members.keys().find(|key| *key != "parts") {
        return Err(invalid(None, format!("prompt.{unknown} is no field of a prompt; known: parts")));
    }
    let Some(Value::Array(parts)) = members.get("parts") else {
        return Err(invalid(None, "prompt.parts must be an array of content blocks"));
    };
    if parts.is_empty() {
        return Err(invalid(None, "prompt.parts must hold at least one content block"));
    }
    parts.iter().enumerate().try_for_each(|(index, part)| check_block(index, part))
}

fn check_block(index: usize, block: &Value) -> Result<()> {
    let Value::Object(members) = block else {
        return Err(invalid(Some(index), format!("prompt.parts[{index}] must be an object")));
    };
    let fields = Fields { index, members, within: "" };
    match fields.text("type")? {
        "text" => {
            fields.text("text")?;
        }
        "image" => {
            fields.filled("data")?;
            fields.filled("mimeType")?;
            fields.optional_text("uri")?;
        }
        "audio" => {
            fields.filled("data")?;
            fields.filled("mimeType")?;
        }
        "resource_link" => {
            fields.filled("uri")?;
            fields.filled("name")?;
            for field in ["mimeType", "title", "description"] {
                fields.optional_text(field)?;
            }
            match members.get("size") {
                None | Some(Value::Null) => {}
                Some(Value::Number(size)) if size.as_u64().is_some() => {}
                Some(_) => return Err(fields.wrong("size", "must be a whole number of bytes")),
            }
        }
        "resource" => {
            let Some(Value::Object(resource)) = members.get("resource") else {
                return Err(fields.wrong("resource", "must be an object"));
            };
            let resource = Fields { index, members: resource, within: "resource." };
            resource.filled("uri")?;
            resource.optional_text("mimeType")?;
            match (resource.members.contains_key("text"), resource.members.contains_key("blob")) {
                (true, false) => resource.text("text")?,
                (false, true) => resource.text("blob")?,
                _ => return Err(resource.wrong("text", "exactly one of text and blob must be there")),
            };
        }
        other => {
            let known = "text, image, audio, resource_link, resource";
            return Err(fields.wrong("type", format!("{other:?} is no ACP content block; known: {known}")));
        }
    }
    for field in ["annotations", "_meta"] {
        match members.get(field) {
            None | Some(Value::Null | Value::Object(_)) => {}
            Some(_) => return Err(fields.wrong(field, "must be an object")),
        }
    }
    Ok(())
}

struct Fields<'a> {
    index: usize,
    members: &'a Map<String, Value>,
    within: &'static str,
}

impl<'a> Fields<'a> {
    fn text(&self, field: &str) -> Result<&'a str> {
        match self.members.get(field) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(self.wrong(field, "must be a string")),
            None => Err(self.wrong(field, "is missing")),
        }
    }

    fn filled(&self, field: &str) -> Result<()> {
        if self.text(field)?.is_empty() { Err(self.wrong(field, "must not be empty")) } else { Ok(()) }
    }

    fn optional_text(&self, field: &str) -> Result<()> {
        match self.members.get(field) {
            None | Some(Value::Null | Value::String(_)) => Ok(()),
            Some(_) => Err(self.wrong(field, "must be a string")),
        }
    }

    fn wrong(&self, field: &str, problem: impl std::fmt::Display) -> ChatError {
        invalid(Some(self.index), format!("prompt.parts[{}].{}{field}: {problem}", self.index, self.within))
    }
}

fn invalid(part: Option<usize>, message: impl Into<String>) -> ChatError {
    ChatError { code: ErrorCode::InvalidPrompt, message: message.into(), details: Some(json!({ "part": part })) }
}
