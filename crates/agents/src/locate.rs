//! Where the program of an agent is.

use crate::registry::Installation;
use crate::resolved::Resolved;
use std::env;
use std::path::{Path, PathBuf};

/// The program of an agent: what the host resolved the contract to, else what its installation names, else the first of `names` on
/// `path` (the value of PATH). A command with a separator is a path, one without is looked for on `path`; `cwd` is where relative
/// paths start.
///
/// # Errors
/// What was looked for and where.
pub(crate) fn program(
    names: &[&str],
    installation: Option<&Installation>,
    resolved_command: Option<&str>,
    path: &str,
    cwd: &Path,
) -> Result<PathBuf, String> {
    let (command, origin) = match (resolved_command, installation) {
        (Some(command), _) => (command, "the command that native.resolve returned"),
        (None, Some(installation)) => (installation.command.as_str(), "the command of the installation"),
        (None, None) => {
            let found = names.iter().find_map(|name| on_path(name, path, cwd));
            let missing = || format!("there is no {} on the PATH, which is {path:?}", names.join(" and no "));
            return found.ok_or_else(missing);
        }
    };
    let is_path = command.contains(['/', std::path::MAIN_SEPARATOR]);
    if !is_path {
        return on_path(command, path, cwd)
            .ok_or_else(|| format!("{command:?}, {origin}, is not on the PATH, which is {path:?}"));
    }
    let file = cwd.join(command);
    if !file.exists() {
        return Err(format!("{}, {origin}, does not exist", file.display()));
    }
    which::which_in(&file, None::<&str>, cwd)
        .map_err(|_| format!("{}, {origin}, is no file that may be executed", file.display()))
}

/// The arguments that belong to the program, such as the script of an interpreter: what the host resolved the contract to, else those
/// of the installation whose command it is.
pub(crate) fn arguments(installation: Option<&Installation>, resolved: &Resolved) -> Vec<String> {
    let own = installation.filter(|_| resolved.command.is_none()).map(|installation| installation.args.clone());
    resolved.args.clone().or(own).unwrap_or_default()
}

fn on_path(name: &str, path: &str, cwd: &Path) -> Option<PathBuf> {
    // A relative entry would take the program from whichever project is worked on.
    let folders: Vec<PathBuf> = env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
    if folders.is_empty() {
        return None;
    }
    which::which_in(name, env::join_paths(folders).ok(), cwd).ok()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    /// A folder with the programs `agent` and `agent-cli`, and with `notes`, which may not be executed.
    fn folder() -> TempDir {
        let folder = TempDir::new().expect("a folder");
        for (name, mode) in [("agent", 0o755), ("agent-cli", 0o755), ("notes", 0o644)] {
            let file = folder.path().join(name);
            fs::write(&file, "#!/bin/sh\n").expect("writable");
            fs::set_permissions(&file, Permissions::from_mode(mode)).expect("settable");
        }
        folder
    }

    fn installation(command: &str) -> Installation {
        Installation { command: command.to_owned(), ..Installation::default() }
    }

    #[test]
    fn what_the_host_resolved_comes_before_the_installation_and_the_path() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        let path = format!("/nowhere:{}", folder.path().display());
        let find = |installed: Option<&Installation>, resolved: Option<&str>| {
            program(&["missing", "agent"], installed, resolved, &path, folder.path())
        };
        assert_eq!(find(None, None), Ok(at("agent")));
        assert_eq!(find(Some(&installation("agent-cli")), None), Ok(at("agent-cli")));
        assert_eq!(find(Some(&installation("/nowhere/agent")), Some("./agent")).map(|file| file.exists()), Ok(true));
        let absolute = at("agent");
        assert_eq!(find(Some(&installation("agent-cli")), absolute.to_str()), Ok(absolute));
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = folder();
        let find = |names: &[&str], installed: Option<&str>| {
            program(names, installed.map(installation).as_ref(), None, "/nowhere", folder.path()).expect_err("it is not there")
        };
        assert_eq!(find(&["one", "two"], None), "there is no one and no two on the PATH, which is \"/nowhere\"");
        assert_eq!(
            find(&["one"], Some("other")),
            "\"other\", the command of the installation, is not on the PATH, which is \"/nowhere\""
        );
        assert_eq!(find(&["one"], Some("/nowhere/x")), "/nowhere/x, the command of the installation, does not exist");
        let notes = folder.path().join("notes");
        let problem = format!("{}, the command of the installation, is no file that may be executed", notes.display());
        assert_eq!(find(&["one"], notes.to_str()), problem);
    }

    #[test]
    fn a_relative_folder_on_the_path_is_not_searched() {
        let folder = folder();
        assert!(program(&["agent"], None, None, ".::", folder.path()).is_err());
    }
}
