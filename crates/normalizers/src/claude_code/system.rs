//! News besides the conversation: tasks, retries, hooks, limits, and texts for a person.

use super::normalize::ClaudeCode;
use super::wire::{HookLine, ProgressLine, RateLimitLine, RetryLine, TaskLine, TextLine};
use chat_grammar::event::{ChatEvent, EventKind, Retry};

impl ClaudeCode {
    /// `task_started` and `task_progress`: a subagent, or a command that takes some time.
    pub(super) fn task_runs(&mut self, line: &TaskLine<'_>, out: &mut Vec<ChatEvent>) {
        let Some(call) = line.tool_use_id.as_deref() else { return };
        if let Some(task) = line.task_id.as_deref()
            && !self.tasks.iter().any(|(known, _)| known == task)
        {
            self.tasks.push((task.to_owned(), call.to_owned()));
        }
        self.call_runs(call, out);
    }

    /// `task_notification`: a task ended. It may begin a turn of the CLI's own.
    pub(super) fn task_ended(&mut self, line: &TaskLine<'_>, out: &mut Vec<ChatEvent>) {
        self.turn.notified = true;
        let Some(call) = line.tool_use_id.as_deref() else { return };
        self.tasks.retain(|(_, known)| known != call);
        let Some(call) = self.calls.get(call) else { return };
        let (shown, closed) = (call.id.clone(), !self.tools.is_open(&call.id));
        let below = |_: &Self, call: &super::calls::Call| call.parent.as_deref() == Some(&shown);
        self.open_calls_failed(below, "The sub-agent ended before this call did", out);
        // Of a task whose call ended when it went to the background nothing else tells that it failed.
        let failed = line.status.as_deref().is_some_and(|status| status != "completed");
        if failed && closed {
            let message = line.summary.as_deref().unwrap_or("A background task failed").to_owned();
            out.push(EventKind::Warning { message, detail: None, retry: None }.into());
        }
    }

    /// `tool_progress`: the call runs. Its output is never streamed.
    pub(super) fn progress(&mut self, line: &ProgressLine<'_>, out: &mut Vec<ChatEvent>) {
        let ids = [line.parent_tool_use_id.as_deref(), line.tool_use_id.as_deref()];
        for id in ids.into_iter().flatten() {
            self.call_runs(id, out);
        }
    }
}

fn warn(message: &str, detail: Option<&str>, retry: Option<Retry>, out: &mut Vec<ChatEvent>) {
    let detail = detail.map(str::to_owned);
    out.push(EventKind::Warning { message: message.to_owned(), detail, retry }.into());
}

/// `api_retry`.
pub(super) fn retry(line: &RetryLine<'_>, out: &mut Vec<ChatEvent>) {
    let why = line.error.as_deref().filter(|word| *word != "unknown").map(|word| word.replace('_', " "));
    let message = match (line.error_status, why) {
        (Some(status), Some(why)) => format!("The model server answered {status} ({why}); the agent tries again"),
        (Some(status), None) => format!("The model server answered {status}; the agent tries again"),
        (None, _) => "The connection to the model was lost; the agent tries again".to_owned(),
    };
    let retry = line.attempt.map(|attempt| Retry { attempt, limit: line.max_retries, delay_ms: line.retry_delay_ms });
    warn(&message, None, retry, out);
}

/// `informational`, `model_fallback` and their like.
pub(super) fn text(line: &TextLine<'_>, out: &mut Vec<ChatEvent>) {
    let text = line.content.as_deref().or(line.text.as_deref());
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        warn(text, None, None, out);
    }
}

/// `notification`: most are about the CLI's own screen; only urgent ones are for everybody.
pub(super) fn notification(line: &TextLine<'_>, out: &mut Vec<ChatEvent>) {
    if matches!(line.priority.as_deref(), Some("immediate" | "high")) {
        text(line, out);
    }
}

/// `hook_response`.
pub(super) fn hook(line: &HookLine<'_>, out: &mut Vec<ChatEvent>) {
    if line.outcome.as_deref() == Some("error") {
        let message = format!("The hook {} failed", line.hook_name.as_deref().unwrap_or("of the agent"));
        warn(&message, line.stderr.as_deref().map(str::trim).filter(|text| !text.is_empty()), None, out);
    }
}

/// `rate_limit_event`, which comes with every answer of a subscription.
pub(super) fn rate_limit(line: &RateLimitLine<'_>, out: &mut Vec<ChatEvent>) {
    let info = &line.rate_limit_info;
    let limit = info.limit.as_deref().unwrap_or("usage").replace('_', " ");
    match info.status.as_deref() {
        None | Some("allowed") => {}
        Some("rejected") => warn(&format!("The {limit} limit is reached"), None, None, out),
        Some(_) => match info.utilization {
            Some(used) => warn(&format!("{:.0} % of the {limit} limit are used", used * 100.0), None, None, out),
            None => warn(&format!("The {limit} limit is nearly reached"), None, None, out),
        },
    }
}
