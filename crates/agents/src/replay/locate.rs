//! Which file an installation id names, and that no other file can be named.

use crate::registry::AgentOptions;
use std::path::{Path, PathBuf};

/// The file of a bundled recording such as `codex/text-stream`, or an absolute path under one of the replay folders; otherwise
/// what is wrong with the id.
pub(super) fn recording(installation_id: &str, options: &AgentOptions) -> Result<PathBuf, String> {
    let path = Path::new(installation_id);
    if path.is_absolute() { under_replay_dirs(path, options) } else { bundled(installation_id, options) }
}

fn bundled(name: &str, options: &AgentOptions) -> Result<PathBuf, String> {
    let is_word = |word: &str| {
        !word.is_empty()
            && !word.starts_with('.')
            && word.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.'))
    };
    let Some((agent, scenario)) = name.split_once('/').filter(|(agent, scenario)| is_word(agent) && is_word(scenario)) else {
        return Err(format!(
            "{name:?} is neither the name of a bundled recording, such as \"codex/text-stream\", nor an absolute path"
        ));
    };
    let Some(folder) = &options.bundled_recordings else {
        return Err(format!("{name:?} was not found: no recordings are bundled with this build"));
    };
    let path = folder.join(agent).join(format!("{scenario}.ndjson"));
    if path.is_file() { Ok(path) } else { Err(format!("there is no bundled recording {name:?}")) }
}

fn under_replay_dirs(path: &Path, options: &AgentOptions) -> Result<PathBuf, String> {
    // Resolved before it is compared, so that neither `..` nor a link leads out of the folder.
    let resolved = path.canonicalize();
    let may_open = |file: &Path| {
        options.replay_dirs.iter().filter_map(|folder| folder.canonicalize().ok()).any(|folder| file.starts_with(folder))
    };
    match resolved {
        Ok(file) if !may_open(&file) => Err(outside(path)),
        Ok(file) if !file.is_file() => Err(format!("{} is no file", path.display())),
        Ok(file) => Ok(file),
        // Whether a file outside exists is nobody's business.
        Err(_) if !path.parent().and_then(|parent| parent.canonicalize().ok()).is_some_and(|parent| may_open(&parent)) => {
            Err(outside(path))
        }
        Err(error) => Err(format!("the recording {} cannot be opened: {error}", path.display())),
    }
}

fn outside(path: &Path) -> String {
    format!("{} is in none of the folders of native.replayDirs", path.display())
}
