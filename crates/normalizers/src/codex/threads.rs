//! Which thread a message belongs to: the conversation's own, a sub-agent's, or one that is none of ours.

use super::calls::Calls;
use super::compaction::Compaction;
use super::messages::Messages;
use super::tier::Tier;
use super::usage::Ledger;
use std::collections::HashMap;

/// What is known of one thread.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub id: String,
    /// A sub-agent's thread: the tool call that made it.
    pub parent: Option<String>,
    /// The turn that runs.
    pub turn: Option<RunningTurn>,
    /// The turn that ended last, so that its end counts once.
    pub ended: Option<String>,
    pub model: Option<String>,
    /// That of the last call. A turn that begins with another model may first let this one compact what it said (0.171.0).
    pub last_model: Option<String>,
    pub provider: Option<String>,
    pub tier: Tier,
    pub messages: Messages,
    pub calls: Calls,
    pub usage: Ledger,
    pub compaction: Option<Compaction>,
    /// The host asked for the compaction that comes next.
    pub compaction_asked: bool,
    /// The call that stands for a review that goes on.
    pub review: Option<String>,
}

/// A turn from its start to its end.
#[derive(Debug, Default)]
pub(super) struct RunningTurn {
    pub id: String,
    /// An error was reported that the turn fails with.
    pub failed: bool,
    pub retries: u64,
}

impl Thread {
    /// The turn that runs; where its start was missed, it begins now.
    pub(super) fn running(&mut self) -> &mut RunningTurn {
        self.turn.get_or_insert_default()
    }
}

/// All threads of the process.
#[derive(Debug, Default)]
pub(super) struct Threads {
    by_id: HashMap<String, Thread>,
    /// The threads that the host opened in this session; the last one is the conversation's.
    own: Vec<String>,
    /// What the host asked for, until a thread says what it runs with.
    model: Option<String>,
}

impl Threads {
    pub(super) fn new(model: Option<String>) -> Self {
        Self { model, ..Self::default() }
    }

    /// The host works with this thread.
    pub(super) fn open(&mut self, id: &str) -> &mut Thread {
        if self.own.last().is_none_or(|last| last != id) {
            self.own.retain(|own| own != id);
            self.own.push(id.to_owned());
        }
        let model = self.model.clone();
        let thread = self.thread(id);
        thread.model = thread.model.take().or(model);
        thread
    }

    /// A sub-agent's thread, made by a tool call. `None` where it is known already: the first call that names it made it.
    pub(super) fn adopt(&mut self, id: &str, call: &str) -> Option<&mut Thread> {
        if self.own.iter().any(|own| own == id) || self.is_child(id) {
            return None;
        }
        let thread = self.thread(id);
        thread.parent = Some(call.to_owned());
        Some(thread)
    }

    /// The thread that a message names; without a name it is the conversation's. `None` for a thread that is none of ours.
    pub(super) fn find(&mut self, id: Option<&str>) -> Option<&mut Thread> {
        match (id, self.own.last()) {
            (Some(id), None) if !self.is_child(id) => Some(self.open(id)),
            (None, None) => Some(self.open("")),
            (Some(id), _) => {
                let ours = self.own.iter().any(|own| own == id) || self.is_child(id);
                if ours { self.by_id.get_mut(id) } else { None }
            }
            (None, Some(own)) => self.by_id.get_mut(own),
        }
    }

    /// True for a thread that is neither the host's nor a known sub-agent's.
    pub(super) fn is_foreign(&self, id: &str) -> bool {
        !self.own.is_empty() && !self.own.iter().any(|own| own == id) && !self.is_child(id)
    }

    /// The thread in which a turn runs.
    pub(super) fn running_turn(&self, turn_id: &str) -> Option<&Thread> {
        self.by_id.values().find(|thread| thread.turn.as_ref().is_some_and(|turn| turn.id == turn_id))
    }

    /// Every thread, in an order that does not depend on hashing.
    pub(super) fn all(&mut self) -> Vec<&mut Thread> {
        let mut threads: Vec<&mut Thread> = self.by_id.values_mut().collect();
        threads.sort_by(|left, right| left.id.cmp(&right.id));
        threads
    }

    fn is_child(&self, id: &str) -> bool {
        self.by_id.get(id).is_some_and(|thread| thread.parent.is_some())
    }

    fn thread(&mut self, id: &str) -> &mut Thread {
        self.by_id.entry(id.to_owned()).or_insert_with(|| Thread { id: id.to_owned(), ..Thread::default() })
    }
}
