//! One execution.

use super::laws::Laws;
use super::program::{self, Step};
use super::recordings;
use chat_grammar::event::{ChatEvent, FinishReason};
use chat_grammar::update::{Place, UpdateMapper, write_update};
use chat_normalizers::Options;

/// What one message may make beside what was said until then, in bytes of updates.
const FLOOR: usize = 64 * 1024;

/// How often one message may say what was said until then: a tool call's whole input or output stands in more than one member.
const REPEATS: usize = 16;

/// Plays an input to the normalizer of an agent.
///
/// # Panics
/// Where a law of the events does not hold.
pub fn run(agent: &str, input: &[u8]) {
    if let Err(problem) = check(agent, &program::read(input, recordings::of(agent))) {
        panic!("{agent}: {problem}");
    }
}

/// Plays steps, with `finish` after the last, and says which law did not hold.
pub fn check(agent: &str, steps: &[Step]) -> Result<(), String> {
    let mut normalizer = chat_normalizers::normalizer(agent, Options::default()).ok_or("no such normalizer")?;
    let mut seen = Seen::default();
    let mut events = Vec::new();
    for step in steps {
        match step {
            Step::Message(side, text) => {
                normalizer.push(text, *side, &mut events);
                seen.read += text.len();
                seen.look(&mut events)?;
            }
            Step::Finish(reason) => {
                normalizer.finish(*reason, &mut events);
                seen.end(&mut events)?;
            }
        }
    }
    normalizer.finish(FinishReason::End, &mut events);
    seen.end(&mut events)?;
    // What is closed stays closed.
    normalizer.finish(FinishReason::Error, &mut events);
    match events.is_empty() {
        true => Ok(()),
        false => Err(format!("closed twice: {events:?}")),
    }
}

/// What came until now.
struct Seen {
    laws: Laws,
    mapper: UpdateMapper,
    /// Bytes of messages.
    read: usize,
    sequence: u64,
}

impl Default for Seen {
    fn default() -> Self {
        Self { laws: Laws::default(), mapper: UpdateMapper::new("conversation", "turn"), read: 0, sequence: 0 }
    }
}

impl Seen {
    /// What one message made.
    fn look(&mut self, events: &mut Vec<ChatEvent>) -> Result<(), String> {
        let mut written = Vec::new();
        let mut updates = Vec::new();
        for event in events.drain(..) {
            self.laws.event(&event)?;
            self.mapper.push(event, &mut updates);
        }
        for update in updates {
            self.sequence += 1;
            let place = Place { conversation_id: "conversation", turn_id: "turn", sequence: self.sequence, at: 0 };
            let start = written.len();
            write_update(&update, place, None, &mut written);
            self.laws.written(&written[start..])?;
        }
        let limit = FLOOR + REPEATS * self.read;
        if written.len() > limit {
            return Err(format!("{} bytes written after {} were read", written.len(), self.read));
        }
        Ok(())
    }

    /// What `finish` made.
    fn end(&mut self, events: &mut Vec<ChatEvent>) -> Result<(), String> {
        super::laws::says_nothing(events)?;
        self.look(events)?;
        self.laws.closed()
    }
}
