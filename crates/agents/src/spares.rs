//! Agents that were started to be asked what they can, kept for the first turn: start-up is the slowest thing a user feels.

use crate::json_rpc::Connection;
use crate::process::Launch;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How many unused agents are kept.
const KEPT: usize = 2;
/// For how long.
const KEPT_FOR: Duration = Duration::from_secs(300);

/// Started and unused agents.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    waiting: Mutex<Vec<Spare>>,
}

#[derive(Debug)]
struct Spare {
    launch: Launch,
    host_id: String,
    connection: Connection,
}

impl Spares {
    /// Keeps an agent. The oldest of too many is ended.
    pub(crate) async fn put(self: &Arc<Self>, launch: Launch, host_id: &str, connection: Connection) {
        let pid = connection.pid();
        let excess = {
            let mut waiting = self.lock();
            waiting.push(Spare { launch, host_id: host_id.to_owned(), connection });
            if waiting.len() > KEPT { Some(waiting.remove(0)) } else { None }
        };
        if let Some(mut spare) = excess {
            spare.connection.end().await;
        }
        tokio::spawn(expire(Arc::downgrade(self), pid));
    }

    /// An agent that was started in just this way.
    pub(crate) fn take(&self, launch: &Launch, host_id: &str) -> Option<Connection> {
        let mut waiting = self.lock();
        let place = waiting.iter().position(|spare| spare.launch == *launch && spare.host_id == host_id)?;
        Some(waiting.remove(place).connection)
    }

    /// Ends all.
    pub(crate) async fn end(&self) {
        let waiting = std::mem::take(&mut *self.lock());
        for mut spare in waiting {
            spare.connection.end().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Spare>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn expire(spares: Weak<Spares>, pid: u32) {
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
