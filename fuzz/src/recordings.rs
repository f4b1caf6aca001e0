//! The recorded lines that inputs are made of.

use chat_grammar::event::Side;
use chat_normalizers::recording;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Agents send far longer lines, but those only make each execution slower.
const LINE_LIMIT: usize = 4 * 1024;

/// The agents, by the names of their normalizers.
pub const AGENTS: [&str; 6] = ["acp", "claude_code", "codex", "cursor", "opencode", "pi"];

/// A message as it stood on the wire.
#[derive(Debug, Clone)]
pub struct Line {
    pub side: Side,
    pub text: String,
}

/// The recordings of an agent, in the order of their names; none where the agent has no folder.
pub fn of(agent: &str) -> &'static [Vec<Line>] {
    static ALL: OnceLock<BTreeMap<&'static str, Vec<Vec<Line>>>> = OnceLock::new();
    let all = ALL.get_or_init(|| AGENTS.into_iter().map(|agent| (agent, read(agent))).collect());
    all.get(agent).map_or(&[], Vec::as_slice)
}

/// The root of the repository.
pub fn root() -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.find(|folder| folder.join("fixtures/recordings").is_dir()).expect("a folder of recordings").to_owned()
}

fn read(agent: &str) -> Vec<Vec<Line>> {
    let folder = root().join("fixtures/recordings").join(agent);
    let entries = fs::read_dir(folder).expect("the recordings of the agent");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ndjson"));
    paths.sort();
    let texts = paths.iter().map(|path| fs::read_to_string(path).expect("a readable recording"));
    texts.map(|text| lines(&text)).filter(|lines| !lines.is_empty()).collect()
}

fn lines(ndjson: &str) -> Vec<Line> {
    let lines = recording::read(ndjson).into_iter().filter(|line| line.text.len() <= LINE_LIMIT);
    lines.filter_map(|line| Some(Line { side: line.channel.side()?, text: line.text.into_owned() })).collect()
}
