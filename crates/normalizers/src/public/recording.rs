//! What a whole recording means, without a place in a turn.

use super::parts::{PartsBuilder, UpdateParts};
use crate::recording::RecordedLine;
use crate::{Normalizer, Options, normalizer};
use chat_grammar::event::{ChatEvent, FinishReason};

/// The lines of a recording in, its updates out.
#[derive(Debug)]
pub struct RecordingReader {
    normalizer: Box<dyn Normalizer>,
    parts: PartsBuilder,
    events: Vec<ChatEvent>,
}

impl RecordingReader {
    /// A reader of an agent's recordings; `None` for an agent that this crate does not know.
    pub fn new(harness: &str) -> Option<Self> {
        let normalizer = normalizer(harness, Options::default())?;
        Some(Self { normalizer, parts: PartsBuilder::new(), events: Vec::new() })
    }

    /// Reads a line; one that is not of the protocol means nothing.
    pub fn push(&mut self, line: &RecordedLine<'_>) {
        if let Some(side) = line.channel.side() {
            self.normalizer.push(&line.text, side, &mut self.events);
            self.events.drain(..).for_each(|event| self.parts.push(event));
        }
    }

    /// The updates of all lines. What the recording leaves open is closed.
    pub fn finish(mut self) -> UpdateParts {
        self.normalizer.finish(FinishReason::End, &mut self.events);
        self.events.drain(..).for_each(|event| self.parts.push(event));
        self.parts.finish()
    }
}
