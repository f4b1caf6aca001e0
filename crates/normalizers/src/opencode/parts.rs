//! Parts of messages: which rule reads which.

use super::Malformed;
use super::calls::bind;
use super::messages::{self, PartState, Role};
use super::normalize::OpenCode;
use super::wire::{MessageInfo, Part};
use super::{blocks, compaction, usage};
use chat_grammar::event::{ChatEvent, EventKind, Trigger};

impl OpenCode {
    /// `message.updated`.
    pub(super) fn message_updated(&mut self, info: &MessageInfo<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let role = match (&*info.role, info.summary.map(|summary| summary.get())) {
            ("user", _) => Role::User,
            ("assistant", Some("true")) => Role::Summary,
            ("assistant", _) => Role::Assistant,
            _ => return Err(Malformed),
        };
        let Some(session) = self.sessions.find(&info.session_id) else {
            self.foreign(out);
            return Ok(());
        };
        let known = session.messages.get(&info.id);
        let news = known.is_none_or(|message| message.role.is_none());
        if known.is_some_and(|message| message.closed) {
            return Ok(());
        }
        if role == Role::Summary && news {
            bind(&mut self.sessions, &info.session_id, &mut self.tools, out);
        }
        self.message_in_turn(info, role, news, out);
        let Some(session) = self.sessions.find(&info.session_id) else { return Ok(()) };
        messages::announced(session, info, role, out);
        if role == Role::Summary {
            if news {
                compaction::started(session, &info.id, None, out);
            }
            compaction::timed(session, info.time);
        }
        Ok(())
    }

    /// `message.part.updated`.
    pub(super) fn part_updated(&mut self, part: &Part<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let Some(session) = self.sessions.find(&part.session_id) else {
            self.foreign(out);
            return Ok(());
        };
        let message = session.messages.get(&part.message_id);
        if message.is_some_and(|message| message.closed) {
            return Ok(());
        }
        let role = message.and_then(|message| message.role);
        // Only the model calls tools and thinks.
        let implied = matches!(&*part.kind, "tool" | "reasoning" | "step-start" | "step-finish").then_some(Role::Assistant);
        if session.parent.is_some() && role != Some(Role::User) {
            bind(&mut self.sessions, &part.session_id, &mut self.tools, out);
        }
        match (role.or(implied), &*part.kind) {
            (_, "compaction") => self.compaction_part(part, out),
            (Some(Role::User), _) => Ok(()),
            (None, "text") => {
                if let Some(session) = self.sessions.find(&part.session_id) {
                    messages::hold(session, part);
                }
                Ok(())
            }
            (None, _) => Ok(()),
            (Some(role), kind) => self.model_part(part, role, kind, out),
        }
    }

    fn model_part(&mut self, part: &Part<'_>, role: Role, kind: &str, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        if kind == "tool" {
            return self.tool_part(part, out);
        }
        let Some(session) = self.sessions.find(&part.session_id) else { return Ok(()) };
        session.messages.entry(&part.message_id);
        match (kind, role) {
            ("step-start", _) => session.messages.step_started(&part.message_id, &part.id),
            ("step-finish", _) => usage::step_finished(session, part, &self.info, out),
            ("text", Role::Summary) => compaction::summarized(session, part.text.as_deref().unwrap_or_default()),
            ("text", _) => messages::text(session, part, out),
            ("reasoning", Role::Summary) => {}
            ("reasoning", _) => messages::thought(session, part, out),
            ("file", _) => self.file_part(part, out)?,
            // What the files looked like, which agent spoke, and a retry that the status tells too.
            ("patch" | "snapshot" | "agent" | "subtask" | "retry", _) => {}
            (kind, _) => self.unmapped_event(&format!("message.part.updated {kind}"), out),
        }
        Ok(())
    }

    /// A file that the model made.
    fn file_part(&mut self, part: &Part<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let (Some(url), Some(session)) = (part.url.as_deref(), self.sessions.find(&part.session_id)) else {
            return Err(Malformed);
        };
        let parts = &mut session.messages.entry(&part.message_id).parts;
        if parts.insert(part.id.to_string(), PartState::Seen).is_none() {
            let block = blocks::file(url, part.mime.as_deref().unwrap_or_default(), part.filename.as_deref());
            let kind = EventKind::Content { block, message_id: Some(part.id.to_string()) };
            out.push(ChatEvent { kind, parent_tool_call_id: session.call.clone() });
        }
        Ok(())
    }

    fn compaction_part(&mut self, part: &Part<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let Some(session) = self.sessions.find(&part.session_id) else { return Ok(()) };
        let parts = &mut session.messages.entry(&part.message_id).parts;
        if parts.insert(part.id.to_string(), PartState::Seen).is_some() {
            return Ok(());
        }
        let trigger = match part.auto.map(|auto| auto.get()) {
            Some("true") => Some(Trigger::Auto),
            Some("false") => Some(Trigger::Manual),
            _ => None,
        };
        compaction::started(session, &part.id, trigger, out);
        Ok(())
    }
}
