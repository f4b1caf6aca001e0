//! Web searches, and looks at images.

use super::Malformed;
use super::calls::{Background, Subject};
use super::items::{Item, Moment, ended};
use super::mcp::value;
use super::normalize::Codex;
use super::wire::{ImageViewItem, WebSearchAction, WebSearchItem};
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
    let subject = || Ok(Subject { kind: ToolKind::Search, ..Subject::other("WebSearch", "Search the web", json!({})) });
    codex.start(thread_id, item, Background::Impossible, subject, |id, subject| subject.started(id), out)?;
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
    let subject = || {
        let title = format!("Read {}", &*image.path);
        Ok(Subject { kind: ToolKind::Read, ..Subject::other("Read", title, json!({ "path": &*image.path })) })
    };
    let start = |id: String, subject: &Subject| ToolStarted {
        locations: vec![ToolCallLocation::new(&*image.path)],
        ..subject.started(id)
    };
    codex.start(thread_id, item, Background::Impossible, subject, start, out)?;
    if moment == Moment::Start {
        return Ok(());
    }
    codex.end(thread_id, item, out, |id, _| Ok(ended(id, false, Value::Null)))
}
