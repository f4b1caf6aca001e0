//! What a tool call wants to do: the canonical name, the kind and the title of each tool of OpenCode.

use super::info::Info;
use chat_grammar::acp::{ToolCallLocation, ToolKind};
use chat_grammar::event::McpTool;
use serde_json::Value;

/// What a call wants to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subject {
    pub tool_name: String,
    pub kind: ToolKind,
    pub mcp: Option<McpTool>,
}

/// The tools that OpenCode brings along, and those of its optional sets.
fn built_in(tool: &str) -> Option<(&'static str, ToolKind)> {
    Some(match tool {
        "bash" => ("Bash", ToolKind::Execute),
        "read" => ("Read", ToolKind::Read),
        "write" => ("Write", ToolKind::Edit),
        "edit" | "multiedit" | "apply_patch" | "patch" => ("Edit", ToolKind::Edit),
        "glob" => ("Glob", ToolKind::Search),
        "grep" => ("Grep", ToolKind::Search),
        "list" => ("LS", ToolKind::Search),
        "webfetch" => ("WebFetch", ToolKind::Fetch),
        "websearch" => ("WebSearch", ToolKind::Search),
        "codesearch" => ("CodeSearch", ToolKind::Search),
        "task" => ("Agent", ToolKind::Other),
        "todowrite" => ("TodoWrite", ToolKind::Think),
        "todoread" => ("TodoRead", ToolKind::Think),
        "question" => ("AskUserQuestion", ToolKind::Other),
        "skill" => ("Skill", ToolKind::Other),
        "plan_enter" => ("EnterPlanMode", ToolKind::SwitchMode),
        "plan_exit" => ("ExitPlanMode", ToolKind::SwitchMode),
        "lsp" => ("LSP", ToolKind::Search),
        "batch" => ("Batch", ToolKind::Other),
        "invalid" => ("invalid", ToolKind::Other),
        // Permissions that are about what a tool does.
        "external_directory" => ("external_directory", ToolKind::Other),
        "doom_loop" => ("doom_loop", ToolKind::Other),
        _ => return None,
    })
}

/// What the tool of a call or of a permission is.
pub(super) fn subject(tool: &str, info: &Info) -> Subject {
    if let Some((name, kind)) = built_in(tool) {
        return Subject { tool_name: name.to_owned(), kind, mcp: None };
    }
    let mcp = info.mcp_tool(tool);
    let tool_name = mcp.as_ref().map_or(tool, |mcp| mcp.tool.as_str()).to_owned();
    Subject { tool_name, kind: ToolKind::Other, mcp }
}

/// One line that says what a call does; as long as the input is not known, the tool's name.
pub(super) fn title(tool: &str, subject: &Subject, input: &Value, info: &Info) -> String {
    let text = |name: &str| input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let path = || text("filePath").or_else(|| text("path")).map(|path| info.short_path(path));
    let made = match tool {
        "bash" => text("command").map(str::to_owned),
        "read" => path().map(|path| format!("Read {path}")),
        "write" => path().map(|path| format!("Write {path}")),
        "edit" | "multiedit" => path().map(|path| format!("Edit {path}")),
        "apply_patch" | "patch" => text("patchText").map(patch_title),
        "glob" => text("pattern").map(|pattern| format!("Find {pattern}")),
        "grep" => text("pattern").map(|pattern| format!("Search for {pattern}")),
        "list" => path().map(|path| format!("List {path}")),
        "webfetch" => text("url").map(|url| format!("Fetch {url}")),
        "websearch" | "codesearch" => text("query").map(|query| format!("Search the web for {query}")),
        "task" => text("description").map(str::to_owned),
        "skill" => text("name").map(|name| format!("Load the skill {name}")),
        "invalid" => text("tool").map(|tool| format!("Call of {tool}")),
        _ => None,
    };
    made.unwrap_or_else(|| match &subject.mcp {
        Some(mcp) => format!("{}: {}", mcp.server, mcp.tool),
        None => subject.tool_name.clone(),
    })
}

/// True for tools whose own final titles say less than the one made from the input.
pub(super) fn keeps_title(tool: &str) -> bool {
    matches!(tool, "read" | "write" | "edit" | "multiedit" | "apply_patch" | "patch" | "glob" | "grep" | "list" | "invalid")
}

/// The files that a call is about, by its input.
pub(super) fn locations(tool: &str, input: &Value) -> Vec<ToolCallLocation> {
    match tool {
        "read" | "write" | "edit" | "multiedit" => {
            input.get("filePath").and_then(Value::as_str).map(ToolCallLocation::new).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn patch_title(patch: &str) -> String {
    let path = |line: &str| ["Add", "Update", "Delete"].iter().find_map(|verb| Some(file_header(line, verb)?.to_owned()));
    let mut paths: Vec<String> = patch.lines().filter_map(path).collect();
    let rest = paths.len().saturating_sub(3);
    if rest > 0 {
        paths.truncate(2);
        return format!("Edit {} and {} more", paths.join(", "), rest + 1);
    }
    match paths.is_empty() {
        true => "Edit files".to_owned(),
        false => format!("Edit {}", paths.join(", ")),
    }
}

fn file_header<'a>(line: &'a str, verb: &str) -> Option<&'a str> {
    line.strip_prefix("*** ")?.strip_prefix(verb)?.strip_prefix(" File: ").map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::patch_title;

    #[test]
    fn a_patch_is_named_by_its_files() {
        assert_eq!(patch_title("*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"), "Edit a.txt");
        let four: String = (1..=4).map(|n| format!("*** Update File: {n}\n@@\n")).collect();
        assert_eq!(patch_title(&four), "Edit 1, 2 and 2 more");
        assert_eq!(patch_title("nothing"), "Edit files");
    }
}
