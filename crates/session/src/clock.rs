//! The host's clock: this machine's, or one that the host gave.

use futures::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Asks for the time: milliseconds since 1970, or `None` where the host cannot answer any more.
pub type AskTime = Arc<dyn Fn() -> BoxFuture<'static, Option<i64>> + Send + Sync>;

/// Where records and updates take their times from.
#[derive(Clone)]
pub enum Clock {
    System,
    /// A clock of the host; asked once for all messages that were read together.
    Host(AskTime),
}

impl Clock {
    /// Milliseconds since 1970.
    pub async fn now(&self) -> i64 {
        match self {
            Self::System => system_time(),
            Self::Host(ask) => ask().await.unwrap_or_else(system_time),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::System => "Clock::System",
            Self::Host(_) => "Clock::Host",
        })
    }
}

fn system_time() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}
