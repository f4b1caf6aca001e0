//! A copy of a database that is in use.

use super::failure::{Failure, Outcome};
use super::open::create_private;
use super::queue::Queue;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::path::Path;

/// Between two steps the copying looks whether the store is being closed.
const PAGES_A_STEP: i32 = 2048;

/// Copies what a read transaction of `source` sees into a new file.
pub(crate) fn copy(source: &Connection, to: &Path, queue: &Queue) -> Outcome<()> {
    let problem = |problem: String| Failure::refused(format!("backup {}: {problem}", to.display()));
    if fs::symlink_metadata(to).is_ok() {
        return Err(problem("it exists already; name a new file".to_owned()));
    }
    create_private(to).map_err(|error| problem(format!("it cannot be created: {error}; check that its folder is writable")))?;
    let outcome = fill(source, to, queue);
    if outcome.is_err() {
        // Half a copy must not pass for one.
        let _ = fs::remove_file(to);
    }
    outcome.map_err(|failure| match failure {
        Failure::Sqlite(error) => problem(error.to_string()),
        other => other,
    })
}

fn fill(source: &Connection, to: &Path, queue: &Queue) -> Outcome<()> {
    let mut copy = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // A transaction that has read keeps its view, so that no step begins anew when others write.
    source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let backup = Backup::new(source, &mut copy)?;
    while backup.step(PAGES_A_STEP)? != StepResult::Done {
        if let Some(closed) = queue.ended() {
            return Err(closed.into());
        }
    }
    drop(backup);
    // Nobody has the copy open: a turn that runs in it is left over.
    copy.execute("DELETE FROM hosts", [])?;
    copy.close().map_err(|(_, error)| error.into())
}
