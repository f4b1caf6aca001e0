//! `stream_event`: pieces of the model's message as they come.

use super::calls::NewCall;
use super::messages::Voice;
use super::normalize::{ClaudeCode, Read};
use super::usage::Told;
use super::wire::{Block, MessageHead, StreamEvent, StreamLine};
use super::{Malformed, lines};
use chat_grammar::event::ChatEvent;
use serde_json::value::RawValue;
use std::borrow::Cow;

impl ClaudeCode {
    pub(super) fn stream_event(&mut self, line: StreamLine<'_>, out: &mut Vec<ChatEvent>) -> Result<Read, Malformed> {
        self.turn.acted = true;
        let StreamLine { event, parent_tool_use_id, api_message_id, thinking_display, abandoned_blocks } = line;
        let parent = parent_tool_use_id.as_deref();
        if event.kind.starts_with("content_block") {
            let cut = self.speaker(parent).block_of(api_message_id.as_deref());
            self.calls_cut(&cut, out);
        }
        match &*event.kind {
            "content_block_delta" => return Ok(self.block_delta(event, parent, thinking_display.as_deref(), out)),
            "content_block_start" => {
                let block: Block<'_> = read(event.content_block)?;
                self.block_began(event.index, parent, &block, out)?;
            }
            "content_block_stop" => self.block_closed(event.index, parent, out),
            "message_start" => {
                let head: MessageHead<'_> = read(event.message)?;
                self.message_began(&head, parent, out);
            }
            "message_delta" => {
                let id = api_message_id.as_deref();
                if event.delta.as_ref().is_some_and(|delta| delta.stop_reason.is_some()) {
                    self.message_stopped(id, event.usage, parent, out);
                }
            }
            // Without blocks that were cut off it says nothing that the stop reason did not say.
            "message_stop" => {
                if let Some(abandoned) = abandoned_blocks {
                    let cut = self.speaker(parent).cut_from(abandoned.from_block_index.unwrap_or(0));
                    self.calls_cut(&cut, out);
                }
            }
            "ping" | "error" => {}
            _ => return Ok(Read::Unknown),
        }
        Ok(Read::Known)
    }

    fn block_delta(
        &mut self,
        event: StreamEvent<'_>,
        parent: Option<&str>,
        display: Option<&str>,
        out: &mut Vec<ChatEvent>,
    ) -> Read {
        let Some(delta) = event.delta else { return Read::Unknown };
        let index = event.index;
        match (delta.kind.as_deref(), delta.text, delta.thinking, delta.partial_json) {
            (Some("text_delta"), Some(text), ..) => self.speaker(parent).delta(index, Voice::Answer, text.0, out),
            (Some("thinking_delta"), _, Some(text), _) => {
                self.speaker(parent).delta(index, Voice::thought(display), text.0, out);
            }
            (Some("input_json_delta"), _, _, Some(piece)) => {
                if let Some(call) = self.speaker(parent).call_at(index).map(str::to_owned) {
                    self.input_grew(&call, &piece, out);
                }
            }
            (Some("signature_delta" | "citations_delta"), ..) => {}
            _ => return Read::Unknown,
        }
        Read::Known
    }

    fn message_began(&mut self, head: &MessageHead<'_>, parent: Option<&str>, out: &mut Vec<ChatEvent>) {
        let id = head.id.as_deref();
        let cut = self.speaker(parent).begin(id);
        self.calls_cut(&cut, out);
        if let Some(id) = id {
            self.meter.settle_others(parent, id, out);
            let model = head.model.as_deref();
            self.meter.began(Told { id, model, parent, usage: head.usage, stopped: false, streamed: true });
        }
    }

    fn message_stopped(&mut self, id: Option<&str>, usage: Option<&RawValue>, parent: Option<&str>, out: &mut Vec<ChatEvent>) {
        let speaker = self.speaker(parent);
        let current = speaker.streaming_id().map(str::to_owned);
        if id.is_none() || id == current.as_deref() {
            speaker.stop();
        }
        if let Some(id) = id.or(current.as_deref()) {
            self.meter.ended(Told { id, model: None, parent, usage, stopped: true, streamed: true }, out);
        }
    }

    fn block_began(
        &mut self,
        index: Option<u64>,
        parent: Option<&str>,
        block: &Block<'_>,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        match &*block.kind {
            "text" => {
                if let Some(text) = block.text.as_deref().filter(|text| !text.is_empty()) {
                    self.speaker(parent).delta(index, Voice::Answer, Cow::Borrowed(text), out);
                }
            }
            "redacted_thinking" => self.speaker(parent).redacted(index, None, out),
            kind if lines::is_call(kind) => {
                let (Some(id), Some(name)) = (block.id.as_deref(), block.name.as_deref()) else { return Err(Malformed) };
                let message_id = self.speaker(parent).streaming_id().map(str::to_owned);
                let mcp = lines::remote_mcp(block, name);
                self.call_began(&NewCall { id, name, mcp, parent, message_id: message_id.as_deref() }, out);
                self.speaker(parent).call_began(index, id);
            }
            kind if lines::is_result(kind) => {
                self.block_result(block, out)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn block_closed(&mut self, index: Option<u64>, parent: Option<&str>, out: &mut Vec<ChatEvent>) {
        let call = self.speaker(parent).call_at(index).map(str::to_owned);
        self.speaker(parent).block_closed(index);
        if let Some(call) = call
            && self.input_closed(&call, out)
        {
            self.speaker(parent).call_whole(&call);
        }
    }

    /// Calls whose input will never be whole.
    pub(super) fn calls_cut(&mut self, ids: &[String], out: &mut Vec<ChatEvent>) {
        let reason = match self.turn.interrupted {
            true => "The call was interrupted",
            false => "The connection was lost",
        };
        self.calls_failed(ids, reason, out);
    }
}

fn read<'a, T: serde::Deserialize<'a>>(raw: Option<&'a RawValue>) -> Result<T, Malformed> {
    Ok(serde_json::from_str(raw.ok_or(Malformed)?.get())?)
}
