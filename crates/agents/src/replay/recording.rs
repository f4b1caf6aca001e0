//! A recording in memory: its text once, its lines as places in it, and its turns.

use chat_normalizers::{Channel, RecordedLine, Segment, recording, segment};
use serde::Deserialize;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

/// A header line is longer than this in no recording that a recorder makes.
const HEADER_LIMIT: u64 = 4 * 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Header {
    recording: u64,
    harness: String,
}

/// A recording that was read.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) harness: String,
    pub(super) segments: Vec<Segment>,
    text: String,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    channel: Channel,
    at_ms: u64,
    text: LineText,
}

#[derive(Debug)]
enum LineText {
    /// In the recording's text.
    Place(Range<usize>),
    /// A message that was no JSON stands in the recording as a JSON string.
    Decoded(String),
}

impl Recording {
    /// Whether a file is a recording that can be played, by its first line; otherwise what is wrong with it.
    pub(super) fn check(path: &Path) -> Result<(), String> {
        let file = File::open(path).map_err(|error| format!("{} cannot be opened: {error}", path.display()))?;
        let mut first_line = Vec::new();
        BufReader::new(file.take(HEADER_LIMIT))
            .read_until(b'\n', &mut first_line)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        header(&String::from_utf8_lossy(&first_line), path).map(|_| ())
    }

    /// Reads a recording; otherwise what is wrong with it.
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let Header { harness, .. } = header(text.lines().next().unwrap_or(""), path)?;
        let recorded = recording::read(&text);
        let segments = segment(&harness, &recorded);
        let lines = recorded.into_iter().map(|line| Line::new(line, &text)).collect();
        Ok(Self { harness, segments, text, lines })
    }

    /// A line by its index in a segment; `None` where there is none or it is not of the protocol.
    pub(super) fn line(&self, index: usize) -> Option<RecordedLine<'_>> {
        let line = self.lines.get(index)?;
        let text = match &line.text {
            LineText::Place(range) => Cow::Borrowed(self.text.get(range.clone())?),
            LineText::Decoded(text) => Cow::Borrowed(text.as_str()),
        };
        Some(RecordedLine { channel: line.channel, at_ms: line.at_ms, text })
    }
}

impl Line {
    fn new(line: RecordedLine<'_>, whole: &str) -> Self {
        let text = match line.text {
            Cow::Borrowed(text) => {
                let start = (text.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
                LineText::Place(start..start + text.len())
            }
            Cow::Owned(text) => LineText::Decoded(text),
        };
        Self { channel: line.channel, at_ms: line.at_ms, text }
    }
}

fn header(line: &str, path: &Path) -> Result<Header, String> {
    let header: Header = serde_json::from_str(line)
        .map_err(|_| format!("{} is no recording: its first line is no recording header", path.display()))?;
    if header.recording != 1 {
        return Err(format!("{} is a recording of format {}, this version plays format 1", path.display(), header.recording));
    }
    if chat_normalizers::normalizer(&header.harness, chat_normalizers::Options::default()).is_none() {
        return Err(format!("{} is a recording of {:?}, which this version cannot read", path.display(), header.harness));
    }
    Ok(header)
}
