//! Opening a database: what is no database of ours is told and left as it is.

use super::failure::{Failure, Location, NO_DATABASE, Outcome, is_busy};
use super::schema::{identify, migrate};
use chat_grammar::{ChatError, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use std::fmt::Write;
use std::fs::{self, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a statement waits for another connection's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long after the first look at a file the second one follows.
const SECOND_LOOK: Duration = Duration::from_millis(20);

/// What every connection may expect: a file as large as we make it is normal, a schema that runs code is not.
const COMMON: &str = "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;";

/// The writer's settings. `fullfsync`: on macOS a plain fsync leaves data in the drive's cache; elsewhere it means nothing.
const WRITER: &str = "PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 33554432; PRAGMA cache_size = -16000;
    PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;";

/// The header of a database, in bytes.
const SMALLEST: u64 = 100;

/// Held while a file is created: closing any descriptor of a file drops the locks that this process holds on it, so that no
/// store may have opened the file before its creator has closed it.
static CREATING: Mutex<()> = Mutex::new(());

/// The connection that writes, on tables of our version.
///
/// # Errors
/// `STORE_ERROR` that says why the path cannot serve; nothing has been changed then.
pub(crate) fn open_writer(location: &Location) -> Result<Connection> {
    let connection = match location {
        Location::Memory => in_memory(location),
        Location::File(path) => {
            prepare_file(location, path)?;
            on_file(location, path)
        }
    };
    connection.map_err(|failure| location.explain(&failure))
}

/// A connection that only reads, on a database that a writer of this process has open.
///
/// # Errors
/// `STORE_ERROR`.
pub(crate) fn open_reader(location: &Location, path: &Path) -> Result<Connection> {
    let open = || -> Outcome<Connection> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch(COMMON)?;
        Ok(connection)
    };
    open().map_err(|failure| location.explain(&failure))
}

fn in_memory(location: &Location) -> Outcome<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch(COMMON)?;
    migrate(&mut connection, location)?;
    Ok(connection)
}

fn on_file(location: &Location, path: &Path) -> Outcome<Connection> {
    glance(location, path)?;
    let mut connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // SQLite opens what it may not write for reading only.
    if connection.is_readonly(MAIN_DB)? {
        return Err(read_only(location).into());
    }
    // What the log holds is newer than the file. Until we know it, closing must not write it back.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let seen = identify(&*connection.transaction()?)?;
    seen.require_known(location)?;
    // The tables come before the log: so the file's header says from the first commit on whose it is.
    migrate(&mut connection, location)?;
    switch_to_wal(location, &connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    connection.execute_batch(COMMON)?;
    connection.execute_batch(WRITER)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

// Looks at the file without locks and without its log: an ordinary connection to a foreign database could already leave files
// beside it. What looks wrong may be another host that is just making the tables, so that it is looked at twice, and again while
// a transaction goes on.
fn glance(location: &Location, path: &Path) -> Outcome<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let look = || -> Outcome<()> {
        let connection = Connection::open_with_flags(immutable_uri(path), flags)?;
        Ok(identify(&connection)?.require_known(location)?)
    };
    let mut rollback_journal = path.as_os_str().to_owned();
    rollback_journal.push("-journal");
    let deadline = Instant::now() + BUSY_TIMEOUT;
    let mut outcome = look();
    while outcome.is_err() {
        thread::sleep(SECOND_LOOK);
        outcome = look();
        if !Path::new(&rollback_journal).exists() || Instant::now() > deadline {
            break;
        }
    }
    outcome
}

// SQLite does not wait for this lock by itself: two hosts that start at once meet here.
fn switch_to_wal(location: &Location, connection: &Connection) -> Outcome<()> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(mode) => {
                let problem =
                    format!("its file system cannot hold a write-ahead log (journal mode {mode}); choose a local disk");
                return Err(location.error(problem).into());
            }
            Err(error) if is_busy(&error) && Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(Failure::Sqlite(error)),
        }
    }
}

// Sees to it that a file is there which only its owner may read.
fn prepare_file(location: &Location, path: &Path) -> Result<()> {
    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    match fs::metadata(path) {
        Ok(found) => check_file(location, path, &found),
        Err(error) if error.kind() == ErrorKind::NotFound => create_file(path).map_err(|error| {
            location.error(format_args!("it cannot be created: {error}; check that its folder is writable for this user"))
        }),
        Err(error) => Err(location.error(format_args!("it cannot be reached: {error}; check the path"))),
    }
}

fn check_file(location: &Location, path: &Path, found: &Metadata) -> Result<()> {
    if found.is_dir() {
        return Err(location.error("it is a directory; name a file in it"));
    }
    if !found.is_file() {
        return Err(location.error("it is no regular file; choose another path"));
    }
    // SQLite finds out by itself, but takes a file of one byte for an empty one.
    if (1..SMALLEST).contains(&found.len()) {
        return Err(location.error(NO_DATABASE));
    }
    if found.permissions().readonly() {
        return Err(read_only(location));
    }
    // The log stands beside the file. (Elsewhere than on Unix the attribute says nothing about folders.)
    let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
    if cfg!(unix) && folder.is_some_and(|folder| folder.permissions().readonly()) {
        return Err(location.error("its folder is read-only; make the folder writable for this user, or choose another path"));
    }
    if found.len() == 0 {
        restrict(path).map_err(|error| location.error(format_args!("its mode cannot be set to 0600: {error}")))?;
    }
    Ok(())
}

fn read_only(location: &Location) -> ChatError {
    location.error("it is read-only; make the file writable for this user, or choose another path")
}

fn create_file(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    create_private(path)?;
    Ok(())
}

/// A new file that only its owner may read. Its log gets the same mode from SQLite.
pub(crate) fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_file() => Ok(()),
        outcome => outcome.map(drop),
    }
}

#[cfg(unix)]
fn restrict(path: &Path) -> std::io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

#[cfg(not(unix))]
fn restrict(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

// Opened so, a file is read without locks and without its log.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from(if cfg!(windows) { "file:///" } else { "file:" });
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b':' => uri.push(char::from(*byte)),
            b'\\' if cfg!(windows) => uri.push('/'),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri + "?immutable=1"
}
