//! How a command really ended, whatever its agent calls it.

use super::wire::{TerminalExit, raw};
use chat_grammar::acp::ContentBlock;
use chat_grammar::bounded::HeadAndTail;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The terminal that an agent runs a command in by itself, as codex-acp 2.6.0 does although the host offers none.
#[derive(Debug, Default)]
pub(super) struct Terminal {
    pub output: HeadAndTail,
    pub exit: Option<TerminalExit>,
}

impl Terminal {
    /// The raw output of the command; `None` where the agent told nothing of a terminal.
    pub(super) fn raw_output(&self) -> Option<Value> {
        if self.exit.is_none() && self.output.bytes() == 0 {
            return None;
        }
        let exit = self.exit.as_ref();
        let mut output = Map::new();
        output.insert("exitCode".to_owned(), exit.and_then(|exit| exit.exit_code).into());
        if let Some(signal) = exit.and_then(|exit| exit.signal.as_deref()) {
            output.insert("signal".to_owned(), signal.into());
        }
        output.insert("output".to_owned(), self.output.text().into());
        Some(Value::Object(output))
    }

    /// How many bytes the output has, where the raw output does not hold all of it.
    pub(super) fn truncated(&self) -> Option<u64> {
        Some(self.output.bytes()).filter(|bytes| *bytes != self.output.text().len() as u64)
    }
}

/// Whether a command is known to have failed: a non-zero exit code or a signal, in the raw output or in the terminal.
pub(super) fn has_failed(raw_output: &Value, terminal: &Terminal) -> bool {
    if let Some(exit) = &terminal.exit
        && (exit.exit_code.is_some_and(|code| code != 0) || exit.signal.is_some())
    {
        return true;
    }
    // OpenCode 1.18.33 has the exit code in `metadata`.
    let codes = [&raw_output["exitCode"], &raw_output["exit_code"], &raw_output["metadata"]["exit"]];
    let ended_badly = codes.into_iter().filter_map(Value::as_f64).any(|code| code != 0.0);
    ended_badly || raw_output["signal"].as_str().is_some_and(|signal| !signal.is_empty())
}

/// The raw output of a command in the form that every command's has, whatever its agent: an object with `exitCode`, which is null
/// where nobody said it. `None` where it has that form. Nothing that the agent said is left out.
pub(super) fn command_output(raw_output: &Value, failed: bool) -> Option<Value> {
    let (code, rest) = match raw_output {
        Value::Object(members) if members.contains_key("exitCode") => return None,
        Value::Object(members) => {
            let code = [&raw_output["exit_code"], &raw_output["metadata"]["exit"]].into_iter().find(|code| code.is_number());
            (code.cloned(), members.clone())
        }
        Value::Null => (None, Map::new()),
        Value::String(text) => {
            // claude-agent-acp 0.101.0 has the exit code of a failure in the first line.
            let code =
                text.strip_prefix("Exit code ").filter(|_| failed).map(|rest| rest.split_once('\n').unwrap_or((rest, "")));
            match code.and_then(|(code, rest)| Some((code.parse::<i64>().ok()?, rest))) {
                Some((code, rest)) => (Some(code.into()), output(rest)),
                None => (None, output(text)),
            }
        }
        other => (None, output(&other.to_string())),
    };
    let mut told = Map::new();
    told.insert("exitCode".to_owned(), code.unwrap_or_default());
    told.extend(rest);
    Some(Value::Object(told))
}

fn output(text: &str) -> Map<String, Value> {
    Map::from_iter([("output".to_owned(), text.into())])
}

/// The content of an MCP tool's result, which codex-acp 2.6.0 gives only in the raw output.
pub(super) fn mcp_content(raw_output: &RawValue) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Output<'a> {
        #[serde(borrow)]
        result: McpResult<'a>,
    }
    #[derive(Deserialize)]
    struct McpResult<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    #[derive(Serialize)]
    struct Content<'a> {
        r#type: &'static str,
        content: &'a RawValue,
    }
    let output: Output<'_> = serde_json::from_str(raw_output.get()).ok()?;
    let blocks = output.result.content.into_iter().filter(|block| serde_json::from_str::<ContentBlock>(block.get()).is_ok());
    let content: Vec<Content<'_>> = blocks.map(|content| Content { r#type: "content", content }).collect();
    (!content.is_empty()).then(|| raw(&content))
}

#[cfg(test)]
mod tests {
    use super::{Terminal, command_output, has_failed};
    use serde_json::{Value, json};

    #[test]
    fn every_commands_output_has_an_exit_code() {
        let told = |output: Value, failed| command_output(&output, failed);
        assert_eq!(told(json!({ "exitCode": 0, "stdout": "a" }), false), None);
        assert_eq!(told(json!({ "exit_code": 2 }), true), Some(json!({ "exitCode": 2, "exit_code": 2 })));
        let opencode = json!({ "output": "a", "metadata": { "exit": 0 } });
        assert_eq!(told(opencode, false), Some(json!({ "exitCode": 0, "output": "a", "metadata": { "exit": 0 } })));
        assert_eq!(told(json!("Exit code 3\nbad"), true), Some(json!({ "exitCode": 3, "output": "bad" })));
        assert_eq!(told(json!("Exit code 3\nbad"), false), Some(json!({ "exitCode": null, "output": "Exit code 3\nbad" })));
        assert_eq!(told(json!("Exit code x"), true), Some(json!({ "exitCode": null, "output": "Exit code x" })));
        assert_eq!(told(Value::Null, true), Some(json!({ "exitCode": null })));
        assert_eq!(told(json!([1]), false), Some(json!({ "exitCode": null, "output": "[1]" })));
    }

    #[test]
    fn a_command_fails_by_its_exit_code_or_signal() {
        let failed = |json: &str| has_failed(&serde_json::from_str(json).unwrap(), &Terminal::default());
        assert!(failed(r#"{"exitCode":1}"#));
        assert!(failed(r#"{"exit_code":-1}"#));
        assert!(failed(r#"{"exitCode":null,"signal":"SIGKILL"}"#));
        assert!(failed(r#"{"output":"x","metadata":{"exit":3}}"#));
        for fine in
            [r#"{"exitCode":0}"#, r#"{"exitCode":null}"#, r#"{"exitCode":"1"}"#, "\"1\"", "{}", r#"{"metadata":{"exit":0}}"#]
        {
            assert!(!failed(fine), "{fine}");
        }
    }
}
