//! Events to updates. The mapper remembers what a turn needs: the steps so far and how much of each tool's output was streamed.

use super::{Body, CompactionMeta, CompactionPhase, Delta, ErrorMeta, ExtensionUpdate, Extra, InitMeta, McpServerStatus};
use super::{Truncated, Update};
use crate::acp::{
    AvailableCommandsUpdate, CompactionStatus, CompactionUpdate, ConfigOptionUpdate, Content, ContentBlock, ContentChunk,
    CurrentModeUpdate, Notice, NoticeSeverity, PermissionOption, PermissionOptionKind, Plan, SessionInfoUpdate, SessionUpdate,
    ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use crate::bounded::{HeadAndTail, STREAMED_OUTPUT_LIMIT};
use crate::event::{
    ChatEvent, CompactionFinished, ErrorEvent, EventKind, PermissionRequested, PermissionResolved, QuestionAsked, Relayed,
    SessionInit, ToolCompleted, ToolStarted, ToolUpdated, Trigger,
};
use crate::usage::{UsageOperation, UsageRecord, UsageStep, held};
use serde_json::{Value, json};
use std::collections::HashMap;

/// ACP leaves words with an underscore to implementations: a reader that does not know this one shows no warning.
const DEBUG_SEVERITY: &str = "_debug";

/// Makes the updates of one turn.
#[derive(Debug)]
pub struct UpdateMapper {
    conversation_id: String,
    turn_id: String,
    steps: Vec<UsageStep>,
    /// Where in `steps` each id stands.
    places: HashMap<String, usize>,
    streamed: HashMap<String, u64>,
}

impl UpdateMapper {
    /// A mapper for one turn.
    pub fn new(conversation_id: &str, turn_id: &str) -> Self {
        Self {
            conversation_id: conversation_id.to_owned(),
            turn_id: turn_id.to_owned(),
            steps: Vec::new(),
            places: HashMap::new(),
            streamed: HashMap::new(),
        }
    }

    /// The usage steps so far, context snapshots included.
    pub fn steps(&self) -> &[UsageStep] {
        &self.steps
    }

    /// Appends the updates of one event; none for events that only end or annotate a turn.
    pub fn push(&mut self, event: ChatEvent, updates: &mut Vec<Update>) {
        let parent = event.parent_tool_call_id;
        let first = updates.len();
        match event.kind {
            EventKind::TextDelta { text, message_id } => {
                updates.push(official(SessionUpdate::AgentMessageChunk(chunk(text.into(), message_id))));
            }
            EventKind::ReasoningDelta { text, message_id, visibility } => {
                let update = SessionUpdate::AgentThoughtChunk(chunk(text.into(), message_id));
                updates.push(with(update, Extra { reasoning: Some(visibility), ..Extra::default() }));
            }
            EventKind::Content { block, message_id } => {
                updates.push(official(SessionUpdate::AgentMessageChunk(chunk(block, message_id))));
            }
            EventKind::ToolStarted(tool) => updates.push(tool_started(tool)),
            EventKind::ToolUpdated(tool) => updates.push(self.tool_updated(tool)),
            EventKind::ToolCompleted(tool) => updates.push(self.tool_completed(tool)),
            EventKind::Plan { entries } => updates.push(official(SessionUpdate::Plan(Plan::new(entries)))),
            EventKind::PermissionRequested(request) => updates.push(self.permission_request(request)),
            EventKind::PermissionResolved(response) => updates.push(self.permission_response(response)),
            EventKind::QuestionAsked(question) => updates.push(self.elicitation_request(question)),
            EventKind::QuestionAnswered(answer) => {
                let mut response = json!({ "action": answer.action });
                if let (Value::Object(members), Some(content)) = (&mut response, answer.content) {
                    members.insert("content".to_owned(), content);
                }
                let request_id = self.request_id(&answer.request_id);
                updates.push(extension(ExtensionUpdate::ElicitationResponse { request_id, response }));
            }
            EventKind::UsageFinal { usage } => self.usage(usage, parent.as_deref(), updates),
            EventKind::CompactionStarted { compaction_id, trigger, pre_tokens } => {
                let update = CompactionUpdate::new(compaction_id, CompactionStatus::InProgress);
                let compaction = Some(begun(trigger, pre_tokens));
                updates.push(with(SessionUpdate::CompactionUpdate(update), Extra { compaction, ..Extra::default() }));
            }
            EventKind::CompactionFinished(compaction) => updates.push(compaction_finished(compaction)),
            EventKind::SessionInit(init) => updates.push(session_init(init)),
            EventKind::Title { title } => {
                updates.push(official(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))));
            }
            EventKind::Mode { mode_id } => {
                updates.push(official(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode_id))));
            }
            EventKind::Commands { commands } => {
                let update = AvailableCommandsUpdate::new(commands);
                updates.push(official(SessionUpdate::AvailableCommandsUpdate(update)));
            }
            EventKind::Config { options } => {
                updates.push(official(SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options))));
            }
            EventKind::Error(error) => updates.push(error_notice(error)),
            EventKind::Warning { message, detail, retry } => {
                let update = SessionUpdate::Notice(notice(NoticeSeverity::Warning, message, detail));
                updates.push(with(update, Extra { retry, ..Extra::default() }));
            }
            EventKind::Debug { message, detail } => {
                let severity = NoticeSeverity::Other(DEBUG_SEVERITY.to_owned());
                updates.push(official(SessionUpdate::Notice(notice(severity, message, detail))));
            }
            EventKind::Relayed(relayed) => updates.push(self.relayed(*relayed, parent.as_deref())),
            EventKind::Done { .. } | EventKind::Unmapped { .. } => {}
        }
        if parent.is_some() {
            for update in updates.iter_mut().skip(first) {
                update.extra.parent_tool_call_id.clone_from(&parent);
            }
        }
    }

    // Agents count their requests from 0 in each process; the turn's id makes theirs unique in the conversation.
    fn request_id(&self, native: &str) -> String {
        format!("{}:{native}", self.turn_id)
    }

    // What our stream adds to an update is the same, whoever made it.
    fn relayed(&mut self, relayed: Relayed, parent: Option<&str>) -> Update {
        let Relayed { update, meaning } = relayed;
        let mut extra = Extra::default();
        match meaning {
            Some(EventKind::ReasoningDelta { visibility, .. }) => extra.reasoning = Some(visibility),
            Some(EventKind::ToolStarted(tool)) => extra.mcp = tool.mcp,
            Some(EventKind::ToolUpdated(tool)) => {
                extra.mcp = tool.mcp;
                extra.delta = delta(tool.input_delta, tool.output_delta);
            }
            Some(EventKind::ToolCompleted(tool)) => extra.mcp = tool.mcp,
            Some(EventKind::CompactionStarted { trigger, pre_tokens, .. }) => {
                extra.compaction = Some(begun(trigger, pre_tokens));
            }
            Some(EventKind::CompactionFinished(compaction)) => extra.compaction = Some(finished(&compaction)),
            Some(EventKind::UsageFinal { usage }) => {
                let known = self.places.get(&usage.id).map(|place| self.steps[*place].clone());
                extra.usage = known.or_else(|| self.step(usage, parent));
            }
            _ => {}
        }
        extra.truncated = update.truncated.map(|bytes| Truncated { bytes });
        Update { body: Body::Relayed(Box::new(update)), extra }
    }

    fn tool_updated(&mut self, tool: ToolUpdated) -> Update {
        if let Some(output) = &tool.output_delta {
            *self.streamed.entry(tool.tool_call_id.clone()).or_default() += output.len() as u64;
        }
        let mut fields = ToolCallUpdateFields::new();
        fields.status = tool.in_progress.then_some(ToolCallStatus::InProgress);
        fields.name = tool.tool_name;
        fields.title = tool.title;
        fields.content = tool.content;
        fields.locations = tool.locations;
        fields.raw_input = tool.input;
        let delta = delta(tool.input_delta, tool.output_delta);
        let update = ToolCallUpdate::new(tool.tool_call_id, fields);
        with(SessionUpdate::ToolCallUpdate(update), Extra { delta, mcp: tool.mcp, ..Extra::default() })
    }

    fn tool_completed(&mut self, mut tool: ToolCompleted) -> Update {
        let streamed = self.streamed.remove(&tool.tool_call_id).unwrap_or(0);
        let truncated = (streamed > STREAMED_OUTPUT_LIMIT).then(|| {
            tool.content.iter_mut().for_each(shorten_content);
            shorten_value(&mut tool.output);
            Truncated { bytes: streamed }
        });
        let mut fields = ToolCallUpdateFields::new();
        fields.status = Some(if tool.is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed });
        fields.title = tool.title;
        fields.content = Some(tool.content);
        fields.locations = tool.locations;
        fields.raw_input = tool.input;
        fields.raw_output = Some(tool.output);
        let update = ToolCallUpdate::new(tool.tool_call_id, fields);
        with(SessionUpdate::ToolCallUpdate(update), Extra { mcp: tool.mcp, truncated, ..Extra::default() })
    }

    fn permission_request(&self, request: PermissionRequested) -> Update {
        let request_id = self.request_id(&request.request_id);
        let severity = match request.kind {
            ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Fetch => "low",
            ToolKind::Execute | ToolKind::Delete => "high",
            _ => "medium",
        };
        let mut fields = ToolCallUpdateFields::new();
        fields.title = Some(request.title);
        fields.kind = Some(request.kind);
        fields.raw_input = Some(request.input.clone());
        let tool_call_id = request.tool_call_id.clone().unwrap_or_else(|| request_id.clone());
        let options = request.options.into_iter().map(|choice| {
            let kind = match choice.kind.as_str() {
                "allow_once" => PermissionOptionKind::AllowOnce,
                "allow_always" => PermissionOptionKind::AllowAlways,
                "reject_always" => PermissionOptionKind::RejectAlways,
                _ => PermissionOptionKind::RejectOnce,
            };
            PermissionOption::new(choice.option_id, choice.name, kind)
        });
        extension(ExtensionUpdate::PermissionRequest {
            request_id,
            tool_call_id: request.tool_call_id,
            action: request.action,
            args: request.input,
            severity,
            tool_call: ToolCallUpdate::new(tool_call_id, fields),
            options: options.collect(),
        })
    }

    fn permission_response(&self, response: PermissionResolved) -> Update {
        let mut outcome = match response.option_id {
            Some(option_id) => json!({ "outcome": "selected", "optionId": option_id }),
            None => json!({ "outcome": "cancelled" }),
        };
        if let Some(input) = response.updated_input {
            outcome["_meta"] = json!({ "amalgm": { "updatedInput": input } });
        }
        extension(ExtensionUpdate::PermissionResponse {
            request_id: self.request_id(&response.request_id),
            tool_call_id: response.tool_call_id,
            outcome,
            approved: response.approved,
            reason: response.reason,
            by: response.by,
        })
    }

    fn elicitation_request(&self, question: QuestionAsked) -> Update {
        let mut request = match (question.url, question.form) {
            (Some(page), _) => json!({ "mode": "url", "elicitationId": page.elicitation_id, "url": page.url }),
            (None, form) => {
                let schema = form.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
                json!({ "mode": "form", "requestedSchema": schema })
            }
        };
        if let Value::Object(members) = &mut request {
            members.insert("sessionId".to_owned(), Value::String(self.conversation_id.clone()));
            members.insert("message".to_owned(), Value::String(question.message));
        }
        extension(ExtensionUpdate::ElicitationRequest {
            request_id: self.request_id(&question.request_id),
            tool_call_id: question.tool_call_id,
            request,
        })
    }

    fn usage(&mut self, record: UsageRecord, parent: Option<&str>, updates: &mut Vec<Update>) {
        let Some(step) = self.step(record, parent) else { return };
        if step.record.operation != UsageOperation::ContextSnapshot {
            updates.push(extension(ExtensionUpdate::UsageStep { step: step.clone() }));
        }
        // A subagent has a context of its own; the conversation's is the main session's.
        if let (Some(used), Some(size), None) = (step.record.context.used, step.record.context.size, parent) {
            let update = SessionUpdate::UsageUpdate(UsageUpdate::new(used, size));
            updates.push(with(update, Extra { usage: Some(step), ..Extra::default() }));
        }
    }

    /// The record with its place in the turn; `None` for one that was reported before.
    fn step(&mut self, mut record: UsageRecord, parent: Option<&str>) -> Option<UsageStep> {
        if self.places.contains_key(&record.id) {
            return None;
        }
        self.places.insert(record.id.clone(), self.steps.len());
        if record.parent_tool_call_id.is_none() {
            record.parent_tool_call_id = parent.map(str::to_owned);
        }
        let record = record.bounded();
        let step = UsageStep { turn_id: self.turn_id.clone(), index: self.steps.len() as u64, record };
        self.steps.push(step.clone());
        Some(step)
    }
}

fn official(update: SessionUpdate) -> Update {
    with(update, Extra::default())
}

fn with(update: SessionUpdate, extra: Extra) -> Update {
    Update { body: Body::Official(Box::new(update)), extra }
}

fn extension(update: ExtensionUpdate) -> Update {
    Update { body: Body::Extension(Box::new(update)), extra: Extra::default() }
}

fn chunk(block: ContentBlock, message_id: Option<String>) -> ContentChunk {
    let mut chunk = ContentChunk::new(block);
    chunk.message_id = message_id.map(Into::into);
    chunk
}

fn delta(input: Option<Value>, output: Option<String>) -> Option<Delta> {
    (input.is_some() || output.is_some()).then_some(Delta { input, output })
}

fn tool_started(tool: ToolStarted) -> Update {
    let mut call = ToolCall::new(tool.tool_call_id, tool.title);
    call.name = Some(tool.tool_name);
    call.kind = tool.kind;
    call.status = if tool.pending { ToolCallStatus::Pending } else { ToolCallStatus::InProgress };
    call.content = tool.content;
    call.locations = tool.locations;
    call.raw_input = Some(tool.input);
    with(SessionUpdate::ToolCall(call), Extra { mcp: tool.mcp, ..Extra::default() })
}

fn compaction_finished(compaction: CompactionFinished) -> Update {
    let status = if compaction.failed { CompactionStatus::Failed } else { CompactionStatus::Completed };
    let meta = finished(&compaction);
    let mut update = CompactionUpdate::new(compaction.compaction_id, status);
    if let Some(summary) = compaction.summary {
        update = update.summary(vec![ContentBlock::from(summary)]);
    }
    with(SessionUpdate::CompactionUpdate(update), Extra { compaction: Some(meta), ..Extra::default() })
}

fn begun(trigger: Option<Trigger>, pre_tokens: Option<u64>) -> CompactionMeta {
    let phase = CompactionPhase::Started;
    CompactionMeta { phase, trigger, pre_tokens: held(pre_tokens), post_tokens: None, duration_ms: None }
}

fn finished(compaction: &CompactionFinished) -> CompactionMeta {
    CompactionMeta {
        phase: CompactionPhase::Finished,
        trigger: compaction.trigger,
        pre_tokens: held(compaction.pre_tokens),
        post_tokens: held(compaction.post_tokens),
        duration_ms: compaction.duration_ms,
    }
}

fn session_init(init: SessionInit) -> Update {
    let servers = init.mcp_servers.into_iter().map(|(name, status)| McpServerStatus { name, status });
    let meta = InitMeta {
        provider_session_id: init.provider_session_id,
        cwd: init.cwd,
        model: init.model,
        tools: init.tools,
        mcp_servers: servers.collect(),
    };
    with(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new()), Extra { init: Some(meta), ..Extra::default() })
}

fn error_notice(error: ErrorEvent) -> Update {
    let meta = ErrorMeta { class: error.class, reason: error.reason, retryable: error.retryable };
    let update = SessionUpdate::Notice(notice(NoticeSeverity::Error, error.message, None));
    with(update, Extra { error: Some(meta), ..Extra::default() })
}

// A notice's title stands alone on one line and is never empty; the rest of a long message is its description.
fn notice(severity: NoticeSeverity, message: String, detail: Option<String>) -> Notice {
    let mut lines = message.trim().splitn(2, '\n');
    let title = lines.next().map(str::trim).filter(|title| !title.is_empty()).unwrap_or("The agent gave no message");
    let mut notice = Notice::new(severity, title);
    let rest = lines.next().map(str::trim).filter(|rest| !rest.is_empty());
    notice.description = match (rest, detail) {
        (Some(rest), Some(detail)) => Some(format!("{rest}\n{detail}")),
        (Some(rest), None) => Some(rest.to_owned()),
        (None, detail) => detail,
    };
    notice
}

fn shorten_content(content: &mut ToolCallContent) {
    if let ToolCallContent::Content(Content { content: ContentBlock::Text(text), .. }) = content {
        text.text = HeadAndTail::shorten(&text.text);
    }
}

fn shorten_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = HeadAndTail::shorten(text),
        Value::Array(items) => items.iter_mut().for_each(shorten_value),
        Value::Object(members) => members.values_mut().for_each(shorten_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
