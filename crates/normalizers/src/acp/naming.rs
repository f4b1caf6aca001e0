//! What tools are called: the canonical name of a call, and the MCP tool behind it.

use super::dialect::{Announced, Dialect};
use chat_grammar::acp::ToolKind;
use chat_grammar::event::McpTool;
use serde::Deserialize;
use std::borrow::Cow;

/// What a call is called, as far as anything says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Naming {
    pub name: Option<String>,
    pub mcp: Option<McpTool>,
    /// The name is only what calls of the kind are usually called.
    pub by_kind: bool,
}

/// What is known about a call's name.
#[derive(Debug)]
pub(super) struct Hints<'a> {
    /// The agent's own word.
    pub name: Option<&'a str>,
    pub id: &'a str,
    pub announced: Announced<'a>,
    /// The agent says that it is a call of an MCP tool.
    pub is_mcp: bool,
    /// Whether its diffs only create files.
    pub creates: bool,
    /// The MCP servers that the host gave to the agent.
    pub servers: &'a [String],
}

/// Names a call.
pub(super) fn name(hints: &Hints<'_>, dialect: &Dialect) -> Naming {
    let title = hints.announced.title;
    if let Some(mcp) = mcp(hints) {
        return Naming { name: Some(mcp.tool.clone()), mcp: Some(mcp), by_kind: false };
    }
    let sure = match hints.name {
        Some(name) => Some(canonical(name).map_or_else(|| name.to_owned(), str::to_owned)),
        None => (dialect.tool_name)(&hints.announced).or_else(|| of_id(hints.id)).or_else(|| word(title)).map(str::to_owned),
    };
    let by_kind = sure.is_none();
    Naming { name: sure.or_else(|| of_kind(hints).map(str::to_owned)), mcp: None, by_kind }
}

fn mcp(hints: &Hints<'_>) -> Option<McpTool> {
    #[derive(Deserialize)]
    struct Call<'a> {
        #[serde(borrow)]
        server: Cow<'a, str>,
        #[serde(borrow)]
        tool: Cow<'a, str>,
    }
    if hints.is_mcp
        && let Some(call) = hints.announced.input.and_then(|input| serde_json::from_str::<Call<'_>>(input.get()).ok())
    {
        return Some(McpTool { server: call.server.into_owned(), tool: call.tool.into_owned() });
    }
    // `mcp__server__tool`, as claude-agent-acp 0.101.0 names them.
    if let Some((server, tool)) = hints.name.and_then(|name| name.strip_prefix("mcp__")?.split_once("__")) {
        return Some(McpTool { server: server.to_owned(), tool: tool.to_owned() });
    }
    let title = hints.announced.title;
    // `tool (server MCP Server)`, as gemini-cli 0.61.0 titles them.
    if let Some((tool, server)) = title.strip_suffix(" MCP Server)").and_then(|title| title.split_once(" (")) {
        return Some(McpTool { server: server.to_owned(), tool: tool.to_owned() });
    }
    // `server_tool`, as OpenCode 1.18.33 titles them.
    if hints.name.is_some() || hints.announced.kind != ToolKind::Other {
        return None;
    }
    let of_server = |server: &String| {
        let tool = title.strip_prefix(server.as_str())?.strip_prefix('_')?;
        (!tool.is_empty()).then(|| McpTool { server: server.clone(), tool: tool.to_owned() })
    };
    hints.servers.iter().find_map(of_server)
}

/// The canonical name behind an agent's word for a tool.
fn canonical(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "bash" | "shell" | "exec_command" | "run_shell_command" | "execute_command" | "local_shell" => "Bash",
        "read" | "read_file" | "readfile" | "read_many_files" => "Read",
        "write" | "write_file" | "writefile" | "create_file" => "Write",
        "edit" | "edit_file" | "editfile" | "replace" | "apply_patch" => "Edit",
        "glob" | "file_search" => "Glob",
        "grep" | "grep_search" | "search_file_content" => "Grep",
        "webfetch" | "web_fetch" => "WebFetch",
        "websearch" | "web_search" | "google_web_search" => "WebSearch",
        "agent" | "task" => "Agent",
        "todowrite" | "todo_write" | "update_todos" | "write_todos" => "TodoWrite",
        "askuserquestion" | "ask_user" | "ask_question" | "question" => "AskUserQuestion",
        _ => return None,
    })
}

/// The name behind a title that is nothing but an agent's word for a tool: OpenCode 1.18.33 begins its calls so.
fn word(title: &str) -> Option<&'static str> {
    let is_word = !title.is_empty() && title.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    canonical(title).filter(|_| is_word)
}

/// The name at the beginning of an id, as in `write_file__g5` of gemini-cli 0.61.0.
fn of_id(id: &str) -> Option<&'static str> {
    canonical(id.split_once("__")?.0)
}

fn of_kind(hints: &Hints<'_>) -> Option<&'static str> {
    Some(match hints.announced.kind {
        ToolKind::Execute => "Bash",
        ToolKind::Read => "Read",
        ToolKind::Edit if hints.creates => "Write",
        ToolKind::Edit => "Edit",
        ToolKind::Search => "Grep",
        ToolKind::Fetch => "WebFetch",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::dialect::{Announced, PLAIN};
    use super::{Hints, Naming, name};
    use chat_grammar::acp::ToolKind;
    use chat_grammar::event::McpTool;
    use serde_json::value::RawValue;

    fn named(own: Option<&str>, title: &str, kind: ToolKind) -> Naming {
        let servers = ["tiny".to_owned()];
        let announced = Announced { title, kind, input: None };
        name(&Hints { name: own, id: "call_1", announced, is_mcp: false, creates: false, servers: &servers }, &PLAIN)
    }

    fn mcp(server: &str, tool: &str) -> Naming {
        let mcp = Some(McpTool { server: server.to_owned(), tool: tool.to_owned() });
        Naming { name: Some(tool.to_owned()), mcp, by_kind: false }
    }

    #[test]
    fn names_are_canonical() {
        for (own, title, kind, expected) in [
            (Some("exec_command"), "ls", ToolKind::Execute, Some("Bash")),
            (Some("Bash"), "Terminal", ToolKind::Execute, Some("Bash")),
            (Some("LaunchRocket"), "x", ToolKind::Execute, Some("LaunchRocket")),
            (None, "bash", ToolKind::Execute, Some("Bash")),
            (None, "todowrite", ToolKind::Other, Some("TodoWrite")),
            (None, "Task", ToolKind::Other, None),
            (None, "notes.txt", ToolKind::Read, Some("Read")),
            (None, "Thinking", ToolKind::Think, None),
        ] {
            assert_eq!(named(own, title, kind).name.as_deref(), expected, "{own:?} {title}");
        }
    }

    #[test]
    fn an_id_may_begin_with_the_name() {
        for (id, expected) in
            [("write_file__g5", "Write"), ("replace__1", "Edit"), ("launch__1", "Edit"), ("write_file", "Edit")]
        {
            let announced = Announced { title: "notes.txt", kind: ToolKind::Edit, input: None };
            let hints = Hints { name: None, id, announced, is_mcp: false, creates: false, servers: &[] };
            assert_eq!(name(&hints, &PLAIN).name.as_deref(), Some(expected), "{id}");
        }
    }

    #[test]
    fn mcp_tools_are_found_by_their_agents_patterns() {
        assert_eq!(named(Some("mcp__echo__say_it"), "x", ToolKind::Other), mcp("echo", "say_it"));
        assert_eq!(named(None, "say (echo MCP Server)", ToolKind::Other), mcp("echo", "say"));
        assert_eq!(named(None, "tiny_text", ToolKind::Other), mcp("tiny", "text"));
        assert_eq!(named(None, "other_text", ToolKind::Other).mcp, None);
        let input = RawValue::from_string(r#"{"server":"a","tool":"b","arguments":{}}"#.to_owned()).unwrap();
        let announced = Announced { title: "mcp.a.b", kind: ToolKind::Execute, input: Some(&input) };
        let hints = Hints { name: None, id: "1", announced, is_mcp: true, creates: false, servers: &[] };
        assert_eq!(name(&hints, &PLAIN), mcp("a", "b"));
    }
}
