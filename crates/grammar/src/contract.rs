//! The execution contract: what a turn is run with. Validated field by field, so that no selected input disappears.

mod read;

use crate::error::{ChatError, ErrorCode, Result};
use crate::records::ExecutionHandle;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Who pays and whose login is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    Platform,
    Subscription,
    Byok,
}

/// Whether the agent asks before it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    Ask,
    FullAccess,
}

/// Which agent runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub adapter_id: String,
    pub installation_id: String,
    pub revision_id: String,
}

/// Which model answers, and how it is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub provider_id: String,
    pub model_id: String,
    pub settings: Vec<ModelSetting>,
}

/// One ACP config option choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSetting {
    pub config_id: String,
    /// `boolean` for a boolean option; absent for a choice of values.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// A value's id, or true or false.
    pub value: Value,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// Which account is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Auth {
    pub mode: AuthMode,
    pub binding_id: String,
}

/// Which tools are offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tools {
    pub revision_id: Option<String>,
    pub tool_ids: Vec<String>,
}

/// Where the agent works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkingDirectory {
    /// Absolute.
    pub path: String,
    pub workspace_id: Option<String>,
    pub materialization_revision: Option<String>,
}

/// What a turn is run with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionContract {
    pub agent: Agent,
    pub model: Model,
    pub auth: Auth,
    pub tools: Tools,
    pub cwd: WorkingDirectory,
    pub permission_mode: PermissionMode,
    pub computer_id: String,
}

impl ExecutionContract {
    /// Reads a contract from JSON text.
    ///
    /// # Errors
    /// `INVALID_EXECUTION_CONTRACT` with the path of the first field that is missing, malformed or unknown.
    pub fn from_json(json: &str) -> Result<Self> {
        let value: Value =
            serde_json::from_str(json).map_err(|error| ChatError::contract("execution", format!("is no JSON: {error}")))?;
        read::contract(&value)
    }

    /// The hash of the contract in canonical JSON (RFC 8785), in hexadecimal: equal contracts have equal revisions on every host.
    ///
    /// # Errors
    /// `RUNTIME_ERROR` where the contract holds a number that canonical JSON cannot write.
    pub fn revision(&self) -> Result<String> {
        let canonical = serde_json_canonicalizer::to_vec(self)
            .map_err(|error| ChatError::runtime(format!("the contract has no canonical JSON form: {error}")))?;
        let digest = Sha256::digest(canonical);
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl ExecutionHandle {
    /// Reads a handle; further members of the caller's object are ignored.
    ///
    /// # Errors
    /// `INVALID_EXECUTION_CONTRACT` at `execution.id` or `execution.revision`.
    pub fn from_value(value: Option<&Value>) -> Result<Self> {
        let text = |field: &str| match value.and_then(|value| value.get(field)) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
            _ => Err(ChatError::at(
                ErrorCode::InvalidExecutionContract,
                format!("execution.{field}"),
                "must be a non-empty string, as prepareExecution returned it",
            )),
        };
        Ok(Self { id: text("id")?, revision: text("revision")? })
    }
}
