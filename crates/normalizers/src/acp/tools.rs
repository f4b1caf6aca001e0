//! `tool_call` and `tool_call_update`.

use super::calls::{Standing, contents, value};
use super::content::{creates, grow, single_text};
use super::dialect::Announced;
use super::naming::{self, Hints};
use super::normalize::Acp;
use super::outcome;
use super::status::Status;
use super::wire::{self, Malformed, ToolMeta, needed, raw};
use crate::tools::text_content;
use chat_grammar::acp::{ToolCallLocation, ToolKind};
use chat_grammar::event::{ChatEvent, EventKind, Relayed, ToolCompleted, ToolStarted, ToolUpdated};
use chat_grammar::relay::{AgentUpdate, Members};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What of an announcement is no announcement when it comes again: empty as long as the agent knows no better.
const FILLED_LATER: [(&str, &str); 3] = [("rawInput", "{}"), ("content", "[]"), ("locations", "[]")];

/// What the end of a call says beside its output.
struct News {
    status: Status,
    title: Option<String>,
    input: Option<Value>,
    locations: Option<Vec<ToolCallLocation>>,
}

impl Acp {
    /// `tool_call`. A call that is open already is announced twice: the second time is news of it.
    pub(super) fn tool_call(&mut self, mut update: Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let id = needed(&update, "toolCallId")?;
        match self.calls.standing(&id) {
            Standing::Unknown => self.announce(&id, update, out),
            Standing::Ended => {
                self.count("late_tool_update", out);
                Ok(())
            }
            Standing::Open => {
                update.set("sessionUpdate", raw("tool_call_update"));
                for (name, empty) in FILLED_LATER {
                    if update.get(name).is_some_and(|value| value.get() == empty) {
                        update.remove(name);
                    }
                }
                self.news(&id, update, out)
            }
        }
    }

    /// `tool_call_update`. Of a call that was never announced, the announcement is made.
    pub(super) fn tool_call_update(&mut self, update: Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let id = needed(&update, "toolCallId")?;
        match self.calls.standing(&id) {
            Standing::Open => self.news(&id, update, out),
            Standing::Ended => {
                self.count("late_tool_update", out);
                Ok(())
            }
            Standing::Unknown => {
                self.announce(&id, made_from(&update), out)?;
                self.news(&id, update, out)
            }
        }
    }

    /// Makes a call known that a permission request is the first to speak of.
    pub(super) fn announce_asked(&mut self, id: &str, call: &Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let mut made = made_from(call);
        if let Some(content) = call.original("content") {
            made.set("content", content.to_owned());
        }
        self.announce(id, made, out)
    }

    /// What another message than an update says of an open call. False where there is no such call.
    pub(crate) fn tool_news(&mut self, id: &str, news: ToolUpdated, out: &mut Vec<ChatEvent>) -> bool {
        let Some(call) = self.calls.open(id) else { return false };
        if let Some(title) = &news.title {
            call.title.clone_from(title);
        }
        if let Some(input) = &news.input {
            call.input = Some(raw(input));
        }
        if let Some(content) = &news.content {
            call.content = Some(raw(content));
        }
        if news.mcp.is_some() {
            call.mcp.clone_from(&news.mcp);
        }
        let news = ToolUpdated { tool_call_id: call.shown.clone(), ..news };
        out.push(match news.tool_name.clone() {
            Some(name) => {
                call.name = Some(name);
                call.named_by_kind = false;
                relayed(renamed(&news).into(), EventKind::ToolUpdated(news))
            }
            None => EventKind::ToolUpdated(news).into(),
        });
        true
    }

    fn announce(&mut self, id: &str, mut update: Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        self.ledger.calls();
        let (own_name, title) = (text_of(&update, "name")?, text_of(&update, "title")?);
        let kind = text_of(&update, "kind")?;
        let kind = wire::tool_kind(kind.as_deref());
        let status = text_of(&update, "status")?;
        let title = title.filter(|title| !title.is_empty()).or_else(|| own_name.clone()).unwrap_or_else(|| id.to_owned());
        let meta = meta(&update);
        self.correct_content(&mut update);
        let naming = naming::name(
            &Hints {
                name: own_name.as_deref(),
                id,
                announced: Announced { title: &title, kind, input: update.get("rawInput") },
                is_mcp: meta.is_mcp_tool_call == Some(true),
                creates: update.get("content").is_some_and(creates),
                servers: self.session.servers(),
            },
            self.dialect,
        );
        let locations = locations(&update)?;
        let input = value(said(&update, "rawInput"))?;
        let content = update.get("content").map(contents).unwrap_or_default();

        if said(&update, "title").is_none() {
            update.set("title", raw(&title));
        }
        if let Some(name) = naming.name.as_deref().filter(|name| own_name.as_deref() != Some(*name)) {
            update.set("name", raw(name));
        }
        let status = status.as_deref().map(Status::of);
        let running = match status {
            None | Some(Some(Status::Pending)) => false,
            Some(None) => {
                update.remove("status");
                false
            }
            Some(Some(Status::Running)) => true,
            // It ends below, in an update of its own.
            Some(Some(_)) => {
                update.set("status", raw(Status::Running.word()));
                true
            }
        };
        let kept = |name| said(&update, name).map(ToOwned::to_owned);
        let (kept_input, kept_content) = (kept("rawInput"), kept("content"));
        let Some(call) = self.calls.announce(id) else { return Ok(()) };
        call.running = running;
        call.title.clone_from(&title);
        call.kind = kind;
        call.name.clone_from(&naming.name);
        call.named_by_kind = naming.by_kind;
        call.mcp.clone_from(&naming.mcp);
        call.input = kept_input;
        call.snapshot = kept_content.as_deref().and_then(|content| single_text(content).map(Cow::into_owned));
        call.content = kept_content;
        if call.shown != id {
            update.set("toolCallId", raw(&call.shown));
        }
        let end = status.flatten().filter(|status| status.is_end()).map(|status| ended_at_once(&update, status, id));
        let started = ToolStarted {
            tool_call_id: call.shown.clone(),
            tool_name: naming.name.unwrap_or_else(|| title.clone()),
            title,
            kind,
            input,
            pending: !running,
            content,
            locations: locations.unwrap_or_default(),
            mcp: naming.mcp,
        };
        out.push(relayed(update.into(), EventKind::ToolStarted(started)));
        match end {
            Some(end) => self.news(id, end, out),
            None => Ok(()),
        }
    }

    /// What is said of an open call.
    fn news(&mut self, id: &str, mut update: Members<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let title = text_of(&update, "title")?;
        let (kind, own_name) = (text_of(&update, "kind")?, text_of(&update, "name")?);
        let status = text_of(&update, "status")?;
        let locations = locations(&update)?;
        let meta = meta(&update);
        self.correct_content(&mut update);
        let input = said(&update, "rawInput").map(ToOwned::to_owned);
        let new_input = input.as_deref().map(|input| value(Some(input))).transpose()?;
        let Some(call) = self.calls.open(id) else { return Ok(()) };

        if let Some(title) = &title {
            call.title.clone_from(title);
        }
        if let Some(kind) = kind.as_deref() {
            call.kind = wire::tool_kind(Some(kind));
        }
        if input.is_some() {
            call.input = input;
        }
        // The canonical name was said.
        if own_name.is_some() && call.name.is_some() && own_name != call.name {
            update.remove("name");
        }
        if call.shown != id {
            update.set("toolCallId", raw(&call.shown));
        }
        let output_delta = meta.terminal_output_delta.map(|delta| delta.data);
        if let Some(piece) = &output_delta {
            call.terminal.output.push(piece);
        }
        if meta.terminal_exit.is_some() {
            call.terminal.exit = meta.terminal_exit;
        }

        let known = status.as_deref().and_then(Status::of);
        if let Some(end) = known.filter(|status| status.is_end()) {
            let news = News { status: end, title, input: new_input, locations };
            return self.end(id, update, news, out);
        }
        let starts = known == Some(Status::Running) && !call.running;
        if starts {
            call.running = true;
            if status.as_deref() != Some(Status::Running.word()) {
                update.set("status", raw(Status::Running.word()));
            }
        } else if status.is_some() {
            update.remove("status");
        }
        let content = said(&update, "content").map(ToOwned::to_owned);
        let grown = content.as_deref().and_then(|content| grow(&mut call.snapshot, content));
        match (&grown, content) {
            // The content was said before, but for its end.
            (Some(_), _) => drop(update.remove("content")),
            (None, Some(content)) => call.content = Some(content),
            (None, None) => {}
        }
        let grown = grown.filter(|piece| !piece.is_empty());
        call.streams |= grown.is_some();
        let output_delta = output_delta.or(grown);
        if update.len() <= 2 && output_delta.is_none() && !update.is_verbatim() {
            // Nothing is left beside the kind and the id: it was all said before.
            return Ok(());
        }
        let updated = ToolUpdated {
            tool_call_id: call.shown.clone(),
            in_progress: starts,
            tool_name: None,
            title,
            input: new_input,
            input_delta: None,
            output_delta,
            content: update.get("content").map(contents),
            locations,
            mcp: call.mcp.clone(),
        };
        out.push(relayed(update.into(), EventKind::ToolUpdated(updated)));
        Ok(())
    }

    fn end(&mut self, id: &str, mut update: Members<'_>, news: News, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let Some(call) = self.calls.open(id) else { return Ok(()) };
        let raw_output = said(&update, "rawOutput");
        let mut output = value(raw_output)?;
        let failure = (self.dialect.failure)(&output);
        let reason = call.declined.take().or(failure);
        let is_command = call.kind == ToolKind::Execute && call.mcp.is_none();
        let exit_failed = is_command && outcome::has_failed(&output, &call.terminal);
        let fails = news.status == Status::Failed || reason.is_some() || exit_failed;
        let status = if fails { Status::Failed } else { Status::Completed };
        let mut truncated = None;
        let mcp_content = raw_output.filter(|_| call.mcp.is_some() && said(&update, "content").is_none());
        if let Some(content) = mcp_content.and_then(outcome::mcp_content) {
            update.set("content", content);
        }
        if said(&update, "rawOutput").is_none()
            && let Some(printed) = call.terminal.raw_output()
        {
            output = printed;
            truncated = call.terminal.truncated();
            update.set("rawOutput", raw(&output));
            // In place of the terminal, which the host does not have.
            if said(&update, "content").is_none() {
                let text = Some(call.terminal.output.text()).filter(|text| !text.is_empty());
                update.set("content", raw(&Vec::from_iter(text.map(text_content))));
            }
        }
        if is_command && let Some(told) = outcome::command_output(&output, fails) {
            output = told;
            update.set("rawOutput", raw(&output));
        }
        if let Some(reason) = reason
            && update.get("content").is_none_or(|content| matches!(content.get(), "[]" | "null"))
        {
            update.set("content", raw(&[text_content(reason)]));
        }
        if text_of(&update, "status")?.as_deref() != Some(status.word()) {
            update.set("status", raw(status.word()));
        }
        // Only the end tells whether the file was new.
        let is_new = call.named_by_kind && call.name.as_deref() == Some("Edit") && update.get("content").is_some_and(creates);
        if is_new {
            update.set("name", raw("Write"));
        }
        let completed = ToolCompleted {
            tool_call_id: call.shown.clone(),
            is_error: fails,
            title: news.title,
            input: news.input,
            output,
            content: update.get("content").map(contents).unwrap_or_default(),
            locations: news.locations,
            mcp: call.mcp.clone(),
            duration_ms: None,
        };
        self.calls.close(id);
        let mut update = AgentUpdate::from(update);
        update.truncated = truncated;
        out.push(relayed(update, EventKind::ToolCompleted(completed)));
        Ok(())
    }

    fn correct_content(&self, update: &mut Members<'_>) {
        if let Some(content) = update.get("content").and_then(|content| (self.dialect.content)(content)) {
            update.set("content", content);
        }
    }
}

fn relayed(update: AgentUpdate, meaning: EventKind) -> ChatEvent {
    EventKind::Relayed(Box::new(Relayed { update, meaning: Some(meaning) })).into()
}

/// The announcement of a call that the agent itself never made known.
fn made_from(update: &Members<'_>) -> Members<'static> {
    let mut made = Members::default();
    made.set("sessionUpdate", raw("tool_call"));
    for name in ["toolCallId", "title", "name", "kind", "rawInput", "locations"] {
        if let Some(value) = update.get(name).filter(|value| value.get() != "null") {
            made.set(name, value.to_owned());
        }
    }
    made.set("status", raw(Status::Pending.word()));
    made
}

/// News that hold the name of a call, which no event alone tells apart from a name that is repeated.
fn renamed(news: &ToolUpdated) -> Members<'static> {
    let mut made = Members::default();
    made.set("sessionUpdate", raw("tool_call_update"));
    made.set("toolCallId", raw(&news.tool_call_id));
    made.set("name", raw(&news.tool_name));
    if let Some(title) = &news.title {
        made.set("title", raw(title));
    }
    if let Some(input) = &news.input {
        made.set("rawInput", raw(input));
    }
    made
}

/// The end of a call that was announced as ended.
fn ended_at_once(update: &Members<'_>, status: Status, id: &str) -> Members<'static> {
    let mut made = Members::default();
    made.set("sessionUpdate", raw("tool_call_update"));
    made.set("toolCallId", raw(id));
    made.set("status", raw(status.word()));
    for name in ["rawOutput", "_meta"] {
        if let Some(value) = update.get(name) {
            made.set(name, value.to_owned());
        }
    }
    made
}

/// A member that is a text; `None` where it is absent or null.
fn text_of(update: &Members<'_>, name: &str) -> Result<Option<String>, Malformed> {
    said(update, name).map(|value| Ok(serde_json::from_str(value.get())?)).transpose()
}

/// A member that says something.
fn said<'m>(update: &'m Members<'_>, name: &str) -> Option<&'m RawValue> {
    update.get(name).filter(|value| value.get() != "null")
}

fn meta(update: &Members<'_>) -> ToolMeta {
    // Whatever else an agent keeps there is none of our business.
    update.get("_meta").and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default()
}

fn locations(update: &Members<'_>) -> Result<Option<Vec<ToolCallLocation>>, Malformed> {
    said(update, "locations").map(|value| Ok(serde_json::from_str(value.get())?)).transpose()
}
