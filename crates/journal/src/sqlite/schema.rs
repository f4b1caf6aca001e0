//! The tables, and how a database is told from a foreign one and brought up to date.

use super::failure::{Failure, Location, Outcome};
use chat_grammar::ChatError;
use rusqlite::{Connection, TransactionBehavior};

/// Marks our databases in the file's header ("CHNV").
const APPLICATION_ID: i32 = 0x4348_4e56;

/// What leads from one version to the next: the first makes version 1. Published steps never change.
const STEPS: [&str; 1] = [include_str!("schema_v1.sql")];

/// Our version, as `user_version` in the header.
pub(crate) const VERSION: i32 = STEPS.len() as i32;

/// What a database says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    Empty,
    Ours { version: i32 },
    Foreign { application_id: i32 },
}

/// Reads what a database is; writes nothing. Read without locks while another host makes the tables, the application id, which
/// comes last, is that of the tables.
pub(crate) fn identify(connection: &Connection) -> rusqlite::Result<Identity> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let (version, application_id) = (number("user_version")?, number("application_id")?);
    Ok(match application_id {
        APPLICATION_ID => Identity::Ours { version },
        0 if version == 0 && tables == 0 => Identity::Empty,
        _ => Identity::Foreign { application_id },
    })
}

impl Identity {
    /// # Errors
    /// `STORE_ERROR` for a database that is not ours or that a newer version wrote.
    pub(crate) fn require_known(self, location: &Location) -> Result<(), ChatError> {
        match self {
            Self::Ours { version } if version > VERSION => Err(location.error(format_args!(
                "a newer version of this software wrote it (schema {version}, this one knows up to {VERSION}); update this software or choose another path"
            ))),
            Self::Foreign { application_id } => Err(location.error(format_args!(
                "it belongs to another application (application id {application_id:#x}); choose another path"
            ))),
            Self::Ours { .. } | Self::Empty => Ok(()),
        }
    }
}

/// Makes or updates the tables, all steps in one transaction: another process sees the old version or the new one.
pub(crate) fn migrate(connection: &mut Connection, location: &Location) -> Outcome<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while we waited for the lock.
    let identity = identify(&transaction)?;
    identity.require_known(location)?;
    let done = match identity {
        Identity::Ours { version } => {
            usize::try_from(version).map_err(|_| Failure::Damaged("its version is negative".to_owned()))?
        }
        Identity::Empty | Identity::Foreign { .. } => 0,
    };
    if done == STEPS.len() {
        return Ok(());
    }
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}
