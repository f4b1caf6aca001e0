//! The committed end of a running turn: a bounded ring of chunks that subscribers read, and the turn's end.

use crate::open_requests::OpenRequests;
use chat_grammar::ChatError;
use chat_grammar::records::TurnRecord;
use chat_journal::Chunk;
use once_cell::sync::OnceCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// How much of a turn's committed text stays in memory, in bytes. What is older is read from the journal.
const RING_BYTES: usize = 16 * 1024 * 1024;

/// How a turn ended for those who watch it: with its sealed record, or with the error that kept it from being sealed.
pub(crate) type TurnEnd = Result<Arc<TurnRecord>, ChatError>;

/// What a subscriber finds past its cursor.
pub(crate) enum TailRead {
    /// Committed chunks, the first of which holds the update after the cursor.
    Chunks(Vec<Arc<Chunk>>),
    /// The ring begins later: the journal has what lies between.
    Older,
    /// Nothing yet.
    CaughtUp,
    /// Nothing more.
    Ended(TurnEnd),
}

/// How far the committed turn is ahead of a subscriber.
pub(crate) struct Lag {
    pub(crate) updates: u64,
    pub(crate) bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Tail {
    state: Mutex<TailState>,
    /// Set once, under the state's lock: no chunk comes after it.
    end: OnceCell<TurnEnd>,
    changed: Notify,
    requests: OpenRequests,
}

#[derive(Debug, Default)]
struct TailState {
    chunks: VecDeque<Arc<Chunk>>,
    ring_bytes: usize,
    committed: u64,
    committed_bytes: u64,
}

impl Tail {
    /// The requests of the turn that wait for an answer, also those that are not committed yet.
    pub(crate) fn requests(&self) -> &OpenRequests {
        &self.requests
    }

    /// The highest committed sequence.
    pub(crate) fn committed(&self) -> u64 {
        self.lock().committed
    }

    /// Adds a committed chunk and wakes the subscribers.
    pub(crate) fn push(&self, chunk: Arc<Chunk>) {
        let mut state = self.lock();
        state.committed = chunk.last_sequence();
        state.committed_bytes += chunk.text().len() as u64;
        state.ring_bytes += chunk.text().len();
        state.chunks.push_back(chunk);
        while state.ring_bytes > RING_BYTES && state.chunks.len() > 1 {
            if let Some(oldest) = state.chunks.pop_front() {
                state.ring_bytes -= oldest.text().len();
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Ends the turn. Only the first end counts.
    pub(crate) fn end(&self, end: TurnEnd) {
        let state = self.lock();
        let _ = self.end.set(end);
        drop(state);
        self.changed.notify_waiters();
    }

    /// The turn's end, where it has one.
    pub(crate) fn ended(&self) -> Option<TurnEnd> {
        self.end.get().cloned()
    }

    /// Waits for the turn's end.
    pub(crate) async fn wait_for_end(&self) -> TurnEnd {
        loop {
            let changed = self.changed();
            if let Some(end) = self.ended() {
                return end;
            }
            changed.await;
        }
    }

    /// Resolves at the next change after this call, also where it is awaited later.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// The chunks past a sequence, at most about so many updates and bytes, but never none where there is one.
    pub(crate) fn read(&self, after: u64, max_updates: usize, max_bytes: usize) -> TailRead {
        let state = self.lock();
        if after >= state.committed {
            return match self.end.get() {
                Some(end) => TailRead::Ended(end.clone()),
                None => TailRead::CaughtUp,
            };
        }
        match state.chunks.front() {
            Some(oldest) if oldest.first_sequence() <= after + 1 => {}
            _ => return TailRead::Older,
        }
        let start = state.chunks.partition_point(|chunk| chunk.last_sequence() <= after);
        let (mut updates, mut bytes) = (0, 0);
        let chunks = state.chunks.range(start..).take_while(|chunk| {
            let fits = updates == 0 || (updates + chunk.len() <= max_updates && bytes + chunk.text().len() <= max_bytes);
            updates += chunk.len();
            bytes += chunk.text().len();
            fits
        });
        TailRead::Chunks(chunks.cloned().collect())
    }

    /// How far a subscriber that took so many updates and bytes is behind.
    pub(crate) fn lag(&self, sequence: u64, bytes: u64) -> Lag {
        let state = self.lock();
        Lag { updates: state.committed.saturating_sub(sequence), bytes: state.committed_bytes.saturating_sub(bytes) }
    }

    /// The size of all that is committed, in bytes.
    pub(crate) fn committed_bytes(&self) -> u64 {
        self.lock().committed_bytes
    }

    // A panic elsewhere leaves the ring as whole as it was: each change is made under one lock.
    fn lock(&self) -> MutexGuard<'_, TailState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
