//! Late words of an earlier turn that come while another runs: they get a turn of their own after it.

use super::Driver;
use super::turn::{LATE_CONTENT_QUIET, Waiting};
use chat_agents::{AgentMessage, PreparedExecution};
use chat_grammar::records::TurnOrigin;
use std::sync::Arc;

/// How much is held at most.
const LATE_MESSAGES: usize = 16_384;
const LATE_BYTES: usize = 16 * 1024 * 1024;

/// What waits for the end of the running turn.
#[derive(Debug)]
pub(super) struct LateWords {
    execution: Arc<PreparedExecution>,
    source: String,
    messages: Vec<AgentMessage>,
    bytes: usize,
}

impl LateWords {
    /// Holds a message; false where there is no room for it.
    fn add(&mut self, message: AgentMessage) -> bool {
        let bytes = message.native.as_ref().map_or(0, String::len);
        let fits = self.messages.len() < LATE_MESSAGES && self.bytes + bytes <= LATE_BYTES;
        if fits {
            self.bytes += bytes;
            self.messages.push(message);
        }
        fits
    }
}

impl Driver {
    /// Holds what belongs to an earlier turn, and gives back what belongs to the running one.
    pub(super) fn hold_late(&mut self, messages: Vec<AgentMessage>) -> Vec<AgentMessage> {
        let Some(agent) = self.agent.as_ref().filter(|_| !self.in_late_turn) else { return messages };
        let (late, current): (Vec<_>, Vec<_>) = messages.into_iter().partition(|message| message.late);
        if late.is_empty() {
            return current;
        }
        let held = self.late.get_or_insert_with(|| LateWords {
            execution: Arc::clone(&agent.execution),
            source: agent.session.source().to_owned(),
            messages: Vec::new(),
            bytes: 0,
        });
        let mut excess = 0_usize;
        for message in late {
            excess += usize::from(!held.add(message));
        }
        if excess > 0 {
            tracing::warn!(conversation = %self.conversation_id, excess, "late words of an earlier turn were left out");
        }
        current
    }

    /// Journals what was held as a turn of the agent's, which goes on as long as more of it comes.
    pub(super) async fn run_late_turns(&mut self, waiting: &mut Waiting) {
        while let Some(late) = self.late.take() {
            let turn = match self.begin_turn(&late.execution, None, TurnOrigin::Agent, None).await {
                Ok(turn) => turn,
                Err(error) => {
                    tracing::warn!(conversation = %self.conversation_id, %error, "late words were not stored: they wait on");
                    self.late = Some(late);
                    return;
                }
            };
            let mut pump = self.pump(turn);
            pump.take(late.messages, &late.source).await;
            self.in_late_turn = true;
            waiting.join(self.run_turn(pump, Some(LATE_CONTENT_QUIET)).await);
            self.in_late_turn = false;
        }
    }
}
