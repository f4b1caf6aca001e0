//! The normalizer of OpenCode against its recordings, against reported bugs, and against nonsense.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "what is common serves the tests of every agent")]
mod common;

mod cases;
mod facts;
mod independent;

mod properties;
mod rules;
mod schema;
mod script;
mod segments;
mod snapshots;
mod turn_rules;
mod turns_and_usage;

use chat_grammar::event::ChatEvent;
use chat_normalizers::{Normalizer, Options, RecordedLine};
use common::Recording;

/// Every recording of OpenCode, by name.
fn recordings() -> Vec<Recording> {
    let recordings = common::recordings("opencode");
    assert!(recordings.len() >= 58, "only {} recordings found", recordings.len());
    recordings
}

fn one(name: &str) -> Recording {
    recordings().into_iter().find(|recording| recording.name == name).unwrap_or_else(|| panic!("no recording {name}"))
}

fn normalizer() -> Box<dyn Normalizer> {
    chat_normalizers::normalizer("opencode", Options::default()).expect("opencode is registered")
}

/// All events of a whole recording, `finish` included.
fn play(lines: &[RecordedLine<'_>]) -> Vec<ChatEvent> {
    common::play_with(normalizer(), lines)
}
