//! Sessions: the conversation's, and those of its sub-agents. One event stream carries all sessions of a directory.

use super::compaction::Compaction;
use super::messages::Messages;
use super::turns::Turn;
use std::collections::HashMap;

/// All sessions that this conversation is about.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Sessions of the host, oldest first. The last one is the conversation's.
    own: Vec<String>,
    by_id: HashMap<String, Session>,
    /// The host's requests are seen too: which sessions are its own is known from them.
    pub hosted: bool,
}

/// What is known of one session.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub id: String,
    /// The session that it works for.
    pub parent: Option<String>,
    /// The call that a sub-agent's session belongs to; `None` in the conversation's own.
    pub call: Option<String>,
    /// No call of the agent's was known, so that one was made up.
    pub made_up: bool,
    pub title: Option<String>,
    /// A sub-agent that has nothing more to do.
    pub idle: bool,
    pub messages: Messages,
    pub turn: Option<Turn>,
    /// The calls that start sub-agents and have not ended, with the session of each.
    pub tasks: Vec<Task>,
    pub compaction: Option<Compaction>,
    /// Tokens in the context after the last model call.
    pub context_used: Option<u64>,
    /// The session began here, so that everything in it is ours.
    pub fresh: bool,
}

/// A call that starts a sub-agent.
#[derive(Debug)]
pub(super) struct Task {
    pub call: String,
    pub child: Option<String>,
}

impl Sessions {
    /// The host works with this session.
    pub(super) fn open(&mut self, id: &str) -> &mut Session {
        if self.own.last().is_none_or(|last| last != id) {
            self.own.retain(|own| own != id);
            self.own.push(id.to_owned());
        }
        let session = self.session(id);
        session.parent = None;
        session.call = None;
        session
    }

    /// The session that an event names. `None` for one that is neither the host's nor a sub-agent's; where the host's requests are
    /// not seen, the first session that is named is the conversation's.
    pub(super) fn find(&mut self, id: &str) -> Option<&mut Session> {
        if !self.by_id.contains_key(id) {
            return (!self.hosted && self.own.is_empty()).then(|| self.open(id));
        }
        self.by_id.get_mut(id)
    }

    pub(super) fn get(&self, id: &str) -> Option<&Session> {
        self.by_id.get(id)
    }

    /// The conversation's session.
    pub(super) fn current(&self) -> Option<&str> {
        self.own.last().map(String::as_str)
    }

    pub(super) fn is_current(&self, id: &str) -> bool {
        self.current() == Some(id)
    }

    pub(super) fn is_own(&self, id: &str) -> bool {
        self.own.iter().any(|own| own == id)
    }

    /// A session that works for one of ours; any other stays foreign.
    pub(super) fn adopt(&mut self, id: &str, parent: &str) -> Option<&mut Session> {
        if self.is_own(id) || !self.by_id.contains_key(parent) {
            return None;
        }
        let session = self.session(id);
        // The first word counts, so that no chain of sessions is a ring.
        session.parent.get_or_insert_with(|| parent.to_owned());
        Some(session)
    }

    /// A turn of a session begins: what it and its sub-agents said before is repetition from now on. Sub-agents that still work go on.
    pub(super) fn begin_turn(&mut self, id: &str) {
        let ours: Vec<String> = self
            .by_id
            .values()
            .filter(|session| session.idle && self.root(session) == id)
            .map(|session| session.id.clone())
            .collect();
        for id in ours.iter().map(String::as_str).chain([id]) {
            if let Some(session) = self.by_id.get_mut(id) {
                session.messages.begin_turn();
            }
        }
    }

    /// The session that a session works for in the end.
    fn root<'a>(&'a self, session: &'a Session) -> &'a str {
        let mut root = session;
        while let Some(parent) = root.parent.as_ref().and_then(|parent| self.by_id.get(parent)) {
            root = parent;
        }
        &root.id
    }

    /// Every session, in an order that does not depend on hashing.
    pub(super) fn all(&mut self) -> Vec<&mut Session> {
        let mut sessions: Vec<&mut Session> = self.by_id.values_mut().collect();
        sessions.sort_by(|left, right| left.id.cmp(&right.id));
        sessions
    }

    /// True where a turn of the host's sessions runs.
    pub(super) fn is_running(&self) -> bool {
        self.own.iter().filter_map(|id| self.by_id.get(id)).any(|session| session.turn.is_some())
    }

    fn session(&mut self, id: &str) -> &mut Session {
        self.by_id.entry(id.to_owned()).or_insert_with(|| Session { id: id.to_owned(), ..Session::default() })
    }
}
