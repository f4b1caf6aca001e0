//! What is read of the messages of `opencode serve`, named after its protocol. Everything else stays in the raw text.

mod events;
mod http;
mod parts;

pub(super) use events::*;
pub(super) use http::*;
pub(super) use parts::*;
