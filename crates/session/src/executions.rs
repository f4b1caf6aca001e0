//! The executions that were prepared on this host, by the caller's ids.

use crate::core::Core;
use chat_agents::PreparedExecution;
use chat_grammar::contract::ExecutionContract;
use chat_grammar::records::{ExecutionHandle, StoredExecution};
use chat_grammar::{ChatError, ErrorCode, Result};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Executions {
    prepared: Mutex<HashMap<String, Arc<PreparedExecution>>>,
}

impl Executions {
    /// Prepares a contract under an id. An equal contract under a known id gives the same handle and calls nothing.
    ///
    /// # Errors
    /// `INVALID_EXECUTION_CONTRACT`, `UNSUPPORTED_EXECUTION_INPUT`.
    pub(crate) async fn prepare(
        &self,
        core: &Core,
        id: &str,
        contract: ExecutionContract,
        resolved: Value,
    ) -> Result<ExecutionHandle> {
        if id.is_empty() {
            return Err(ChatError::contract("id", "must be a non-empty string"));
        }
        let handle = ExecutionHandle { id: id.to_owned(), revision: contract.revision()? };
        let known = self.lock().get(id).is_some_and(|prepared| prepared.handle == handle);
        if !known {
            let adapter = core.adapters.get(&contract.agent.adapter_id)?;
            let execution = PreparedExecution { handle: handle.clone(), contract, resolved };
            adapter.prepare(&execution, &core.host).await?;
            self.lock().insert(id.to_owned(), Arc::new(execution));
        }
        Ok(handle)
    }

    /// The execution behind a handle.
    ///
    /// # Errors
    /// `EXECUTION_NOT_PREPARED`, `EXECUTION_REVISION_MISMATCH`.
    pub(crate) fn get(&self, handle: &ExecutionHandle) -> Result<Arc<PreparedExecution>> {
        let prepared = self.lock();
        let Some(execution) = prepared.get(&handle.id) else {
            let message = format!("execution {:?} was not prepared on this host: call prepareExecution first", handle.id);
            return Err(ChatError::at(ErrorCode::ExecutionNotPrepared, "execution.id", message));
        };
        if execution.handle.revision != handle.revision {
            let message = format!(
                "execution {:?} was prepared again with another contract: its revision is {}, the handle's is {}",
                handle.id, execution.handle.revision, handle.revision
            );
            return Err(ChatError::at(ErrorCode::ExecutionRevisionMismatch, "execution.revision", message));
        }
        Ok(Arc::clone(execution))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<PreparedExecution>>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The form in which an execution is stored.
pub(crate) fn stored(execution: &PreparedExecution) -> StoredExecution {
    StoredExecution {
        id: execution.handle.id.clone(),
        revision: execution.handle.revision.clone(),
        contract: execution.contract.clone(),
    }
}
