//! Codex: `codex app-server`, JSON-RPC over stdio.

mod calls;
mod commands;
mod compaction;
pub(crate) mod compat;
mod errors;
mod file_changes;
mod items;
mod mcp;
mod messages;
mod normalize;
mod notices;
mod questions;
mod requests;
mod reviews;
mod session;
mod shell;
mod subagents;
mod threads;
mod tier;
mod turn_end;
mod turns;
mod usage;
mod web;
mod wire;

pub(crate) use normalize::Codex;
pub(crate) use turns::segment;

/// A message that is not of the form that its kind promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Malformed;

impl From<serde_json::Error> for Malformed {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}
