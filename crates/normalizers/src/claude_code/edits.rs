//! Results of Write and Edit: the change as it was made.

use super::results::{Ended, ResultText};
use super::wire::{EditResult, Hunk};
use chat_grammar::acp::{Diff, ToolCallContent, ToolCallLocation};
use serde_json::Value;

/// The end of a change, with the places that it touched.
pub(super) fn ended(
    path: Option<&str>,
    text: &ResultText,
    result: &EditResult<'_>,
    output: Value,
) -> (Ended, Vec<ToolCallLocation>) {
    let path = result.file_path.as_deref().or(path).unwrap_or_default();
    let hunks = result.structured_patch.as_deref().unwrap_or_default();
    let mut content: Vec<ToolCallContent> = hunks.iter().map(|hunk| diff(path, hunk)).collect();
    if content.is_empty() {
        content.extend(whole(path, result).map(ToolCallContent::from));
    }
    content.extend(text.blocks().iter().cloned());
    let line = hunks.first().and_then(changed_line);
    (Ended { is_error: false, output: without_copies(output), content }, vec![ToolCallLocation::new(path).line(line)])
}

fn whole(path: &str, result: &EditResult<'_>) -> Option<Diff> {
    match (result.content.as_deref(), result.old_string.as_deref(), result.new_string.as_deref()) {
        (Some(content), _, _) => {
            let old = result.original_file.as_deref().filter(|_| result.kind.as_deref() != Some("create"));
            Some(Diff::new(path, content).old_text(old.map(str::to_owned)))
        }
        (None, Some(old), Some(new)) => Some(Diff::new(path, new).old_text(old.to_owned())),
        _ => None,
    }
}

fn diff(path: &str, hunk: &Hunk<'_>) -> ToolCallContent {
    let (mut old, mut new) = (String::new(), String::new());
    for line in &hunk.lines {
        let (sign, text) = line.split_at_checked(1).unwrap_or((line, ""));
        // `\ No newline at end of file` is about a line, and none.
        if sign == "\\" {
            continue;
        }
        for (side, other) in [(&mut old, "+"), (&mut new, "-")] {
            if sign != other {
                side.push_str(text);
                side.push('\n');
            }
        }
    }
    Diff::new(path, new).old_text(old).into()
}

/// The first line of a hunk that changed, counted from 1.
fn changed_line(hunk: &Hunk<'_>) -> Option<u32> {
    let before = hunk.lines.iter().take_while(|line| line.starts_with(' ')).count();
    u32::try_from(hunk.new_start?.checked_add(before as u64)?).ok()
}

/// The result without the file as it was before, which the content shows as far as it changed.
fn without_copies(mut output: Value) -> Value {
    if let Value::Object(members) = &mut output {
        members.shift_remove("originalFile");
    }
    output
}
