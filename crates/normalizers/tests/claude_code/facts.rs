//! What a recording says, read from its raw messages and the facts about the protocol alone.

use crate::common::Recording;
use chat_grammar::event::{ChatEvent, EventKind};
use chat_grammar::usage::{UsageOperation, UsageRecord};
use chat_normalizers::Channel;
use serde_json::Value;

/// A recording's messages of both sides, in order.
pub(crate) struct Facts {
    pub(crate) messages: Vec<(Channel, Value)>,
}

/// A whole block of the model.
pub(crate) struct Block<'a> {
    pub(crate) message_id: &'a str,
    pub(crate) parent: Option<&'a str>,
    pub(crate) block: &'a Value,
    /// It says what failed.
    pub(crate) failure: bool,
}

impl Facts {
    pub(crate) fn read(recording: &Recording) -> Self {
        Self { messages: recording.messages() }
    }

    /// The agent's messages of a kind.
    pub(crate) fn agent<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let messages =
            self.messages.iter().filter(move |(channel, message)| *channel == Channel::Agent && message["type"] == kind);
        messages.map(|(_, message)| message)
    }

    pub(crate) fn blocks(&self) -> Vec<Block<'_>> {
        let lines = self.agent("assistant");
        lines
            .flat_map(|line| {
                line["message"]["content"].as_array().into_iter().flatten().map(|block| Block {
                    message_id: line["message"]["id"].as_str().unwrap_or(""),
                    parent: line["parent_tool_use_id"].as_str(),
                    block,
                    failure: !line["error"].is_null(),
                })
            })
            .collect()
    }

    /// The results of tools, with the structured result of their line.
    pub(crate) fn results(&self) -> Vec<(&Value, &Value)> {
        let lines = self.agent("user");
        let results = lines.flat_map(|line| {
            let blocks = line["message"]["content"].as_array().into_iter().flatten();
            blocks.filter(|block| block["type"] == "tool_result").map(|block| (block, &line["tool_use_result"]))
        });
        results.collect()
    }

    /// The model's messages that came in events: id, model, and the events with the id of their message.
    pub(crate) fn streams(&self) -> Vec<Stream<'_>> {
        let mut streams: Vec<Stream<'_>> = Vec::new();
        for line in self.agent("stream_event") {
            let event = &line["event"];
            if event["type"] == "message_start" {
                streams.push(Stream { id: event["message"]["id"].as_str().unwrap_or(""), events: Vec::new(), start: event });
            } else if let Some(stream) = streams.last_mut() {
                stream.events.push((event, line));
            }
        }
        streams
    }
}

/// A message that came in events.
pub(crate) struct Stream<'a> {
    pub(crate) id: &'a str,
    pub(crate) start: &'a Value,
    /// The events, with their lines.
    pub(crate) events: Vec<(&'a Value, &'a Value)>,
}

impl<'a> Stream<'a> {
    /// The counts that end the call, where the model stopped by itself.
    pub(crate) fn final_usage(&self) -> Option<&'a Value> {
        let end =
            self.events.iter().find(|(event, _)| event["type"] == "message_delta" && !event["delta"]["stop_reason"].is_null());
        end.map(|(event, _)| &event["usage"])
    }

    /// The texts of the blocks of one kind of delta, by index.
    pub(crate) fn texts(&self, kind: &str, member: &str) -> Vec<String> {
        let mut texts: Vec<(u64, String)> = Vec::new();
        for (event, _) in self.events.iter().filter(|(event, _)| event["delta"]["type"] == kind) {
            let index = event["index"].as_u64().unwrap_or(0);
            let text = event["delta"][member].as_str().unwrap_or("");
            match texts.iter_mut().find(|(known, _)| *known == index) {
                Some((_, known)) => known.push_str(text),
                None => texts.push((index, text.to_owned())),
            }
        }
        texts.into_iter().map(|(_, text)| text).collect()
    }
}

/// Checks every recording.
pub(crate) fn each(check: impl Fn(&str, &Facts, &[ChatEvent])) {
    for recording in super::recordings() {
        let facts = Facts::read(&recording);
        let events = super::play(&recording.lines());
        check(&recording.name, &facts, &events);
    }
}

/// All usage records.
pub(crate) fn records(events: &[ChatEvent]) -> Vec<&UsageRecord> {
    let records = events.iter().filter_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } => Some(usage),
        _ => None,
    });
    records.collect()
}

/// The events of each turn: what comes up to its end.
pub(crate) fn turns(events: &[ChatEvent]) -> Vec<&[ChatEvent]> {
    let mut turns: Vec<&[ChatEvent]> = events.split_inclusive(|event| matches!(event.kind, EventKind::Done { .. })).collect();
    if turns.last().is_some_and(|turn| !turn.iter().any(|event| matches!(event.kind, EventKind::Done { .. }))) {
        turns.pop();
    }
    turns
}

/// Input, output, cache reads and cache writes of the billable steps; `None` where one is unknown.
pub(crate) fn billed(events: &[ChatEvent]) -> [Option<u64>; 4] {
    let mut sums = [Some(0_u64); 4];
    for record in records(events).into_iter().filter(|record| record.billable) {
        assert_ne!(record.operation, UsageOperation::ContextSnapshot);
        let tokens = record.tokens;
        let counts = [tokens.input_tokens, tokens.output_tokens, tokens.cache_read_tokens, tokens.cache_write_tokens];
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum = sum.zip(count).map(|(sum, count)| sum + count);
        }
    }
    sums
}
