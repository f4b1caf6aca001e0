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
use crate::relay::AgentUpdate;

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
    /// The agent's own.
    Relayed(Box<AgentUpdate>),
}

impl Update {
    /// Whether the agent's message belongs to it. An update that is the agent's message needs no second copy of it.
    pub fn has_native(&self) -> bool {
        !matches!(&self.body, Body::Relayed(update) if !update.is_changed())
    }
}
