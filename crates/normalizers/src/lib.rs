//! One pure state machine an agent: its messages in, events out. No I/O, no clock, and nothing that fails: what no rule
//! knows becomes a counted `Unmapped` event.

mod acp;
mod claude_code;
mod codex;
mod cursor;
mod diff;
mod failures;
mod numbers;
mod opencode;
mod partial_json;
mod pi;
pub mod public;
pub mod recording;
mod rpc;
mod text;
mod tools;
mod unmapped;

pub use codex::compat::{ItemDescription, describe_item, error_message};
pub use recording::{Channel, RecordedLine};

use chat_grammar::event::{ChatEvent, FinishReason, Side};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The state of one native session. It sees the messages of both sides in order, since an answer of the host decides what
/// later messages of the agent mean.
pub trait Normalizer: Debug + Send + Sync {
    /// Reads one message and adds what it means to `out`.
    fn push(&mut self, line: &str, from: Side, out: &mut Vec<ChatEvent>);

    /// Closes what the native stream left open when it ended. More messages may follow, of the next process.
    fn finish(&mut self, reason: FinishReason, out: &mut Vec<ChatEvent>);

    /// How many messages no rule knew, by kind.
    fn unmapped(&self) -> &BTreeMap<String, u64>;

    /// What the agent's messages are called in `_meta.amalgm.native.source`.
    fn source(&self) -> &'static str;
}

/// What is known of a native session before its first message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub cwd: Option<String>,
    /// The session that is to be resumed.
    pub provider_session_id: Option<String>,
    pub model: Option<String>,
}

/// The normalizer of an agent; `None` for an agent that this crate does not know.
pub fn normalizer(harness: &str, options: Options) -> Option<Box<dyn Normalizer>> {
    match harness {
        "acp" => Some(Box::new(acp::Acp::new(options))),
        "claude_code" => Some(Box::new(claude_code::ClaudeCode::new(options))),
        "codex" => Some(Box::new(codex::Codex::new(options))),
        "cursor" => Some(Box::new(cursor::Cursor::new(options))),
        "opencode" => Some(Box::new(opencode::OpenCode::new(options))),
        "pi" => Some(Box::new(pi::Pi::new(options))),
        _ => None,
    }
}

/// The lines of one recorded turn with what belongs to it, as indices in the order in which they are to be played.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Segment {
    pub lines: Vec<usize>,
}

/// Cuts a recording into its turns, in the order in which they began. Empty for an agent that this crate does not know.
pub fn segment(harness: &str, lines: &[RecordedLine<'_>]) -> Vec<Segment> {
    match harness {
        "acp" | "cursor" => acp::segment(lines),
        "claude_code" => claude_code::segment(lines),
        "codex" => codex::segment(lines),
        "opencode" => opencode::segment(lines),
        "pi" => pi::segment(lines),
        _ => Vec::new(),
    }
}
