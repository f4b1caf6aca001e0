//! OpenCode: `opencode serve`, HTTP with a stream of server-sent events.
//!
//! The agent's messages are the events of `GET /event` (`{id, type, properties}`) and the answers to the host's requests
//! (`{id, status, body?}`). The host's messages are its requests (`{id, method, path, body?}`), where `id` only pairs them with
//! their answers.

mod blocks;
mod calls;
mod compaction;
mod edits;
mod errors;
mod events;
mod http;
mod info;
mod messages;
mod normalize;
mod outputs;
mod parts;
mod permissions;
mod questions;
mod requests;
mod segments;
mod sessions;
mod stream;
mod subjects;
mod tool_parts;
mod turns;
mod usage;
mod wire;

pub(crate) use normalize::OpenCode;
pub(crate) use segments::segment;

/// A message that is not of the form that its kind promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Malformed;

impl From<serde_json::Error> for Malformed {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}
