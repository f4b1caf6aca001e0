//! Web searches, looks at images, and reviews.

use super::calls::{Background, Subject};
use super::items::{Item, Moment, ended};
use super::mcp::value;
use super::normalize::Codex;
use super::wire::{ImageViewItem, ReviewItem, WebSearchAction, WebSearchItem};
use super::Malformed;
use crate::tools::text_content;
use chat_grammar::acp::{ToolCallLocation, ToolKind};
use chat_grammar::event::{ChatEvent, ToolCompleted, ToolStarted};
use serde_json::{Map, Value, json};

/// A web search is told what it looks for only at its end.
pub(super) fn search_item(
    codex: &mut Codex,
    thread_id: Option<&str>,
    item: &Item<'_>,
    moment: Moment,
    out: &mut Vec<ChatEvent>,
) -> Result<(), Malformed> {
    let search: WebSearchItem<'_> = item.read()?;
    let subject = Subject {
        tool_name: "WebSearch".to_owned(),
        title: "Search the web".to_owned(),
        kind: ToolKind::Search,
        input: json!({}),
        mcp: None,
    };
    codex.start(thread_id, item, Background::Impossible, subject, |id, subject| subject.started(id), out);
    if moment == Moment::Start {
        return Ok(());
    }
    let action: Option<WebSearchAction<'_>> = search.action.map(|action| serde_json::from_str(action.get())).transpose()?;
    codex.end(thread_id, item, out, |id, _| {
        let query = search.query.as_deref().filter(|query| !query.is_empty());
        let mut input = Map::new();
        if let Some(query) = query {
            input.insert("query".to_owned(), query.into());
        }
        if let Some(action) = search.action {
            input.insert("action".to_owned(), value(Some(action))?);
        }
        let title = action.as_ref().and_then(title).or_else(|| query.map(|query| format!("Search the web for {query}")));
        let output = match search.results {
            Some(results) => json!({ "results": value(Some(results))? }),
            None => Value::Null,
        };
        Ok(ToolCompleted { title, input: Some(Value::Object(input)), ..ended(id, false, output) })
    })
}

fn title(action: &WebSearchAction<'_>) -> Option<String> {
    let url = action.url.as_deref();
    match action.kind.as_deref()? {
        "openPage" => Some(format!("Open {}", url?)),
        "findInPage" => Some(format!("Find {} in {}", action.pattern.as_deref()?, url?)),
        _ => None,
    }
}

pub(super) fn image_item(
    codex: &mut Codex,
    thread_id: Option<&str>,
    item: &Item<'_>,
    moment: Moment,
    out: &mut Vec<ChatEvent>,
) -> Result<(), Malformed> {
    let image: ImageViewItem<'_> = item.read()?;
    let subject = Subject {
        tool_name: "Read".to_owned(),
        title: format!("Read {}", &*image.path),
        kind: ToolKind::Read,
        input: json!({ "path": &*image.path }),
        mcp: None,
    };
    let start = |id: String, subject: &Subject| ToolStarted {
        locations: vec![ToolCallLocation::new(&*image.path)],
        ..subject.started(id)
    };
    codex.start(thread_id, item, Background::Impossible, subject, start, out);
    if moment == Moment::Start {
        return Ok(());
    }
    codex.end(thread_id, item, out, |id, _| Ok(ended(id, false, Value::Null)))
}

impl Codex {
    /// A review begins: one call that lasts until it is left.
    pub(super) fn review_entered(
        &mut self,
        thread_id: Option<&str>,
        item: &Item<'_>,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        let review: ReviewItem<'_> = item.read()?;
        let subject = review_subject(&review);
        self.start(thread_id, item, Background::Impossible, subject, |id, subject| subject.started(id), out);
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
        let call = Item { id: &entered, json: item.json, place: super::calls::ItemPlace { item_id: &entered, ..item.place } };
        self.end(thread_id, &call, out, |id, _| {
            let findings = review.review.as_deref().unwrap_or_default();
            let content = Some(findings).filter(|text| !text.is_empty()).map(text_content).into_iter().collect();
            Ok(ToolCompleted { content, ..ended(id, false, json!({ "review": findings })) })
        })
    }
}

fn review_subject(review: &ReviewItem<'_>) -> Subject {
    let what = review.review.as_deref().unwrap_or_default();
    Subject {
        tool_name: "Review".to_owned(),
        title: if what.is_empty() { "Review".to_owned() } else { format!("Review: {what}") },
        kind: ToolKind::Think,
        input: json!({ "review": what }),
        mcp: None,
    }
}
