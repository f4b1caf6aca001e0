//! What Cursor means by the protocol's own messages.

use super::diffs;
use crate::acp::{Announced, Asked, Dialect};
use chat_grammar::acp::ToolKind;
use chat_grammar::event::McpTool;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// Cursor's ways.
pub(super) const CURSOR: Dialect = Dialect {
    // It asks under ids that no call has, as `web_fetch_0`.
    permission_announces: false,
    tool_name,
    failure,
    content: diffs::corrected,
    asked,
};

fn tool_name(call: &Announced<'_>) -> Option<&'static str> {
    #[derive(Deserialize)]
    struct Input<'a> {
        #[serde(borrow, rename = "_toolName")]
        name: Cow<'a, str>,
    }
    let own = call.input.and_then(|input| serde_json::from_str::<Input<'_>>(input.get()).ok());
    let by_own = own.and_then(|input| {
        Some(match &*input.name {
            "createPlan" => "CreatePlan",
            "askQuestion" => "AskUserQuestion",
            "updateTodos" => "TodoWrite",
            "generateImage" => "GenerateImage",
            "task" => "Agent",
            _ => return None,
        })
    });
    by_own.or_else(|| {
        let title = call.title;
        Some(match (call.kind, title) {
            (ToolKind::Search, "Find") => "Glob",
            (ToolKind::Other, "Ask Question") => "AskUserQuestion",
            (ToolKind::Other, "Generate Image") => "GenerateImage",
            (ToolKind::Other, "Update TODOs") => "TodoWrite",
            (ToolKind::Other, title) if title == "Task" || title.starts_with("Task: ") => "Agent",
            (ToolKind::Other, title) if title.starts_with("Create Plan") => "CreatePlan",
            _ => return None,
        })
    })
}

/// Cursor calls every call completed; what went wrong stands in the output.
fn failure(output: &Value) -> Option<String> {
    output["error"].as_str().filter(|error| !error.is_empty()).map(str::to_owned)
}

/// Only the request for leave says which MCP tool is called, as `server-tool: tool`, and with what, as a block of JSON.
fn asked(title: &str, text: &str) -> Option<Asked> {
    let (prefix, tool) = title.rsplit_once(": ").filter(|_| !title.starts_with('`'))?;
    let server = prefix.strip_suffix(tool)?.strip_suffix('-')?;
    let json = text.trim().strip_prefix("```json").and_then(|text| text.strip_suffix("```"));
    let input: Option<Value> = json.and_then(|json| serde_json::from_str(json).ok());
    let mcp = McpTool { server: server.to_owned(), tool: tool.to_owned() };
    Some(Asked { mcp: Some(mcp), input })
}

#[cfg(test)]
mod tests {
    use super::{asked, failure};
    use serde_json::json;

    #[test]
    fn a_request_names_the_mcp_tool() {
        let told = asked("my-echo-say: say", "```json\n{\"text\":\"hi\"}\n```").unwrap();
        let mcp = told.mcp.unwrap();
        assert_eq!((mcp.server.as_str(), mcp.tool.as_str(), told.input), ("my-echo", "say", Some(json!({ "text": "hi" }))));
        for title in ["`echo a-b: b`", "Fetch https://example.invalid", "say: say", "a-b: c"] {
            assert!(asked(title, "").is_none(), "{title}");
        }
    }

    #[test]
    fn an_error_in_the_output_is_a_failure() {
        let failed = |json: &str| failure(&serde_json::from_str(json).unwrap());
        assert_eq!(failed(r#"{"error":"no"}"#).as_deref(), Some("no"));
        for fine in [r#"{"error":null}"#, r#"{"error":""}"#, r#"{"content":"error"}"#, "\"error\"", "null"] {
            assert_eq!(failed(fine), None, "{fine}");
        }
    }
}
