//! Results of shell commands. A failure is only told as text, with the exit code in its first line.

use super::results::{Ended, ResultText, without_error_tag};
use super::wire::ShellResult;
use crate::tools::text_content;
use chat_grammar::acp::ToolCallContent;
use serde_json::{Map, Value, json};

/// The end of a command, or of a call that never became one.
pub(super) fn ended(text: &ResultText, is_error: bool, executed: bool, result: Option<&ShellResult<'_>>) -> Ended {
    if !executed && is_error {
        let output = json!({ "exitCode": null, "output": "" });
        return Ended { is_error, output, content: text.blocks().to_vec() };
    }
    let Some(result) = result.filter(|_| !is_error) else { return failed(&text.joined(), is_error) };
    let stdout = result.stdout.as_deref().unwrap_or_default();
    let stderr = result.stderr.as_deref().unwrap_or_default();
    let interrupted = result.interrupted == Some(true);
    // A command that runs on has no exit code yet, and of one that failed harmlessly it is not told.
    let runs_on = result.background_task_id.is_some();
    let unknown = interrupted || runs_on || result.return_code_interpretation.is_some();
    let mut output = Map::new();
    output.insert("exitCode".to_owned(), if unknown { Value::Null } else { json!(0) });
    // In 2.1.332 `stdout` holds both streams, in the order in which they came.
    let shown = if runs_on { text.joined() } else { stdout.to_owned() };
    if stderr.is_empty() {
        output.insert("output".to_owned(), shown.clone().into());
    } else {
        output.insert("stdout".to_owned(), stdout.into());
        output.insert("stderr".to_owned(), stderr.into());
    }
    let mut content = Vec::with_capacity(2);
    match (text.has_blocks(), shown.is_empty()) {
        (true, _) => content.extend(text.blocks().iter().cloned()),
        (false, true) => content.extend(Some(text.joined()).filter(|text| !text.is_empty()).map(text_content)),
        (false, false) => content.push(text_content(shown)),
    }
    if !stderr.is_empty() {
        content.push(text_content(stderr));
    }
    content.extend(result.persisted_output_path.as_deref().map(|path| whole_output(path, result.persisted_output_size)));
    if interrupted {
        content.push(text_content("The command was interrupted"));
    }
    Ended { is_error: interrupted, output: Value::Object(output), content }
}

fn whole_output(path: &str, size: Option<u64>) -> ToolCallContent {
    let size = size.map(|size| format!(" ({size} bytes)")).unwrap_or_default();
    text_content(format!("The whole output{size} is in {path}"))
}

fn failed(text: &str, is_error: bool) -> Ended {
    let text = without_error_tag(text);
    let code = text.strip_prefix("Exit code ").map(|rest| rest.split_once('\n').unwrap_or((rest, "")));
    let (code, output) = match code.and_then(|(code, rest)| Some((code.trim().parse::<i64>().ok()?, rest))) {
        Some((code, rest)) => (Some(code), rest),
        None => (None, text),
    };
    let is_error = is_error || code.is_some_and(|code| code != 0);
    let mut content = Vec::with_capacity(2);
    if !output.is_empty() {
        content.push(text_content(output));
    }
    content.extend(code.map(|code| text_content(format!("Exit code {code}"))));
    // Older CLIs tell no structured result of a success.
    let code = code.map_or(if is_error { Value::Null } else { json!(0) }, Value::from);
    Ended { is_error, output: json!({ "exitCode": code, "output": output }), content }
}
