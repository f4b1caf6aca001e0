//! Records as stored. Times are ISO 8601 in UTC. Everything is scoped by owner.

use crate::contract::ExecutionContract;
use crate::event::FailureClass;
use crate::usage::{TurnUsage, UsageStep};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// JSON text that is stored and forwarded but not read.
pub type JsonText = Arc<RawValue>;

/// What a prepared execution is called by; `revision` is a hash of its contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionHandle {
    pub id: String,
    pub revision: String,
}

/// A handle with its contract, so that a restart can resume without a new handle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredExecution {
    pub id: String,
    pub revision: String,
    pub contract: ExecutionContract,
}

/// A conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationRecord {
    pub id: String,
    pub owner_user_id: String,
    pub title: Option<String>,
    pub agent: crate::contract::Agent,
    pub execution: StoredExecution,
    pub created_at: String,
    pub updated_at: String,
    pub archived_at: Option<String>,
    /// A turn ended since the owner last looked.
    pub new_messages: bool,
}

/// Changes to a conversation; a field that is `None` stays. `title` and `archived_at` may be set to null.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConversationPatch {
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub title: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub archived_at: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_messages: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<StoredExecution>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

// Tells `"title": null` (clear it) from an absent title (leave it).
fn present<'de, D>(deserializer: D) -> Result<Option<Option<String>>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    Option::<String>::deserialize(deserializer).map(Some)
}

/// Where a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    Running,
    Completed,
    Failed,
    Cancelled,
    Interrupted,
}

impl TurnStatus {
    /// The stored spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Who began a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOrigin {
    Host,
    Agent,
}

/// Why a turn failed or was interrupted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnFailure {
    /// `AUTH_ERROR`, `MODEL_ERROR`, `TRANSPORT_ERROR`, `RUNTIME_ERROR` or `TURN_INTERRUPTED`.
    pub code: String,
    pub class: FailureClass,
    pub reason: String,
    pub message: String,
    pub retryable: bool,
    /// What the agent said, untouched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Value>,
}

impl TurnFailure {
    /// A failure of a class with its usual code.
    pub fn new(class: FailureClass, reason: impl Into<String>, message: impl Into<String>, retryable: bool) -> Self {
        let code = match class {
            FailureClass::Auth => "AUTH_ERROR",
            FailureClass::Model => "MODEL_ERROR",
            FailureClass::Transport => "TRANSPORT_ERROR",
            FailureClass::Runtime => "RUNTIME_ERROR",
        };
        Self { code: code.to_owned(), class, reason: reason.into(), message: message.into(), retryable, native: None }
    }

    /// A turn that its host did not see to the end; `reason` is `host_closed` or `host_died`.
    pub fn interrupted(reason: &str, message: impl Into<String>) -> Self {
        Self {
            code: "TURN_INTERRUPTED".to_owned(),
            class: FailureClass::Runtime,
            reason: reason.to_owned(),
            message: message.into(),
            retryable: true,
            native: None,
        }
    }
}

/// A turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    pub id: String,
    pub conversation_id: String,
    /// 1, 2, 3 … within the conversation; the store gives it in `begin_turn`.
    pub ordinal: u64,
    pub status: TurnStatus,
    pub origin: TurnOrigin,
    pub stop_reason: Option<String>,
    pub native_stop_reason: Option<String>,
    pub error: Option<TurnFailure>,
    pub execution: StoredExecution,
    /// `{parts: ContentBlock[]}`, as the caller gave it.
    pub prompt: JsonText,
    pub started_at: String,
    pub ended_at: Option<String>,
    /// Highest committed sequence; 0 before the first update.
    pub last_sequence: u64,
    pub usage: Option<TurnUsage>,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

/// A stored message; `parts` is an array of message parts as JSON text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageRecord {
    pub id: String,
    pub conversation_id: String,
    pub turn_id: String,
    pub ordinal: u64,
    pub role: Role,
    pub parts: JsonText,
    pub created_at: String,
}

/// Where an agent's own session can be picked up again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderCheckpoint {
    pub conversation_id: String,
    /// Adapter, installation, auth mode and binding, and computer together.
    pub key: String,
    pub provider_session_id: String,
    pub updated_at: String,
    pub data: Value,
}

/// One committed update: `json` is the text that every subscriber and the journal share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    pub sequence: u64,
    pub json: String,
}

/// What ends a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSeal {
    pub turn_id: String,
    pub status: TurnStatus,
    pub stop_reason: Option<String>,
    pub native_stop_reason: Option<String>,
    pub error: Option<TurnFailure>,
    pub ended_at: String,
    pub usage: Option<TurnUsage>,
    #[serde(default)]
    pub usage_steps: Vec<UsageStep>,
    pub message: Option<MessageRecord>,
}

/// How to list conversations.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ListOptions {
    pub include_archived: Option<bool>,
    /// At most this many, 1 to 500; 50 where it is left out.
    pub limit: Option<u64>,
    pub cursor: Option<String>,
}

/// A page of conversations, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationPage {
    pub conversations: Vec<ConversationRecord>,
    pub next_cursor: Option<String>,
}
