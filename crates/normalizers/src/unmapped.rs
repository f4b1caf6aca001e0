//! Messages that no rule knew, counted by kind.

use chat_grammar::event::{ChatEvent, EventKind};
use std::collections::BTreeMap;

/// How many kinds are told apart. A kind comes from the agent: without a limit, it could fill the memory.
const KINDS: usize = 256;
/// What further kinds are counted as.
const OTHER: &str = "other";

/// The counts of one session.
#[derive(Debug, Default)]
pub(crate) struct Unmapped {
    kinds: BTreeMap<String, u64>,
}

impl Unmapped {
    /// Counts a message and tells of it.
    pub(crate) fn event(&mut self, kind: &str, out: &mut Vec<ChatEvent>) {
        self.count(kind);
        out.push(EventKind::Unmapped { kind: kind.to_owned() }.into());
    }

    /// Counts a message of which something else tells.
    pub(crate) fn count(&mut self, kind: &str) {
        let counted = if self.kinds.len() < KINDS || self.kinds.contains_key(kind) { kind } else { OTHER };
        match self.kinds.get_mut(counted) {
            Some(count) => *count = count.saturating_add(1),
            None => {
                self.kinds.insert(counted.to_owned(), 1);
            }
        }
    }

    pub(crate) fn counts(&self) -> &BTreeMap<String, u64> {
        &self.kinds
    }
}
