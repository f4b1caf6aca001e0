//! `session/update`: every kind but the tool calls, and what of them is passed on.

use super::normalize::Acp;
use super::session::config_options;
use super::wire::{Block, Malformed, UpdateParams, WireEntry, needed, read, text};
use chat_grammar::acp::{AvailableCommand, PlanEntry};
use chat_grammar::event::{ChatEvent, CompactionFinished, EventKind, Relayed, Visibility};
use chat_grammar::relay::Members;
use serde_json::value::RawValue;

impl Acp {
    /// `session/update`.
    pub(super) fn update(&mut self, params: &RawValue, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let params: UpdateParams<'_> = serde_json::from_str(params.get())?;
        if !self.ours(params.session_id.as_deref(), out) {
            return Ok(());
        }
        self.updated(Members::read(params.update.get()).ok_or(Malformed)?, out)
    }

    /// An update of a session of this conversation.
    pub(super) fn updated(&mut self, update: Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let kind = needed(&update, "sessionUpdate")?;
        if self.session.replays() && is_history(&kind) {
            self.count("replayed_history", out);
            return Ok(());
        }
        match &*kind {
            // The host knows what it asked.
            "user_message_chunk" => self.count("user_echo", out),
            "agent_message_chunk" => self.message_chunk(update, out)?,
            "agent_thought_chunk" => self.thought_chunk(update, out)?,
            "tool_call" => self.tool_call(update, out)?,
            "tool_call_update" => self.tool_call_update(update, out)?,
            "plan" => {
                let entries: Vec<WireEntry<'_>> = read(&update, "entries")?.ok_or(Malformed)?;
                let entries: Vec<PlanEntry> = entries.iter().map(WireEntry::entry).collect();
                self.session.tell_plan(&entries);
                relay(update, Some(EventKind::Plan { entries }), out);
            }
            "available_commands_update" => {
                let commands: Vec<AvailableCommand> = read(&update, "availableCommands")?.ok_or(Malformed)?;
                relay(update, Some(EventKind::Commands { commands }), out);
            }
            "current_mode_update" => {
                let mode_id = needed(&update, "currentModeId")?.into_owned();
                self.session.tell_mode(&mode_id);
                relay(update, Some(EventKind::Mode { mode_id }), out);
            }
            "config_option_update" => {
                let options: &RawValue = read(&update, "configOptions")?.ok_or(Malformed)?;
                self.session.tell_config(options);
                let options = config_options(options);
                relay(update, Some(EventKind::Config { options }), out);
            }
            "session_info_update" => {
                let title = text(&update, "title")?.filter(|title| !title.is_empty());
                let meaning = title.map(|title| EventKind::Title { title: title.into_owned() });
                relay(update, meaning, out);
            }
            "usage_update" => self.usage_update(update, out)?,
            "notice" => {
                let message = needed(&update, "title")?.into_owned();
                let detail = text(&update, "description")?.map(|detail| detail.into_owned());
                relay(update, Some(EventKind::Warning { message, detail, retry: None }), out);
            }
            "compaction_update" => self.compaction(update, out)?,
            "compaction_summary_chunk" => relay(update, None, out),
            kind => {
                self.counted(kind);
                let meaning = EventKind::Unmapped { kind: kind.to_owned() };
                relay(update, Some(meaning), out);
            }
        }
        Ok(())
    }

    fn message_chunk(&mut self, update: Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        self.ledger.speaks();
        let content: &RawValue = read(&update, "content")?.ok_or(Malformed)?;
        let block: Block<'_> = serde_json::from_str(content.get())?;
        let message_id = text(&update, "messageId")?.map(|id| id.into_owned());
        let meaning = match (&*block.kind, block.text) {
            ("text", Some(text)) => EventKind::TextDelta { text: text.0.into_owned(), message_id },
            ("text", None) => return Err(Malformed),
            (kind, _) => match serde_json::from_str(content.get()) {
                Ok(block) => EventKind::Content { block, message_id },
                Err(_) => {
                    let kind = format!("agent_message_chunk {kind}");
                    self.counted(&kind);
                    EventKind::Unmapped { kind }
                }
            },
        };
        relay(update, Some(meaning), out);
        Ok(())
    }

    fn thought_chunk(&mut self, update: Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        self.ledger.speaks();
        let content: &RawValue = read(&update, "content")?.ok_or(Malformed)?;
        let block: Block<'_> = serde_json::from_str(content.get())?;
        let message_id = text(&update, "messageId")?.map(|id| id.into_owned());
        let meaning = block.text.filter(|_| &*block.kind == "text").map(|text| EventKind::ReasoningDelta {
            text: text.0.into_owned(),
            message_id,
            visibility: Visibility::Full,
        });
        relay(update, meaning, out);
        Ok(())
    }

    fn compaction(&mut self, update: Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let compaction_id = needed(&update, "compactionId")?.into_owned();
        let status = needed(&update, "status")?;
        let open = self.compactions.iter().position(|id| *id == compaction_id);
        let meaning = match (&*status, open) {
            ("in_progress", None) => {
                self.compactions.push(compaction_id.clone());
                Some(EventKind::CompactionStarted { compaction_id, trigger: None, pre_tokens: None })
            }
            ("completed" | "failed" | "cancelled", open) => {
                if let Some(open) = open {
                    self.compactions.remove(open);
                }
                Some(EventKind::CompactionFinished(finished(compaction_id, &*status != "completed")))
            }
            _ => None,
        };
        relay(update, meaning, out);
        Ok(())
    }

    /// Compactions that the agent does not end.
    pub(super) fn abandon_compactions(&mut self, out: &mut Vec<ChatEvent>) {
        for id in std::mem::take(&mut self.compactions) {
            out.push(EventKind::CompactionFinished(finished(id, true)).into());
        }
    }
}

/// What a session that is loaded says of its past. Title, mode, commands, settings and fullness are those of now.
fn is_history(kind: &str) -> bool {
    !matches!(
        kind,
        "available_commands_update" | "current_mode_update" | "config_option_update" | "session_info_update" | "usage_update"
    )
}

fn finished(compaction_id: String, failed: bool) -> CompactionFinished {
    CompactionFinished {
        compaction_id,
        trigger: None,
        pre_tokens: None,
        post_tokens: None,
        duration_ms: None,
        summary: None,
        failed,
    }
}

fn relay(update: Members<'_>, meaning: Option<EventKind>, out: &mut Vec<ChatEvent>) {
    out.push(EventKind::Relayed(Box::new(Relayed { update: update.into(), meaning })).into());
}
