//! Agents that were started to be asked what they can, kept for the first turn: start-up is the slowest thing a user feels.

use crate::json_rpc::Connection;
use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How many unused agents are kept.
const KEPT: usize = 2;
/// For how long.
const KEPT_FOR: Duration = Duration::from_secs(300);

/// A started agent that can be ended.
pub(crate) trait Started: Debug + Send + 'static {
    /// The id of its process.
    fn pid(&self) -> u32;

    /// Ends it and all that it started.
    fn end(&mut self) -> impl Future<Output = ()> + Send;
}

impl Started for Connection {
    fn pid(&self) -> u32 {
        (**self).pid()
    }

    async fn end(&mut self) {
        (**self).end().await;
    }
}

/// Started and unused agents, each under what decides whether it serves.
#[derive(Debug)]
pub(crate) struct Spares<K, C> {
    waiting: Mutex<Vec<Spare<K, C>>>,
}

#[derive(Debug)]
struct Spare<K, C> {
    key: K,
    host_id: String,
    connection: C,
}

impl<K, C> Default for Spares<K, C> {
    fn default() -> Self {
        Self { waiting: Mutex::default() }
    }
}

impl<K: PartialEq + Debug + Send + 'static, C: Started> Spares<K, C> {
    /// Keeps an agent. The oldest of too many is ended.
    pub(crate) async fn put(self: &Arc<Self>, key: K, host_id: &str, connection: C) {
        let pid = connection.pid();
        let excess = {
            let mut waiting = self.lock();
            waiting.push(Spare { key, host_id: host_id.to_owned(), connection });
            if waiting.len() > KEPT { Some(waiting.remove(0)) } else { None }
        };
        if let Some(mut spare) = excess {
            spare.connection.end().await;
        }
        tokio::spawn(expire(Arc::downgrade(self), pid));
    }

    /// An agent that was put under just this key.
    pub(crate) fn take(&self, key: &K, host_id: &str) -> Option<C> {
        let mut waiting = self.lock();
        let place = waiting.iter().position(|spare| spare.key == *key && spare.host_id == host_id)?;
        Some(waiting.remove(place).connection)
    }

    /// Ends all.
    pub(crate) async fn end(&self) {
        let waiting = std::mem::take(&mut *self.lock());
        for mut spare in waiting {
            spare.connection.end().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Spare<K, C>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn expire<K: PartialEq + Debug + Send + 'static, C: Started>(spares: Weak<Spares<K, C>>, pid: u32) {
    tokio::time::sleep(KEPT_FOR).await;
    let Some(spares) = spares.upgrade() else { return };
    let expired = {
        let mut waiting = spares.lock();
        let place = waiting.iter().position(|spare| spare.connection.pid() == pid);
        place.map(|place| waiting.remove(place))
    };
    if let Some(mut spare) = expired {
        spare.connection.end().await;
    }
}
