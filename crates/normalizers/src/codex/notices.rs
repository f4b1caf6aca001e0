//! Short notifications: warnings, errors, plans, titles and the start of turns.

use super::Malformed;
use super::errors;
use super::normalize::Codex;
use super::wire::{ErrorNotice, NameNotice, PlanNotice, TurnNotice, WarningNotice};
use chat_grammar::acp::{PlanEntry, PlanEntryPriority, PlanEntryStatus};
use chat_grammar::event::{ChatEvent, EventKind};

impl Codex {
    /// `turn/started`.
    pub(super) fn turn_started(&mut self, notice: &TurnNotice<'_>) {
        let turn_id = &*notice.turn.id;
        let Some(thread) = self.threads.find(notice.thread_id.as_deref()) else { return };
        thread.usage.live(turn_id);
        let repeated = thread.turn.as_ref().is_some_and(|turn| turn.id == turn_id) || thread.ended.as_deref() == Some(turn_id);
        if !repeated {
            thread.messages.begin_turn();
            thread.running().id = turn_id.to_owned();
        }
    }

    /// `error`. One that the agent retries after is a warning; the other kind is followed by the end of the turn.
    pub(super) fn error(&mut self, notice: &ErrorNotice<'_>, out: &mut Vec<ChatEvent>) {
        let Some(thread) = self.threads.find(notice.thread_id.as_deref()) else { return };
        let parent = thread.parent.clone();
        let message = crate::failures::unwrap_message(&notice.error.message);
        let detail = notice.error.additional_details.as_deref().map(crate::failures::unwrap_message);
        if notice.will_retry == Some(true) {
            super::usage::unreported(thread, out);
            thread.messages.cut();
            let turn = thread.running();
            turn.retries = turn.retries.saturating_add(1);
            let retry = Some(errors::retry(&message, turn.retries));
            let kind = EventKind::Warning { message, detail, retry };
            out.push(ChatEvent { kind, parent_tool_call_id: parent });
            return;
        }
        // The end of a sub-agent is no failure of the conversation's turn.
        if parent.is_some() {
            let kind = EventKind::Warning { message, detail, retry: None };
            out.push(ChatEvent { kind, parent_tool_call_id: parent });
            return;
        }
        if !std::mem::replace(&mut thread.running().failed, true) {
            let failure = errors::turn_failure(&notice.error);
            // The response came and was too long: it counts, and says nothing of its tokens.
            if failure.reason == "max_tokens" {
                thread.messages.unreported();
            }
            out.push(EventKind::Error(failure).into());
        }
    }

    /// `turn/plan/updated`.
    pub(super) fn plan(&mut self, notice: &PlanNotice<'_>, out: &mut Vec<ChatEvent>) {
        let Some(thread) = self.threads.find(notice.thread_id.as_deref()) else { return };
        let entries = notice.plan.iter().map(|step| {
            let status = match &*step.status {
                "completed" => PlanEntryStatus::Completed,
                "inProgress" => PlanEntryStatus::InProgress,
                _ => PlanEntryStatus::Pending,
            };
            PlanEntry::new(step.step.to_string(), PlanEntryPriority::Medium, status)
        });
        let kind = EventKind::Plan { entries: entries.collect() };
        out.push(ChatEvent { kind, parent_tool_call_id: thread.parent.clone() });
    }

    /// `warning`, `configWarning`, `deprecationNotice` and `guardianWarning`.
    pub(super) fn warning(&mut self, notice: &WarningNotice<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let message = notice.message.as_deref().or(notice.summary.as_deref()).ok_or(Malformed)?.to_owned();
        let detail = notice.details.as_deref().map(str::to_owned);
        // Not looked up without a name: such a warning says nothing about which thread is ours.
        let mut thread = notice.thread_id.as_deref().and_then(|id| self.threads.find(Some(id)));
        if let (Some(thread), Some(model)) = (&mut thread, model_of_the_past(&message)) {
            thread.last_model = Some(model.to_owned());
        }
        let parent = thread.and_then(|thread| thread.parent.clone());
        let kind = EventKind::Warning { message, detail, retry: None };
        out.push(ChatEvent { kind, parent_tool_call_id: parent });
        Ok(())
    }

    /// `thread/name/updated`.
    pub(super) fn title(&mut self, notice: &NameNotice<'_>, out: &mut Vec<ChatEvent>) {
        let own = self.threads.find(notice.thread_id.as_deref()).is_some_and(|thread| thread.parent.is_none());
        if let Some(title) = notice.thread_name.as_deref().filter(|name| own && !name.is_empty()) {
            out.push(EventKind::Title { title: title.to_owned() }.into());
        }
    }
}

/// The model of a resumed thread's last turn, which only words tell (0.171.0): "This session was recorded with model `…` but is
/// resuming with `…`."
fn model_of_the_past(message: &str) -> Option<&str> {
    let (model, rest) = message.strip_prefix("This session was recorded with model `")?.split_once('`')?;
    rest.starts_with(" but is resuming with").then_some(model)
}
