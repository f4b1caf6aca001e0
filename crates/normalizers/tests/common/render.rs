//! Events as one readable line each.

use chat_grammar::acp::{ContentBlock, EmbeddedResourceResource, ToolCallContent, ToolCallLocation};
use chat_grammar::event::{ChatEvent, EventKind, McpTool};
use chat_grammar::usage::UsageRecord;
use serde_json::Value;
use std::fmt::Write;

/// One event as one line.
pub(crate) fn event(event: &ChatEvent) -> String {
    let mut line = kind(&event.kind);
    if let Some(parent) = &event.parent_tool_call_id {
        let _ = write!(line, "  [in {parent}]");
    }
    line
}

fn kind(kind: &EventKind) -> String {
    match kind {
        EventKind::TextDelta { text, message_id } => format!("text {} {}", id(message_id), short(text)),
        EventKind::ReasoningDelta { text, message_id, visibility } => {
            format!("thought {visibility:?} {} {}", id(message_id), short(text))
        }
        EventKind::Content { block: content, message_id } => format!("content {} {}", id(message_id), block(content)),
        EventKind::ToolStarted(tool) => {
            let state = if tool.pending { " pending" } else { "" };
            format!(
                "tool {} started{state}: {} {:?} {} input={}{}{}{}",
                tool.tool_call_id,
                tool.tool_name,
                tool.kind,
                short(&tool.title),
                json(&tool.input),
                contents(&tool.content),
                locations(Some(&tool.locations)),
                mcp(tool.mcp.as_ref()),
            )
        }
        EventKind::ToolUpdated(tool) => {
            let mut line = format!("tool {} update:", tool.tool_call_id);
            if tool.in_progress {
                line.push_str(" running");
            }
            for (name, text) in [("name", &tool.tool_name), ("title", &tool.title), ("output+", &tool.output_delta)] {
                if let Some(text) = text {
                    let _ = write!(line, " {name}={}", short(text));
                }
            }
            for (name, value) in [("input", &tool.input), ("input+", &tool.input_delta)] {
                if let Some(value) = value {
                    let _ = write!(line, " {name}={}", json(value));
                }
            }
            line + &contents(tool.content.as_deref().unwrap_or_default())
        }
        EventKind::ToolCompleted(tool) => {
            let state = if tool.is_error { "failed" } else { "completed" };
            let mut line = format!("tool {} {state}: output={}", tool.tool_call_id, json(&tool.output));
            if let Some(title) = &tool.title {
                let _ = write!(line, " title={}", short(title));
            }
            if let Some(input) = &tool.input {
                let _ = write!(line, " input={}", json(input));
            }
            let _ = write!(line, "{}{}", contents(&tool.content), locations(tool.locations.as_deref()));
            line
        }
        EventKind::Plan { entries } => {
            let entries = entries.iter().map(|entry| format!("{:?} {}", entry.status, short(&entry.content)));
            format!("plan {}", entries.collect::<Vec<_>>().join(", "))
        }
        EventKind::PermissionRequested(asked) => {
            let options = asked.options.iter().map(|option| format!("{}={}", option.option_id, option.kind));
            format!(
                "permission {} asked: {} {} for {} input={} options={}",
                asked.request_id,
                asked.action,
                short(&asked.title),
                id(&asked.tool_call_id),
                json(&asked.input),
                options.collect::<Vec<_>>().join(","),
            )
        }
        EventKind::PermissionResolved(resolved) => format!(
            "permission {} resolved: approved={} option={} for {}{}",
            resolved.request_id,
            resolved.approved,
            id(&resolved.option_id),
            id(&resolved.tool_call_id),
            resolved.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default(),
        ),
        EventKind::QuestionAsked(asked) => format!(
            "question {} asked: {} for {} form={} url={}",
            asked.request_id,
            short(&asked.message),
            id(&asked.tool_call_id),
            asked.form.as_ref().map(json).unwrap_or_default(),
            asked.url.as_ref().map(|url| format!("{} {}", url.url, url.elicitation_id)).unwrap_or_default(),
        ),
        EventKind::QuestionAnswered(answered) => format!(
            "question {} answered: {} {}",
            answered.request_id,
            answered.action,
            answered.content.as_ref().map(json).unwrap_or_default(),
        ),
        EventKind::UsageFinal { usage: record } => usage(record),
        EventKind::CompactionStarted { compaction_id, trigger, pre_tokens } => {
            format!("compaction {compaction_id} started: {trigger:?} pre={pre_tokens:?}")
        }
        EventKind::CompactionFinished(end) => format!(
            "compaction {} {}: {:?} pre={:?} post={:?}",
            end.compaction_id,
            if end.failed { "failed" } else { "finished" },
            end.trigger,
            end.pre_tokens,
            end.post_tokens,
        ),
        EventKind::SessionInit(init) => format!(
            "session {} cwd={} model={} mcp={:?}",
            id(&init.provider_session_id),
            id(&init.cwd),
            id(&init.model),
            init.mcp_servers,
        ),
        EventKind::Title { title } => format!("title {}", short(title)),
        EventKind::Mode { mode_id } => format!("mode {mode_id}"),
        EventKind::Commands { commands } => format!("commands {}", commands.len()),
        EventKind::Config { options } => format!("config {}", options.len()),
        EventKind::Error(error) => {
            format!("error {:?} {} retryable={} {}", error.class, error.reason, error.retryable, short(&error.message))
        }
        EventKind::Debug { message, detail } => format!("debug {} detail={}", short(message), id(detail)),
        EventKind::Warning { message, detail, retry } => {
            let mut line = format!("warning {}", short(message));
            if let Some(detail) = detail {
                let _ = write!(line, " detail={}", short(detail));
            }
            if let Some(retry) = retry {
                let _ = write!(line, " retry={}/{:?}", retry.attempt, retry.limit);
            }
            line
        }
        EventKind::Done { stop_reason, native_stop_reason } => format!("done {stop_reason:?} {}", id(native_stop_reason)),
        EventKind::Unmapped { kind } => format!("unmapped {kind}"),
        EventKind::Relayed(relayed) => {
            let changed = if relayed.update.is_changed() { "changed " } else { "" };
            let meaning = relayed.meaning.as_ref().map_or_else(|| "relayed".to_owned(), self::kind);
            format!("{meaning}  <{changed}{}>", plain_short(&relayed.update.json()))
        }
    }
}

fn usage(record: &UsageRecord) -> String {
    let tokens = &record.tokens;
    let count = |count: Option<u64>| count.map_or_else(|| "null".to_owned(), |count| count.to_string());
    let cost = record.native_cost_usd.map(|cost| format!(" cost={cost}")).unwrap_or_default();
    format!(
        "usage {} {:?} {} in={} out={} read={} write={} reasoning={} context={}/{} model={} exact={} billable={}{cost}",
        record.id,
        record.operation,
        record.source,
        count(tokens.input_tokens),
        count(tokens.output_tokens),
        count(tokens.cache_read_tokens),
        count(tokens.cache_write_tokens),
        count(record.reasoning_tokens),
        count(record.context.used),
        count(record.context.size),
        id(&record.model.model_id),
        record.exact,
        record.billable,
    )
}

fn contents(content: &[ToolCallContent]) -> String {
    if content.is_empty() {
        return String::new();
    }
    let blocks = content.iter().map(|content| match content {
        ToolCallContent::Content(content) => block(&content.content),
        ToolCallContent::Diff(diff) => format!(
            "diff {} {} -> {}",
            diff.path.display(),
            diff.old_text.as_deref().map_or_else(|| "none".to_owned(), short),
            short(&diff.new_text),
        ),
        other => format!("{other:?}"),
    });
    format!(" content=[{}]", blocks.collect::<Vec<_>>().join(", "))
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => short(&text.text),
        ContentBlock::Image(image) => format!("image {} {} bytes", image.mime_type, image.data.len()),
        ContentBlock::ResourceLink(link) => format!("link {} {}", link.name, link.uri),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => format!("resource {} {}", text.uri, short(&text.text)),
            other => format!("{other:?}"),
        },
        other => format!("{other:?}"),
    }
}

fn locations(locations: Option<&[ToolCallLocation]>) -> String {
    match locations {
        None | Some([]) => String::new(),
        Some(locations) => {
            let shown = locations.iter().map(|location| match location.line {
                Some(line) => format!("{}:{line}", location.path.display()),
                None => location.path.display().to_string(),
            });
            format!(" at=[{}]", shown.collect::<Vec<_>>().join(", "))
        }
    }
}

fn mcp(mcp: Option<&McpTool>) -> String {
    mcp.map(|mcp| format!(" mcp={}/{}", mcp.server, mcp.tool)).unwrap_or_default()
}

fn id(id: &Option<String>) -> &str {
    id.as_deref().unwrap_or("-")
}

fn json(value: &Value) -> String {
    plain_short(&value.to_string())
}

/// A text in quotes; of a long one its head, its tail and its length.
pub(crate) fn short(text: &str) -> String {
    plain_short(&format!("{text:?}"))
}

fn plain_short(text: &str) -> String {
    let length = text.chars().count();
    if length <= 200 {
        return text.to_owned();
    }
    let head: String = text.chars().take(100).collect();
    let tail: String = text.chars().skip(length - 40).collect();
    format!("{head} …{length}… {tail}")
}
