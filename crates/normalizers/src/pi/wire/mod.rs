//! What Pi and its host say, as far as it is read.

mod commands;
mod events;
mod messages;
mod tools;

pub(super) use commands::*;
pub(super) use events::*;
pub(super) use messages::*;
pub(super) use tools::*;
