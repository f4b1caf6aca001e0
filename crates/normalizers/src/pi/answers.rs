//! The messages that bring the model's answers, and what each answer cost.

use super::Malformed;
use super::errors;
use super::messages::{Identity, Places, REDACTED, Told, Voice};
use super::normalize::Pi;
use super::usage::ModelCall;
use super::wire::{AssistantEvent, Block, Message, Usage};
use chat_grammar::event::ChatEvent;
use serde_json::Value;
use serde_json::value::RawValue;

impl Pi {
    /// `message_start` of the model.
    pub(super) fn message_started(&mut self, message: &Message<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let usage = usage(message.usage)?;
        let identity = Identity::of(message);
        if self.messages.is_repeated_start(&identity) {
            return Ok(());
        }
        self.turn.run();
        self.message_left(out);
        let open = self.messages.begin(identity);
        open.describe(message);
        open.usage = usage;
        Ok(())
    }

    /// `message_update`.
    pub(super) fn message_updated(&mut self, event: AssistantEvent<'_>, out: &mut Vec<ChatEvent>) -> Result<bool, Malformed> {
        let index = event.content_index;
        match &*event.kind {
            "text_delta" | "thinking_delta" => {
                let voice = if &*event.kind == "text_delta" { Voice::Text } else { Voice::Thought };
                let delta = event.delta.ok_or(Malformed::OtherForm)?;
                self.turn.run();
                self.messages.tell(index, voice, Told::Delta(delta.0), out);
            }
            "text_end" => {
                if let Some(whole) = &event.content {
                    self.messages.tell(index, Voice::Text, Told::Whole(whole), out);
                }
            }
            "thinking_end" => match event.content.as_deref() {
                Some(REDACTED) if !self.messages.has_said(index) => self.messages.tell_redacted(index, out),
                Some(whole) => self.messages.tell(index, Voice::Thought, Told::Whole(whole), out),
                None => {}
            },
            "toolcall_start" => {
                self.turn.run();
                // 0.74 says only at the end which call it is.
                if let (Some(id), Some(name)) = (&event.id, &event.tool_name) {
                    self.messages.add_call(Some(index), id);
                    self.calls.declare(id, name, out);
                }
            }
            "toolcall_delta" => {
                let delta = event.delta.ok_or(Malformed::OtherForm)?;
                if let Some((native_id, input)) = self.messages.call(index)
                    && let Some(value) = input.push(&delta)
                {
                    self.calls.partial_input(native_id, value, out);
                }
            }
            "toolcall_end" => {
                if let Some(call) = &event.tool_call {
                    self.turn.run();
                    self.messages.add_call(Some(index), &call.id);
                    self.calls.declare(&call.id, &call.name, out);
                    self.calls.whole_input(&call.id, value(call.arguments)?, out);
                }
            }
            "start" | "text_start" | "thinking_start" | "done" | "error" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `message_end` of the model: the whole message, what it cost and how it ended.
    pub(super) fn message_ended(&mut self, message: &Message<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let identity = Identity::of(message);
        if self.messages.is_repeated_end(&identity) {
            return Ok(());
        }
        let blocks: Vec<Block<'_>> = message.content.map_or(Ok(Vec::new()), |content| serde_json::from_str(content.get()))?;
        let (usage, raw) = (usage(message.usage)?, value(message.usage)?);
        self.turn.run();
        if self.messages.is_left(&identity) {
            self.message_left(out);
        }
        if !self.messages.is_open() {
            self.messages.begin(identity.clone()).describe(message);
        }
        let mut places = self.messages.places();
        for block in &blocks {
            self.block(block, &mut places, out)?;
        }
        self.turn.message_ended(message);
        let Some(mut open) = self.messages.end(identity) else { return Ok(()) };
        open.describe(message);
        let stopped = message.stop_reason.as_deref();
        let failed = matches!(stopped, Some("error" | "aborted"));
        if failed {
            let error = message.error_message.as_deref();
            let reason = error.map_or_else(|| "The message was cut off".to_owned(), errors::sentence);
            self.calls.fail_unexecuted(open.calls(), &reason, out);
        }
        // An error before the model said anything is no call that costs.
        if !usage.is_empty() || !failed || message.response_id.is_some() || open.was_spoken() {
            let id = message.response_id.as_deref().map_or_else(|| open.id.clone(), str::to_owned);
            let whole = !failed || message.raw_stop_reason.is_some();
            self.model_called(ModelCall { id, model: open.model.clone(), usage, raw, whole }, out);
        }
        self.messages.cut(Some(open).filter(|_| stopped == Some("error")));
        Ok(())
    }

    fn block(&mut self, block: &Block<'_>, places: &mut Places, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        match (&*block.kind, &block.text, &block.thinking, &block.id, &block.name) {
            ("text", Some(text), ..) => self.messages.tell_whole(places, Voice::Text, text, out),
            // Some providers give a part of the thoughts in the clear.
            ("thinking", _, thinking, ..)
                if block.redacted == Some(true)
                    && thinking.as_deref().is_none_or(|thinking| thinking.is_empty() || thinking == REDACTED) =>
            {
                self.messages.tell_next_redacted(places, out);
            }
            ("thinking", _, Some(thinking), ..) => self.messages.tell_whole(places, Voice::Thought, thinking, out),
            ("toolCall", _, _, Some(id), Some(name)) => {
                self.messages.add_call(None, id);
                self.calls.declare(id, name, out);
                self.calls.whole_input(id, value(block.arguments)?, out);
            }
            _ => {}
        }
        Ok(())
    }

    /// A message was left open: its call ended without a report. What came in is known from its start.
    pub(super) fn message_left(&mut self, out: &mut Vec<ChatEvent>) {
        let Some(open) = self.messages.leave() else { return };
        if open.was_spoken() {
            let usage = Usage { output: None, reasoning: None, cost: None, ..open.usage };
            let call = ModelCall { id: open.id, model: open.model, usage, raw: Value::Null, whole: false };
            self.model_called(call, out);
        }
    }
}

fn usage(raw: Option<&RawValue>) -> Result<Usage, Malformed> {
    Ok(match raw {
        Some(raw) => serde_json::from_str(raw.get())?,
        None => Usage::default(),
    })
}

/// The value of raw JSON; null where there is none.
pub(super) fn value(raw: Option<&RawValue>) -> Result<Value, Malformed> {
    Ok(match raw {
        Some(raw) => serde_json::from_str(raw.get())?,
        None => Value::Null,
    })
}
