//! Threads that read beside the writer. A read that starts after an answer of the writer sees what was answered.

use super::failure::Location;
use super::open::open_reader;
use super::queue::Job;
use chat_grammar::ChatError;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Enough that a backup or a long replay leaves others to read; each costs a thread that sleeps.
const THREADS: usize = 3;

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    ended: Option<ChatError>,
}

#[derive(Default)]
pub(crate) struct Readers {
    state: Mutex<State>,
    wake: Condvar,
}

impl Readers {
    /// Starts the threads; each opens its connection when it is first needed.
    pub(crate) fn start(self: &Arc<Self>, location: &Location, path: &Path) -> std::io::Result<Vec<JoinHandle<()>>> {
        let start = |_| {
            let (readers, location, path) = (self.clone(), location.clone(), path.to_owned());
            thread::Builder::new().name("journal-reader".to_owned()).spawn(move || readers.serve(&location, &path))
        };
        (0..THREADS).map(start).collect()
    }

    /// Hands a job to the next free thread.
    pub(crate) fn push(&self, job: Job) {
        let mut state = self.lock();
        if let Some(error) = state.ended.clone() {
            drop(state);
            return job(Err(error));
        }
        state.jobs.push_back(job);
        self.wake.notify_one();
    }

    /// Accepts nothing more; what waits is still done.
    pub(crate) fn end(&self, reason: ChatError) {
        self.lock().ended.get_or_insert(reason);
        self.wake.notify_all();
    }

    fn serve(&self, location: &Location, path: &Path) {
        let mut connection = None;
        while let Some(job) = self.next() {
            if connection.is_none() {
                match open_reader(location, path) {
                    Ok(opened) => connection = Some(opened),
                    Err(error) => {
                        job(Err(error));
                        continue;
                    }
                }
            }
            // Whoever waits for the job learns of a panic from its dropped channel.
            let ran = catch_unwind(AssertUnwindSafe(|| {
                if let Some(connection) = connection.as_mut() {
                    job(Ok(connection));
                }
            }));
            if ran.is_err() {
                connection = None;
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.ended.is_some() {
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
