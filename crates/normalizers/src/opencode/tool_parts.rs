//! Tool calls as the stream tells them: each state is a snapshot of the whole part, and many repeat.

use super::Malformed;
use super::calls::Call;
use super::info::Info;
use super::messages::PartState;
use super::normalize::OpenCode;
use super::sessions::{Session, Task};
use super::subjects::{self, Subject};
use super::wire::{Part, ShellMetadata, TaskMetadata, ToolState};
use super::{edits, outputs};
use crate::tools::{ToolCalls, text_content};
use chat_grammar::event::{ChatEvent, ToolStarted, ToolUpdated};
use serde_json::value::RawValue;
use serde_json::{Value, json};

impl OpenCode {
    /// A tool part. It may name the session of a sub-agent.
    pub(super) fn tool_part(&mut self, part: &Part<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let (Some(tool), Some(state)) = (part.tool.as_deref(), &part.state) else { return Err(Malformed) };
        let Some(session) = self.sessions.find(&part.session_id) else { return Ok(()) };
        let id = tool_state(session, part, tool, state, &self.info, &mut self.tools, out)?;
        if let Some(id) = id.filter(|_| tool == "task") {
            self.task_state(&part.session_id, id, state);
        }
        Ok(())
    }

    /// A `task` says which session works for it, and ends with it.
    fn task_state(&mut self, session_id: &str, call: String, state: &ToolState<'_>) {
        let child = metadata::<TaskMetadata<'_>>(state.metadata).and_then(|metadata| metadata.session_id);
        let child = child.map(|id| id.to_string()).filter(|id| self.sessions.adopt(id, session_id).is_some());
        let Some(session) = self.sessions.find(session_id) else { return };
        match session.tasks.iter_mut().find(|task| task.call == call) {
            Some(task) => task.child = child.clone().or(task.child.take()),
            None => session.tasks.push(Task { call: call.clone(), child: child.clone() }),
        }
        if has_ended(state) {
            session.tasks.retain(|task| task.call != call);
        }
        if let Some(child) = child.and_then(|id| self.sessions.find(&id)) {
            child.call = Some(call);
            child.made_up = false;
        }
    }
}

fn has_ended(state: &ToolState<'_>) -> bool {
    matches!(&*state.status, "completed" | "error")
}

/// Reads a state; the id of its call for readers.
fn tool_state(
    session: &mut Session,
    part: &Part<'_>,
    tool: &str,
    state: &ToolState<'_>,
    info: &Info,
    tools: &mut ToolCalls,
    out: &mut Vec<ChatEvent>,
) -> Result<Option<String>, Malformed> {
    let input = match state.input {
        Some(input) => serde_json::from_str(input.get())?,
        None => json!({}),
    };
    let parent = session.call.clone();
    let message = session.messages.entry(&part.message_id);
    let known = message.parts.get_mut(&*part.id);
    if known.is_none() {
        let call = begin(part, tool, &state.status, &input, info, tools);
        tools.start(started(&call, &state.status), parent, out);
        message.parts.insert(part.id.to_string(), PartState::Call(Box::new(call)));
    }
    let Some(PartState::Call(call)) = message.parts.get_mut(&*part.id) else { return Ok(None) };
    let id = call.id.clone();
    if !tools.is_open(&id) {
        return Ok(None);
    }
    // A later state without input says nothing about it.
    let news = input != call.input && input != json!({});
    if has_ended(state) {
        let mut end = outputs::completed(call, tool, state, &input, info, tools)?;
        end.input = news.then_some(input);
        tools.complete(end, out);
        // Nothing asks for them any more.
        call.output = None;
        call.input = Value::Null;
    } else {
        running(call, state, news.then_some(input), info, tools, out);
    }
    Ok(Some(id))
}

fn begin(part: &Part<'_>, tool: &str, status: &str, input: &Value, info: &Info, tools: &ToolCalls) -> Call {
    let subject = subjects::subject(tool, info);
    // Before it runs, its input is not told.
    let input = if status == "pending" { json!({}) } else { input.clone() };
    let call_id = part.call_id.as_deref().filter(|id| !id.is_empty()).unwrap_or(&part.id).to_owned();
    Call {
        id: tools.free_id(&call_id),
        title: subjects::title(tool, &subject, &input, info),
        call_id,
        tool: tool.to_owned(),
        subject,
        input,
        output: None,
        waits: 0,
        runs: status != "pending",
    }
}

fn started(call: &Call, status: &str) -> ToolStarted {
    let Subject { tool_name, kind, mcp } = call.subject.clone();
    ToolStarted {
        tool_call_id: call.id.clone(),
        tool_name,
        title: call.title.clone(),
        kind,
        input: call.input.clone(),
        pending: status == "pending",
        content: edits::planned(&call.tool, &call.input),
        locations: subjects::locations(&call.tool, &call.input),
        mcp,
    }
}

/// A call that is pending or runs.
fn running(
    call: &mut Call,
    state: &ToolState<'_>,
    input: Option<Value>,
    info: &Info,
    tools: &mut ToolCalls,
    out: &mut Vec<ChatEvent>,
) {
    let mut update = ToolUpdated { tool_call_id: call.id.clone(), ..ToolUpdated::default() };
    if &*state.status == "running" {
        call.runs = true;
    }
    // The agent says that a call runs also while it waits for leave.
    update.in_progress = call.runs && call.waits == 0 && tools.is_pending(&call.id);
    if let Some(input) = input {
        let title = subjects::title(&call.tool, &call.subject, &input, info);
        if title != call.title {
            call.title.clone_from(&title);
            update.title = Some(title);
        }
        let planned = edits::planned(&call.tool, &input);
        update.content = (!planned.is_empty()).then_some(planned);
        let locations = subjects::locations(&call.tool, &input);
        update.locations = (!locations.is_empty()).then_some(locations);
        call.input.clone_from(&input);
        update.input = Some(input);
    }
    if call.tool == "bash" {
        output_news(call, state.metadata, &mut update);
    }
    let told = ToolUpdated { tool_call_id: call.id.clone(), ..ToolUpdated::default() };
    if update != told {
        tools.update(update, out);
    }
}

/// From so many bytes on a snapshot of a command's output may be its tail only, after an ellipsis (OpenCode 1.18.33 keeps 30 000
/// characters).
const TAIL: usize = 30_000;
const ELLIPSIS: &str = "...\n\n";

/// What a command printed since the last snapshot. Snapshots hold the output so far; a tail replaces what is shown.
fn output_news(call: &mut Call, raw: Option<&RawValue>, update: &mut ToolUpdated) {
    let Some(output) = metadata::<ShellMetadata<'_>>(raw).and_then(|metadata| metadata.output) else { return };
    let shown = call.output.get_or_insert_default();
    let is_tail = output.len() >= TAIL && output.starts_with(ELLIPSIS);
    match output.strip_prefix(shown.as_str()) {
        Some("") => {}
        Some(_) if is_tail && shown.is_empty() => {
            update.content = Some(vec![text_content(&*output)]);
            (*output).clone_into(shown);
        }
        Some(rest) => {
            update.output_delta = Some(rest.to_owned());
            shown.push_str(rest);
        }
        // A repeated older snapshot.
        None if shown.starts_with(&*output) => {}
        None => {
            update.content = Some(vec![text_content(&*output)]);
            (*output).clone_into(shown);
        }
    }
}

/// The metadata of a tool whose form is known; `None` where it has another.
pub(super) fn metadata<'a, T: serde::Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}
