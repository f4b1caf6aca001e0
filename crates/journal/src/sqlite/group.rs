//! One transaction for all that waited: each command succeeds or fails for itself, and none is answered before the commit.

use super::append::{LiveTurns, RowCaps, RowFailure};
use super::failure::{Location, Outcome};
use super::lease::Host;
use super::queue::Command;
use chat_grammar::{ChatError, Result};
use rusqlite::Connection;
use tokio::sync::oneshot;

/// What work on the database is done with.
pub(crate) struct Scope<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) host: &'a Host,
}

/// What a task may touch.
pub(crate) struct Writing<'a> {
    pub(crate) scope: Scope<'a>,
    pub(crate) live: &'a mut LiveTurns,
}

/// A change other than an append; always synced to the disk.
pub(crate) trait Task: Send {
    /// Does the work and keeps what it gave.
    fn run(&mut self, writing: &mut Writing<'_>) -> Outcome<()>;
    /// Answers: with what the work gave, or the reason why nothing of it was kept.
    fn settle(self: Box<Self>, result: Result<()>);
}

/// Work with the channel for its answer.
pub(crate) struct Work<T, F> {
    work: Option<F>,
    value: Option<T>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> Work<T, F>
where
    T: Send,
    F: FnOnce(&mut Writing<'_>) -> Outcome<T> + Send,
{
    pub(crate) fn new(work: F, reply: oneshot::Sender<Result<T>>) -> Self {
        Self { work: Some(work), value: None, reply }
    }
}

impl<T, F> Task for Work<T, F>
where
    T: Send,
    F: FnOnce(&mut Writing<'_>) -> Outcome<T> + Send,
{
    fn run(&mut self, writing: &mut Writing<'_>) -> Outcome<()> {
        if let Some(work) = self.work.take() {
            self.value = Some(work(writing)?);
        }
        Ok(())
    }

    fn settle(self: Box<Self>, result: Result<()>) {
        let Self { value, reply, .. } = *self;
        let value = result.and_then(|()| value.ok_or_else(|| ChatError::runtime("a task was answered before it ran")));
        // Nobody may be waiting any more.
        let _ = reply.send(value);
    }
}

/// How a group is written.
pub(crate) struct Group<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) location: &'a Location,
    pub(crate) host: &'a Host,
    pub(crate) live: &'a mut LiveTurns,
    pub(crate) caps: RowCaps,
}

struct Slot {
    command: Command,
    refusal: Option<ChatError>,
}

impl Group<'_> {
    /// Commits the commands and answers them in order. Where the transaction as a whole fails, all get its failure, which is
    /// returned too.
    pub(crate) fn commit(mut self, commands: Vec<Command>) -> Outcome<()> {
        let mut slots: Vec<Slot> = commands.into_iter().map(|command| Slot { command, refusal: None }).collect();
        let outcome = self.transaction(&mut slots);
        let result = match &outcome {
            Ok(()) => Ok(()),
            Err(failure) => {
                roll_back(self.connection);
                self.live.clear();
                Err(self.location.explain(failure))
            }
        };
        for Slot { command, refusal } in slots {
            command.settle(refusal.map_or_else(|| result.clone(), Err));
        }
        outcome
    }

    fn transaction(&mut self, slots: &mut [Slot]) -> Outcome<()> {
        run(self.connection, "BEGIN IMMEDIATE")?;
        for index in 0..slots.len() {
            let mut failures = Vec::new();
            if let Some(slot) = slots.get_mut(index) {
                match &mut slot.command {
                    Command::Append(append) => {
                        let scope = Scope { connection: self.connection, host: self.host };
                        if let Err(failure) = self.live.accept(&scope, self.caps, index, append, &mut failures) {
                            failures.push(RowFailure { commands: vec![index], failure });
                        }
                    }
                    Command::Task(task) => {
                        // It must see the updates that were accepted before it.
                        failures = self.live.flush(&Scope { connection: self.connection, host: self.host });
                        if let Err(failure) = self.task(task.as_mut()) {
                            failures.push(RowFailure { commands: vec![index], failure });
                        }
                    }
                }
            }
            self.refuse(slots, failures)?;
        }
        let failures = self.live.flush(&Scope { connection: self.connection, host: self.host });
        self.refuse(slots, failures)?;
        run(self.connection, "COMMIT")
    }

    fn task(&mut self, task: &mut dyn Task) -> Outcome<()> {
        run(self.connection, "SAVEPOINT task")?;
        let scope = Scope { connection: self.connection, host: self.host };
        let outcome = task.run(&mut Writing { scope, live: self.live });
        if outcome.is_err() && !self.connection.is_autocommit() {
            run(self.connection, "ROLLBACK TO task")?;
        }
        if !self.connection.is_autocommit() {
            run(self.connection, "RELEASE task")?;
        }
        outcome
    }

    // Notes who failed. Some failures, such as a full disk, make SQLite give up the whole transaction: then all have failed.
    fn refuse(&self, slots: &mut [Slot], failures: Vec<RowFailure>) -> Outcome<()> {
        for RowFailure { commands, failure } in failures {
            if self.connection.is_autocommit() {
                return Err(failure);
            }
            let error = self.location.explain(&failure);
            for command in commands {
                if let Some(slot) = slots.get_mut(command) {
                    slot.refusal = Some(error.clone());
                }
            }
        }
        Ok(())
    }
}

/// Ends a transaction that is still open, so that the next one can begin.
pub(crate) fn roll_back(connection: &Connection) {
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::error!(%error, "a failed transaction could not be rolled back");
    }
}

fn run(connection: &Connection, statement: &str) -> Outcome<()> {
    connection.prepare_cached(statement)?.execute([])?;
    Ok(())
}
