//! Private homes of agents, and the logins that are brought into them.

use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// How much of an id stands readable in the name of a folder.
const MAX_NAME: usize = 40;

/// The folder of an agent's private home, made where it does not exist: `<state_dir>/<adapter>/<installation>/<binding>`, readable
/// for the user only. The ids may hold anything; equal ones lead to the same folder, others to another, and none out of
/// `state_dir`.
///
/// # Errors
/// The folder cannot be made.
pub(crate) fn private_home(state_dir: &Path, adapter: &str, installation_id: &str, binding: &str) -> io::Result<PathBuf> {
    let installation = format!("{}-{}", safe_name(installation_id), short_hash(installation_id));
    let home = state_dir.join(safe_name(adapter)).join(installation).join(short_hash(binding));
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(&home)?;
    Ok(home)
}

/// A login of the user's own home that an agent uses, and refreshes, in a private one.
#[derive(Debug, Clone)]
pub(crate) struct LoginFile {
    source: PathBuf,
    private: PathBuf,
    /// Holds the hash of the source as it was brought, so that a later process knows who changed what.
    brought: PathBuf,
}

/// Gives a login that an agent has refreshed back to where it came from. A failure leaves the user with the older one, and is logged.
pub(crate) fn return_login(login: Option<&LoginFile>) {
    if let Some(login) = login
        && let Err(error) = login.give_back()
    {
        tracing::warn!(%error, "a refreshed login was not written back");
    }
}

impl LoginFile {
    /// The login in `source`, such as `~/.codex/auth.json`, that stands in `private` for the agent.
    pub(crate) fn new(source: PathBuf, private: PathBuf) -> Self {
        let mut brought = private.clone().into_os_string();
        brought.push(".brought");
        Self { source, private, brought: brought.into() }
    }

    /// Brings the login, if it has changed since it was brought last; otherwise what the agent refreshed meanwhile is kept. False
    /// where the user has no login; then there is none in the private home either. Blocks.
    ///
    /// # Errors
    /// The source cannot be read or the private home cannot be written.
    pub(crate) fn bring(&self) -> io::Result<bool> {
        let Some(source) = read(&self.source)? else {
            remove(&self.private)?;
            remove(&self.brought)?;
            return Ok(false);
        };
        if self.private.exists() && self.is_brought(&source)? {
            return Ok(true);
        }
        write(&self.private, &source, None)?;
        write(&self.brought, hash(&source).as_bytes(), None)?;
        Ok(true)
    }

    /// Gives a login that the agent refreshed back to the user's home, if it is there still as it was brought. True where it was
    /// given back. Blocks.
    ///
    /// # Errors
    /// One of the files cannot be read or written.
    pub(crate) fn give_back(&self) -> io::Result<bool> {
        let (Some(private), Some(source)) = (read(&self.private)?, read(&self.source)?) else { return Ok(false) };
        if private == source || private.is_empty() || !self.is_brought(&source)? {
            return Ok(false);
        }
        // A link is followed, not replaced by a file.
        let target = self.source.canonicalize()?;
        let permissions = fs::metadata(&target)?.permissions();
        write(&target, &private, Some(permissions))?;
        write(&self.brought, hash(&private).as_bytes(), None)?;
        Ok(true)
    }

    fn is_brought(&self, source: &[u8]) -> io::Result<bool> {
        Ok(read(&self.brought)?.is_some_and(|brought| brought == hash(source).as_bytes()))
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Readers see the file as it was or as it will be. Readable for the user only where no permissions are given.
fn write(path: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn safe_name(id: &str) -> String {
    let is_safe = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    id.chars().take(MAX_NAME).map(|character| if is_safe(character) { character } else { '_' }).collect()
}

fn short_hash(text: &str) -> String {
    hash(text.as_bytes())[..16].to_owned()
}

fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn no_id_leads_out_of_the_folder() {
        let parent = TempDir::new().expect("a folder");
        let state = parent.path().join("state");
        let long = "x".repeat(5000);
        let ids = ["default", "../../x", "/etc", "", ".", "..", "\u{1f980}/\0", &long];
        let mut homes: Vec<PathBuf> = Vec::new();
        for id in ids {
            for binding in ids {
                homes.push(private_home(&state, "codex", id, binding).expect("it can be made"));
            }
        }
        assert!(homes.iter().all(|home| home.canonicalize().expect("it exists").starts_with(&state)), "{homes:?}");
        homes.sort();
        homes.dedup();
        assert_eq!(homes.len(), ids.len() * ids.len());
        let names: Vec<_> = fs::read_dir(parent.path()).expect("readable").collect();
        assert_eq!(names.len(), 1);
    }

    #[test]
    fn a_home_is_kept() {
        let state = TempDir::new().expect("a folder");
        let home = private_home(state.path(), "codex", "default", "binding").expect("it can be made");
        fs::write(home.join("session"), "kept").expect("writable");
        assert_eq!(private_home(state.path(), "codex", "default", "binding").expect("it is there"), home);
        assert_eq!(fs::read_to_string(home.join("session")).expect("kept"), "kept");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_a_home() {
        let parent = TempDir::new().expect("a folder");
        let state = parent.path().join("state");
        let home = private_home(&state, "codex", "default", "binding").expect("it can be made");
        assert!(home.ancestors().take(4).all(|folder| mode(folder) == 0o700));
        assert_eq!(home.ancestors().nth(3), Some(state.as_path()));
    }

    #[cfg(unix)]
    fn mode(path: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(path).expect("it exists").permissions().mode() & 0o777
    }

    struct Login {
        _folder: TempDir,
        source: PathBuf,
        private: PathBuf,
        file: LoginFile,
    }

    fn login(content: &str) -> Login {
        let folder = TempDir::new().expect("a folder");
        let (source, private) = (folder.path().join("auth.json"), folder.path().join("private.json"));
        fs::write(&source, content).expect("writable");
        let file = LoginFile::new(source.clone(), private.clone());
        Login { _folder: folder, source, private, file }
    }

    fn content(path: &Path) -> String {
        fs::read_to_string(path).expect("readable")
    }

    #[test]
    fn a_refreshed_login_is_kept_and_given_back() {
        let login = login("first");
        assert!(login.file.bring().expect("brought"));
        assert_eq!(content(&login.private), "first");
        assert!(!login.file.give_back().expect("nothing to give"));
        fs::write(&login.private, "refreshed").expect("writable");
        assert!(login.file.bring().expect("kept"));
        assert_eq!(content(&login.private), "refreshed");
        assert!(login.file.give_back().expect("given back"));
        assert_eq!(content(&login.source), "refreshed");
        assert!(!login.file.give_back().expect("given back once"));
        fs::write(&login.private, "again").expect("writable");
        assert!(login.file.give_back().expect("given back again"));
        assert_eq!(content(&login.source), "again");
    }

    #[test]
    fn a_login_that_the_user_changed_wins() {
        let login = login("first");
        login.file.bring().expect("brought");
        fs::write(&login.private, "refreshed").expect("writable");
        fs::write(&login.source, "another account").expect("writable");
        assert!(!login.file.give_back().expect("not given back"));
        assert_eq!(content(&login.source), "another account");
        assert!(login.file.bring().expect("brought"));
        assert_eq!(content(&login.private), "another account");
    }

    #[test]
    fn a_user_who_logged_out_has_no_login_in_private_either() {
        let login = login("first");
        login.file.bring().expect("brought");
        fs::remove_file(&login.source).expect("removable");
        assert!(!login.file.give_back().expect("not given back"));
        assert!(!login.file.bring().expect("none"));
        assert!(!login.private.exists() && !login.source.exists());
    }

    #[cfg(unix)]
    #[test]
    fn modes_and_links_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let login = login("first");
        let link = login.source.with_file_name("link.json");
        symlink(&login.source, &link).expect("linkable");
        fs::set_permissions(&login.source, fs::Permissions::from_mode(0o640)).expect("settable");
        let file = LoginFile::new(link.clone(), login.private.clone());
        file.bring().expect("brought");
        assert_eq!(mode(&login.private), 0o600);
        fs::write(&login.private, "refreshed").expect("writable");
        assert!(file.give_back().expect("given back"));
        assert!(link.is_symlink());
        assert_eq!((content(&login.source).as_str(), mode(&login.source)), ("refreshed", 0o640));
    }
}
