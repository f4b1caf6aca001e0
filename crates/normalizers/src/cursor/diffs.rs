//! Diffs of build 2026.08.11, whose texts begin with what is left of a unified diff's header.

use crate::acp::raw;
use serde_json::Value;
use serde_json::value::RawValue;

/// Contents whose diffs have no headers in their texts; `None` where none has one.
pub(super) fn corrected(content: &RawValue) -> Option<Box<RawValue>> {
    if !content.get().contains("++ ") {
        return None;
    }
    let mut items: Vec<Value> = serde_json::from_str(content.get()).ok()?;
    let changed = items.iter_mut().filter_map(correct).count();
    (changed > 0).then(|| raw(&items))
}

/// Takes the headers away where both texts have one: a text may well begin so by itself.
fn correct(item: &mut Value) -> Option<()> {
    let item = item.as_object_mut().filter(|item| item.get("type").is_some_and(|kind| kind == "diff"))?;
    let old = headless(item.get("oldText")?.as_str()?, "-- ", "a/")?.map(str::to_owned);
    let new = headless(item.get("newText")?.as_str()?, "++ ", "b/")?.unwrap_or_default().to_owned();
    item.insert("oldText".to_owned(), old.into());
    item.insert("newText".to_owned(), new.into());
    Some(())
}

/// The text below a header. `None` inside where the header says that there is no file; `None` where there is no header.
fn headless<'a>(text: &'a str, mark: &str, side: &str) -> Option<Option<&'a str>> {
    let (header, rest) = text.split_once('\n').unwrap_or((text, ""));
    let file = header.strip_prefix(mark)?;
    match file {
        "/dev/null" => Some(None),
        file => file.starts_with(side).then_some(Some(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::corrected;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    fn diff(old: Value, new: &str) -> Option<Value> {
        let content = json!([{ "type": "content" }, { "type": "diff", "path": "/a", "oldText": old, "newText": new }]);
        let corrected = corrected(&RawValue::from_string(content.to_string()).unwrap())?;
        let content: Value = serde_json::from_str(corrected.get()).unwrap();
        Some(json!([content[1]["oldText"], content[1]["newText"]]))
    }

    #[test]
    fn headers_are_taken_away() {
        assert_eq!(diff(json!("-- /dev/null"), "++ b/a\nnew\n"), Some(json!([null, "new\n"])));
        assert_eq!(diff(json!("-- a/a\nold\n"), "++ b/a\nnew\n"), Some(json!(["old\n", "new\n"])));
        assert_eq!(diff(json!("-- a/a\nold\n"), "++ /dev/null\n"), Some(json!(["old\n", ""])));
    }

    #[test]
    fn texts_without_headers_stay() {
        assert_eq!(diff(json!(null), "++ b/a\nnew\n"), None);
        assert_eq!(diff(json!("old"), "++ b/a\nnew\n"), None);
        assert_eq!(diff(json!("-- a comment\n"), "++ b/a\n"), None);
        assert_eq!(diff(json!("old"), "new"), None);
    }
}
