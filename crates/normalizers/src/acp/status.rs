//! Where a call stands, in the protocol's words.

/// A status as the protocol knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Pending,
    Running,
    Completed,
    Failed,
}

impl Status {
    /// ACP's words, and those that agents use for what ACP has another word for.
    pub(super) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "pending" => Self::Pending,
            "in_progress" | "running" => Self::Running,
            "completed" | "success" => Self::Completed,
            "failed" | "error" | "cancelled" | "canceled" | "rejected" => Self::Failed,
            _ => return None,
        })
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    pub(super) fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}
