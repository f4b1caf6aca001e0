//! A gate that opens once, for threads and tasks alike.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

pub(crate) struct Latch {
    tasks: watch::Sender<bool>,
    threads: Mutex<bool>,
    wake: Condvar,
}

impl Latch {
    pub(crate) fn new() -> Self {
        Self { tasks: watch::Sender::new(false), threads: Mutex::new(false), wake: Condvar::new() }
    }

    pub(crate) fn open(&self) {
        *self.threads.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wake.notify_all();
        self.tasks.send_replace(true);
    }

    /// Waits until it opens.
    pub(crate) async fn passed(&self) {
        // The sender lives as long as `self`.
        let _ = self.tasks.subscribe().wait_for(|open| *open).await;
    }

    /// Blocks until it opens, or for so long. Whether it is open.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        let closed = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let (open, _) = self.wake.wait_timeout_while(closed, limit, |open| !*open).unwrap_or_else(PoisonError::into_inner);
        *open
    }
}
