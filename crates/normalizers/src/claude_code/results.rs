//! Results of tools: every block in order, and what the CLI tells of them apart.

use super::calls::Call;
use super::normalize::ClaudeCode;
use super::wire::{AnyResult, Block, EditResult, Link, ShellResult, Source};
use super::{Malformed, edits, shell, value};
use crate::rpc::Str;
use crate::tools::text_content;
use chat_grammar::acp::{
    BlobResourceContents, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, ResourceLink,
    TextResourceContents, ToolCallContent,
};
use chat_grammar::event::{ChatEvent, ToolCompleted};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The CLI's text in the place of an output that it put into a file.
const PERSISTED: &str = "<persisted-output>";
/// How the CLI's text for a call that the user stopped begins.
const REJECTED: &str = "The user doesn't want to proceed with this tool use.";

/// How a call ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub is_error: bool,
    pub output: Value,
    pub content: Vec<ToolCallContent>,
}

/// One result of one call.
#[derive(Debug)]
pub(super) struct ToolResult<'a> {
    /// The agent's id of the call.
    pub call_id: &'a str,
    pub content: Option<&'a RawValue>,
    pub is_error: bool,
    /// The structured result, where the line has one and is about this call only.
    pub structured: Option<&'a RawValue>,
    /// Why the call was not executed, in the CLI's word.
    pub not_executed: Option<&'a str>,
}

/// What the model gets to read.
#[derive(Debug)]
pub(super) struct ResultText {
    blocks: Vec<ToolCallContent>,
    plain: bool,
}

impl ResultText {
    fn read(content: Option<&RawValue>) -> Result<Self, Malformed> {
        let Some(content) = content else { return Ok(Self { blocks: Vec::new(), plain: true }) };
        if content.get().starts_with('"') {
            let text: Str<'_> = serde_json::from_str(content.get())?;
            let blocks = if text.is_empty() { Vec::new() } else { vec![text_content(without_error_tag(&text))] };
            return Ok(Self { blocks, plain: true });
        }
        Ok(Self { blocks: blocks(content, None)?, plain: false })
    }

    /// The blocks in order.
    pub(super) fn blocks(&self) -> &[ToolCallContent] {
        &self.blocks
    }

    /// There is more than a text.
    pub(super) fn has_blocks(&self) -> bool {
        !self.plain && self.blocks.iter().any(|block| text_of(block).is_none())
    }

    /// The texts in order.
    pub(super) fn joined(&self) -> String {
        self.blocks.iter().filter_map(text_of).collect::<Vec<_>>().join("\n")
    }
}

fn text_of(content: &ToolCallContent) -> Option<&str> {
    match content {
        ToolCallContent::Content(content) => match &content.content {
            ContentBlock::Text(text) => Some(&text.text),
            _ => None,
        },
        _ => None,
    }
}

impl ClaudeCode {
    /// A result. False where no call is known that it is of.
    pub(super) fn tool_result(&mut self, result: &ToolResult<'_>, out: &mut Vec<ChatEvent>) -> Result<bool, Malformed> {
        let Some(call) = self.calls.get(result.call_id) else { return Ok(false) };
        if !self.tools.is_open(&call.id) {
            return Ok(true);
        }
        let stopped = self.turn.interrupted || (result.not_executed == Some("user-rejected") && !call.denied);
        let tool = completed(call, result, stopped)?;
        let plan = (!tool.is_error).then(|| self.plans.changed(call, result.structured)).flatten();
        if let Some(call) = self.calls.get_mut(result.call_id) {
            call.background = is_async(&tool.output);
        }
        self.tools.complete(tool, out);
        out.extend(plan);
        self.calls.end(result.call_id);
        Ok(true)
    }
}

/// A subagent was only started, and runs on.
fn is_async(output: &Value) -> bool {
    output.get("isAsync") == Some(&Value::Bool(true)) || output.get("status").is_some_and(|status| status == "async_launched")
}

fn completed(call: &Call, result: &ToolResult<'_>, stopped: bool) -> Result<ToolCompleted, Malformed> {
    let text = ResultText::read(result.content)?;
    let structured = result.structured.map(RawValue::get);
    let mut tool = ToolCompleted {
        tool_call_id: call.id.clone(),
        is_error: result.is_error,
        title: None,
        input: None,
        output: Value::Null,
        content: Vec::new(),
        locations: None,
        mcp: None,
        duration_ms: None,
    };
    let ended = if result.is_error && stopped && text.joined().starts_with(REJECTED) {
        let content = vec![text_content("The call was interrupted")];
        let output = if call.name == "Bash" { json!({ "exitCode": null, "output": "" }) } else { Value::Null };
        Ended { is_error: true, output, content }
    } else if call.name == "Bash" {
        let structured: Option<ShellResult<'_>> = structured.and_then(|json| serde_json::from_str(json).ok());
        let executed = result.not_executed.is_none() && !call.denied;
        shell::ended(&text, result.is_error, executed, structured.as_ref())
    } else if result.is_error {
        Ended { is_error: true, output: json!({ "error": text.joined() }), content: text.blocks }
    } else if matches!(call.name.as_str(), "Write" | "Edit")
        && let Some(Ok(edit)) = structured.map(serde_json::from_str::<EditResult<'_>>)
    {
        let path = call.input.get("file_path").and_then(Value::as_str);
        let (ended, locations) = edits::ended(path, &text, &edit, value(result.structured)?);
        tool.locations = Some(locations);
        ended
    } else {
        let any: AnyResult<'_> = structured.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        tool.duration_ms = any.total_duration_ms.or(any.duration_ms);
        Ended {
            is_error: false,
            content: whole_content(call, text, result, &any)?,
            output: without_images(value(result.structured.or(result.content))?),
        }
    };
    tool.is_error = ended.is_error;
    tool.output = ended.output;
    tool.content = ended.content;
    Ok(tool)
}

/// The blocks of a result. Of an output that was put into a file only the structured result is whole, and what a subagent said
/// stands there without the CLI's remarks to the model.
fn whole_content(
    call: &Call,
    text: ResultText,
    result: &ToolResult<'_>,
    any: &AnyResult<'_>,
) -> Result<Vec<ToolCallContent>, Malformed> {
    let array = |raw: &&RawValue| raw.get().starts_with('[');
    let told_apart = any.content.filter(array).or(result.structured.filter(array));
    let persisted = text.plain && text.joined().starts_with(PERSISTED);
    let links = call.mcp.as_ref().map(|_| any.resource_links.as_deref().unwrap_or_default());
    match told_apart {
        Some(content) if persisted || call.name == "Agent" => blocks(content, links),
        _ if call.mcp.is_some() && !text.plain => match result.content {
            Some(content) => blocks(content, links),
            None => Ok(text.blocks),
        },
        _ => Ok(text.blocks),
    }
}

/// The end of a call whose input never closed: a text, and no object.
pub(super) fn cut(call: &Call, text: &str, reason: &str) -> ToolCompleted {
    ToolCompleted {
        tool_call_id: call.id.clone(),
        is_error: true,
        title: None,
        input: None,
        output: match call.name.as_str() {
            "Bash" => json!({ "exitCode": null, "output": "", "partialInput": text }),
            _ => json!({ "partialInput": text }),
        },
        content: vec![text_content(format!("{reason}. Its input was not complete"))],
        locations: None,
        mcp: None,
        duration_ms: None,
    }
}

/// The text of a `<tool_use_error>`, and any other text as it is.
pub(super) fn without_error_tag(text: &str) -> &str {
    let inner = text.strip_prefix("<tool_use_error>").and_then(|text| text.trim_end().strip_suffix("</tool_use_error>"));
    inner.unwrap_or(text)
}

/// Blocks of a result. `links` are the resources that an MCP tool points to, of which the CLI made texts; `None` for other tools.
fn blocks(content: &RawValue, links: Option<&[Link<'_>]>) -> Result<Vec<ToolCallContent>, Malformed> {
    if !content.get().starts_with('[') {
        return Ok(vec![block(content, links)?]);
    }
    let raw: Vec<&RawValue> = serde_json::from_str(content.get())?;
    raw.into_iter().map(|raw| block(raw, links)).collect()
}

/// One block. What ACP has no form for is shown as its JSON.
fn block(raw: &RawValue, links: Option<&[Link<'_>]>) -> Result<ToolCallContent, Malformed> {
    if raw.get().starts_with('"') {
        return Ok(text_content(&*serde_json::from_str::<Str<'_>>(raw.get())?));
    }
    let Ok(block) = serde_json::from_str::<Block<'_>>(raw.get()) else { return Ok(text_content(raw.get())) };
    let content = match (&*block.kind, &block.source) {
        ("text", _) => block
            .text
            .as_deref()
            .map(|text| links.and_then(|links| resource(text, links)).unwrap_or_else(|| text_content(text))),
        ("image", Some(Source { data: Some(data), media_type, .. })) => {
            let mime_type = media_type.as_deref().unwrap_or("image/png");
            Some(ContentBlock::Image(ImageContent::new(&**data, mime_type)).into())
        }
        ("document", Some(source)) => document(source, block.title.as_deref()),
        (_, Some(Source { url: Some(url), .. })) => Some(link(block.title.as_deref().unwrap_or("image"), url)),
        ("tool_reference", _) => block.tool_name.as_deref().map(text_content),
        ("web_search_result", _) => block.url.as_deref().map(|url| link(block.title.as_deref().unwrap_or(url), url)),
        _ => None,
    };
    Ok(content.unwrap_or_else(|| text_content(raw.get())))
}

fn link(name: &str, uri: &str) -> ToolCallContent {
    ContentBlock::ResourceLink(ResourceLink::new(name, uri)).into()
}

fn document(source: &Source<'_>, title: Option<&str>) -> Option<ToolCallContent> {
    let name = title.unwrap_or("document");
    if let Some(url) = source.url.as_deref() {
        return Some(link(name, url));
    }
    let data = source.data.as_deref()?;
    let mime_type = source.media_type.as_deref().map(str::to_owned);
    let uri = format!("attachment:{name}");
    let resource = match source.kind.as_deref() {
        Some("text") => {
            EmbeddedResourceResource::TextResourceContents(TextResourceContents::new(data, uri).mime_type(mime_type))
        }
        _ => EmbeddedResourceResource::BlobResourceContents(BlobResourceContents::new(data, uri).mime_type(mime_type)),
    };
    Some(ContentBlock::Resource(EmbeddedResource::new(resource)).into())
}

/// The resource behind the text that the CLI made of it.
fn resource(text: &str, links: &[Link<'_>]) -> Option<ToolCallContent> {
    if let Some(rest) = text.strip_prefix("[Resource link: ") {
        let uri = rest.split_once("] ")?.1.split_whitespace().next()?;
        let known = links.iter().find(|known| &*known.uri == uri)?;
        let name = known.name.as_deref().unwrap_or(uri);
        let mime_type = known.mime_type.as_deref().map(str::to_owned);
        return Some(ContentBlock::ResourceLink(ResourceLink::new(name, uri).mime_type(mime_type)).into());
    }
    let (origin, content) = text.strip_prefix("[Resource from ")?.split_once("] ")?;
    let (_, uri) = origin.split_once(" at ")?;
    let resource = EmbeddedResourceResource::TextResourceContents(TextResourceContents::new(content, uri));
    Some(ContentBlock::Resource(EmbeddedResource::new(resource)).into())
}

/// The result without the data of images, which the content holds.
fn without_images(mut output: Value) -> Value {
    match &mut output {
        Value::Object(members) => {
            if let Some(Value::Object(file)) = members.get_mut("file") {
                file.shift_remove("base64");
            }
            if let Some(content) = members.get_mut("content") {
                drop_data(content);
            }
        }
        Value::Array(_) => drop_data(&mut output),
        _ => {}
    }
    output
}

fn drop_data(content: &mut Value) {
    for block in content.as_array_mut().into_iter().flatten() {
        if let Some(Value::Object(source)) = block.get_mut("source") {
            source.shift_remove("data");
        }
    }
}
