//! `assistant` and `user` lines: whole blocks, and results of tools.

use super::calls::NewCall;
use super::errors::ApiError;
use super::messages::{Voice, WholePlace};
use super::normalize::ClaudeCode;
use super::results::ToolResult;
use super::usage::Told;
use super::wire::{AssistantLine, Block, UserLine};
use super::{Malformed, value};
use crate::rpc::Str;
use chat_grammar::event::{ChatEvent, EventKind, McpTool};
use serde_json::Value;
use serde_json::value::RawValue;

/// The model of messages that the CLI makes itself.
const SYNTHETIC: &str = "<synthetic>";
/// What the CLI puts into a conversation that it resumes without asking the model.
const NO_RESPONSE: &str = "No response requested.";

/// True for a block that is a call, whoever runs it.
pub(super) fn is_call(kind: &str) -> bool {
    matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use")
}

/// True for a block that is the result of a call which the model's API ran itself.
pub(super) fn is_result(kind: &str) -> bool {
    kind == "tool_result" || kind.ends_with("_tool_result")
}

/// The server and tool of a call that the model's API makes itself.
pub(super) fn remote_mcp(block: &Block<'_>, name: &str) -> Option<McpTool> {
    let server = block.server_name.as_deref()?;
    Some(McpTool { server: server.to_owned(), tool: name.to_owned() })
}

/// The blocks of a content.
fn content_blocks(content: &RawValue) -> Result<Vec<&RawValue>, Malformed> {
    Ok(serde_json::from_str(content.get())?)
}

impl ClaudeCode {
    /// `assistant`.
    pub(super) fn assistant(&mut self, line: &AssistantLine<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        self.turn.acted = true;
        let message = &line.message;
        let parent = line.parent_tool_use_id.as_deref();
        let synthetic = message.model.as_deref() == Some(SYNTHETIC);
        if synthetic && (line.error.is_some() || line.is_api_error_message == Some(true)) {
            return self.api_error(line, parent, out);
        }
        let id = message.id.as_deref();
        if !synthetic {
            let cut = self.speaker(parent).stands_alone(id);
            self.calls_cut(&cut, out);
            if let Some(id) = id {
                self.meter.settle_others(parent, id, out);
                let model = message.model.as_deref();
                let stopped = message.stop_reason.is_some();
                self.meter.began(Told { id, model, parent, usage: message.usage, stopped, streamed: false });
            }
        }
        if message.content.get().starts_with('"') {
            let text: Str<'_> = serde_json::from_str(message.content.get())?;
            self.speaker(parent).whole(WholePlace { message_id: id, alone: true }, Voice::Answer, &text, out);
            return Ok(());
        }
        let raw = content_blocks(message.content)?;
        let alone = raw.len() == 1;
        for raw in raw {
            let block: Block<'_> = serde_json::from_str(raw.get())?;
            let place = WholePlace { message_id: id, alone };
            self.assistant_block(line, &block, place, parent, out)?;
        }
        Ok(())
    }

    fn assistant_block(
        &mut self,
        line: &AssistantLine<'_>,
        block: &Block<'_>,
        place: WholePlace<'_>,
        parent: Option<&str>,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        match &*block.kind {
            "text" => {
                let text = block.text.as_deref().ok_or(Malformed)?;
                let noise = text == NO_RESPONSE && line.message.model.as_deref() == Some(SYNTHETIC);
                if !noise {
                    self.speaker(parent).whole(place, Voice::Answer, text, out);
                }
            }
            "thinking" => {
                let text = block.thinking.as_deref().ok_or(Malformed)?;
                let voice = Voice::thought(line.thinking_display.as_deref());
                self.speaker(parent).whole(place, voice, text, out);
            }
            "redacted_thinking" => self.speaker(parent).redacted(None, place.message_id, out),
            kind if is_call(kind) => {
                let (Some(id), Some(name)) = (block.id.as_deref(), block.name.as_deref()) else { return Err(Malformed) };
                let input = value(block.input)?;
                let mcp = remote_mcp(block, name);
                self.call_began(&NewCall { id, name, mcp, parent, message_id: place.message_id }, out);
                self.speaker(parent).call_whole(id);
                let meta = line.tool_use_meta.iter().flatten().find(|meta| &*meta.id == id);
                if let Some(tool) = meta.and_then(|meta| meta.tool_name.as_deref()) {
                    self.call_is_mcp(id, tool, out);
                }
                if matches!(input, Value::Object(_)) {
                    self.input_whole(id, input, out);
                }
                // A call of the model's API runs there, and asks nobody.
                if kind != "tool_use" {
                    self.call_runs(id, out);
                }
            }
            kind if is_result(kind) => {
                self.block_result(block, out)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The result of a call that the model's API ran itself.
    pub(super) fn block_result(&mut self, block: &Block<'_>, out: &mut Vec<ChatEvent>) -> Result<bool, Malformed> {
        let call_id = block.tool_use_id.as_deref().ok_or(Malformed)?;
        // A failure is an object with its code.
        let failed = block.content.is_some_and(|content| content.get().starts_with('{') && content.get().contains("_error\""));
        let is_error = block.is_error == Some(true) || failed;
        let result = ToolResult { call_id, content: block.content, is_error, structured: None, not_executed: None };
        self.tool_result(&result, out)
    }

    /// The CLI's own words for a failure of the model's API. They are the failure's message, and no answer.
    fn api_error(&mut self, line: &AssistantLine<'_>, parent: Option<&str>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let texts = content_blocks(line.message.content)?.into_iter().map(|raw| {
            let block: Block<'_> = serde_json::from_str(raw.get())?;
            Ok(block.text.map(|text| text.0.into_owned()).unwrap_or_default())
        });
        let message = texts.collect::<Result<Vec<String>, Malformed>>()?.join("\n");
        // The end of a subagent is no failure of the conversation's turn.
        if parent.is_some() {
            let kind = EventKind::Warning { message, detail: None, retry: None };
            out.push(ChatEvent { kind, parent_tool_call_id: parent.map(str::to_owned) });
            return Ok(());
        }
        let owned = |text: &Option<Str<'_>>| text.as_deref().map(str::to_owned);
        self.turn.api_error =
            Some(ApiError { message, word: owned(&line.error), detail: owned(&line.api_error), status: line.api_error_status });
        Ok(())
    }

    /// `user`: results of tools. Its texts are echoes, or the CLI's words to the model. Returns how many results no call is known
    /// for.
    pub(super) fn user(&mut self, line: &UserLine<'_>, out: &mut Vec<ChatEvent>) -> Result<u64, Malformed> {
        let content = line.message.content;
        if content.get().starts_with('"') {
            self.turn.acted |= line.is_replay == Some(true) && content.get().contains("<local-command");
            return Ok(0);
        }
        let mut results = Vec::new();
        for raw in content_blocks(content)? {
            let block: Block<'_> = serde_json::from_str(raw.get())?;
            if is_result(&block.kind) {
                results.push(block);
            }
        }
        // With several results nothing says which of them the structured one is.
        let structured = line.tool_use_result.filter(|_| results.len() == 1);
        let mut orphans = 0;
        for block in &results {
            let call_id = block.tool_use_id.as_deref().ok_or(Malformed)?;
            let meta = line.tool_result_meta.iter().flatten().find(|meta| meta.id.as_deref() == Some(call_id));
            let not_executed = meta.and_then(|meta| meta.non_execution_kind.as_deref());
            let is_error = block.is_error == Some(true);
            let result = ToolResult { call_id, content: block.content, is_error, structured, not_executed };
            let known = self.tool_result(&result, out)?;
            orphans += u64::from(!known && line.is_replay != Some(true));
        }
        self.turn.acted |= !results.is_empty();
        Ok(orphans)
    }
}
