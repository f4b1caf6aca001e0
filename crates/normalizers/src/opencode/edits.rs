//! Changes of files as diffs.

use super::wire::{EditMetadata, PatchedFile};
use crate::diff;
use chat_grammar::acp::{Diff, ToolCallContent, ToolCallLocation};
use serde_json::Value;

/// The diffs of a call, and where they are.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub content: Vec<ToolCallContent>,
    pub locations: Vec<ToolCallLocation>,
}

/// What a call wants to change, by its input.
pub(super) fn planned(tool: &str, input: &Value) -> Vec<ToolCallContent> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let diff = match tool {
        "write" => text("filePath").zip(text("content")).map(|(path, content)| Diff::new(path, content)),
        "edit" => text("filePath").zip(text("newString")).map(|(path, new)| {
            // An edit of nothing creates the file.
            let old = text("oldString").filter(|old| !old.is_empty());
            Diff::new(path, new).old_text(old.map(str::to_owned))
        }),
        _ => None,
    };
    diff.map(ToolCallContent::from).into_iter().collect()
}

/// What a call changed, by what it returned; where that does not say, as it was planned.
pub(super) fn made(tool: &str, input: &Value, edit: &EditMetadata<'_>) -> Changed {
    if let Some(files) = edit.files.as_deref().filter(|files| !files.is_empty()) {
        let mut changed = Changed::default();
        files.iter().for_each(|file| patched(file, &mut changed));
        return changed;
    }
    let path = edit.filediff.as_ref().and_then(|diff| diff.file.as_deref()).or_else(|| input.get("filePath")?.as_str());
    let mut changed = Changed::default();
    if let (Some(path), Some(text)) = (path, edit.diff.as_deref()) {
        push_hunks(path, text, &mut changed);
    }
    if changed.content.is_empty() {
        changed.content = planned(tool, input);
    }
    changed
}

fn patched(file: &PatchedFile<'_>, changed: &mut Changed) {
    let patch = file.patch.as_deref().unwrap_or_default();
    let path = file.move_path.as_deref().unwrap_or(&file.file_path);
    let whole = || diff::hunks(patch).into_iter().next().unwrap_or_default();
    match &*file.kind {
        "add" => {
            changed.content.push(Diff::new(path, whole().new).into());
            changed.locations.push(ToolCallLocation::new(path));
        }
        "delete" => {
            changed.content.push(Diff::new(path, "").old_text(whole().old).into());
            changed.locations.push(ToolCallLocation::new(path));
        }
        _ => push_hunks(path, patch, changed),
    }
}

fn push_hunks(path: &str, text: &str, changed: &mut Changed) {
    let hunks = diff::hunks(text);
    changed.locations.push(ToolCallLocation::new(path).line(hunks.first().and_then(|hunk| hunk.line)));
    changed.content.extend(hunks.into_iter().map(|hunk| ToolCallContent::from(Diff::new(path, hunk.new).old_text(hunk.old))));
}
