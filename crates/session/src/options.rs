//! Options of a chat.

use chat_grammar::{ChatError, ErrorCode, Result};
use serde::Deserialize;

/// What the host chose.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatOptions {
    pub owner_user_id: String,
    #[serde(default)]
    pub journal: BatchLimits,
    #[serde(default)]
    pub subscriber_buffer: SubscriberBuffer,
    /// How long a turn may pass without a message of the agent, in milliseconds.
    #[serde(default = "default_idle_limit")]
    pub idle_limit_ms: u64,
    /// After how long a request of the agent that nobody answered is cancelled, in milliseconds.
    #[serde(default)]
    pub request_limit_ms: Option<u64>,
    /// How long an agent may do nothing but retry, in milliseconds.
    #[serde(default = "default_retry_limit")]
    pub retry_limit_ms: u64,
    /// How long an idle agent is kept, in milliseconds.
    #[serde(default = "default_idle_timeout")]
    pub idle_timeout_ms: u64,
}

/// How many updates may share a commit. There is no waiting for a batch to fill, so `maxDelayMs` has nothing to limit.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BatchLimits {
    pub max_updates: usize,
    pub max_bytes: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { max_updates: 256, max_bytes: 256 * 1024 }
    }
}

/// How far a subscriber that was at the tail may fall behind it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SubscriberBuffer {
    pub max_updates: u64,
    pub max_bytes: u64,
}

impl Default for SubscriberBuffer {
    fn default() -> Self {
        Self { max_updates: 200_000, max_bytes: 256 * 1024 * 1024 }
    }
}

fn default_idle_limit() -> u64 {
    600_000
}

fn default_retry_limit() -> u64 {
    300_000
}

fn default_idle_timeout() -> u64 {
    300_000
}

impl ChatOptions {
    /// Reads options from JSON text.
    ///
    /// # Errors
    /// `INVALID_OPTIONS`.
    pub fn from_json(json: &str) -> Result<Self> {
        let options: Self = serde_json::from_str(json)
            .map_err(|error| ChatError::new(ErrorCode::InvalidOptions, format!("chat options: {error}")))?;
        if options.owner_user_id.is_empty() {
            return Err(ChatError::at(ErrorCode::InvalidOptions, "ownerUserId", "must be a non-empty string"));
        }
        if options.journal.max_updates == 0 || options.journal.max_bytes == 0 {
            return Err(ChatError::at(ErrorCode::InvalidOptions, "journal", "maxUpdates and maxBytes must be at least 1"));
        }
        Ok(options)
    }
}
