//! The content of a call: what kind of diffs it has, and how a text in it grows.

use super::wire::ToolContent;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Whether contents are diffs that only create files.
pub(super) fn creates(content: &RawValue) -> bool {
    let items: Vec<ToolContent<'_>> = serde_json::from_str(content.get()).unwrap_or_default();
    let mut diffs = items.iter().filter(|item| &*item.kind == "diff").peekable();
    diffs.peek().is_some() && diffs.all(|diff| diff.old_text.is_none_or(|text| text.get() == "null"))
}

/// The text of a content that is one text and nothing else.
pub(super) fn single_text(content: &RawValue) -> Option<Cow<'_, str>> {
    match serde_json::from_str::<Vec<ToolContent<'_>>>(content.get()).ok()?.as_slice() {
        [item] => item.text(),
        _ => None,
    }
}

/// Takes the text of a content that was told before and has grown, and gives what is new of it. `None` where it is another content.
pub(super) fn grow(snapshot: &mut Option<String>, content: &RawValue) -> Option<String> {
    let text = single_text(content);
    let before = snapshot.as_deref().filter(|before| !before.is_empty());
    let rest = text.as_deref().zip(before).and_then(|(text, before)| text.strip_prefix(before)).map(str::to_owned);
    match (snapshot.as_mut(), &rest) {
        (Some(before), Some(rest)) => before.push_str(rest),
        _ => *snapshot = text.map(Cow::into_owned),
    }
    rest
}
