//! Every recording, turn by turn, as the events that it means.

use crate::common::{self, Recording, render};
use chat_grammar::event::{EventKind, FinishReason};
use std::fmt::Write;

/// A new recording needs no code: put it into the folder, run the tests, and read the snapshot.
#[test]
fn recordings() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        for recording in super::recordings() {
            insta::assert_snapshot!(recording.name.clone(), show(&recording));
        }
    });
}

/// What a replay shows: a turn whose end was not recorded ends with its process.
fn show(recording: &Recording) -> String {
    let lines = recording.lines();
    let mut normalizer = super::normalizer();
    let mut text = String::new();
    for (turn, segment) in chat_normalizers::segment(super::AGENT, &lines).iter().enumerate() {
        let _ = writeln!(text, "== turn {} ({} lines)", turn + 1, segment.lines.len());
        let mut ended = false;
        for index in &segment.lines {
            let mut events = Vec::new();
            common::push(normalizer.as_mut(), &lines[*index], &mut events);
            for event in &events {
                ended |= matches!(event.kind, EventKind::Done { .. });
                let _ = writeln!(text, "{index:>4} {}", render::event(event));
            }
        }
        if !ended {
            let mut events = Vec::new();
            normalizer.finish(FinishReason::Error, &mut events);
            for event in &events {
                let _ = writeln!(text, " end {}", render::event(event));
            }
        }
    }
    let mut events = Vec::new();
    normalizer.finish(FinishReason::End, &mut events);
    for event in &events {
        let _ = writeln!(text, " end {}", render::event(event));
    }
    if !normalizer.unmapped().is_empty() {
        let _ = writeln!(text, "== unmapped {:?}", normalizer.unmapped());
    }
    text
}
