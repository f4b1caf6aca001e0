//! The normalizer of Claude Code against its recordings, against reported bugs, and against nonsense.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod cases;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "what is common serves the tests of every agent")]
mod common;
mod facts;
mod independent;
mod properties;
mod rules;
mod rules_usage;
mod schema;
mod script;
mod segments;
mod snapshots;
mod usage;

use chat_grammar::event::ChatEvent;
use chat_normalizers::{Normalizer, Options, RecordedLine};
use common::Recording;

const AGENT: &str = "claude_code";

/// Every recording, by name.
fn recordings() -> Vec<Recording> {
    let recordings = common::recordings(AGENT);
    assert!(recordings.len() >= 116, "only {} recordings found", recordings.len());
    recordings
}

fn one(name: &str) -> Recording {
    recordings().into_iter().find(|recording| recording.name == name).unwrap_or_else(|| panic!("no recording {name}"))
}

fn normalizer() -> Box<dyn Normalizer> {
    chat_normalizers::normalizer(AGENT, Options::default()).expect("Claude Code is registered")
}

/// All events of a whole recording, `finish` included.
fn play(lines: &[RecordedLine<'_>]) -> Vec<ChatEvent> {
    common::play_with(normalizer(), lines)
}
