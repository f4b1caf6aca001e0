//! Tools of MCP servers, and tools that the host itself offers.

use super::Malformed;
use super::calls::{Background, Subject};
use super::items::{Item, Moment, duration, ended, failure_of};
use super::normalize::Codex;
use super::wire::{ContentItem, DynamicItem, McpItem, McpResult};
use crate::tools::text_content;
use chat_grammar::acp::{ContentBlock, ImageContent, ResourceLink, ToolCallContent};
use chat_grammar::event::{ChatEvent, McpTool, ToolCompleted};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) fn item(
    codex: &mut Codex,
    thread_id: Option<&str>,
    item: &Item<'_>,
    moment: Moment,
    out: &mut Vec<ChatEvent>,
) -> Result<(), Malformed> {
    let call: McpItem<'_> = item.read()?;
    let mcp = McpTool { server: call.server.to_string(), tool: call.tool.to_string() };
    let subject = || {
        let title = format!("{}: {}", mcp.server, mcp.tool);
        Ok(Subject { mcp: Some(mcp.clone()), ..Subject::other(&mcp.tool, title, value(call.arguments)?) })
    };
    codex.start(thread_id, item, Background::Impossible, subject, |id, subject| subject.started(id), out)?;
    if moment == Moment::Start {
        return Ok(());
    }
    codex.end(thread_id, item, out, |id, _| {
        let is_error = call.error.is_some() || failure_of(call.status.as_deref()).is_some();
        let mut content = match call.result {
            Some(result) => blocks(result)?,
            None => Vec::new(),
        };
        content.extend(call.error.as_ref().map(|error| text_content(&*error.message)));
        if is_error && content.is_empty() {
            content.extend(failure_of(call.status.as_deref()).map(text_content));
        }
        let output = match (&call.error, call.result) {
            (Some(error), None) => json!({ "error": &*error.message }),
            (_, result) => value(result)?,
        };
        Ok(ToolCompleted { content, mcp: Some(mcp), duration_ms: duration(call.duration_ms), ..ended(id, is_error, output) })
    })
}

pub(super) fn dynamic_item(
    codex: &mut Codex,
    thread_id: Option<&str>,
    item: &Item<'_>,
    moment: Moment,
    out: &mut Vec<ChatEvent>,
) -> Result<(), Malformed> {
    let call: DynamicItem<'_> = item.read()?;
    let subject = || {
        let title = match call.namespace.as_deref() {
            Some(namespace) => format!("{namespace}: {}", &*call.tool),
            None => call.tool.to_string(),
        };
        Ok(Subject::other(&*call.tool, title, value(call.arguments)?))
    };
    codex.start(thread_id, item, Background::Impossible, subject, |id, subject| subject.started(id), out)?;
    if moment == Moment::Start {
        return Ok(());
    }
    codex.end(thread_id, item, out, |id, _| {
        let failure = failure_of(call.status.as_deref()).or((call.success == Some(false)).then_some("The call failed"));
        let items: Vec<ContentItem<'_>> = match call.content_items {
            Some(items) => serde_json::from_str(items.get())?,
            None => Vec::new(),
        };
        let mut content: Vec<ToolCallContent> = items.iter().filter_map(content_item).collect();
        if content.is_empty() {
            content.extend(failure.map(text_content));
        }
        let output = json!({ "success": call.success, "contentItems": value(call.content_items)? });
        Ok(ToolCompleted { content, duration_ms: duration(call.duration_ms), ..ended(id, failure.is_some(), output) })
    })
}

/// The blocks of an MCP result, which are ACP's own. One that ACP does not know is shown as its JSON.
fn blocks(result: &RawValue) -> Result<Vec<ToolCallContent>, Malformed> {
    let result: McpResult<'_> = serde_json::from_str(result.get())?;
    let blocks = result.content.into_iter().flatten();
    Ok(blocks
        .map(|block| serde_json::from_str::<ContentBlock>(block.get()).map_or_else(|_| text_content(block.get()), Into::into))
        .collect())
}

fn content_item(item: &ContentItem<'_>) -> Option<ToolCallContent> {
    if let Some(text) = item.text.as_deref() {
        return Some(text_content(text));
    }
    let url = item.image_url.as_deref()?;
    Some(match data_url(url) {
        Some((mime_type, data)) => ContentBlock::Image(ImageContent::new(data, mime_type)).into(),
        None => ContentBlock::ResourceLink(ResourceLink::new("image", url)).into(),
    })
}

/// The media type and the base64 data of a `data:` URL.
fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

/// The value of raw JSON; null where there is none.
pub(super) fn value(raw: Option<&RawValue>) -> Result<Value, Malformed> {
    Ok(match raw {
        Some(raw) => serde_json::from_str(raw.get())?,
        None => Value::Null,
    })
}
