//! Prompts in Claude Code's form: blocks of the Messages API.

use chat_grammar::{ChatError, ErrorCode, Result};
use serde_json::{Value, json};

/// The `content` of a `user` message, one block a block, in order.
///
/// # Errors
/// `UNSUPPORTED_PROMPT_PART` naming the block.
pub(super) fn content(prompt: &Value) -> Result<Vec<Value>> {
    let blocks = prompt["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().enumerate().map(|(index, block)| part(index, block)).collect()
}

fn part(index: usize, block: &Value) -> Result<Value> {
    match block["type"].as_str().unwrap_or_default() {
        "text" => Ok(text(block["text"].as_str().unwrap_or_default())),
        "image" => image(index, block["mimeType"].as_str(), block["data"].as_str()),
        "resource_link" => {
            let (name, uri) = (block["name"].as_str().unwrap_or_default(), block["uri"].as_str().unwrap_or_default());
            Ok(text(&format!("[{name}]({uri})")))
        }
        "resource" => resource(index, &block["resource"]),
        kind => Err(refused(index, format!("Claude Code takes no {kind} in a prompt"))),
    }
}

fn resource(index: usize, resource: &Value) -> Result<Value> {
    let uri = resource["uri"].as_str().unwrap_or_default();
    if let Some(content) = resource["text"].as_str() {
        return Ok(text(&format!("<resource uri={}>\n{content}\n</resource>", json!(uri))));
    }
    let data = resource["blob"].as_str();
    match resource["mimeType"].as_str() {
        Some("application/pdf") => Ok(json!({ "type": "document", "source": source("application/pdf", data) })),
        Some(kind) if kind.starts_with("image/") => image(index, Some(kind), data),
        kind => {
            let kind = kind.unwrap_or("of no known kind");
            Err(refused(index, format!("Claude Code takes text, images and PDF, and the resource {uri:?} is {kind}")))
        }
    }
}

// What it cannot take, Claude Code replaces by a text that only the model sees (2.1.332), so it is refused here.
fn image(index: usize, kind: Option<&str>, data: Option<&str>) -> Result<Value> {
    let kind = kind.unwrap_or_default();
    if !matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp") {
        return Err(refused(index, format!("{kind:?} is no kind of image that Claude Code takes: PNG, JPEG, GIF or WebP")));
    }
    Ok(json!({ "type": "image", "source": source(kind, data) }))
}

fn source(kind: &str, data: Option<&str>) -> Value {
    json!({ "type": "base64", "media_type": kind, "data": data.unwrap_or_default() })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn refused(index: usize, problem: String) -> ChatError {
    let message = format!("prompt.parts[{index}]: {problem}");
    ChatError { code: ErrorCode::UnsupportedPromptPart, message, details: Some(json!({ "part": index })) }
}
