//! Compaction of the context. The item has an id only; its numbers are those of the token reports around it.

use super::items;
use super::threads::Thread;
use super::wire::ItemNotice;
use chat_grammar::event::{ChatEvent, CompactionFinished, EventKind, Trigger};

/// A compaction that goes on.
#[derive(Debug)]
pub(super) struct Compaction {
    id: String,
    trigger: Trigger,
    pre_tokens: Option<u64>,
    /// Said by the report that estimates the new context.
    pub post_tokens: Option<u64>,
    started_at_ms: Option<i64>,
}

impl Compaction {
    /// The host asked for it.
    pub(super) fn is_asked_for(&self) -> bool {
        self.trigger == Trigger::Manual
    }
}

pub(super) fn started(thread: &mut Thread, item_id: &str, notice: &ItemNotice<'_>, out: &mut Vec<ChatEvent>) {
    if thread.compaction.as_ref().is_some_and(|compaction| compaction.id == item_id) {
        return;
    }
    finish(thread, None, false, out);
    let trigger = match std::mem::take(&mut thread.compaction_asked) {
        true => Trigger::Manual,
        false => Trigger::Auto,
    };
    let pre_tokens = thread.usage.context_used();
    let kind = EventKind::CompactionStarted { compaction_id: item_id.to_owned(), trigger: Some(trigger), pre_tokens };
    out.push(ChatEvent { kind, parent_tool_call_id: thread.parent.clone() });
    thread.compaction = Some(Compaction {
        id: item_id.to_owned(),
        trigger,
        pre_tokens,
        post_tokens: None,
        started_at_ms: notice.started_at_ms,
    });
}

pub(super) fn completed(thread: &mut Thread, item_id: &str, notice: &ItemNotice<'_>, out: &mut Vec<ChatEvent>) {
    if thread.compaction.as_ref().is_some_and(|compaction| compaction.id == item_id) {
        finish(thread, notice.completed_at_ms, true, out);
    }
}

/// The turn ended, or another compaction begins: one that goes on has failed.
pub(super) fn abandon(thread: &mut Thread, out: &mut Vec<ChatEvent>) {
    thread.compaction_asked = false;
    finish(thread, None, false, out);
}

fn finish(thread: &mut Thread, completed_at_ms: Option<i64>, succeeded: bool, out: &mut Vec<ChatEvent>) {
    let Some(compaction) = thread.compaction.take() else { return };
    let took = completed_at_ms.zip(compaction.started_at_ms).map(|(end, start)| end.saturating_sub(start));
    let kind = EventKind::CompactionFinished(CompactionFinished {
        compaction_id: compaction.id,
        trigger: Some(compaction.trigger),
        pre_tokens: compaction.pre_tokens,
        post_tokens: compaction.post_tokens,
        duration_ms: items::duration(took),
        summary: None,
        failed: !succeeded,
    });
    out.push(ChatEvent { kind, parent_tool_call_id: thread.parent.clone() });
}
