//! The state machine of ACP with Cursor's own methods.

use super::extensions::Todos;
use super::manner::CURSOR;
use crate::acp::Acp;
use crate::{Normalizer, Options};
use chat_grammar::event::{ChatEvent, FinishReason, Side};
use std::collections::BTreeMap;

/// The normalizer of Cursor.
#[derive(Debug)]
pub(crate) struct Cursor {
    acp: Acp,
    todos: Todos,
}

impl Cursor {
    pub(crate) fn new(options: Options) -> Self {
        Self { acp: Acp::with(options, &CURSOR), todos: Todos::default() }
    }
}

impl Normalizer for Cursor {
    fn push(&mut self, line: &str, from: Side, out: &mut Vec<ChatEvent>) {
        let Self { acp, todos } = self;
        match from {
            Side::Host => acp.host_line(line, out),
            Side::Agent => acp.agent_line(
                line,
                |acp, method, id, params, out| super::extensions::message(acp, todos, method, id, params, out),
                out,
            ),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<ChatEvent>) {
        self.acp.finished(reason, out);
    }

    fn unmapped(&self) -> &BTreeMap<String, u64> {
        self.acp.unmapped()
    }

    fn source(&self) -> &'static str {
        self.acp.source()
    }
}
