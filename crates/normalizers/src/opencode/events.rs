//! Events of the stream: which rule reads which.

use super::Malformed;
use super::calls::bind;
use super::normalize::OpenCode;
use super::wire::{
    Delta, ErrorNotice, Event, MessageNotice, PartNotice, PermissionReplied, QuestionReplied, SessionOnly, StatusNotice,
    TodoNotice,
};
use super::{compaction, messages, usage};
use chat_grammar::acp::{Meta, PlanEntry, PlanEntryPriority, PlanEntryStatus};
use chat_grammar::event::{ChatEvent, EventKind, Retry};
use serde_json::json;

impl OpenCode {
    /// The kinds that make up most of a stream, each read in one pass. False where the line is of another kind or form.
    pub(super) fn frequent_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) -> bool {
        let Some(kind) = leading_kind(line) else { return false };
        match kind {
            "message.part.delta" => {
                let Ok(Event { properties }) = serde_json::from_str(line) else { return false };
                self.delta(properties, out);
            }
            "message.part.updated" => {
                let Ok(Event { properties: PartNotice { part } }) = serde_json::from_str(line) else { return false };
                if self.part_updated(&part, out).is_err() {
                    self.unmapped_event(kind, out);
                }
            }
            kind => return is_silent(kind),
        }
        true
    }

    /// An event by its kind. False where no rule knows it.
    pub(super) fn event(&mut self, kind: &str, properties: &str, out: &mut Vec<ChatEvent>) -> Result<bool, Malformed> {
        match kind {
            "message.part.delta" => self.delta(serde_json::from_str(properties)?, out),
            "message.part.updated" => {
                let notice: PartNotice<'_> = serde_json::from_str(properties)?;
                self.part_updated(&notice.part, out)?;
            }
            "message.updated" => {
                let notice: MessageNotice<'_> = serde_json::from_str(properties)?;
                self.message_updated(&notice.info, out)?;
            }
            "session.created" | "session.updated" => {
                let notice = serde_json::from_str(properties)?;
                self.session_news(&notice, out);
            }
            "session.status" => {
                let notice: StatusNotice<'_> = serde_json::from_str(properties)?;
                self.status(&notice, out);
            }
            "session.idle" => {
                let notice: SessionOnly<'_> = serde_json::from_str(properties)?;
                if self.ours(&notice.session_id, out) {
                    self.idle(&notice.session_id, out);
                }
            }
            "session.error" => {
                let notice: ErrorNotice<'_> = serde_json::from_str(properties)?;
                self.session_error(notice.session_id.as_deref(), notice.error.as_ref(), out);
            }
            "session.compacted" => {
                let notice: SessionOnly<'_> = serde_json::from_str(properties)?;
                match self.sessions.find(&notice.session_id) {
                    Some(session) => compaction::completed(session, out),
                    None => self.foreign(out),
                }
            }
            "permission.asked" | "permission.updated" => {
                let asked = serde_json::from_str(properties)?;
                self.permission_asked(&asked, out)?;
            }
            "permission.replied" => {
                let replied: PermissionReplied<'_> = serde_json::from_str(properties)?;
                self.permission_answered(&replied.request_id, &replied.reply, None, out);
            }
            "question.asked" => {
                let asked = serde_json::from_str(properties)?;
                self.question_asked(&asked, out);
            }
            "question.replied" | "question.rejected" => {
                let replied: QuestionReplied<'_> = serde_json::from_str(properties)?;
                self.answers(&replied.request_id, replied.answers.as_deref(), out);
            }
            "todo.updated" => {
                let notice: TodoNotice<'_> = serde_json::from_str(properties)?;
                self.todos(&notice, out);
            }
            // The stream is opened again: what it said in the meantime is lost.
            "server.connected" => {
                for session in self.sessions.all() {
                    session.messages.tear();
                }
            }
            kind => return Ok(is_silent(kind)),
        }
        Ok(true)
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut Vec<ChatEvent>) {
        let Some(session) = self.sessions.find(&delta.session_id) else { return self.foreign(out) };
        if &*delta.field != "text" {
            return self.unmapped_event("message.part.delta", out);
        }
        if session.parent.is_some() && session.call.is_none() {
            bind(&mut self.sessions, &delta.session_id, &mut self.tools, out);
        }
        if let Some(session) = self.sessions.find(&delta.session_id) {
            messages::delta(session, delta, out);
        }
    }

    fn status(&mut self, notice: &StatusNotice<'_>, out: &mut Vec<ChatEvent>) {
        if !self.ours(&notice.session_id, out) {
            return;
        }
        match &*notice.status.kind {
            "busy" => self.busy(&notice.session_id, out),
            "retry" => {
                bind(&mut self.sessions, &notice.session_id, &mut self.tools, out);
                let Some(session) = self.sessions.find(&notice.session_id) else { return };
                usage::unreported(session, out);
                session.messages.cut();
                let message = notice.status.message.as_deref().filter(|message| !message.is_empty());
                // The server says when it will try again by its clock, which is not ours.
                let retry = notice.status.attempt.map(|attempt| Retry { attempt, limit: None, delay_ms: None });
                let message = message.unwrap_or("The call of the model is tried again").to_owned();
                let kind = EventKind::Warning { message, detail: None, retry };
                out.push(ChatEvent { kind, parent_tool_call_id: session.call.clone() });
            }
            // `session.idle` follows, and says when the turn has ended.
            _ => {}
        }
    }

    /// `todo.updated`. ACP has no word for an entry that is given up.
    fn todos(&mut self, notice: &TodoNotice<'_>, out: &mut Vec<ChatEvent>) {
        if !self.ours(&notice.session_id, out) {
            return;
        }
        bind(&mut self.sessions, &notice.session_id, &mut self.tools, out);
        let entries = notice.todos.iter().map(|todo| {
            let status = match &*todo.status {
                "in_progress" => PlanEntryStatus::InProgress,
                "completed" | "cancelled" => PlanEntryStatus::Completed,
                _ => PlanEntryStatus::Pending,
            };
            let priority = match todo.priority.as_deref() {
                Some("high") => PlanEntryPriority::High,
                Some("low") => PlanEntryPriority::Low,
                _ => PlanEntryPriority::Medium,
            };
            let mut entry = PlanEntry::new(todo.content.to_string(), priority, status);
            if &*todo.status == "cancelled" {
                entry.meta = Some(Meta::from_iter([("amalgm".to_owned(), json!({ "status": "cancelled" }))]));
            }
            entry
        });
        let kind = EventKind::Plan { entries: entries.collect() };
        let parent_tool_call_id = self.sessions.get(&notice.session_id).and_then(|session| session.call.clone());
        out.push(ChatEvent { kind, parent_tool_call_id });
    }

    /// True for a session of this conversation; what another session says is counted and left out.
    fn ours(&mut self, session_id: &str, out: &mut Vec<ChatEvent>) -> bool {
        let ours = self.sessions.find(session_id).is_some();
        if !ours {
            self.foreign(out);
        }
        ours
    }
}

/// The kind of an event whose line begins as the server writes it. Only looked at, so that the line can then be read in one pass.
fn leading_kind(line: &str) -> Option<&str> {
    let (id, rest) = line.strip_prefix("{\"id\":\"")?.split_once("\",\"type\":\"")?;
    let (kind, _) = rest.split_once('"')?;
    let plain = |text: &str| !text.contains(['"', '\\']);
    (plain(id) && plain(kind)).then_some(kind)
}

/// Events that say nothing a reader of the conversation needs.
fn is_silent(kind: &str) -> bool {
    matches!(
        kind,
        "server.heartbeat"
            | "server.instance.disposed"
            | "session.diff"
            | "session.deleted"
            | "message.removed"
            | "message.part.removed"
            | "file.edited"
            | "file.watcher.updated"
            | "plugin.added"
            | "catalog.updated"
            | "reference.updated"
            | "integration.updated"
            | "project.updated"
            | "project.directories.updated"
            | "vcs.branch.updated"
            | "lsp.updated"
            | "lsp.client.diagnostics"
            | "mcp.tools.changed"
            | "command.executed"
    ) || ["pty.", "tui.", "installation.", "worktree.", "workspace."].iter().any(|family| kind.starts_with(family))
}
