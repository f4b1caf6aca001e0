//! Any agent of the Agent Client Protocol: JSON-RPC over stdio. Its own updates are passed on as text; what our stream demands
//! beyond them is added or made.

mod calls;
mod content;
mod counts;
mod dialect;
mod errors;
mod naming;
mod news;
mod normalize;
mod outcome;
mod requests;
mod session;
mod status;
mod tools;
mod turn_end;
mod turns;
mod usage;
mod wire;

pub(crate) use dialect::{Announced, Asked, Dialect};
pub(crate) use normalize::{Acp, Read};
pub(crate) use requests::{Leave, plain_choice};
pub(crate) use turns::segment;
pub(crate) use wire::{Malformed, raw};
