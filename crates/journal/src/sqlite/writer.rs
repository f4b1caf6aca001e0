//! The thread that owns the connection that writes: it takes what waits, commits it, says now and then that the host lives,
//! and in the end leaves everything in order.

use super::append::{LiveTurns, RowCaps};
use super::compact::Compaction;
use super::failure::{Location, Outcome};
use super::group::{Group, roll_back};
use super::latch::Latch;
use super::lease::{HEARTBEAT, Host, forget_dead};
use super::open::open_writer;
use super::queue::{Command, Queue, Taken};
use super::readers::Readers;
use super::{BatchPolicy, Durability};
use chat_grammar::{ChatError, Result};
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long the end goes on making turns small, and how long it waits for others to write the log back.
const LAST_WAIT: Duration = Duration::from_millis(200);

/// What the store and its threads share.
pub(crate) struct Shared {
    pub(crate) location: Location,
    pub(crate) host: Host,
    pub(crate) queue: Queue,
    pub(crate) readers: Arc<Readers>,
    /// How opening went; `None` until it has ended.
    pub(crate) opened: watch::Sender<Option<Result<()>>>,
    /// Open when the writer has left.
    pub(crate) left: Latch,
}

/// How the writer commits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) durability: Durability,
    pub(crate) policy: BatchPolicy,
}

impl Settings {
    fn row_caps(self) -> RowCaps {
        let BatchPolicy { max_updates, max_bytes, max_delay_ms: _ } = self.policy;
        RowCaps { updates: max_updates, bytes: max_bytes }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Synchronous {
    /// A commit survives the end of the process.
    Normal,
    /// A commit survives a power failure.
    Full,
}

enum Next {
    Step,
    Leave,
}

struct Writer<'a> {
    shared: &'a Shared,
    settings: Settings,
    connection: Connection,
    live: LiveTurns,
    compaction: Compaction,
    synchronous: Option<Synchronous>,
    next_heartbeat: Instant,
}

/// The whole life of the writer's thread.
pub(crate) fn run(shared: &Shared, settings: Settings) {
    // In any case nobody is left waiting: also when this thread panics.
    let _last = Departure(shared);
    match Writer::open(shared, settings) {
        Ok((writer, readers)) => {
            shared.opened.send_replace(Some(Ok(())));
            writer.serve(readers);
        }
        Err(error) => {
            shared.queue.break_off(&error);
            shared.readers.end(error.clone());
            shared.opened.send_replace(Some(Err(error)));
        }
    }
}

struct Departure<'a>(&'a Shared);

impl Drop for Departure<'_> {
    fn drop(&mut self) {
        let error = ChatError::runtime("the journal's writer has stopped");
        self.0.queue.break_off(&error);
        self.0.readers.end(error.clone());
        self.0.opened.send_if_modified(|opened| opened.is_none() && opened.replace(Err(error)).is_none());
        self.0.left.open();
    }
}

impl<'a> Writer<'a> {
    fn open(shared: &'a Shared, settings: Settings) -> Result<(Self, Vec<JoinHandle<()>>)> {
        let location = &shared.location;
        let connection = open_writer(location)?;
        let register = || -> Outcome<()> {
            forget_dead(&connection, &shared.host)?;
            shared.host.beat(&connection)
        };
        register().map_err(|failure| location.explain(&failure))?;
        let readers = match location {
            Location::Memory => Vec::new(),
            Location::File(path) => shared
                .readers
                .start(location, path)
                .map_err(|error| location.error(format_args!("its readers cannot start: {error}")))?,
        };
        let next_heartbeat = Instant::now() + HEARTBEAT;
        let writer = Self {
            shared,
            settings,
            connection,
            live: LiveTurns::new(),
            compaction: Compaction::new(),
            synchronous: None,
            next_heartbeat,
        };
        Ok((writer, readers))
    }

    fn serve(mut self, readers: Vec<JoinHandle<()>>) {
        loop {
            // What is not answered because of a panic is answered when it is dropped.
            match catch_unwind(AssertUnwindSafe(|| self.step())) {
                Ok(Next::Step) => {}
                Ok(Next::Leave) => break,
                Err(_) => {
                    tracing::error!("a transaction of the journal panicked");
                    roll_back(&self.connection);
                    self.live.clear();
                }
            }
        }
        self.leave(readers);
    }

    fn step(&mut self) -> Next {
        if Instant::now() >= self.next_heartbeat {
            self.beat();
        }
        let until = if self.compaction.is_done() { self.next_heartbeat } else { Instant::now() };
        match self.shared.queue.take(until) {
            Taken::Group(commands) => self.commit(commands),
            Taken::Job(job) => job(Ok(&mut self.connection)),
            Taken::Idle => self.compact(),
            Taken::Ended => return Next::Leave,
        }
        Next::Step
    }

    fn commit(&mut self, commands: Vec<Command>) {
        let full =
            self.settings.durability == Durability::Power || commands.iter().any(|command| matches!(command, Command::Task(_)));
        self.synchronize(if full { Synchronous::Full } else { Synchronous::Normal });
        let group = Group {
            connection: &self.connection,
            location: &self.shared.location,
            host: &self.shared.host,
            live: &mut self.live,
            caps: self.settings.row_caps(),
        };
        match group.commit(commands) {
            Ok(()) => self.compaction.add(self.live.take_sealed()),
            // The end must not wait once more for every group.
            Err(failure) if failure.is_busy() && self.shared.queue.ended().is_some() => {
                self.shared.queue.break_off(&self.shared.location.explain(&failure));
            }
            Err(_) => {}
        }
    }

    fn compact(&mut self) {
        self.synchronize(Synchronous::Normal);
        if let Err(failure) = self.compaction.step(&self.connection, self.settings.row_caps()) {
            let error = self.shared.location.explain(&failure);
            tracing::warn!(%error, "a sealed turn could not be made small");
        }
    }

    // It cannot change inside a transaction.
    fn synchronize(&mut self, wanted: Synchronous) {
        if self.synchronous == Some(wanted) {
            return;
        }
        let value = match wanted {
            Synchronous::Normal => "NORMAL",
            Synchronous::Full => "FULL",
        };
        match self.connection.pragma_update(None, "synchronous", value) {
            Ok(()) => self.synchronous = Some(wanted),
            Err(error) => tracing::error!(%error, "synchronous could not be set"),
        }
    }

    fn beat(&mut self) {
        self.next_heartbeat = Instant::now() + HEARTBEAT;
        self.synchronize(Synchronous::Normal);
        if let Err(failure) = self.shared.host.beat(&self.connection) {
            let error = self.shared.location.explain(&failure);
            tracing::warn!(%error, "the host's heartbeat could not be written");
        }
    }

    // All that was accepted is committed. What follows is tidiness: a host that skips it is found dead by the next one.
    fn leave(mut self, readers: Vec<JoinHandle<()>>) {
        let reason = self.shared.queue.ended().unwrap_or_else(|| ChatError::store("the store is closed"));
        self.shared.readers.end(reason);
        for reader in readers {
            // A panic of a reader was caught and told where it happened.
            let _ = reader.join();
        }
        let until = Instant::now() + LAST_WAIT;
        while !self.compaction.is_done() && Instant::now() < until {
            self.compact();
        }
        let tidy = || -> Outcome<()> {
            self.shared.host.leave(&self.connection)?;
            self.connection.busy_timeout(LAST_WAIT)?;
            Ok(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
        };
        if let Err(failure) = tidy() {
            let error = self.shared.location.explain(&failure);
            tracing::debug!(%error, "the journal was closed without being tidied up");
        }
    }
}
