//! Reviews: the agent enters and leaves a mode, which readers see as one call.

use super::Malformed;
use super::calls::{Background, ItemPlace, Subject};
use super::items::{Item, ended};
use super::normalize::Codex;
use super::wire::ReviewItem;
use crate::tools::text_content;
use chat_grammar::acp::ToolKind;
use chat_grammar::event::{ChatEvent, ToolCompleted};
use serde_json::json;

impl Codex {
    /// A review begins: one call that lasts until it is left.
    pub(super) fn review_entered(
        &mut self,
        thread_id: Option<&str>,
        item: &Item<'_>,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        let review: ReviewItem<'_> = item.read()?;
        let subject = || Ok(review_subject(&review));
        self.start(thread_id, item, Background::Impossible, subject, |id, subject| subject.started(id), out)?;
        if let Some(thread) = self.threads.find(thread_id) {
            thread.review = Some(item.id.to_owned());
        }
        Ok(())
    }

    /// The review is over; its findings also come as the agent's message.
    pub(super) fn review_exited(
        &mut self,
        thread_id: Option<&str>,
        item: &Item<'_>,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        let review: ReviewItem<'_> = item.read()?;
        let Some(thread) = self.threads.find(thread_id) else { return Ok(()) };
        let Some(entered) = thread.review.take() else { return Ok(()) };
        let call = Item { id: &entered, json: item.json, place: ItemPlace { item_id: &entered, ..item.place } };
        self.end(thread_id, &call, out, |id, _| {
            let findings = review.review.as_deref().unwrap_or_default();
            let content = Some(findings).filter(|text| !text.is_empty()).map(text_content).into_iter().collect();
            Ok(ToolCompleted { content, ..ended(id, false, json!({ "review": findings })) })
        })
    }
}

fn review_subject(review: &ReviewItem<'_>) -> Subject {
    let what = review.review.as_deref().unwrap_or_default();
    let title = if what.is_empty() { "Review".to_owned() } else { format!("Review: {what}") };
    Subject { kind: ToolKind::Think, ..Subject::other("Review", title, json!({ "review": what })) }
}
