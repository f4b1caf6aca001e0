//! The updates that ACP has as requests or not at all. A stream that can be replayed needs them as updates.

use crate::acp::{PermissionOption, ToolCallUpdate};
use crate::event::DecidedBy;
use crate::usage::UsageStep;
use serde::Serialize;
use serde_json::Value;

/// Our own variants of `sessionUpdate`.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ExtensionUpdate {
    PermissionRequest {
        request_id: String,
        tool_call_id: Option<String>,
        action: String,
        args: Value,
        /// `low`, `medium` or `high`.
        severity: &'static str,
        tool_call: ToolCallUpdate,
        options: Vec<PermissionOption>,
    },
    PermissionResponse {
        request_id: String,
        tool_call_id: Option<String>,
        /// ACP `RequestPermissionOutcome`.
        outcome: Value,
        approved: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        by: DecidedBy,
    },
    ElicitationRequest {
        request_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<String>,
        /// ACP `CreateElicitationRequest`.
        request: Value,
    },
    ElicitationResponse {
        request_id: String,
        /// ACP `CreateElicitationResponse`.
        response: Value,
    },
    UsageStep {
        step: UsageStep,
    },
}
