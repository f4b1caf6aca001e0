//! Compaction of the context.

use super::answers::value;
use super::normalize::Pi;
use super::wire::{CompactionEnd, CompactionResult, CompactionStart};
use super::{Malformed, errors};
use chat_grammar::event::{ChatEvent, CompactionFinished, EventKind, Trigger};

/// The compactions of the session. Pi gives them no id.
#[derive(Debug, Default)]
pub(super) struct Compactions {
    open: Option<Compaction>,
    begun: u64,
    /// What the last end said, so that its repetition is known as one.
    ended: Option<String>,
}

#[derive(Debug)]
struct Compaction {
    id: String,
    trigger: Option<Trigger>,
}

impl Pi {
    /// `compaction_start`.
    pub(super) fn compaction_started(&mut self, start: &CompactionStart<'_>, out: &mut Vec<ChatEvent>) {
        if self.compactions.open.is_none() {
            self.begin_compaction(start.reason.as_deref(), out);
        }
    }

    fn begin_compaction(&mut self, reason: Option<&str>, out: &mut Vec<ChatEvent>) {
        let trigger = reason.map(|reason| if reason == "manual" { Trigger::Manual } else { Trigger::Auto });
        self.compactions.begun = self.compactions.begun.saturating_add(1);
        let number = self.compactions.begun;
        // The time of the newest message tells processes of one conversation apart.
        let compaction_id = match self.messages.newest() {
            Some(timestamp) => format!("compaction:{timestamp}:{number}"),
            None => format!("compaction:{number}"),
        };
        self.compactions.ended = None;
        self.compactions.open = Some(Compaction { id: compaction_id.clone(), trigger });
        out.push(EventKind::CompactionStarted { compaction_id, trigger, pre_tokens: None }.into());
    }

    /// `compaction_end`. The answer to the command `compact` says the same once more.
    pub(super) fn compaction_ended(&mut self, end: &CompactionEnd<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let usage = end.result.as_ref().and_then(|result| result.usage);
        let calls = usage.map(|raw| Ok::<_, Malformed>((serde_json::from_str(raw.get())?, value(Some(raw))?))).transpose()?;
        let kept = end.result.as_ref().and_then(|result| result.first_kept_entry_id.as_deref());
        let mark = kept.or(end.error_message.as_deref()).unwrap_or_default();
        if self.compactions.open.is_none() {
            if self.compactions.ended.as_deref() == Some(mark) {
                return Ok(());
            }
            self.begin_compaction(end.reason.as_deref(), out);
        }
        let Some(compaction) = self.compactions.open.take() else { return Ok(()) };
        self.compactions.ended = Some(mark.to_owned());
        if let Some((usage, raw)) = calls {
            self.compaction_called(&compaction.id, &usage, raw, out);
        }
        match (&end.result, end.error_message.as_deref()) {
            (Some(_), _) => self.context_compacted(),
            (None, Some(error)) => {
                let message = format!("Compaction failed: {}", errors::sentence(error));
                out.push(EventKind::Warning { message, detail: None, retry: None }.into());
            }
            (None, None) => {}
        }
        out.push(finished(compaction, end.result.as_ref()));
        Ok(())
    }

    /// The turn ended: a compaction that goes on has failed.
    pub(super) fn abandon_compaction(&mut self, out: &mut Vec<ChatEvent>) {
        out.extend(self.compactions.open.take().map(|compaction| finished(compaction, None)));
    }
}

fn finished(compaction: Compaction, result: Option<&CompactionResult<'_>>) -> ChatEvent {
    EventKind::CompactionFinished(CompactionFinished {
        compaction_id: compaction.id,
        trigger: compaction.trigger,
        pre_tokens: result.and_then(|result| result.tokens_before),
        post_tokens: result.and_then(|result| result.estimated_tokens_after),
        duration_ms: None,
        summary: result.and_then(|result| Some(result.summary.as_deref()?.to_owned())),
        failed: result.is_none(),
    })
    .into()
}
