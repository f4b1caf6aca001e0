//! Compaction of the context: a status that begins it, a boundary that ends it. The model's summary is no answer.

use super::normalize::ClaudeCode;
use super::wire::{BoundaryMetadata, StatusLine};
use chat_grammar::event::{ChatEvent, CompactionFinished, EventKind, Trigger};

/// A compaction that goes on.
#[derive(Debug)]
pub(super) struct Compaction {
    id: String,
    trigger: Trigger,
    pre_tokens: Option<u64>,
    /// The CLI said that it succeeded; the boundary that follows has its numbers.
    succeeded: bool,
}

impl ClaudeCode {
    /// `system/status`.
    pub(super) fn status(&mut self, line: &StatusLine<'_>, uuid: Option<&str>, out: &mut Vec<ChatEvent>) {
        if let Some(mode) = line.permission_mode.as_deref() {
            self.mode_is(mode, out);
        }
        // The status is repeated while the summary is written.
        if line.status.as_deref() == Some("compacting") && self.compaction.is_none() {
            let trigger = match self.turn.prompt_begins("/compact") {
                true => Trigger::Manual,
                false => Trigger::Auto,
            };
            let id = self.compaction_id(uuid);
            let pre_tokens = self.meter.context_used();
            let kind = EventKind::CompactionStarted { compaction_id: id.clone(), trigger: Some(trigger), pre_tokens };
            out.push(kind.into());
            self.compaction = Some(Compaction { id, trigger, pre_tokens, succeeded: false });
        }
        match line.compact_result.as_deref() {
            Some("success") => {
                if let Some(compaction) = &mut self.compaction {
                    compaction.succeeded = true;
                }
            }
            Some(_) => {
                self.turn.acted = true;
                self.compaction_abandoned(out);
                if let Some(message) = line.compact_error.as_deref().filter(|_| !self.turn.prompt_begins("/compact")) {
                    out.push(EventKind::Warning { message: message.to_owned(), detail: None, retry: None }.into());
                }
            }
            None => {}
        }
    }

    /// `system/compact_boundary`.
    pub(super) fn compacted(&mut self, metadata: &BoundaryMetadata<'_>, uuid: Option<&str>, out: &mut Vec<ChatEvent>) {
        let begun = self.compaction.take();
        let said = match metadata.trigger.as_deref() {
            Some("manual") => Some(Trigger::Manual),
            Some("auto") => Some(Trigger::Auto),
            _ => None,
        };
        let trigger = said.or(begun.as_ref().map(|compaction| compaction.trigger));
        let pre_tokens = metadata.pre_tokens.or(begun.as_ref().and_then(|compaction| compaction.pre_tokens));
        let compaction_id = begun.map_or_else(|| self.compaction_id(uuid), |compaction| compaction.id);
        self.turn.acted = true;
        self.turn.compacted = true;
        self.meter.compacted(metadata.post_tokens);
        let kind = EventKind::CompactionFinished(CompactionFinished {
            compaction_id,
            trigger,
            pre_tokens,
            post_tokens: metadata.post_tokens,
            duration_ms: metadata.duration_ms,
            summary: None,
            failed: false,
        });
        out.push(kind.into());
    }

    /// A compaction that goes on has ended without its boundary.
    pub(super) fn compaction_abandoned(&mut self, out: &mut Vec<ChatEvent>) {
        let Some(compaction) = self.compaction.take() else { return };
        let kind = EventKind::CompactionFinished(CompactionFinished {
            compaction_id: compaction.id,
            trigger: Some(compaction.trigger),
            pre_tokens: compaction.pre_tokens,
            post_tokens: None,
            duration_ms: None,
            summary: None,
            failed: !compaction.succeeded,
        });
        out.push(kind.into());
    }

    fn compaction_id(&mut self, uuid: Option<&str>) -> String {
        self.compactions = self.compactions.saturating_add(1);
        uuid.map_or_else(|| format!("compaction-{}", self.compactions), str::to_owned)
    }
}
