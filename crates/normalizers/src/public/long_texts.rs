//! The long texts of tool calls, apart from the update that holds them.

use chat_grammar::acp::{ContentBlock, SessionUpdate, ToolCallContent};
use chat_grammar::update::{Body, Update};
use serde_json::Value;

/// Shorter ones are read faster where they stand, in bytes.
const LONG: usize = 128;
/// Deeper ones stay where they are.
const DEPTH: usize = 4;

/// A text that was taken out of an update's JSON.
#[derive(Debug)]
pub(super) struct LongText {
    /// The members and places that lead to it from the update.
    pub(super) path: Vec<Value>,
    pub(super) text: String,
}

/// Takes the long texts out of a tool call. Empty ones stand in their places.
pub(super) fn take_long_texts(update: &mut Update) -> Vec<LongText> {
    let mut taken = Vec::new();
    let Body::Official(body) = &mut update.body else { return taken };
    let (content, raw_input, raw_output) = match body.as_mut() {
        SessionUpdate::ToolCall(call) => (call.content.as_mut_slice(), &mut call.raw_input, &mut call.raw_output),
        SessionUpdate::ToolCallUpdate(call) => {
            let fields = &mut call.fields;
            (fields.content.as_deref_mut().unwrap_or_default(), &mut fields.raw_input, &mut fields.raw_output)
        }
        _ => return taken,
    };
    for (index, content) in content.iter_mut().enumerate() {
        let path = |names: &[&str]| {
            let names = names.iter().map(|name| Value::from(*name));
            [Value::from("content"), Value::from(index)].into_iter().chain(names).collect::<Vec<_>>()
        };
        match content {
            ToolCallContent::Content(content) => {
                if let ContentBlock::Text(block) = &mut content.content {
                    take(&mut block.text, || path(&["content", "text"]), &mut taken);
                }
            }
            ToolCallContent::Diff(diff) => {
                if let Some(before) = &mut diff.old_text {
                    take(before, || path(&["oldText"]), &mut taken);
                }
                take(&mut diff.new_text, || path(&["newText"]), &mut taken);
            }
            _ => {}
        }
    }
    for (name, value) in [("rawInput", raw_input), ("rawOutput", raw_output)] {
        if let Some(value) = value {
            take_of(value, &mut vec![name.into()], &mut taken);
        }
    }
    taken
}

fn take(text: &mut String, path: impl FnOnce() -> Vec<Value>, taken: &mut Vec<LongText>) {
    if text.len() >= LONG {
        taken.push(LongText { path: path(), text: std::mem::take(text) });
    }
}

fn take_of(value: &mut Value, path: &mut Vec<Value>, taken: &mut Vec<LongText>) {
    match value {
        Value::String(text) => take(text, || path.clone(), taken),
        Value::Array(items) if path.len() < DEPTH => {
            for (index, item) in items.iter_mut().enumerate() {
                path.push(index.into());
                take_of(item, path, taken);
                path.pop();
            }
        }
        Value::Object(members) if path.len() < DEPTH => {
            for (name, member) in members.iter_mut() {
                path.push(name.as_str().into());
                take_of(member, path, taken);
                path.pop();
            }
        }
        _ => {}
    }
}
