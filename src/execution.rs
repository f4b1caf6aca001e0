//! `…/execution`.

use crate::error::{json, to_napi};
use chat_grammar::ExecutionContract;
use napi_derive::napi;

/// Validates a contract and returns it; throws `INVALID_EXECUTION_CONTRACT` with the path of the field at fault.
#[napi(catch_unwind)]
pub fn normalize_execution_contract(contract_json: String) -> napi::Result<String> {
    ExecutionContract::from_json(&contract_json).and_then(|contract| json(&contract)).map_err(to_napi)
}

/// The hash of a contract in canonical JSON, in hexadecimal; throws as `normalizeExecutionContract`.
#[napi(catch_unwind)]
pub fn execution_revision(contract_json: String) -> napi::Result<String> {
    ExecutionContract::from_json(&contract_json).and_then(|contract| contract.revision()).map_err(to_napi)
}
