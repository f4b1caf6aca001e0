//! Where agents differ in what they mean by the protocol.

use chat_grammar::acp::ToolKind;
use chat_grammar::event::McpTool;
use serde_json::Value;
use serde_json::value::RawValue;

/// What an agent does otherwise than the protocol lets expect.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Whether a permission request makes the tool call known that it names. An agent that names another one in requests does not.
    pub permission_announces: bool,
    /// The canonical name of a tool that the agent gives no name to.
    pub tool_name: fn(&Announced<'_>) -> Option<&'static str>,
    /// Why a call failed that the agent calls completed, by its raw output.
    pub failure: fn(&Value) -> Option<String>,
    /// The content of a call as it should be; `None` where it is.
    pub content: fn(&RawValue) -> Option<Box<RawValue>>,
    /// What only a permission request says about a call, by its title and the text of its content.
    pub asked: fn(&str, &str) -> Option<Asked>,
}

/// A tool call as the agent makes it known.
#[derive(Debug)]
pub(crate) struct Announced<'a> {
    pub title: &'a str,
    pub kind: ToolKind,
    pub input: Option<&'a RawValue>,
}

/// What a permission request says about a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub mcp: Option<McpTool>,
    pub input: Option<Value>,
}

/// The protocol as it is written.
pub(crate) const PLAIN: Dialect =
    Dialect { permission_announces: true, tool_name: |_| None, failure: |_| None, content: |_| None, asked: |_, _| None };
