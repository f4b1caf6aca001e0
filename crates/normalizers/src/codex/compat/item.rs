//! Items of older forms.

use super::{Object, fill, first, word};
use serde_json::{Value, json};

/// Puts an item into today's form. What today's form has already is left as it is.
pub(super) fn modernize(item: &mut Object) {
    match item.get("type").and_then(Value::as_str).unwrap_or_default() {
        "agentMessage" | "plan" => fill(item, "text", word(item, &["finalText", "message", "output"]).map(Value::from)),
        "reasoning" => reasoning(item),
        "commandExecution" => command(item),
        "fileChange" => file_change(item),
        "mcpToolCall" => mcp(item),
        "dynamicToolCall" => dynamic(item),
        "webSearch" => fill(item, "query", input_text(item, "query").map(Value::from)),
        "imageView" => {
            let path = input_text(item, "path").unwrap_or_default();
            fill(item, "path", Some(path.into()));
        }
        "collabAgentToolCall" => {
            let tool = word(item, &["toolName"]).unwrap_or_default();
            fill(item, "tool", Some(tool.into()));
            fill(item, "prompt", input_text(item, "prompt").map(Value::from));
        }
        _ => {}
    }
}

fn reasoning(item: &mut Object) {
    for name in ["summary", "content"] {
        if let Some(Value::String(text)) = item.get(name).cloned() {
            item.insert(name.to_owned(), json!([text]));
        }
    }
    let empty = |name: &str| item.get(name).and_then(Value::as_array).is_none_or(Vec::is_empty);
    if empty("summary")
        && empty("content")
        && let Some(text) = word(item, &["text", "finalText", "message"])
    {
        item.insert("content".to_owned(), json!([text]));
    }
}

fn command(item: &mut Object) {
    let given = first(item, &["command", "rawCommand"]).or_else(|| match item.get("input")? {
        Value::Object(input) => first(input, &["command", "cmd", "rawCommand"]),
        input => Some(input.clone()),
    });
    item.insert("command".to_owned(), command_line(given).into());
    let output = first(item, &["output"]).map(|output| match output {
        Value::String(text) => text,
        Value::Object(output) => word(&output, &["output", "aggregatedOutput", "stdout"]).unwrap_or_default(),
        other => other.to_string(),
    });
    fill(item, "aggregatedOutput", output.or_else(|| failure(item)).map(Value::from));
}

fn command_line(command: Option<Value>) -> String {
    match command {
        Some(Value::String(line)) => line,
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).map(quoted).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./=:,@%+".contains(character);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn file_change(item: &mut Object) {
    if let Some(Value::Array(changes)) = item.get_mut("changes") {
        for change in changes.iter_mut().filter_map(Value::as_object_mut) {
            if let Some(Value::String(kind)) = change.get("kind").cloned() {
                change.insert("kind".to_owned(), json!({ "type": kind }));
            }
            fill(change, "kind", Some(json!({ "type": "update" })));
        }
        return;
    }
    let diff = word(item, &["diff"]);
    let path = word(item, &["path", "filePath", "file"]).or_else(|| diff.as_deref().and_then(path_of));
    let change = path.map(|path| json!({ "path": path, "kind": { "type": "update" }, "diff": diff }));
    item.insert("changes".to_owned(), Value::Array(change.into_iter().collect()));
}

/// The file that a unified diff is about.
fn path_of(diff: &str) -> Option<String> {
    let path = diff.lines().find_map(|line| line.strip_prefix("+++ "))?.split('\t').next()?;
    Some(path.strip_prefix("b/").unwrap_or(path).to_owned())
}

fn mcp(item: &mut Object) {
    let server = word(item, &["serverName"]).unwrap_or_default();
    let tool = word(item, &["toolName", "name"]).unwrap_or_default();
    fill(item, "server", Some(server.into()));
    fill(item, "tool", Some(tool.into()));
    fill(item, "arguments", first(item, &["input"]));
    let result = first(item, &["result", "output"]).map(|result| match result {
        Value::String(text) => json!({ "content": [{ "type": "text", "text": text }] }),
        Value::Array(blocks) => json!({ "content": blocks }),
        other => other,
    });
    if let Some(result) = result {
        item.insert("result".to_owned(), result);
    }
    match item.get("error").cloned() {
        Some(Value::String(message)) => drop(item.insert("error".to_owned(), json!({ "message": message }))),
        Some(Value::Object(error)) if !error.contains_key("message") => {
            item.insert("error".to_owned(), json!({ "message": Value::Object(error).to_string() }));
        }
        _ => fill(item, "error", failure(item).map(|message| json!({ "message": message }))),
    }
}

fn dynamic(item: &mut Object) {
    let tool = word(item, &["toolName", "name"]).unwrap_or_default();
    fill(item, "tool", Some(tool.into()));
    fill(item, "arguments", first(item, &["input"]));
    let said = word(item, &["output"]).or_else(|| failure(item));
    fill(item, "contentItems", said.map(|text| json!([{ "type": "inputText", "text": text }])));
}

/// What an item that failed says in words.
pub(super) fn failure(item: &Object) -> Option<String> {
    let failed = matches!(item.get("status").and_then(Value::as_str), Some("failed" | "declined"));
    let told = match item.get("error") {
        Some(Value::Object(error)) => word(error, &["message"]),
        _ => word(item, &["error"]),
    };
    told.or_else(|| word(item, &["message"])).filter(|_| failed)
}

/// A text that older forms have in `input`: as a member of it, or as the whole of it.
fn input_text(item: &Object, name: &str) -> Option<String> {
    match item.get("input")? {
        Value::String(text) => Some(text.clone()),
        Value::Object(input) => word(input, &[name]),
        _ => None,
    }
}
