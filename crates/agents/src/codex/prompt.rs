//! Prompts in Codex's form.

use chat_grammar::{ChatError, ErrorCode, Result};
use serde_json::{Value, json};

/// What the model can take beside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Images {
    Taken,
    /// The model is known to see no images.
    Refused,
}

/// The `input` of `turn/start`, one part a block, in order.
///
/// # Errors
/// `UNSUPPORTED_PROMPT_PART` naming the block. Codex would take audio and drop it (0.171.0), so it is refused here.
pub(super) fn input(prompt: &Value, images: Images) -> Result<Vec<Value>> {
    let blocks = prompt["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().enumerate().map(|(index, block)| part(index, block, images)).collect()
}

fn part(index: usize, block: &Value, images: Images) -> Result<Value> {
    match block["type"].as_str().unwrap_or_default() {
        "text" => Ok(text(block["text"].as_str().unwrap_or_default())),
        "image" => image(index, block["mimeType"].as_str(), block["data"].as_str(), images),
        "resource_link" => {
            let (name, uri) = (block["name"].as_str().unwrap_or_default(), block["uri"].as_str().unwrap_or_default());
            Ok(text(&format!("[{name}]({uri})")))
        }
        "resource" => resource(index, &block["resource"], images),
        kind => Err(refused(index, format!("Codex takes no {kind} in a prompt"))),
    }
}

fn resource(index: usize, resource: &Value, images: Images) -> Result<Value> {
    let uri = resource["uri"].as_str().unwrap_or_default();
    if let Some(content) = resource["text"].as_str() {
        return Ok(text(&format!("<resource uri={}>\n{content}\n</resource>", json!(uri))));
    }
    match resource["mimeType"].as_str() {
        Some(kind) if kind.starts_with("image/") => image(index, Some(kind), resource["blob"].as_str(), images),
        kind => {
            let kind = kind.unwrap_or("of no known kind");
            Err(refused(index, format!("Codex takes text and images, and the resource {uri:?} is {kind}")))
        }
    }
}

fn image(index: usize, kind: Option<&str>, data: Option<&str>, images: Images) -> Result<Value> {
    if images == Images::Refused {
        return Err(refused(index, "the model of this execution takes no images".to_owned()));
    }
    let (kind, data) = (kind.unwrap_or_default(), data.unwrap_or_default());
    if !matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp") {
        return Err(refused(index, format!("{kind:?} is no kind of image that Codex takes: PNG, JPEG, GIF or WebP")));
    }
    Ok(json!({ "type": "image", "url": format!("data:{kind};base64,{data}") }))
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text, "text_elements": [] })
}

fn refused(index: usize, problem: String) -> ChatError {
    let message = format!("prompt.parts[{index}]: {problem}");
    ChatError { code: ErrorCode::UnsupportedPromptPart, message, details: Some(json!({ "part": index })) }
}
