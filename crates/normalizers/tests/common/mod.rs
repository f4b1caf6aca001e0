//! Recordings as the tests see them.

#[allow(unreachable_pub, reason = "public where the fuzz targets use it")]
pub(crate) mod laws;
pub(crate) mod nonsense;
pub(crate) mod render;
pub(crate) mod schema;
pub(crate) mod variations;

use chat_grammar::event::{ChatEvent, FinishReason};
use chat_normalizers::{Channel, Normalizer, Options, RecordedLine, recording};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of `fixtures/recordings/<agent>`.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Recording {
    pub(crate) fn lines(&self) -> Vec<RecordedLine<'_>> {
        recording::read(&self.text)
    }

    /// The first line, which says how the recording was made.
    pub(crate) fn header(&self) -> Value {
        serde_json::from_str(self.text.lines().next().unwrap_or("")).unwrap_or_default()
    }

    /// The messages of both sides in order, parsed, with the line they stand on.
    pub(crate) fn messages(&self) -> Vec<(Channel, Value)> {
        self.lines().iter().map(|line| (line.channel, serde_json::from_str(&line.text).unwrap_or_default())).collect()
    }
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Every recording of an agent, by name.
pub(crate) fn recordings(agent: &str) -> Vec<Recording> {
    let folder = fixtures().join("recordings").join(agent);
    let mut recordings: Vec<Recording> = fs::read_dir(folder)
        .expect("the folder of recordings")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_stem()?.to_str()?.to_owned();
            let ndjson = path.extension().is_some_and(|extension| extension == "ndjson");
            ndjson.then(|| Recording { name, text: fs::read_to_string(&path).expect("a readable recording") })
        })
        .collect();
    recordings.sort_by(|left, right| left.name.cmp(&right.name));
    recordings
}

/// Every recording of Codex, by name.
pub(crate) fn codex() -> Vec<Recording> {
    let recordings = recordings("codex");
    assert!(recordings.len() >= 100, "only {} recordings found", recordings.len());
    recordings
}

pub(crate) fn one(name: &str) -> Recording {
    codex().into_iter().find(|recording| recording.name == name).unwrap_or_else(|| panic!("no recording {name}"))
}

pub(crate) fn normalizer() -> Box<dyn Normalizer> {
    chat_normalizers::normalizer("codex", Options::default()).expect("codex is registered")
}

/// All events of a whole recording, `finish` included.
pub(crate) fn play(lines: &[RecordedLine<'_>]) -> Vec<ChatEvent> {
    play_with(normalizer(), lines)
}

/// All events of a whole recording of any agent, `finish` included.
pub(crate) fn play_with(mut normalizer: Box<dyn Normalizer>, lines: &[RecordedLine<'_>]) -> Vec<ChatEvent> {
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
