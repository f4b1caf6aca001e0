//! The lines of the recordings.

use chat_grammar::event::Side;
use chat_normalizers::recording;
use std::fs;
use std::io;
use std::path::Path;

/// A line of one side.
pub(crate) type Line = (Side, String);

/// The protocol's lines of every recording of an agent.
pub(crate) fn read(agent: &str) -> io::Result<Vec<Vec<Line>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings").join(agent);
    let mut recordings = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ndjson") {
            let text = fs::read_to_string(path)?;
            let lines = recording::read(&text).into_iter();
            recordings.push(lines.filter_map(|line| Some((line.channel.side()?, line.text.into_owned()))).collect());
        }
    }
    Ok(recordings)
}
