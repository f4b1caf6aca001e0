//! A reader of one turn: past its cursor from the journal, then live, with a bound on how far it may fall behind.

use crate::batch::Batch;
use crate::core::Core;
use crate::tail::{Tail, TailRead};
use chat_grammar::records::TurnStatus;
use chat_grammar::{ChatError, ErrorCode, Result};
use chat_journal::Chunk;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How much one batch holds at most: parsing it must not hold up the event loop for long.
const BATCH_UPDATES: usize = 1024;
const BATCH_BYTES: usize = 512 * 1024;

/// A reader of one turn. Dropping it changes nothing for the turn or for other readers.
#[derive(Debug)]
pub struct Subscription {
    core: Arc<Core>,
    conversation_id: String,
    turn_id: String,
    cursor: u64,
    source: Option<Source>,
}

#[derive(Debug)]
enum Source {
    /// The turn runs here. `caught_up`: the reader was at the tail once, and took so many bytes of the turn since its start.
    Live { tail: Arc<Tail>, caught_up: Option<u64> },
    /// The turn is over or runs in another process: the journal is all there is.
    Journal,
}

impl Subscription {
    pub(crate) fn new(core: Arc<Core>, conversation_id: String, turn_id: String, after_sequence: u64) -> Self {
        core.subscriptions.fetch_add(1, Ordering::Relaxed);
        Self { core, conversation_id, turn_id, cursor: after_sequence, source: None }
    }

    /// The next updates, as many as are there; waits where there are none; `None` after the last one.
    ///
    /// # Errors
    /// `TURN_NOT_FOUND`, `SUBSCRIBER_BACKPRESSURE`, `STORE_ERROR`, `CHAT_CLOSED`.
    pub async fn next_batch(&mut self) -> Result<Option<Batch>> {
        if self.source.is_none() {
            self.source = Some(match self.core.tail(&self.conversation_id, &self.turn_id) {
                Some(tail) => Source::Live { tail, caught_up: None },
                None => Source::Journal,
            });
        }
        let chunks = match &self.source {
            Some(Source::Live { tail, .. }) => self.next_live(Arc::clone(tail)).await?,
            _ => self.next_stored().await?,
        };
        let Some(last) = chunks.last() else { return Ok(None) };
        let batch = Batch::new(&chunks, self.cursor);
        self.cursor = last.last_sequence();
        Ok(Some(batch))
    }

    async fn next_live(&mut self, tail: Arc<Tail>) -> Result<Vec<Arc<Chunk>>> {
        self.check_lag(&tail)?;
        loop {
            let changed = tail.changed();
            let chunks = match tail.read(self.cursor, BATCH_UPDATES, BATCH_BYTES) {
                TailRead::Chunks(chunks) => chunks,
                TailRead::Older => self.read_journal().await?,
                TailRead::Ended(end) => return end.map(|_| Vec::new()),
                TailRead::CaughtUp => {
                    if let Some(Source::Live { caught_up, .. }) = &mut self.source {
                        caught_up.get_or_insert_with(|| tail.committed_bytes());
                    }
                    changed.await;
                    continue;
                }
            };
            if let Some(Source::Live { caught_up: Some(bytes), .. }) = &mut self.source {
                *bytes += chunks.iter().map(|chunk| chunk.text().len() as u64).sum::<u64>();
            }
            return Ok(chunks);
        }
    }

    fn check_lag(&self, tail: &Tail) -> Result<()> {
        let Some(Source::Live { caught_up: Some(bytes), .. }) = &self.source else { return Ok(()) };
        let (lag, limits) = (tail.lag(self.cursor, *bytes), self.core.options.subscriber_buffer);
        if lag.updates <= limits.max_updates && lag.bytes <= limits.max_bytes {
            return Ok(());
        }
        let message = format!(
            "this reader of turn {:?} is {} updates ({} bytes) behind, more than subscriberBuffer allows ({} updates, {} bytes): \
             reconnect after sequence {}",
            self.turn_id, lag.updates, lag.bytes, limits.max_updates, limits.max_bytes, self.cursor
        );
        Err(ChatError::new(ErrorCode::SubscriberBackpressure, message))
    }

    async fn next_stored(&self) -> Result<Vec<Arc<Chunk>>> {
        let mut look = 0;
        loop {
            self.core.check_open()?;
            // Asked before the journal is read: what is sealed by then has all its updates there.
            let turn = self.core.store.get_turn(self.core.owner(), &self.conversation_id, &self.turn_id).await;
            let turn = self.core.unless_closed(turn)?;
            let turn = turn.ok_or_else(|| ChatError::turn_not_found(&self.conversation_id, &self.turn_id))?;
            if self.cursor < turn.last_sequence {
                return self.read_journal().await;
            }
            if turn.status != TurnStatus::Running {
                return Ok(Vec::new());
            }
            look += 1;
            self.core.await_foreign_turn(look).await;
        }
    }

    async fn read_journal(&self) -> Result<Vec<Arc<Chunk>>> {
        let (core, owner) = (&self.core, self.core.owner());
        let chunks =
            core.store.read_updates(owner, &self.conversation_id, &self.turn_id, self.cursor, BATCH_UPDATES, BATCH_BYTES).await;
        let chunks = core.unless_closed(chunks)?;
        if chunks.is_empty() {
            let message = format!("the journal of turn {:?} has nothing past {}", self.turn_id, self.cursor);
            return Err(ChatError::store(message));
        }
        Ok(chunks.into_iter().map(Arc::new).collect())
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.core.subscriptions.fetch_sub(1, Ordering::Relaxed);
    }
}
