//! Commands that the host itself runs through Pi's `bash`. The model sees their output with the next prompt, so that the user
//! should too.

use super::Malformed;
use super::normalize::Pi;
use super::wire::{BashResult, HostBashUpdate, HostLine, Response};
use crate::tools::text_content;
use chat_grammar::acp::ToolKind;
use chat_grammar::event::{ChatEvent, ToolCompleted, ToolStarted, ToolUpdated};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The call of each command that has not ended, by the id of the host's request.
pub(super) type HostCommands = HashMap<String, String>;

impl Pi {
    /// The host runs a command.
    pub(super) fn host_bash_asked(&mut self, line: &HostLine<'_>, out: &mut Vec<ChatEvent>) {
        if let (Some(id), Some(command)) = (line.id.as_deref(), line.command.as_deref()) {
            self.begin_host_command(id, command, json!({ "command": command }), out);
        }
    }

    fn begin_host_command(&mut self, id: &str, title: &str, input: Value, out: &mut Vec<ChatEvent>) -> String {
        if let Some(call) = self.host_commands.get(id) {
            return call.clone();
        }
        let tool_call_id = self.calls.tools().free_id(&format!("host_bash:{id}"));
        let started = ToolStarted {
            tool_call_id: tool_call_id.clone(),
            tool_name: "Bash".to_owned(),
            title: title.to_owned(),
            kind: ToolKind::Execute,
            input,
            pending: false,
            content: Vec::new(),
            locations: Vec::new(),
            mcp: None,
        };
        self.calls.tools().start(started, None, out);
        self.host_commands.insert(id.to_owned(), tool_call_id.clone());
        tool_call_id
    }

    /// `bash_execution_update`.
    pub(super) fn host_bash_updated(&mut self, update: HostBashUpdate<'_>, out: &mut Vec<ChatEvent>) {
        let tool_call_id = self.begin_host_command(&update.id, "Bash", json!({}), out);
        let output_delta = Some(update.delta.0.into_owned());
        self.calls.tools().update(ToolUpdated { tool_call_id, output_delta, ..ToolUpdated::default() }, out);
    }

    /// The answer to `bash`: how the command ended.
    pub(super) fn host_bash_ended(&mut self, response: &Response<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let Some(tool_call_id) = response.id.as_deref().and_then(|id| self.host_commands.get(id)).cloned() else {
            return Ok(());
        };
        let result: Option<BashResult<'_>> = response.data.map(|data| serde_json::from_str(data.get())).transpose()?;
        self.host_commands.retain(|_, call| *call != tool_call_id);
        let Some(result) = result else {
            let error = response.error.as_deref().unwrap_or("The command failed");
            self.calls.tools().fail(&tool_call_id, error, out);
            return Ok(());
        };
        let output = result.output.as_deref().map_or_else(|| self.calls.tools().streamed(&tool_call_id), str::to_owned);
        let failure = match result.exit_code {
            _ if result.cancelled == Some(true) => Some("The command was cancelled".to_owned()),
            Some(code) if code != 0 => Some(format!("Exit code {code}")),
            _ => None,
        };
        let mut content = Vec::with_capacity(2);
        if !output.is_empty() {
            content.push(text_content(output.as_str()));
        }
        content.extend(failure.as_deref().map(text_content));
        let completed = ToolCompleted {
            tool_call_id,
            is_error: failure.is_some(),
            title: None,
            input: None,
            output: json!({ "exitCode": result.exit_code, "output": output }),
            content,
            locations: None,
            mcp: None,
            duration_ms: None,
        };
        self.calls.tools().complete(completed, out);
        Ok(())
    }

    /// The process ended, and its commands with it.
    pub(super) fn forget_host_commands(&mut self) {
        self.host_commands.clear();
    }
}
