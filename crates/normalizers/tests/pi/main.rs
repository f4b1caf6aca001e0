//! The normalizer of Pi against its recordings, against reported bugs, and against nonsense.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod cases;
#[allow(dead_code, reason = "what the tests of other agents use")]
#[path = "../common/mod.rs"]
mod common;
mod independent;
mod properties;
mod rules;
mod schema;
mod segments;
mod snapshots;
mod tools;

use chat_grammar::event::ChatEvent;
use chat_normalizers::{Normalizer, Options, RecordedLine};
use common::Recording;

/// Every recording of Pi, by name.
fn recordings() -> Vec<Recording> {
    let recordings = common::recordings("pi");
    assert!(recordings.len() >= 40, "only {} recordings found", recordings.len());
    recordings
}

fn recording(name: &str) -> Recording {
    recordings().into_iter().find(|recording| recording.name == name).unwrap_or_else(|| panic!("no recording {name}"))
}

fn normalizer() -> Box<dyn Normalizer> {
    chat_normalizers::normalizer("pi", Options::default()).expect("pi is registered")
}

/// All events of a whole recording, `finish` included.
fn play(lines: &[RecordedLine<'_>]) -> Vec<ChatEvent> {
    common::play_with(normalizer(), lines)
}
