//! Events to ACP updates with our `_meta`, and their one serialization.

mod extension;
mod map;
mod marks;
mod meta;
mod write;

pub use extension::ExtensionUpdate;
pub use map::UpdateMapper;
pub use marks::{Marks, Piece, PieceForm};
pub use meta::{CompactionMeta, CompactionPhase, Delta, ErrorMeta, Extra, InitMeta, McpServerStatus, Truncated};
pub use write::{Native, Place, write_update};

use crate::acp::SessionUpdate;

/// An update before it has a place in a turn.
#[derive(Debug, Clone)]
pub struct Update {
    pub body: Body,
    pub extra: Extra,
}

/// The ACP part of an update.
#[derive(Debug, Clone)]
pub enum Body {
    /// A variant of the official protocol.
    Official(Box<SessionUpdate>),
    /// One of ours.
    Extension(Box<ExtensionUpdate>),
}
