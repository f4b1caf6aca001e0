//! Tool calls: written by the model, then executed.

use super::normalize::Pi;
use super::results::{self, Ended};
use super::snapshots::{Growth, Snapshots};
use super::subject::Tool;
use super::wire::{ExecutionEnd, ExecutionStart, ExecutionUpdate, Message, ToolResult};
use super::{Malformed, answers};
use crate::tools::ToolCalls;
use chat_grammar::event::{ChatEvent, ToolStarted, ToolUpdated};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// The calls of the session.
#[derive(Debug, Default)]
pub(super) struct Calls {
    tools: ToolCalls,
    /// Calls that have not ended, by Pi's id. Some providers use an id again.
    open: HashMap<String, Call>,
    executed: u64,
    /// What paths that are not absolute start from.
    cwd: Option<String>,
}

/// A call that has not ended.
#[derive(Debug)]
pub(super) struct Call {
    /// The id that readers know.
    pub id: String,
    pub tool: Tool,
    /// The best input so far.
    pub input: Value,
    /// The agent said that the input is whole.
    whole: bool,
    /// Which execution of the session this is; `None` while the model still writes the input.
    execution: Option<u64>,
    output: Snapshots,
}

impl Calls {
    /// What paths that are not absolute start from.
    pub(super) fn work_in(&mut self, cwd: Option<&str>) {
        self.cwd = cwd.map(str::to_owned);
    }

    /// The calls that are executed, the newest first.
    pub(super) fn executing(&self) -> Vec<(&str, &Call)> {
        let mut calls: Vec<(u64, &str, &Call)> =
            self.open.iter().filter_map(|(native, call)| Some((call.execution?, native.as_str(), call))).collect();
        calls.sort_unstable_by_key(|(execution, ..)| std::cmp::Reverse(*execution));
        calls.into_iter().map(|(_, native, call)| (native, call)).collect()
    }

    /// The model begins to write a call.
    pub(super) fn declare(&mut self, native: &str, name: &str, out: &mut Vec<ChatEvent>) {
        if !self.open.contains_key(native) {
            self.begin(native, name, Value::Object(serde_json::Map::new()), true, out);
        }
    }

    fn begin(&mut self, native: &str, name: &str, input: Value, pending: bool, out: &mut Vec<ChatEvent>) {
        let tool = Tool::of(name);
        let id = self.tools.free_id(native);
        let cwd = self.cwd.as_deref();
        let started = ToolStarted {
            tool_call_id: id.clone(),
            tool_name: tool.name.clone(),
            title: tool.title(&input),
            kind: tool.kind,
            input: input.clone(),
            pending,
            content: tool.diffs(&input, cwd),
            locations: tool.locations(&input, None, cwd),
            mcp: tool.mcp.clone(),
        };
        self.tools.start(started, None, out);
        let call = Call { id, tool, input, whole: !pending, execution: None, output: Snapshots::default() };
        self.open.insert(native.to_owned(), call);
    }

    /// The input that the model has written so far.
    pub(super) fn partial_input(&mut self, native: &str, input: Value, out: &mut Vec<ChatEvent>) {
        let Some(call) = self.open.get_mut(native).filter(|call| call.execution.is_none() && call.input != input) else {
            return;
        };
        call.input = input.clone();
        self.tools.update(ToolUpdated { tool_call_id: call.id.clone(), input: Some(input), ..ToolUpdated::default() }, out);
    }

    /// The whole input.
    pub(super) fn whole_input(&mut self, native: &str, input: Value, out: &mut Vec<ChatEvent>) {
        if input.is_null() {
            return;
        }
        let cwd = self.cwd.as_deref();
        let Some(call) = self.open.get_mut(native) else { return };
        let diffs = call.tool.diffs(&input, cwd);
        let locations = call.tool.locations(&input, None, cwd);
        let news = ToolUpdated {
            tool_call_id: call.id.clone(),
            title: Some(call.tool.title(&input)).filter(|title| *title != call.tool.title(&Value::Null)),
            input: Some(input.clone()).filter(|input| *input != call.input),
            content: Some(diffs).filter(|diffs| !diffs.is_empty()),
            locations: Some(locations).filter(|locations| !locations.is_empty()),
            ..ToolUpdated::default()
        };
        // The same input is told at the end of its block, of its message and at the start of its execution.
        if std::mem::replace(&mut call.whole, true) && call.input == input {
            return;
        }
        call.input = input;
        if news.title.is_some() || news.input.is_some() || news.content.is_some() || news.locations.is_some() {
            self.tools.update(news, out);
        }
    }

    fn execute(&mut self, start: &ExecutionStart<'_>, input: Value, out: &mut Vec<ChatEvent>) {
        let native = &*start.tool_call_id;
        if self.open.contains_key(native) {
            self.whole_input(native, input, out);
        } else {
            self.begin(native, &start.tool_name, input, false, out);
        }
        if let Some(call) = self.open.get_mut(native) {
            self.executed += u64::from(call.execution.is_none());
            call.execution.get_or_insert(self.executed);
            let id = call.id.clone();
            self.tools.run(&id, out);
        }
    }

    /// The calls that a message wrote and that will not be executed, since the message failed.
    pub(super) fn fail_unexecuted<'a>(
        &mut self,
        natives: impl Iterator<Item = &'a str>,
        reason: &str,
        out: &mut Vec<ChatEvent>,
    ) {
        let waits = |native: &&str| self.open.get(*native).is_some_and(|call| call.execution.is_none());
        let natives: Vec<&str> = natives.filter(waits).collect();
        let ids: Vec<String> = natives.iter().filter_map(|native| Some(self.open.remove(*native)?.id)).collect();
        self.tools.fail_all(ids.iter().map(String::as_str), reason, out);
    }

    /// The turn ended: so did its calls.
    pub(super) fn fail_turn(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        let ids: Vec<String> = self.open.drain().map(|(_, call)| call.id).collect();
        self.tools.fail_all(ids.iter().map(String::as_str), reason, out);
    }

    /// The agent ended, and with it what the host runs through it.
    pub(super) fn fail_every(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        self.open.clear();
        self.tools.fail_every(reason, out);
    }

    /// The calls as readers see them, for those that the host makes.
    pub(super) fn tools(&mut self) -> &mut ToolCalls {
        &mut self.tools
    }

    fn end(&mut self, native: &str, ended: &Ended<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let Some(call) = self.open.get(native) else { return Ok(()) };
        let completed = results::completed(call, ended, &self.tools.streamed(&call.id), self.cwd.as_deref())?;
        self.open.remove(native);
        self.tools.complete(completed, out);
        Ok(())
    }
}

/// The blocks of a snapshot, for one that replaces the one before.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WholeUpdate<'a> {
    #[serde(borrow)]
    partial_result: ToolResult<'a>,
}

impl Pi {
    /// `tool_execution_start`.
    pub(super) fn execution_started(&mut self, start: &ExecutionStart<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let input = answers::value(start.args)?;
        self.turn.run();
        self.calls.execute(start, input, out);
        Ok(())
    }

    /// `tool_execution_update`: the whole output so far becomes the piece by which it grew.
    pub(super) fn execution_updated(
        &mut self,
        update: &ExecutionUpdate<'_>,
        line: &str,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        let Some(call) = self.calls.open.get_mut(&*update.tool_call_id) else { return Ok(()) };
        let id = call.id.clone();
        self.dialogs.call_goes_on(&id, out);
        let blocks = &update.partial_result.content;
        let truncation = update.partial_result.details.as_ref().and_then(|details| details.truncation);
        let growth = match blocks.as_slice() {
            [] => Growth::Nothing,
            [block] if &*block.kind == "text" => call.output.take(block.text.as_deref().unwrap_or_default(), truncation),
            _ => Growth::Other,
        };
        let news = ToolUpdated { tool_call_id: id, in_progress: true, ..ToolUpdated::default() };
        match growth {
            Growth::Nothing => {}
            Growth::Piece(piece) => {
                self.calls.tools.update(ToolUpdated { output_delta: Some(piece.into_owned()), ..news }, out);
            }
            Growth::Other => {
                let whole: WholeUpdate<'_> = serde_json::from_str(line)?;
                let content = Some(results::blocks(&whole.partial_result));
                self.calls.tools.update(ToolUpdated { content, ..news }, out);
            }
        }
        Ok(())
    }

    /// `tool_execution_end`.
    pub(super) fn execution_ended(&mut self, end: &ExecutionEnd<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let native = &*end.tool_call_id;
        // An end without anything before it; one of a known call is a repetition.
        if !self.calls.open.contains_key(native) && !self.calls.tools.is_known(native) {
            let name = end.tool_name.as_deref().unwrap_or("tool");
            self.calls.begin(native, name, Value::Null, false, out);
        }
        if let Some(call) = self.calls.open.get(native) {
            let id = call.id.clone();
            self.dialogs.call_goes_on(&id, out);
        }
        let ended = Ended { result: &end.result, is_error: end.is_error, duration_ms: end.duration_ms };
        self.calls.end(native, &ended, out)
    }

    /// A `toolResult` message repeats a call's end; it is the end where that is missing.
    pub(super) fn result_told(&mut self, message: &Message<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let Some(native) = message.tool_call_id.as_deref() else { return Ok(()) };
        let content: Option<Vec<&RawValue>> = message.content.map(|content| serde_json::from_str(content.get())).transpose()?;
        let result = ToolResult { content, details: message.details, structured_content: None };
        let ended = Ended { result: &result, is_error: message.is_error == Some(true), duration_ms: message.duration_ms };
        self.calls.end(native, &ended, out)
    }
}
