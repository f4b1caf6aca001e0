//! Whose turn runs. Claude Code begins turns of its own, when a task in the background has ended; a prompt that comes meanwhile
//! waits for their end, or becomes part of them.

/// A turn that somebody waits for.
#[derive(Debug)]
struct Prompt {
    id: String,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was heard of it. Older versions never tell more (2.1.197).
    Sent,
    /// Another turn comes first.
    Waiting,
    Started,
}

/// What a line of Claude Code says about turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign<'a> {
    /// `system/init`: a turn begins.
    Begins,
    /// `command_lifecycle`, of a prompt with its state.
    Prompt { id: &'a str, state: &'a str },
    /// `result`: the running turn is over.
    Ends,
}

/// The running turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    prompt: Option<Prompt>,
    running: bool,
    /// The running turn has said something.
    spoke: bool,
}

impl Turns {
    /// The host's prompt was sent.
    pub(super) fn prompted(&mut self, id: String) {
        let stage = if self.running { Stage::Waiting } else { Stage::Sent };
        self.prompt = Some(Prompt { id, stage });
    }

    /// True where Claude Code runs a turn that it began by itself, and will tell its end.
    pub(super) fn is_own(&self) -> bool {
        self.running && self.prompt.is_none()
    }

    /// True where what is said now is not for the prompt that the host waits for.
    pub(super) fn is_foreign(&self) -> bool {
        self.prompt.as_ref().is_some_and(|prompt| prompt.stage == Stage::Waiting)
    }

    /// The running turn said something that readers see.
    pub(super) fn speaks(&mut self) {
        self.spoke = true;
    }

    /// True where the running turn is one for readers: the host waits for it, or it has said something.
    pub(super) fn is_seen(&self) -> bool {
        self.spoke || (self.prompt.is_some() && !self.is_foreign())
    }

    /// Takes what stands before the line's own content. True where the prompt was taken back, which no result tells.
    pub(super) fn before(&mut self, sign: Sign<'_>) -> bool {
        match sign {
            Sign::Begins => self.running = true,
            Sign::Prompt { id, state } => {
                let Some(prompt) = self.prompt.as_mut().filter(|prompt| prompt.id == id) else { return false };
                match state {
                    "queued" if prompt.stage == Stage::Sent => prompt.stage = Stage::Waiting,
                    "started" => prompt.stage = Stage::Started,
                    "cancelled" if prompt.stage != Stage::Started => {
                        self.prompt = None;
                        return true;
                    }
                    _ => {}
                }
            }
            Sign::Ends => {}
        }
        false
    }

    /// Takes what stands behind the line's own content.
    pub(super) fn after(&mut self, sign: Sign<'_>) {
        if sign == Sign::Ends {
            self.running = false;
            self.spoke = false;
            match &mut self.prompt {
                // Its own turn follows, which older versions do not announce.
                Some(prompt) if prompt.stage == Stage::Waiting => prompt.stage = Stage::Sent,
                _ => self.prompt = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state<'a>(id: &'a str, state: &'a str) -> Sign<'a> {
        Sign::Prompt { id, state }
    }

    #[test]
    fn a_prompt_that_waits_for_another_turn_gets_none_of_its_words() {
        let mut turns = Turns::default();
        turns.prompted("a".to_owned());
        assert!(!turns.is_foreign());
        turns.before(state("a", "queued"));
        turns.before(Sign::Begins);
        turns.speaks();
        assert!(turns.is_foreign() && turns.is_seen());
        turns.after(Sign::Ends);
        turns.before(state("a", "started"));
        turns.before(Sign::Begins);
        assert!(!turns.is_foreign() && turns.is_seen() && !turns.is_own());
        turns.after(Sign::Ends);
        turns.before(Sign::Begins);
        assert!(turns.is_own() && !turns.is_seen());
    }

    #[test]
    fn a_prompt_that_becomes_part_of_a_running_turn_ends_with_it() {
        let mut turns = Turns::default();
        turns.before(Sign::Begins);
        turns.prompted("a".to_owned());
        assert!(turns.is_foreign());
        turns.before(state("a", "started"));
        assert!(!turns.is_foreign());
        turns.after(Sign::Ends);
        assert!(!turns.is_seen());
    }

    #[test]
    fn a_version_that_tells_nothing_of_prompts_has_its_turns() {
        let mut turns = Turns::default();
        turns.before(Sign::Begins);
        turns.prompted("a".to_owned());
        turns.after(Sign::Ends);
        turns.before(Sign::Begins);
        assert!(!turns.is_foreign() && turns.is_seen());
    }

    #[test]
    fn only_a_prompt_that_has_not_started_is_taken_back() {
        let mut turns = Turns::default();
        turns.prompted("a".to_owned());
        assert!(!turns.before(state("b", "cancelled")));
        assert!(turns.before(state("a", "cancelled")));
        turns.prompted("c".to_owned());
        turns.before(state("c", "started"));
        assert!(!turns.before(state("c", "cancelled")));
    }
}
