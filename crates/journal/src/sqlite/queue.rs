//! What waits for the writer: one queue for all turns, in the order of the calls.

use super::append::Append;
use super::group::Task;
use chat_grammar::ChatError;
use rusqlite::Connection;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Callers bound what they have in flight; beyond this a stalled disk would become a memory leak, and appends are refused.
const MAX_WAITING_BYTES: usize = if cfg!(test) { 1024 * 1024 } else { 256 * 1024 * 1024 };

/// What one transaction takes at most, in bytes, unless a single command is larger.
const MAX_GROUP_BYTES: usize = 4 * 1024 * 1024;

/// What is done on the writer's connection outside of any transaction of the writer.
pub(crate) type Job = Box<dyn FnOnce(Result<&mut Connection, ChatError>) + Send>;

/// What a transaction is made of.
pub(crate) enum Command {
    Append(Append),
    Task(Box<dyn Task>),
}

pub(crate) enum Taken {
    Group(Vec<Command>),
    Job(Job),
    /// Nothing came before the deadline.
    Idle,
    /// Nothing will come any more.
    Ended,
}

enum Waiting {
    Command(Command),
    Job(Job),
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    writer_sleeps: bool,
    /// Why nothing more is accepted.
    ended: Option<ChatError>,
    /// Everything was answered, and nobody takes anything any more.
    deserted: bool,
}

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    wake: Condvar,
}

impl Command {
    // In bytes; what the command needs beside its text is guessed.
    fn weight(&self) -> usize {
        match self {
            Self::Append(append) => append.bytes() + 256,
            Self::Task(_) => 1024,
        }
    }

    pub(crate) fn settle(self, result: Result<(), ChatError>) {
        match self {
            Self::Append(append) => append.settle(result),
            Self::Task(task) => task.settle(result),
        }
    }
}

impl Waiting {
    fn refuse(self, error: ChatError) {
        match self {
            Self::Command(command) => command.settle(Err(error)),
            Self::Job(job) => job(Err(error)),
        }
    }
}

impl Queue {
    /// Hands a command to the writer, or refuses it. Never waits.
    pub(crate) fn push(&self, command: Command) {
        let mut state = self.lock();
        let refusal = match (&state.ended, &command) {
            (Some(error), _) => Some(error.clone()),
            (None, Command::Append(_)) if state.bytes + command.weight() > MAX_WAITING_BYTES => {
                Some(ChatError::store("the journal's queue is full: the disk does not keep up, try again later"))
            }
            (None, _) => None,
        };
        let command = match (command, refusal) {
            // It is answered in its turn, since the batches of a turn are answered in order.
            (Command::Append(append), Some(error)) if !state.deserted => Command::Append(append.refused(error)),
            (command, Some(error)) => {
                // The answer may run code of the caller.
                drop(state);
                return command.settle(Err(error));
            }
            (command, None) => command,
        };
        state.bytes += command.weight();
        self.insert(state, Waiting::Command(command));
    }

    /// Hands work outside of transactions to the writer, or refuses it. Never waits.
    pub(crate) fn push_job(&self, job: Job) {
        let state = self.lock();
        match state.ended.clone() {
            Some(error) => {
                drop(state);
                job(Err(error));
            }
            None => self.insert(state, Waiting::Job(job)),
        }
    }

    fn insert(&self, mut state: MutexGuard<'_, State>, waiting: Waiting) {
        state.waiting.push_back(waiting);
        if state.writer_sleeps {
            self.wake.notify_one();
        }
    }

    /// What waits, up to the size of a transaction; waits for it until the deadline.
    pub(crate) fn take(&self, deadline: Instant) -> Taken {
        let mut state = self.lock();
        while state.waiting.is_empty() {
            if state.ended.is_some() {
                state.deserted = true;
                return Taken::Ended;
            }
            let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                return Taken::Idle;
            };
            state.writer_sleeps = true;
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.writer_sleeps = false;
        }
        let mut group = Vec::new();
        let mut bytes = 0;
        while let Some(waiting) = state.waiting.pop_front() {
            match waiting {
                Waiting::Command(command) if group.is_empty() || bytes + command.weight() <= MAX_GROUP_BYTES => {
                    bytes += command.weight();
                    group.push(command);
                }
                Waiting::Job(job) if group.is_empty() => return Taken::Job(job),
                later => {
                    state.waiting.push_front(later);
                    break;
                }
            }
        }
        state.bytes = state.bytes.saturating_sub(bytes);
        Taken::Group(group)
    }

    /// Accepts nothing more; what waits is still done. A later reason replaces an earlier one.
    pub(crate) fn end(&self, reason: ChatError) {
        self.lock().ended = Some(reason);
        self.wake.notify_one();
    }

    /// Accepts nothing more (the reason stays where there is one), and refuses what waits.
    pub(crate) fn break_off(&self, reason: &ChatError) {
        loop {
            let mut state = self.lock();
            state.ended.get_or_insert_with(|| reason.clone());
            let waiting = std::mem::take(&mut state.waiting);
            state.bytes = 0;
            state.deserted = waiting.is_empty();
            if state.deserted {
                return;
            }
            drop(state);
            waiting.into_iter().for_each(|waiting| waiting.refuse(reason.clone()));
        }
    }

    /// Why nothing more is accepted, if so.
    pub(crate) fn ended(&self) -> Option<ChatError> {
        self.lock().ended.clone()
    }

    // No code of others runs under the lock, so that what it guards is whole even after a panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
