//! What is read of the messages of `codex app-server`, named after its protocol. Everything else stays in the raw text.

mod items;
mod notices;
mod requests;

pub(super) use items::*;
pub(super) use notices::*;
pub(super) use requests::*;
