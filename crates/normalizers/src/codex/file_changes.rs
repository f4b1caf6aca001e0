//! Patches: files created, edited, deleted and moved.

use super::Malformed;
use super::calls::{Background, Subject};
use super::items::{Item, Moment, ended, failure_of};
use super::normalize::Codex;
use super::wire::{FileChange, FileChangeItem};
use crate::diff;
use crate::tools::text_content;
use chat_grammar::acp::{Diff, ToolCallContent, ToolCallLocation, ToolKind};
use chat_grammar::event::{ChatEvent, ToolCompleted, ToolStarted};
use serde_json::{Value, json};

pub(super) fn item(
    codex: &mut Codex,
    thread_id: Option<&str>,
    item: &Item<'_>,
    moment: Moment,
    out: &mut Vec<ChatEvent>,
) -> Result<(), Malformed> {
    let patch: FileChangeItem<'_> = item.read()?;
    let changes: Vec<FileChange<'_>> = serde_json::from_str(patch.changes.get())?;
    let raw: Value = serde_json::from_str(patch.changes.get())?;
    let subject = subject(&changes, raw, codex.cwd());
    let start = |id: String, subject: &Subject| ToolStarted {
        content: content(&changes),
        locations: locations(&changes),
        ..subject.started(id)
    };
    codex.start(thread_id, item, Background::Impossible, || Ok(subject.clone()), start, out)?;
    if moment == Moment::Start {
        return Ok(());
    }
    codex.end(thread_id, item, out, |id, _| {
        let failure = match patch.status.as_deref() {
            Some("declined") => Some("The change was declined"),
            Some("failed") => Some("The change failed"),
            status => failure_of(status),
        };
        let mut content = content(&changes);
        content.extend(failure.map(text_content));
        Ok(ToolCompleted {
            title: Some(subject.title),
            input: Some(subject.input),
            locations: Some(locations(&changes)),
            content,
            ..ended(id, failure.is_some(), json!({ "status": patch.status.as_deref() }))
        })
    })
}

/// What a patch wants to do. One that only creates files writes; any other edits.
fn subject(changes: &[FileChange<'_>], raw: Value, cwd: Option<&str>) -> Subject {
    let all = |kind: fn(&FileChange<'_>) -> bool| !changes.is_empty() && changes.iter().all(kind);
    let (tool_name, verb, kind) = if all(is_add) {
        ("Write", "Write", ToolKind::Edit)
    } else if all(is_delete) {
        ("Edit", "Delete", ToolKind::Delete)
    } else if all(is_move) {
        ("Edit", "Move", ToolKind::Move)
    } else {
        ("Edit", "Edit", ToolKind::Edit)
    };
    let paths: Vec<String> = changes.iter().map(|change| shown_path(change, cwd)).collect();
    let title = match paths.as_slice() {
        [] => "Edit files".to_owned(),
        [one] => format!("{verb} {one}"),
        [first, second, third] => format!("{verb} {first}, {second}, {third}"),
        [first, second] => format!("{verb} {first}, {second}"),
        [first, second, rest @ ..] => format!("{verb} {first}, {second} and {} more", rest.len()),
    };
    Subject { tool_name: tool_name.to_owned(), title, kind, input: json!({ "changes": raw }), mcp: None }
}

fn is_add(change: &FileChange<'_>) -> bool {
    &*change.kind.kind == "add"
}

fn is_delete(change: &FileChange<'_>) -> bool {
    &*change.kind.kind == "delete"
}

fn is_move(change: &FileChange<'_>) -> bool {
    change.kind.move_path.is_some()
}

fn shown_path(change: &FileChange<'_>, cwd: Option<&str>) -> String {
    let short = |path: &str| -> String {
        let below = cwd.and_then(|cwd| path.strip_prefix(cwd.trim_end_matches('/'))?.strip_prefix('/').map(str::to_owned));
        below.unwrap_or_else(|| path.to_owned())
    };
    match change.kind.move_path.as_deref() {
        Some(to) => format!("{} to {}", short(&change.path), short(to)),
        None => short(&change.path),
    }
}

/// Old and new text: of a whole file where it is created or deleted, of each hunk where it is edited.
fn content(changes: &[FileChange<'_>]) -> Vec<ToolCallContent> {
    let mut content = Vec::with_capacity(changes.len());
    for change in changes {
        let text = change.diff.as_deref().unwrap_or_default();
        let path = change.kind.move_path.as_deref().unwrap_or(&change.path);
        match &*change.kind.kind {
            "add" => content.push(Diff::new(path, text).into()),
            "delete" => content.push(Diff::new(path, "").old_text(text.to_owned()).into()),
            _ => content.extend(
                diff::hunks(text).into_iter().map(|hunk| ToolCallContent::from(Diff::new(path, hunk.new).old_text(hunk.old))),
            ),
        }
    }
    content
}

fn locations(changes: &[FileChange<'_>]) -> Vec<ToolCallLocation> {
    let mut locations = Vec::with_capacity(changes.len());
    for change in changes {
        let line = match &*change.kind.kind {
            "update" => diff::hunks(change.diff.as_deref().unwrap_or_default()).first().and_then(|hunk| hunk.line),
            _ => None,
        };
        let path = change.kind.move_path.as_deref().unwrap_or(&change.path);
        locations.push(ToolCallLocation::new(path).line(line));
    }
    locations
}
