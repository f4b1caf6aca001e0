//! What a call wants to do, as readers see it: name, title, kind, places and a first look at the change.

use chat_grammar::acp::{Diff, ToolCallContent, ToolCallLocation, ToolKind};
use chat_grammar::event::McpTool;
use serde_json::Value;

/// What a call wants to do, as far as its input is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subject {
    pub title: String,
    pub kind: ToolKind,
    pub content: Vec<ToolCallContent>,
    pub locations: Vec<ToolCallLocation>,
}

/// The name that readers know a tool by. The model's API runs some tools itself, under names of its own.
pub(super) fn canonical(name: &str) -> &str {
    match name {
        "Task" => "Agent",
        "MultiEdit" => "Edit",
        "web_search" => "WebSearch",
        "web_fetch" => "WebFetch",
        "bash_code_execution" => "Bash",
        name => name,
    }
}

/// The server and tool behind `mcp__<server>__<tool>`. Both may hold `__`: the tool's name decides where it is known, else the
/// names of the servers.
pub(super) fn mcp(name: &str, tool_name: Option<&str>, servers: &[(String, String)]) -> Option<McpTool> {
    let rest = name.strip_prefix("mcp__")?;
    let by_tool = tool_name.and_then(|tool| Some((rest.strip_suffix(tool)?.strip_suffix("__")?, tool)));
    let spelled = |server: &str| -> String {
        server.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' }).collect()
    };
    let by_server = || {
        let matching = servers.iter().filter_map(|(server, _)| {
            let tool = rest.strip_prefix(spelled(server).as_str())?.strip_prefix("__")?;
            Some((server.as_str(), tool))
        });
        matching.max_by_key(|(server, _)| server.len())
    };
    let (server, tool) = by_tool.or_else(by_server).or_else(|| rest.split_once("__"))?;
    let known = servers.iter().find(|(known, _)| spelled(known) == server);
    let server = known.map_or(server, |(known, _)| known.as_str());
    Some(McpTool { server: server.to_owned(), tool: tool.to_owned() })
}

/// What a call of a tool with this input wants to do.
pub(super) fn subject(name: &str, mcp: Option<&McpTool>, input: &Value, cwd: Option<&str>) -> Subject {
    if let Some(mcp) = mcp {
        let title = format!("{}: {}", mcp.server, mcp.tool);
        return Subject { title, kind: ToolKind::Other, content: Vec::new(), locations: Vec::new() };
    }
    let text = |member: &str| input.get(member).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let path = text("file_path").or_else(|| text("notebook_path"));
    let place = path.map(|path| short_path(path, cwd));
    let with = |verb: &str, object: Option<&str>| match object {
        Some(object) => format!("{verb} {object}"),
        None => verb.to_owned(),
    };
    let (title, kind) = match name {
        "Bash" | "PowerShell" => (text("command").unwrap_or(name).to_owned(), ToolKind::Execute),
        "Read" => (with("Read", place), ToolKind::Read),
        "Write" => (with("Write", place), ToolKind::Edit),
        "Edit" | "NotebookEdit" => (with("Edit", place), ToolKind::Edit),
        "Glob" => (with("Find", text("pattern")), ToolKind::Search),
        "Grep" => (with("Search for", text("pattern")), ToolKind::Search),
        "ToolSearch" => (with("Look for tools:", text("query")), ToolKind::Search),
        "WebSearch" => (with("Search the web for", text("query")), ToolKind::Search),
        "WebFetch" => (with("Fetch", text("url")), ToolKind::Fetch),
        "Agent" => (text("description").unwrap_or("Sub-agent").to_owned(), ToolKind::Other),
        "TodoWrite" => ("Update the todos".to_owned(), ToolKind::Think),
        "TaskCreate" => (with("Add the task", text("subject")), ToolKind::Think),
        "TaskUpdate" | "TaskList" | "TaskGet" => ("Update the tasks".to_owned(), ToolKind::Think),
        "AskUserQuestion" => (question(input).unwrap_or("Ask the user").to_owned(), ToolKind::Other),
        "ExitPlanMode" => ("Approve the plan".to_owned(), ToolKind::SwitchMode),
        "EnterPlanMode" => ("Make a plan first".to_owned(), ToolKind::SwitchMode),
        "Skill" => (with("Use the skill", text("skill")), ToolKind::Other),
        name => (name.to_owned(), ToolKind::Other),
    };
    let line = input.get("offset").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    let locations = path.map(|path| ToolCallLocation::new(path).line(line.filter(|_| name == "Read")));
    Subject { title, kind, content: preview(name, path, input), locations: locations.into_iter().collect() }
}

/// The change that is asked for, before it is made; and the plan that is to be approved.
fn preview(name: &str, path: Option<&str>, input: &Value) -> Vec<ToolCallContent> {
    let member = |value: &Value, member: &str| value.get(member).and_then(Value::as_str).map(str::to_owned);
    let change = |edit: &Value| {
        let (old, new) = (member(edit, "old_string")?, member(edit, "new_string")?);
        Some(ToolCallContent::from(Diff::new(path?, new).old_text(old)))
    };
    match name {
        "Write" => {
            let diff = path.zip(member(input, "content")).map(|(path, content)| Diff::new(path, content).into());
            diff.into_iter().collect()
        }
        "Edit" => match input.get("edits").and_then(Value::as_array) {
            Some(edits) => edits.iter().filter_map(change).collect(),
            None => change(input).into_iter().collect(),
        },
        "ExitPlanMode" => member(input, "plan").map(crate::tools::text_content).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn question(input: &Value) -> Option<&str> {
    input.get("questions")?.as_array()?.first()?.get("question")?.as_str()
}

/// A path below the working directory, from there.
fn short_path<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    cwd.and_then(|cwd| path.strip_prefix(cwd.trim_end_matches('/'))?.strip_prefix('/')).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::{canonical, mcp, subject};
    use serde_json::json;

    #[test]
    fn mcp_names_are_split_at_the_right_place() {
        let servers = [("my server".to_owned(), String::new()), ("a__b".to_owned(), String::new())];
        let split = |name: &str, tool: Option<&str>| mcp(name, tool, &servers).map(|mcp| (mcp.server, mcp.tool));
        let is = |server: &str, tool: &str| Some((server.to_owned(), tool.to_owned()));
        assert_eq!(split("mcp__my_server__do__it", None), is("my server", "do__it"));
        assert_eq!(split("mcp__a__b__c", None), is("a__b", "c"));
        assert_eq!(split("mcp__x__y__z", Some("z")), is("x__y", "z"));
        assert_eq!(split("mcp__x__y__z", None), is("x", "y__z"));
        assert_eq!(split("Bash", None), None);
    }

    #[test]
    fn titles_say_what_is_done_to_what() {
        let title = |name: &str, input| subject(canonical(name), None, &input, Some("/w/")).title;
        assert_eq!(title("Read", json!({ "file_path": "/w/src/a.rs" })), "Read src/a.rs");
        assert_eq!(title("MultiEdit", json!({ "file_path": "/etc/hosts" })), "Edit /etc/hosts");
        assert_eq!(title("Bash", json!({})), "Bash");
        assert_eq!(title("Task", json!({ "description": "Count" })), "Count");
    }
}
