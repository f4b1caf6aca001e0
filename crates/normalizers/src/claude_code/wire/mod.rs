//! What is read of Claude Code's lines, and nothing else. Everything unread stays in the raw text.

mod control;
mod messages;
mod result;
mod stream;
mod system;

pub(super) use control::*;
pub(super) use messages::*;
pub(super) use result::*;
pub(super) use stream::*;
pub(super) use system::*;
