//! Compaction of the context: a message of the user's that asks for it, and a message of the model's that is the summary. Its text is
//! no answer.

use super::sessions::Session;
use super::wire::MessageTime;
use chat_grammar::event::{ChatEvent, CompactionFinished, EventKind, Trigger};

/// A compaction that goes on.
#[derive(Debug)]
pub(super) struct Compaction {
    id: String,
    trigger: Option<Trigger>,
    pre_tokens: Option<u64>,
    summary: Option<String>,
    duration_ms: Option<u64>,
}

/// The part that asks for a compaction, or a summary that nobody asked for.
pub(super) fn started(session: &mut Session, id: &str, trigger: Option<Trigger>, out: &mut Vec<ChatEvent>) {
    if session.compaction.is_some() {
        return;
    }
    let pre_tokens = session.context_used;
    let kind = EventKind::CompactionStarted { compaction_id: id.to_owned(), trigger, pre_tokens };
    out.push(ChatEvent { kind, parent_tool_call_id: session.call.clone() });
    session.compaction = Some(Compaction { id: id.to_owned(), trigger, pre_tokens, summary: None, duration_ms: None });
}

/// The summary as it stands.
pub(super) fn summarized(session: &mut Session, text: &str) {
    if let Some(compaction) = session.compaction.as_mut().filter(|_| !text.is_empty()) {
        compaction.summary = Some(text.to_owned());
    }
}

/// How long the model took for the summary.
pub(super) fn timed(session: &mut Session, time: Option<MessageTime>) {
    let took = time.and_then(|time| Some(time.completed? - time.created?)).filter(|took| *took >= 0.0);
    if let (Some(compaction), Some(took)) = (session.compaction.as_mut(), took) {
        compaction.duration_ms = Some(took as u64);
    }
}

/// `session.compacted`.
pub(super) fn completed(session: &mut Session, out: &mut Vec<ChatEvent>) {
    finish(session, false, out);
}

/// The turn ended: a compaction that goes on has failed.
pub(super) fn abandon(session: &mut Session, out: &mut Vec<ChatEvent>) {
    finish(session, true, out);
}

fn finish(session: &mut Session, failed: bool, out: &mut Vec<ChatEvent>) {
    let Some(compaction) = session.compaction.take() else { return };
    let kind = EventKind::CompactionFinished(CompactionFinished {
        compaction_id: compaction.id,
        trigger: compaction.trigger,
        pre_tokens: compaction.pre_tokens,
        // No message says how many are left; the next call tells.
        post_tokens: None,
        duration_ms: compaction.duration_ms,
        summary: compaction.summary,
        failed,
    });
    out.push(ChatEvent { kind, parent_tool_call_id: session.call.clone() });
}
