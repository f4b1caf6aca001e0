//! The public JSON form of an event as a `ChatEvent`.

use crate::tools::text_content;
use chat_grammar::acp::{ToolCallContent, ToolKind};
use chat_grammar::event::{
    ChatEvent, CompactionFinished, DecidedBy, ElicitationUrl, ErrorEvent, EventKind, FailureClass, McpTool, PermissionChoice,
    PermissionRequested, PermissionResolved, QuestionAnswered, QuestionAsked, Relayed, SessionInit, Stop, ToolCompleted,
    ToolStarted, ToolUpdated, Trigger, Visibility,
};
use chat_grammar::relay::{AgentUpdate, Members};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What is wrong with an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The member at fault, such as `event.toolCallId`.
    pub path: String,
    pub problem: String,
}

/// An event, with the part of it that `ChatEvent` has no place for.
pub(super) struct Read {
    pub(super) event: ChatEvent,
    pub(super) session_id: Option<String>,
    /// The output so far of a running call.
    pub(super) output: Option<Value>,
}

pub(super) fn event(json: &str) -> Result<Read, Fault> {
    let value: Value = serde_json::from_str(json).map_err(|error| fault("event", error))?;
    let Value::Object(members) = value else { return Err(fault("event", "must be an object")) };
    let reader = Reader(&members);
    let mut kind = kind(&reader)?;
    if let Some(update) = members.get("update").filter(|update| !update.is_null()) {
        let text = update.to_string();
        let own = Members::read(&text).ok_or_else(|| fault("event.update", "must be an object"))?;
        kind = EventKind::Relayed(Box::new(Relayed { update: AgentUpdate::from(own), meaning: Some(kind) }));
    }
    let output = members.get("output").filter(|_| matches!(kind, EventKind::ToolUpdated(_))).cloned();
    let parent_tool_call_id = reader.maybe("parentToolCallId")?;
    Ok(Read { event: ChatEvent { kind, parent_tool_call_id }, session_id: reader.maybe("providerSessionId")?, output })
}

fn kind(reader: &Reader<'_>) -> Result<EventKind, Fault> {
    Ok(match reader.text("type")?.as_str() {
        "text.delta" => EventKind::TextDelta { text: reader.text("text")?, message_id: reader.maybe("messageId")? },
        "reasoning.delta" => EventKind::ReasoningDelta {
            text: reader.text("text")?,
            message_id: reader.maybe("messageId")?,
            visibility: match reader.maybe::<String>("streamKind")?.as_deref() {
                Some("plan") => Visibility::Plan,
                _ => reader.maybe("visibility")?.unwrap_or(Visibility::Full),
            },
        },
        "content" => EventKind::Content { block: reader.needed("block")?, message_id: reader.maybe("messageId")? },
        "tool.started" => EventKind::ToolStarted(tool_started(reader)?),
        "tool.updated" => EventKind::ToolUpdated(tool_updated(reader)?),
        "tool.completed" => EventKind::ToolCompleted(tool_completed(reader)?),
        "plan" => EventKind::Plan { entries: reader.needed("entries")? },
        "permission.requested" => EventKind::PermissionRequested(permission_requested(reader)?),
        "permission.resolved" => EventKind::PermissionResolved(permission_resolved(reader)?),
        "question.asked" => EventKind::QuestionAsked(question_asked(reader)?),
        "question.answered" => EventKind::QuestionAnswered(QuestionAnswered {
            request_id: reader.text("requestId")?,
            action: reader.text("action")?,
            content: reader.value("content"),
        }),
        "usage.final" => EventKind::UsageFinal { usage: reader.needed("usage")? },
        "compaction.started" => EventKind::CompactionStarted {
            compaction_id: reader.text("compactionId")?,
            trigger: reader.maybe::<Trigger>("trigger")?,
            pre_tokens: reader.maybe("preTokens")?,
        },
        "compaction.finished" => EventKind::CompactionFinished(CompactionFinished {
            compaction_id: reader.text("compactionId")?,
            trigger: reader.maybe("trigger")?,
            pre_tokens: reader.maybe("preTokens")?,
            post_tokens: reader.maybe("postTokens")?,
            duration_ms: reader.maybe("durationMs")?,
            summary: reader.maybe("summary")?,
            failed: reader.maybe("failed")?.unwrap_or(false),
        }),
        "session.init" => EventKind::SessionInit(session_init(reader)?),
        "title" => EventKind::Title { title: reader.text("title")? },
        "mode" => EventKind::Mode { mode_id: reader.text("modeId")? },
        "commands" => EventKind::Commands { commands: reader.needed("commands")? },
        "config" => EventKind::Config { options: reader.needed("configOptions")? },
        "error" => EventKind::Error(ErrorEvent {
            message: reader.text("message")?,
            class: reader.maybe("class")?.unwrap_or(FailureClass::Runtime),
            reason: reader.maybe("reason")?.unwrap_or_else(|| "agent_error".to_owned()),
            retryable: reader.maybe("retryable")?.unwrap_or(false),
        }),
        "warning" if reader.maybe::<String>("severity")?.as_deref() == Some("debug") => {
            EventKind::Debug { message: reader.text("message")?, detail: reader.maybe("detail")? }
        }
        "warning" => EventKind::Warning {
            message: reader.text("message")?,
            detail: reader.maybe("detail")?,
            retry: reader.maybe("retry")?,
        },
        // How it ended is of no matter to updates.
        "done" => EventKind::Done { stop_reason: Stop::EndTurn, native_stop_reason: None },
        "unmapped" => EventKind::Unmapped { kind: reader.maybe("kind")?.unwrap_or_default() },
        _ => return Err(fault("event.type", "is not the type of an event")),
    })
}

fn tool_started(reader: &Reader<'_>) -> Result<ToolStarted, Fault> {
    let name: Option<String> = reader.maybe("toolName")?;
    let title: Option<String> = reader.maybe("title")?;
    let title = title.or_else(|| name.clone()).unwrap_or_else(|| "Tool".to_owned());
    Ok(ToolStarted {
        tool_call_id: reader.text("toolCallId")?,
        tool_name: name.unwrap_or_else(|| title.clone()),
        title,
        kind: reader.kind()?,
        input: reader.value("input").unwrap_or_default(),
        pending: reader.maybe::<String>("status")?.as_deref() == Some("pending"),
        content: reader.maybe("content")?.unwrap_or_default(),
        locations: reader.maybe("locations")?.unwrap_or_default(),
        mcp: reader.mcp(),
    })
}

fn tool_updated(reader: &Reader<'_>) -> Result<ToolUpdated, Fault> {
    Ok(ToolUpdated {
        tool_call_id: reader.text("toolCallId")?,
        in_progress: reader.maybe::<String>("status")?.as_deref() == Some("in_progress"),
        // Each event of a call repeats it.
        tool_name: None,
        title: reader.maybe("title")?,
        input: reader.value("input"),
        input_delta: reader.value("inputDelta"),
        output_delta: reader.maybe("outputDelta")?,
        content: reader.maybe("content")?,
        locations: reader.maybe("locations")?,
        mcp: reader.mcp(),
    })
}

fn tool_completed(reader: &Reader<'_>) -> Result<ToolCompleted, Fault> {
    let content: Option<Vec<ToolCallContent>> = reader.maybe("content")?;
    let result: Option<String> = reader.maybe("result")?;
    let error: Option<String> = reader.maybe("error")?;
    // Made by a host that says it in words.
    let said = || {
        let error = error.clone().filter(|error| Some(error) != result.as_ref());
        let texts = result.clone().into_iter().chain(error).filter(|text| !text.is_empty());
        texts.map(text_content).collect()
    };
    Ok(ToolCompleted {
        tool_call_id: reader.text("toolCallId")?,
        is_error: reader.maybe("isError")?.unwrap_or(error.is_some()),
        title: reader.maybe("title")?,
        input: reader.value("input"),
        output: reader.value("output").unwrap_or_default(),
        content: content.unwrap_or_else(said),
        locations: reader.maybe("locations")?,
        mcp: reader.mcp(),
        duration_ms: None,
    })
}

fn permission_requested(reader: &Reader<'_>) -> Result<PermissionRequested, Fault> {
    let title = reader.text("title")?;
    let options: Vec<Map<String, Value>> = reader.needed("options")?;
    let choices = options.iter().enumerate().map(|(index, option)| {
        let word = |name: &str| {
            let path = || format!("event.options[{index}].{name}");
            option.get(name).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| fault(&path(), "must be a string"))
        };
        Ok(PermissionChoice { option_id: word("optionId")?, name: word("name")?, kind: word("kind")? })
    });
    Ok(PermissionRequested {
        request_id: reader.text("requestId")?,
        tool_call_id: reader.maybe("toolCallId")?,
        action: reader.maybe("action")?.unwrap_or_else(|| title.clone()),
        title,
        kind: reader.kind()?,
        input: reader.value("input").unwrap_or_default(),
        options: choices.collect::<Result<_, _>>()?,
    })
}

fn permission_resolved(reader: &Reader<'_>) -> Result<PermissionResolved, Fault> {
    let approved = reader.maybe("approved")?.unwrap_or(false);
    let option_id = match reader.0.get("optionId") {
        Some(_) => reader.maybe("optionId")?,
        // A host that names no option.
        None => Some(if approved { "allow_once" } else { "reject_once" }.to_owned()),
    };
    Ok(PermissionResolved {
        request_id: reader.text("requestId")?,
        tool_call_id: reader.maybe("toolCallId")?,
        option_id,
        approved,
        reason: reader.maybe("reason")?,
        updated_input: reader.maybe("updatedInput")?,
        by: reader.maybe("by")?.unwrap_or(DecidedBy::Host),
    })
}

fn question_asked(reader: &Reader<'_>) -> Result<QuestionAsked, Fault> {
    let page = reader.0.get("url").filter(|page| !page.is_null());
    let word = |name: &str| {
        let word = page.and_then(|page| page.get(name)).and_then(Value::as_str);
        word.map(str::to_owned).ok_or_else(|| fault(&format!("event.url.{name}"), "must be a string"))
    };
    Ok(QuestionAsked {
        request_id: reader.text("requestId")?,
        tool_call_id: reader.maybe("toolCallId")?,
        message: reader.text("message")?,
        form: reader.value("schema").filter(|schema| !schema.is_null()),
        url: match page {
            Some(_) => Some(ElicitationUrl { url: word("url")?, elicitation_id: word("elicitationId")? }),
            None => None,
        },
    })
}

fn session_init(reader: &Reader<'_>) -> Result<SessionInit, Fault> {
    let servers: Vec<Map<String, Value>> = reader.maybe("mcpServers")?.unwrap_or_default();
    let word =
        |server: &Map<String, Value>, name: &str| server.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(SessionInit {
        provider_session_id: reader.maybe("providerSessionId")?,
        cwd: reader.maybe("cwd")?,
        model: reader.maybe("model")?,
        tools: reader.maybe("tools")?.unwrap_or_default(),
        mcp_servers: servers.iter().map(|server| (word(server, "name"), word(server, "status"))).collect(),
    })
}

/// The members of an event.
struct Reader<'a>(&'a Map<String, Value>);

impl Reader<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        self.0.get(name).cloned()
    }

    fn text(&self, name: &str) -> Result<String, Fault> {
        self.needed(name)
    }

    fn needed<T: DeserializeOwned>(&self, name: &str) -> Result<T, Fault> {
        self.maybe(name)?.ok_or_else(|| fault(&format!("event.{name}"), "is missing"))
    }

    /// A member that may be null or missing.
    fn maybe<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Fault> {
        let value = self.value(name).unwrap_or_default();
        serde_json::from_value(value).map_err(|error| fault(&format!("event.{name}"), error))
    }

    /// The kind of a tool: a word of ACP, or one of those that existing hosts use.
    fn kind(&self) -> Result<ToolKind, Fault> {
        let word: Option<String> = self.maybe("kind")?;
        Ok(match word.as_deref().unwrap_or_default() {
            "read" | "file_read" => ToolKind::Read,
            "edit" | "file_edit" | "file_write" | "file_change" | "write" | "patch" => ToolKind::Edit,
            "delete" | "file_delete" => ToolKind::Delete,
            "move" | "file_move" => ToolKind::Move,
            "search" | "grep" | "glob" | "file_search" | "web_search" => ToolKind::Search,
            "execute" | "bash" | "shell" | "command" | "terminal" => ToolKind::Execute,
            "think" | "plan" | "todo" => ToolKind::Think,
            "fetch" | "web_fetch" => ToolKind::Fetch,
            "switch_mode" => ToolKind::SwitchMode,
            _ => ToolKind::Other,
        })
    }

    fn mcp(&self) -> Option<McpTool> {
        let mcp = self.0.get("metadata")?.get("mcp")?;
        serde_json::from_value(mcp.clone()).ok()
    }
}

fn fault(path: &str, problem: impl ToString) -> Fault {
    Fault { path: path.to_owned(), problem: problem.to_string() }
}
