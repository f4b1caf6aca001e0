//! The one error that travels through all layers and becomes a JavaScript error at the border.

use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;

/// Stable codes of failures that a caller can meet. The text form is public API; the comment names the JavaScript class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// `ExecutionError`: a field of the contract or handle is missing or malformed.
    InvalidExecutionContract,
    /// `ExecutionError`: the handle's id was never prepared on this host.
    ExecutionNotPrepared,
    /// `ExecutionError`: the id was prepared with another contract.
    ExecutionRevisionMismatch,
    /// `ExecutionError`: the agent cannot apply a part of the contract.
    UnsupportedExecutionInput,
    /// `PromptError`: the prompt is malformed.
    InvalidPrompt,
    /// `PromptError`: the agent cannot take a block of the prompt.
    UnsupportedPromptPart,
    /// `ChatOptionsError`: an option is missing or malformed.
    InvalidOptions,
    /// `ChatSessionError`, as all that follow up to `StoreError`.
    SessionNotFound,
    SessionAlreadyExists,
    SessionBusy,
    SessionAgentMismatch,
    SubscriberBackpressure,
    InterruptUnsupported,
    TurnNotFound,
    TurnAlreadySealed,
    RequestNotPending,
    ChatClosed,
    StoreError,
    /// `ChatRuntimeError`: a fault of this software, a panic included.
    RuntimeError,
}

impl ErrorCode {
    /// The public spelling, such as `SESSION_BUSY`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidExecutionContract => "INVALID_EXECUTION_CONTRACT",
            Self::ExecutionNotPrepared => "EXECUTION_NOT_PREPARED",
            Self::ExecutionRevisionMismatch => "EXECUTION_REVISION_MISMATCH",
            Self::UnsupportedExecutionInput => "UNSUPPORTED_EXECUTION_INPUT",
            Self::InvalidPrompt => "INVALID_PROMPT",
            Self::UnsupportedPromptPart => "UNSUPPORTED_PROMPT_PART",
            Self::InvalidOptions => "INVALID_OPTIONS",
            Self::SessionNotFound => "SESSION_NOT_FOUND",
            Self::SessionAlreadyExists => "SESSION_ALREADY_EXISTS",
            Self::SessionBusy => "SESSION_BUSY",
            Self::SessionAgentMismatch => "SESSION_AGENT_MISMATCH",
            Self::SubscriberBackpressure => "SUBSCRIBER_BACKPRESSURE",
            Self::InterruptUnsupported => "INTERRUPT_UNSUPPORTED",
            Self::TurnNotFound => "TURN_NOT_FOUND",
            Self::TurnAlreadySealed => "TURN_ALREADY_SEALED",
            Self::RequestNotPending => "REQUEST_NOT_PENDING",
            Self::ChatClosed => "CHAT_CLOSED",
            Self::StoreError => "STORE_ERROR",
            Self::RuntimeError => "RUNTIME_ERROR",
        }
    }
}

/// A failure with its public code, a message that names ids and fields, and details for the JavaScript class.
#[derive(Debug, Clone)]
pub struct ChatError {
    pub code: ErrorCode,
    pub message: String,
    /// An object with `path` (execution, options), `part` (prompt) or nothing.
    pub details: Option<Value>,
}

/// The result of everything a caller can meet.
pub type Result<T, E = ChatError> = std::result::Result<T, E>;

impl ChatError {
    /// An error without details.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    /// An error about the field at a JSON path such as `model.settings[0].value`.
    pub fn at(code: ErrorCode, path: impl Into<String>, problem: impl fmt::Display) -> Self {
        let path = path.into();
        Self { code, message: format!("{path}: {problem}"), details: Some(json!({ "path": path })) }
    }

    /// A contract field that is missing or malformed.
    pub fn contract(path: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self::at(ErrorCode::InvalidExecutionContract, path, problem)
    }

    /// A contract field that the agent cannot apply.
    pub fn unsupported(path: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self::at(ErrorCode::UnsupportedExecutionInput, path, problem)
    }

    /// A conversation that does not exist for this owner.
    pub fn session_not_found(id: &str) -> Self {
        Self::new(ErrorCode::SessionNotFound, format!("session {id:?} does not exist for this owner"))
    }

    /// A turn that does not exist in this conversation.
    pub fn turn_not_found(conversation_id: &str, turn_id: &str) -> Self {
        Self::new(ErrorCode::TurnNotFound, format!("turn {turn_id:?} does not exist in session {conversation_id:?}"))
    }

    /// A failure of the store.
    pub fn store(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::StoreError, message)
    }

    /// A fault of this software.
    pub fn runtime(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::RuntimeError, message)
    }

    /// The form in which errors cross the border: `{"code","message","details"}`.
    pub fn to_wire(&self) -> String {
        json!({ "code": self.code.as_str(), "message": self.message, "details": self.details }).to_string()
    }
}

impl fmt::Display for ChatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for ChatError {}
