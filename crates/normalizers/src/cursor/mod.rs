//! Cursor: `cursor-agent acp`, which speaks the Agent Client Protocol with ways and methods of its own. What is known of them is
//! of build 2026.08.11.

mod diffs;
mod extensions;
mod manner;
mod normalize;
mod requests;
mod wire;

pub(crate) use normalize::Cursor;
