//! Items: everything that a turn consists of, each announced at its start and told whole at its end.

use super::calls::{Background, ItemPlace, Subject};
use super::messages::{self, MessageKind};
use super::normalize::Codex;
use super::threads::Thread;
use super::wire::{CommandItem, Delta, ItemNotice, ItemTag, TerminalInteraction, TextItem, ToolProgress, UnknownItem};
use super::{Malformed, commands, compaction, file_changes, mcp, subagents};
use crate::tools::{ToolCalls, text_content};
use chat_grammar::event::{ChatEvent, ToolCompleted, ToolStarted, ToolUpdated};
use serde::Deserialize;
use serde_json::{Value, json};

/// One item of a notification.
pub(super) struct Item<'a> {
    pub id: &'a str,
    pub json: &'a str,
    pub place: ItemPlace<'a>,
}

impl<'a> Item<'a> {
    pub(super) fn read<T: Deserialize<'a>>(&self) -> Result<T, Malformed> {
        Ok(serde_json::from_str(self.json)?)
    }
}

/// The source of a command that the user runs by himself (0.171.0).
const USER_SHELL: &str = "userShell";

impl Codex {
    /// `item/started`.
    pub(super) fn item_started(&mut self, notice: &ItemNotice<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        self.item(notice, Moment::Start, out)
    }

    /// `item/completed`.
    pub(super) fn item_completed(&mut self, notice: &ItemNotice<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        self.item(notice, Moment::End, out)
    }

    fn item(&mut self, notice: &ItemNotice<'_>, moment: Moment, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let json = notice.item.get();
        let tag: ItemTag<'_> = serde_json::from_str(json)?;
        let Some(thread) = self.threads.find(notice.thread_id.as_deref()) else { return Ok(()) };
        if let (Some(turn_id), Moment::Start) = (notice.turn_id.as_deref(), moment) {
            thread.usage.live(turn_id);
        }
        let started_at_ms = notice.started_at_ms;
        let place = ItemPlace { item_id: &tag.id, turn_id: notice.turn_id.as_deref(), started_at_ms };
        let item = Item { id: &tag.id, json, place };
        match (&*tag.kind, moment) {
            ("userMessage" | "hookPrompt" | "functionCallOutput", _) => {}
            ("agentMessage", _) => text(thread, &item, MessageKind::Answer, moment, out)?,
            ("plan", _) => text(thread, &item, MessageKind::Plan, moment, out)?,
            ("reasoning", Moment::Start) => {
                thread.messages.begin(item.id, MessageKind::Thought, started_at_ms);
            }
            ("reasoning", Moment::End) => messages::thought_completed(thread, item.id, &item.read()?, out),
            ("contextCompaction", Moment::Start) => compaction::started(thread, item.id, notice, out),
            ("contextCompaction", Moment::End) => compaction::completed(thread, item.id, notice, out),
            ("enteredReviewMode", _) => self.review_entered(notice.thread_id.as_deref(), &item, out)?,
            ("exitedReviewMode", _) => self.review_exited(notice.thread_id.as_deref(), &item, out)?,
            (kind, _) => self.tool(notice.thread_id.as_deref(), kind, &item, moment, out)?,
        }
        Ok(())
    }

    fn tool(
        &mut self,
        thread_id: Option<&str>,
        kind: &str,
        item: &Item<'_>,
        moment: Moment,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        if matches!(kind, "fileChange" | "mcpToolCall" | "dynamicToolCall") && moment == Moment::Start {
            self.model_called(thread_id, item.place);
        }
        match kind {
            "commandExecution" => {
                let command: CommandItem<'_> = item.read()?;
                if command.source.as_deref() != Some(USER_SHELL) && moment == Moment::Start {
                    self.model_called(thread_id, item.place);
                }
                let subject = || Ok(commands::item_subject(&command));
                let start = |id: String, subject: &Subject| commands::started(&command, subject, id);
                self.start(thread_id, item, Background::Possible, subject, start, out)?;
                if moment == Moment::End {
                    self.end(thread_id, item, out, |id, tools| Ok(commands::completed(&command, id, tools)))?;
                }
                Ok(())
            }
            "fileChange" => file_changes::item(self, thread_id, item, moment, out),
            "mcpToolCall" => mcp::item(self, thread_id, item, moment, out),
            "dynamicToolCall" => mcp::dynamic_item(self, thread_id, item, moment, out),
            "webSearch" => super::web::search_item(self, thread_id, item, moment, out),
            "imageView" => super::web::image_item(self, thread_id, item, moment, out),
            "collabAgentToolCall" => subagents::collab_item(self, thread_id, item, moment, out),
            "subAgentActivity" => subagents::activity_item(self, thread_id, item, moment, out),
            kind => self.unknown_item(thread_id, kind, item, moment, out),
        }
    }

    /// The model called a tool. The counts of its response come after its tools.
    fn model_called(&mut self, thread_id: Option<&str>, place: ItemPlace<'_>) {
        if let Some(thread) = self.threads.find(thread_id)
            && thread.turn.is_some()
            && !thread.usage.is_ahead()
            && !thread.calls.knows(place, &self.tools)
        {
            thread.messages.unreported();
        }
    }

    /// An item type that is newer than this code: a tool call of kind other with the whole item.
    fn unknown_item(
        &mut self,
        thread_id: Option<&str>,
        kind: &str,
        item: &Item<'_>,
        moment: Moment,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        let unknown: UnknownItem<'_> = item.read()?;
        let whole: Value = item.read()?;
        let subject = || Ok(Subject::other(kind, kind, whole.clone()));
        self.start(thread_id, item, Background::Impossible, subject, |id, subject| subject.started(id), out)?;
        if moment == Moment::Start {
            return Ok(());
        }
        let failure = failure_of(unknown.status.as_deref());
        self.end(thread_id, item, out, |id, _| {
            Ok(ToolCompleted {
                content: failure.map(text_content).into_iter().collect(),
                ..ended(id, failure.is_some(), whole)
            })
        })
    }

    /// Makes an item's call known, unless it is.
    pub(super) fn start(
        &mut self,
        thread_id: Option<&str>,
        item: &Item<'_>,
        background: Background,
        subject: impl FnOnce() -> Result<Subject, Malformed>,
        started: impl FnOnce(String, &Subject) -> ToolStarted,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        let Some(thread) = self.threads.find(thread_id) else { return Ok(()) };
        let place = item.place;
        if !thread.calls.knows(place, &self.tools) {
            let subject = subject()?;
            let id = thread.calls.begin(place, background, &self.tools, subject.clone());
            self.tools.start(started(id, &subject), thread.parent.clone(), out);
        }
        Ok(())
    }

    /// Ends an item's call, unless it has ended. `completed` gets the call's id, and the calls for what was streamed.
    pub(super) fn end(
        &mut self,
        thread_id: Option<&str>,
        item: &Item<'_>,
        out: &mut Vec<ChatEvent>,
        completed: impl FnOnce(String, &ToolCalls) -> Result<ToolCompleted, Malformed>,
    ) -> Result<(), Malformed> {
        let Some(thread) = self.threads.find(thread_id) else { return Ok(()) };
        let Some(id) = thread.calls.find(item.id, item.place.turn_id).map(str::to_owned) else { return Ok(()) };
        if self.tools.is_open(&id) {
            let mut tool = completed(id.clone(), &self.tools)?;
            // Only what changed since the start is news.
            if let Some((_, subject)) = thread.calls.subject(item.id, item.place.turn_id) {
                tool.title = tool.title.filter(|title| *title != subject.title);
                tool.input = tool.input.filter(|input| *input != subject.input);
            }
            self.tools.complete(tool, out);
            thread.calls.end(item.id, &id);
        }
        Ok(())
    }

    /// A piece of the output of a command or a patch.
    pub(super) fn output(&mut self, delta: Delta<'_>, out: &mut Vec<ChatEvent>) {
        if !self.ours(delta.thread_id.as_deref(), out) {
            return;
        }
        let Some(id) = self.call(delta.thread_id.as_deref(), &delta.item_id, delta.turn_id.as_deref()) else { return };
        let piece = Some(delta.delta.0.into_owned());
        self.tools.update(ToolUpdated { tool_call_id: id, in_progress: true, output_delta: piece, ..Default::default() }, out);
    }

    /// What the model typed into a command that runs. Empty input only looks at the output.
    pub(super) fn terminal_input(&mut self, notice: &TerminalInteraction<'_>, out: &mut Vec<ChatEvent>) {
        let Some(stdin) = notice.stdin.as_deref().filter(|stdin| !stdin.is_empty()) else { return };
        let Some(id) = self.call(notice.thread_id.as_deref(), &notice.item_id, notice.turn_id.as_deref()) else { return };
        let input_delta = Some(json!({ "stdin": stdin }));
        self.tools.update(ToolUpdated { tool_call_id: id, input_delta, ..Default::default() }, out);
    }

    /// What an MCP tool says while it runs.
    pub(super) fn progress(&mut self, notice: &ToolProgress<'_>, out: &mut Vec<ChatEvent>) {
        let Some(message) = notice.message.as_deref() else { return };
        let Some(id) = self.call(notice.thread_id.as_deref(), &notice.item_id, notice.turn_id.as_deref()) else { return };
        let content = Some(vec![text_content(message)]);
        self.tools.update(ToolUpdated { tool_call_id: id, content, ..Default::default() }, out);
    }

    fn call(&mut self, thread_id: Option<&str>, item_id: &str, turn_id: Option<&str>) -> Option<String> {
        self.threads.find(thread_id)?.calls.find(item_id, turn_id).map(str::to_owned)
    }
}

/// Whether an item begins or is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Start,
    End,
}

fn text(
    thread: &mut Thread,
    item: &Item<'_>,
    kind: MessageKind,
    moment: Moment,
    out: &mut Vec<ChatEvent>,
) -> Result<(), Malformed> {
    let text: TextItem<'_> = item.read()?;
    match moment {
        Moment::Start => messages::text_started(thread, item.id, &text, kind, item.place.started_at_ms, out),
        Moment::End => messages::text_completed(thread, item.id, &text, kind, out),
    }
    Ok(())
}

/// The end of a call without content.
pub(super) fn ended(id: String, is_error: bool, output: Value) -> ToolCompleted {
    ToolCompleted {
        tool_call_id: id,
        is_error,
        title: None,
        input: None,
        output,
        content: Vec::new(),
        locations: None,
        mcp: None,
        duration_ms: None,
    }
}

/// What a status says went wrong.
pub(super) fn failure_of(status: Option<&str>) -> Option<&'static str> {
    match status {
        Some("failed") => Some("The call failed"),
        Some("declined") => Some("The call was declined"),
        Some("interrupted") => Some("The call was interrupted"),
        _ => None,
    }
}

/// Milliseconds that cannot be negative.
pub(super) fn duration(milliseconds: Option<i64>) -> Option<u64> {
    milliseconds.and_then(|milliseconds| u64::try_from(milliseconds).ok())
}
