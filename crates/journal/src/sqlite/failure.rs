//! Failures of the database and how they are told: every message names the file and says what to do.

use chat_grammar::ChatError;
use rusqlite::ErrorCode;
use std::fmt;
use std::path::PathBuf;

/// What is said of a file that is something else.
pub(crate) const NO_DATABASE: &str = "the file is no SQLite database; choose another path";

/// Where a database lives.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    Memory,
    /// Absolute, so that SQLite never takes it for a URI and a later change of the working directory changes nothing.
    File(PathBuf),
}

/// Why a statement or a whole task did not go through.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request does not fit what is stored; the database is well.
    Refused(ChatError),
    Sqlite(rusqlite::Error),
    /// What is stored cannot be read.
    Damaged(String),
}

/// The result of work on the database, before the failure gets the name of the file.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Failure {
    /// A refusal with `STORE_ERROR`.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::Refused(ChatError::store(message))
    }

    /// Whether another connection held the lock for longer than we wait.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(error) if is_busy(error))
    }
}

/// Whether another connection held the lock for longer than we wait.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => formatter.write_str(":memory:"),
            Self::File(path) => path.display().fmt(formatter),
        }
    }
}

impl Location {
    /// `STORE_ERROR` about this database.
    pub(crate) fn error(&self, problem: impl fmt::Display) -> ChatError {
        ChatError::store(format!("database {self}: {problem}"))
    }

    /// What a caller is told.
    pub(crate) fn explain(&self, failure: &Failure) -> ChatError {
        match failure {
            Failure::Refused(error) => error.clone(),
            Failure::Damaged(problem) => self.error(format_args!("{problem}; the file is damaged, restore a backup")),
            Failure::Sqlite(error) => self.error(describe(error)),
        }
    }
}

fn describe(error: &rusqlite::Error) -> String {
    let told = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program held its lock for more than 5 seconds; close what else has it open, or try again"
        }
        Some(ErrorCode::DiskFull) => "the disk is full; free some space and try again",
        Some(ErrorCode::ReadOnly) => {
            "it is read-only; make the file and its folder writable for this user, or choose another path"
        }
        Some(ErrorCode::PermissionDenied) => {
            "access is denied; give this user the right to read and write the file and its folder"
        }
        Some(ErrorCode::CannotOpen) => "it cannot be opened; check that its folder exists and is writable for this user",
        Some(ErrorCode::NotADatabase) => NO_DATABASE,
        Some(ErrorCode::DatabaseCorrupt) => "the file is damaged; restore a backup",
        Some(ErrorCode::SystemIoFailure) => {
            "the system failed to read or write it; check the disk and its free space, then try again"
        }
        Some(ErrorCode::TooBig) => "an update is too large to be stored",
        _ => return error.to_string(),
    };
    format!("{told} (SQLite: {error})")
}
