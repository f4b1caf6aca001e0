//! Every recording, turn by turn, as the events that it means.

mod common;

use chat_grammar::event::FinishReason;
use std::fmt::Write;

/// A new recording needs no code: put it into the folder, run the tests, and read the snapshot.
#[test]
fn recordings() {
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/codex", omit_expression => true }, {
        for recording in common::codex() {
            insta::assert_snapshot!(recording.name.clone(), render(&recording));
        }
    });
}

fn render(recording: &common::Recording) -> String {
    let lines = recording.lines();
    let mut normalizer = common::normalizer();
    let mut text = String::new();
    for (turn, segment) in chat_normalizers::segment("codex", &lines).iter().enumerate() {
        let _ = writeln!(text, "== turn {} ({} lines)", turn + 1, segment.lines.len());
        for index in &segment.lines {
            let mut events = Vec::new();
            common::push(normalizer.as_mut(), &lines[*index], &mut events);
            for event in &events {
                let _ = writeln!(text, "{index:>4} {}", common::render::event(event));
            }
        }
    }
    let mut events = Vec::new();
    normalizer.finish(FinishReason::End, &mut events);
    let _ = writeln!(text, "== finish");
    for event in &events {
        let _ = writeln!(text, "     {}", common::render::event(event));
    }
    if !normalizer.unmapped().is_empty() {
        let _ = writeln!(text, "== unmapped {:?}", normalizer.unmapped());
    }
    text
}
