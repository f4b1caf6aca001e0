//! What can be decided without a running Claude Code.
