//! Which turns of which threads run in a Codex process: the conversation's own and its sub-agents'.

use serde::Deserialize;
use std::collections::{HashMap, HashSet, VecDeque};

/// How many turns that ended are remembered. Commands outlive their turn by a few turns at most.
const REMEMBERED: usize = 64;

#[derive(Debug)]
pub(super) struct Turns {
    thread_id: String,
    /// The running turn of each thread.
    running: HashMap<String, String>,
    /// Turns that were asked to end.
    interrupted: HashSet<String>,
    /// The conversation's turns that ended, newest last.
    ended: VecDeque<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notice {
    thread_id: String,
    turn: Named,
}

#[derive(Deserialize)]
struct Answer {
    turn: Named,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

impl Turns {
    pub(super) fn new(thread_id: String) -> Self {
        Self { thread_id, running: HashMap::new(), interrupted: HashSet::new(), ended: VecDeque::new() }
    }

    /// The result of `turn/start`.
    pub(super) fn started_by_host(&mut self, result: &str) {
        if let Ok(Answer { turn }) = serde_json::from_str(result)
            && !self.ended.contains(&turn.id)
        {
            self.running.insert(self.thread_id.clone(), turn.id);
        }
    }

    /// The params of `turn/started`.
    pub(super) fn started(&mut self, params: &str) {
        if let Ok(Notice { thread_id, turn }) = serde_json::from_str(params) {
            self.running.insert(thread_id, turn.id);
        }
    }

    /// The params of `turn/completed`; gives the thread.
    pub(super) fn completed(&mut self, params: &str) -> Option<String> {
        let Notice { thread_id, turn } = serde_json::from_str(params).ok()?;
        self.interrupted.remove(&turn.id);
        if self.running.get(&thread_id) == Some(&turn.id) {
            self.running.remove(&thread_id);
        }
        if thread_id == self.thread_id {
            self.ended.push_back(turn.id);
            if self.ended.len() > REMEMBERED {
                self.ended.pop_front();
            }
        }
        Some(thread_id)
    }

    /// The running turns that are to end now and were not asked to yet, with their threads: the conversation's own, and those of
    /// sub-agents once it has ended. It would go on to a normal end when a sub-agent that it waits for is gone.
    pub(super) fn take_interruptible(&mut self) -> Vec<(String, String)> {
        let own = self.running.contains_key(&self.thread_id);
        let fresh: Vec<(String, String)> = self
            .running
            .iter()
            .filter(|(thread, turn)| (!own || **thread == self.thread_id) && !self.interrupted.contains(*turn))
            .map(|(thread, turn)| (thread.clone(), turn.clone()))
            .collect();
        self.interrupted.extend(fresh.iter().map(|(_, turn)| turn.clone()));
        fresh
    }

    /// Whether a message belongs to a turn that has ended while another runs. Codex keys messages by `turnId`.
    pub(super) fn is_late(&self, line: &str) -> bool {
        const KEY: &str = "\"turnId\":\"";
        if self.ended.is_empty() || !self.running.contains_key(&self.thread_id) {
            return false;
        }
        let Some(start) = line.find(KEY) else { return false };
        let rest = &line[start + KEY.len()..];
        rest.split_once('"').is_some_and(|(turn_id, _)| self.ended.iter().any(|ended| ended == turn_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(thread: &str, turn: &str) -> String {
        format!(r#"{{"threadId":"{thread}","turn":{{"id":"{turn}"}}}}"#)
    }

    #[test]
    fn words_of_an_ended_turn_are_late_only_while_another_runs() {
        let mut turns = Turns::new("main".to_owned());
        let words =
            r#"{"method":"item/completed","params":{"item":{"text":"\"turnId\":\"x\""},"threadId":"main","turnId":"one"}}"#;
        turns.started(&notice("main", "one"));
        assert!(!turns.is_late(words));
        turns.completed(&notice("main", "one"));
        assert!(!turns.is_late(words));
        turns.started_by_host(r#"{"turn":{"id":"two"}}"#);
        assert!(turns.is_late(words));
        assert!(!turns.is_late(&words.replace("one", "two")));
    }

    #[test]
    fn the_conversations_own_turn_is_interrupted_before_its_sub_agents_and_each_turn_once() {
        let mut turns = Turns::new("main".to_owned());
        turns.started(&notice("child", "c"));
        turns.started(&notice("main", "one"));
        assert_eq!(turns.take_interruptible(), [("main".to_owned(), "one".to_owned())]);
        assert!(turns.take_interruptible().is_empty());
        assert_eq!(turns.completed(&notice("main", "one")).as_deref(), Some("main"));
        assert_eq!(turns.take_interruptible(), [("child".to_owned(), "c".to_owned())]);
        assert!(turns.take_interruptible().is_empty());
        assert_eq!(turns.completed(&notice("child", "c")).as_deref(), Some("child"));
    }

    #[test]
    fn an_answer_that_comes_after_the_turns_end_starts_nothing() {
        let mut turns = Turns::new("main".to_owned());
        turns.started(&notice("main", "one"));
        turns.completed(&notice("main", "one"));
        turns.started_by_host(r#"{"turn":{"id":"one"}}"#);
        assert!(turns.take_interruptible().is_empty());
    }
}
