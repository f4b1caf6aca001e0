//! What a tool call is about: its name for readers, what it does to what, and how that is shown.

use chat_grammar::acp::{Diff, ToolCallContent, ToolCallLocation, ToolKind};
use chat_grammar::event::McpTool;
use serde_json::Value;

/// A tool, by Pi's name for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tool {
    /// Canonical; an unknown or MCP tool's own name.
    pub name: String,
    pub kind: ToolKind,
    pub mcp: Option<McpTool>,
    form: Form,
}

/// Which input a tool takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Command,
    Edits,
    WholeFile,
    Path(&'static str),
    Pattern,
    Other,
}

impl Tool {
    pub(super) fn of(native: &str) -> Self {
        let (name, kind, form) = match native {
            "bash" | "powershell" => ("Bash", ToolKind::Execute, Form::Command),
            "read" => ("Read", ToolKind::Read, Form::Path("Read")),
            "edit" => ("Edit", ToolKind::Edit, Form::Edits),
            "write" => ("Write", ToolKind::Edit, Form::WholeFile),
            "grep" => ("Grep", ToolKind::Search, Form::Pattern),
            "find" => ("Glob", ToolKind::Search, Form::Pattern),
            "ls" => ("LS", ToolKind::Search, Form::Path("List")),
            "codemode" => ("codemode", ToolKind::Execute, Form::Other),
            "tool_search" => ("tool_search", ToolKind::Search, Form::Other),
            _ => (native, ToolKind::Other, Form::Other),
        };
        let mcp = native.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        let mcp = mcp.map(|(server, tool)| McpTool { server: server.to_owned(), tool: tool.to_owned() });
        let name = mcp.as_ref().map_or(name, |mcp| mcp.tool.as_str()).to_owned();
        Self { name, kind, mcp, form }
    }

    /// Whether it is a shell, whose raw output has a form of its own.
    pub(super) fn is_shell(&self) -> bool {
        self.form == Form::Command
    }

    /// What the call does, in a few words; only the tool where the input is not known yet.
    pub(super) fn title(&self, input: &Value) -> String {
        let text = |name: &str| input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let title = match (self.form, &self.mcp) {
            (_, Some(mcp)) => return format!("{}: {}", mcp.server, mcp.tool),
            (Form::Command, None) => text("command").map(str::to_owned),
            (Form::Edits, None) => text("path").map(|path| format!("Edit {path}")),
            (Form::WholeFile, None) => text("path").map(|path| format!("Write {path}")),
            (Form::Path(verb), None) => text("path").map(|path| format!("{verb} {path}")),
            (Form::Pattern, None) => text("pattern").map(|pattern| format!("{} {pattern}", self.name)),
            (Form::Other, None) => None,
        };
        title.unwrap_or_else(|| self.name.clone())
    }

    /// The file or folder that the call is about, as an absolute path where the working directory is known.
    pub(super) fn locations(&self, input: &Value, line: Option<u32>, cwd: Option<&str>) -> Vec<ToolCallLocation> {
        if matches!(self.form, Form::Command | Form::Other) {
            return Vec::new();
        }
        let path = input.get("path").and_then(Value::as_str).filter(|path| !path.is_empty());
        let offset = || input.get("offset").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
        let line = line.or_else(|| if self.kind == ToolKind::Read { offset() } else { None });
        path.map(|path| ToolCallLocation::new(absolute(path, cwd)).line(line)).into_iter().collect()
    }

    /// The change that the call makes: old and new text of each edit, and of a written file the new text, since Pi does not tell
    /// what stood there before.
    pub(super) fn diffs(&self, input: &Value, cwd: Option<&str>) -> Vec<ToolCallContent> {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let Some(path) = text(input, "path").map(|path| absolute(&path, cwd)) else { return Vec::new() };
        match self.form {
            Form::Edits => {
                let edits = input.get("edits").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let diff = |edit: &Value| {
                    Some(ToolCallContent::from(
                        Diff::new(path.as_str(), text(edit, "newText")?).old_text(text(edit, "oldText")?),
                    ))
                };
                edits.iter().filter_map(diff).collect()
            }
            Form::WholeFile => text(input, "content").map(|content| Diff::new(path, content).into()).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

fn absolute(path: &str, cwd: Option<&str>) -> String {
    let is_absolute = path.starts_with(['/', '~']) || path.get(1..2) == Some(":");
    match cwd {
        Some(cwd) if !is_absolute => format!("{}/{}", cwd.trim_end_matches('/'), path.strip_prefix("./").unwrap_or(path)),
        _ => path.to_owned(),
    }
}
