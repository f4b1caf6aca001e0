//! Who drives a turn: the rows of hosts, and whether a host still lives.

use super::failure::{Failure, Outcome};
use super::process::{self, ProcessIdentity, ProcessState};
use rusqlite::{Connection, OptionalExtension, params};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often a host says that it lives.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// How old the last heartbeat of a host may be whose process cannot be looked up, in milliseconds.
const SILENCE: i64 = 60_000;

/// For how long the row of a dead host is kept, in milliseconds: whoever cleans up after hosts finds their ids here.
const MEMORY: i64 = 24 * 60 * 60 * 1000;

/// One open store: a process may have several.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) id: String,
    process: ProcessIdentity,
}

#[derive(Debug)]
struct HostRow {
    process: ProcessIdentity,
    heartbeat: i64,
}

impl Host {
    /// A new host in this process.
    pub(crate) fn new() -> Self {
        Self { id: uuid::Uuid::now_v7().to_string(), process: ProcessIdentity::current() }
    }

    /// Writes the host's row with a new heartbeat. Also where it is gone: somebody may have taken a frozen host for dead.
    pub(crate) fn beat(&self, connection: &Connection) -> Outcome<()> {
        let ProcessIdentity { pid, started, boot, namespace, machine } = &self.process;
        connection
            .prepare_cached(
                "INSERT INTO hosts (id, pid, started, boot, namespace, machine, heartbeat) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT (id) DO UPDATE SET heartbeat = excluded.heartbeat",
            )?
            .execute(params![self.id, pid, started, boot, namespace, machine, now()])?;
        Ok(())
    }

    /// Removes the host's row.
    pub(crate) fn leave(&self, connection: &Connection) -> Outcome<()> {
        connection.execute("DELETE FROM hosts WHERE id = ?1", [&self.id])?;
        Ok(())
    }

    /// Whether a host lives, this one or another.
    pub(crate) fn sees_alive(&self, connection: &Connection, id: &str) -> Outcome<bool> {
        if id == self.id {
            return Ok(true);
        }
        let row = connection
            .prepare_cached("SELECT pid, started, boot, namespace, machine, heartbeat FROM hosts WHERE id = ?1")?
            .query_row([id], |row| {
                Ok(HostRow {
                    process: ProcessIdentity {
                        pid: row.get(0)?,
                        started: row.get(1)?,
                        boot: row.get(2)?,
                        namespace: row.get(3)?,
                        machine: row.get(4)?,
                    },
                    heartbeat: row.get(5)?,
                })
            })
            .optional()?;
        Ok(row.is_some_and(|row| row.is_alive(&self.process, now(), process::look_up)))
    }

    /// Refuses where another host lives that drives the turn.
    pub(crate) fn require_lease(&self, connection: &Connection, turn_id: &str, holder: &str) -> Outcome<()> {
        if self.sees_alive(connection, holder)? && holder != self.id {
            return Err(Failure::refused(format!(
                "turn {turn_id:?} is driven by another live host ({holder}); only that host may write to it"
            )));
        }
        Ok(())
    }
}

impl HostRow {
    fn is_alive(&self, me: &ProcessIdentity, now: i64, look_up: impl FnOnce(u32) -> ProcessState) -> bool {
        let known = !me.boot.is_empty() && !self.process.boot.is_empty();
        let same_boot = self.process.boot == me.boot;
        if known && same_boot && self.process.namespace == me.namespace {
            match look_up(self.process.pid) {
                ProcessState::Running { started } => return started == self.process.started,
                ProcessState::Gone => return false,
                ProcessState::Unknown => {}
            }
        }
        // This machine was started anew since.
        if known && !same_boot && !me.machine.is_empty() && self.process.machine == me.machine {
            return false;
        }
        now.saturating_sub(self.heartbeat) <= SILENCE
    }
}

/// The hosts whose rows are there and who do not live.
pub(crate) fn dead_hosts(connection: &Connection, me: &Host) -> Outcome<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT id FROM hosts")?;
    let ids: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut dead = Vec::new();
    for id in ids {
        if !me.sees_alive(connection, &id)? {
            dead.push(id);
        }
    }
    Ok(dead)
}

/// Removes the rows of hosts that have been dead for long.
pub(crate) fn forget_dead(connection: &Connection, me: &Host) -> Outcome<()> {
    let mut statement = connection.prepare("SELECT id FROM hosts WHERE heartbeat < ?1")?;
    let old: Vec<String> = statement.query_map([now() - MEMORY], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for id in old {
        if !me.sees_alive(connection, &id)? {
            connection.execute("DELETE FROM hosts WHERE id = ?1", [&id])?;
        }
    }
    Ok(())
}

fn now() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_796_063_033_000;

    fn process(boot: &str, namespace: &str, machine: &str) -> ProcessIdentity {
        ProcessIdentity { pid: 7, started: 100, boot: boot.into(), namespace: namespace.into(), machine: machine.into() }
    }

    fn alive(row: ProcessIdentity, silent_for: i64, seen: ProcessState) -> bool {
        HostRow { process: row, heartbeat: NOW - silent_for }.is_alive(&process("boot", "pid:1", "here"), NOW, |_| seen)
    }

    #[test]
    fn on_the_same_boot_the_process_decides() {
        let row = process("boot", "pid:1", "here");
        assert!(alive(row.clone(), 3_600_000, ProcessState::Running { started: 100 }));
        assert!(!alive(row.clone(), 0, ProcessState::Running { started: 101 }));
        assert!(!alive(row.clone(), 0, ProcessState::Gone));
        assert!(alive(row.clone(), SILENCE, ProcessState::Unknown));
        assert!(!alive(row, SILENCE + 1, ProcessState::Unknown));
    }

    #[test]
    fn in_another_container_or_on_another_machine_the_heartbeat_decides() {
        for row in [process("boot", "pid:2", "container"), process("other boot", "pid:1", "there"), process("", "", "")] {
            assert!(alive(row.clone(), SILENCE, ProcessState::Gone));
            assert!(!alive(row, SILENCE + 1, ProcessState::Running { started: 100 }));
        }
    }

    #[test]
    fn a_reboot_ends_all_hosts_of_the_machine() {
        assert!(!alive(process("boot before", "pid:1", "here"), 0, ProcessState::Running { started: 100 }));
    }
}
