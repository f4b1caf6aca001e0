//! Recordings as the tests see them.

use chat_grammar::event::{ChatEvent, EventKind, FinishReason};
use chat_normalizers::{Channel, Normalizer, Options, RecordedLine, recording};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of `fixtures/recordings/acp` or `…/cursor`.
pub(crate) struct Recording {
    pub(crate) harness: &'static str,
    /// With the harness in front.
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Recording {
    pub(crate) fn lines(&self) -> Vec<RecordedLine<'_>> {
        recording::read(&self.text)
    }

    /// The messages of both sides in order, parsed; null where a line is no JSON.
    pub(crate) fn messages(&self) -> Vec<(Channel, Value)> {
        self.lines().iter().map(|line| (line.channel, serde_json::from_str(&line.text).unwrap_or_default())).collect()
    }
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Every recording, by name.
pub(crate) fn recordings() -> Vec<Recording> {
    let mut recordings = Vec::new();
    for (harness, least) in [("acp", 43), ("cursor", 27)] {
        let files = fs::read_dir(fixtures().join("recordings").join(harness)).expect("the folder of recordings");
        let before = recordings.len();
        for path in files.map(|entry| entry.expect("readable").path()) {
            if path.extension().is_some_and(|extension| extension == "ndjson") {
                let name = format!("{harness}__{}", path.file_stem().expect("a name").to_string_lossy());
                let text = fs::read_to_string(&path).expect("a readable recording");
                recordings.push(Recording { harness, name, text });
            }
        }
        assert!(recordings.len() - before >= least, "only {} recordings of {harness}", recordings.len() - before);
    }
    recordings.sort_by(|left, right| left.name.cmp(&right.name));
    recordings
}

pub(crate) fn one(name: &str) -> Recording {
    recordings().into_iter().find(|recording| recording.name == name).unwrap_or_else(|| panic!("no recording {name}"))
}

pub(crate) fn normalizer(harness: &str) -> Box<dyn Normalizer> {
    chat_normalizers::normalizer(harness, Options::default()).expect("it is registered")
}

/// All events of a whole recording, `finish` included.
pub(crate) fn play(harness: &str, lines: &[RecordedLine<'_>]) -> Vec<ChatEvent> {
    let mut normalizer = normalizer(harness);
    let mut out = Vec::new();
    for line in lines {
        push(normalizer.as_mut(), line, &mut out);
    }
    normalizer.finish(FinishReason::End, &mut out);
    out
}

pub(crate) fn push(normalizer: &mut dyn Normalizer, line: &RecordedLine<'_>, out: &mut Vec<ChatEvent>) {
    if let Some(side) = line.channel.side() {
        normalizer.push(&line.text, side, out);
    }
}

/// What events say, whoever's update says it.
pub(crate) fn meanings(events: &[ChatEvent]) -> impl Iterator<Item = &EventKind> {
    events.iter().filter_map(|event| event.kind.meaning())
}
