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
pub(super) fn has_failed(raw_output: Option<&RawValue>, terminal: &Terminal) -> bool {
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Exit<'a> {
        #[serde(rename = "exitCode", alias = "exit_code", borrow)]
        code: Option<&'a RawValue>,
        #[serde(borrow)]
        signal: Option<&'a RawValue>,
        /// OpenCode 1.18.33.
        #[serde(borrow)]
        metadata: Option<&'a RawValue>,
    }
    #[derive(Debug, Default, Deserialize)]
    struct Metadata<'a> {
        #[serde(borrow)]
        exit: Option<&'a RawValue>,
    }
    let ended_badly = |code: Option<&RawValue>| {
        code.and_then(|code| serde_json::from_str::<f64>(code.get()).ok()).is_some_and(|code| code != 0.0)
    };
    if let Some(exit) = &terminal.exit
        && (exit.exit_code.is_some_and(|code| code != 0) || exit.signal.is_some())
    {
        return true;
    }
    let exit: Option<Exit<'_>> =
        raw_output.filter(|output| output.get().starts_with('{')).and_then(|output| serde_json::from_str(output.get()).ok());
    let Some(exit) = exit else { return false };
    let metadata: Option<Metadata<'_>> = exit.metadata.and_then(|metadata| serde_json::from_str(metadata.get()).ok());
    let is_signal = exit.signal.is_some_and(|signal| signal.get().starts_with('"') && signal.get() != "\"\"");
    ended_badly(exit.code) || is_signal || ended_badly(metadata.and_then(|metadata| metadata.exit))
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
    use super::{Terminal, has_failed};
    use serde_json::value::RawValue;

    #[test]
    fn a_command_fails_by_its_exit_code_or_signal() {
        let failed = |json: &str| has_failed(Some(&RawValue::from_string(json.to_owned()).unwrap()), &Terminal::default());
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
