//! The state machine: which rule reads which message.

use super::calls::Calls;
use super::compaction::Compaction;
use super::errors::ApiError;
use super::messages::Speaker;
use super::plans::Plans;
use super::requests::{HostRequest, Requests};
use super::session::Session;
use super::usage::{Meter, Totals};
use super::wire::{
    AssistantLine, BoundaryLine, CancelLine, InitLine, PromptLine, RequestLine, RequestTag, ResponseLine, ResultLine,
    StatusLine, StreamLine, Tag, TaskLine, TextLine, UserLine,
};
use super::{Malformed, system};
use crate::rpc::Str;
use crate::tools::ToolCalls;
use crate::unmapped::Unmapped;
use crate::{Normalizer, Options};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};

/// How many lines back a repeated line is known as one.
const REMEMBERED_LINES: usize = 256;

/// The normalizer of Claude Code.
#[derive(Debug)]
pub(crate) struct ClaudeCode {
    pub(super) session: Session,
    /// The main loop and the subagents, in the order in which they first spoke.
    pub(super) speakers: Vec<Speaker>,
    pub(super) calls: Calls,
    pub(super) tools: ToolCalls,
    pub(super) plans: Plans,
    pub(super) requests: Requests,
    pub(super) meter: Meter,
    pub(super) compaction: Option<Compaction>,
    pub(super) compactions: u64,
    pub(super) results: u64,
    /// Running tasks, with the call that each was started by.
    pub(super) tasks: Vec<(String, String)>,
    pub(super) turn: Turn,
    lines: VecDeque<(String, usize)>,
    unmapped: Unmapped,
}

/// What is known of the running turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The beginning of the host's prompt.
    pub prompt: Option<String>,
    /// The host interrupted it.
    pub interrupted: bool,
    /// Something happened in it.
    pub acted: bool,
    /// A task told that it ended.
    pub notified: bool,
    pub compacted: bool,
    pub api_error: Option<ApiError>,
}

impl Turn {
    pub(super) fn prompt_begins(&self, command: &str) -> bool {
        self.prompt.as_deref().is_some_and(|prompt| prompt.starts_with(command))
    }
}

/// What came of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    Known,
    Unknown,
}

impl ClaudeCode {
    pub(crate) fn new(options: Options) -> Self {
        // A session that is resumed goes on with totals that nobody here knows.
        let totals = options.provider_session_id.is_none().then(Totals::default);
        Self {
            session: Session::new(options.provider_session_id, options.cwd, options.model),
            speakers: Vec::new(),
            calls: Calls::default(),
            tools: ToolCalls::default(),
            plans: Plans::default(),
            requests: Requests::default(),
            meter: Meter::new(totals),
            compaction: None,
            compactions: 0,
            results: 0,
            tasks: Vec::new(),
            turn: Turn::default(),
            lines: VecDeque::new(),
            unmapped: Unmapped::default(),
        }
    }

    fn unmapped_event(&mut self, kind: &str, out: &mut Vec<ChatEvent>) {
        self.unmapped.event(kind, out);
    }

    /// The one who speaks: `None` is the main loop.
    pub(super) fn speaker(&mut self, parent: Option<&str>) -> &mut Speaker {
        let position = self.speakers.iter().position(|speaker| speaker.parent.as_deref() == parent);
        let position = position.unwrap_or_else(|| {
            self.speakers.push(Speaker::new(parent));
            self.speakers.len() - 1
        });
        &mut self.speakers[position]
    }

    /// True for a line that came before, by the id that each line has.
    fn is_repeated(&mut self, tag: &Tag<'_>, length: usize) -> bool {
        let Some(uuid) = tag.uuid.as_deref() else { return false };
        if self.lines.iter().any(|(known, known_length)| known == uuid && *known_length == length) {
            return true;
        }
        if self.lines.len() == REMEMBERED_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back((uuid.to_owned(), length));
        false
    }

    fn agent_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        // Most lines of a stream are of this kind: they are read in one pass.
        if line.starts_with(r#"{"type":"stream_event","#)
            && let Ok(event) = serde_json::from_str::<StreamLine<'_>>(line)
        {
            if self.stream_event(event, out) != Ok(Read::Known) {
                self.unmapped_event("stream_event", out);
            }
            return;
        }
        let tag = match tag(line) {
            Ok(tag) => tag,
            Err(kind) => return self.unmapped_event(kind, out),
        };
        let kind = &*tag.kind;
        if kind != "stream_event" && self.is_repeated(&tag, line.len()) {
            return;
        }
        let read = match (kind, tag.subtype.as_deref()) {
            ("system", Some(subtype)) => self.system(subtype, tag.uuid.as_deref(), line, out),
            (kind, _) => self.message(kind, line, out),
        };
        if read != Ok(Read::Known) {
            let kind = match tag.subtype.as_deref() {
                Some(subtype) if kind == "system" => format!("system/{subtype}"),
                _ => kind.to_owned(),
            };
            self.unmapped_event(&kind, out);
        }
    }

    fn message(&mut self, kind: &str, line: &str, out: &mut Vec<ChatEvent>) -> Result<Read, Malformed> {
        match kind {
            "stream_event" => return self.stream_event(parse(line)?, out),
            "assistant" => {
                let line: AssistantLine<'_> = parse(line)?;
                self.assistant(&line, out)?;
            }
            "user" => {
                let line: UserLine<'_> = parse(line)?;
                for _ in 0..self.user(&line, out)? {
                    self.unmapped_event("user/unknown_tool_result", out);
                }
            }
            "result" => {
                let line: ResultLine<'_> = parse(line)?;
                self.result(&line, out);
            }
            "control_request" => {
                let line: RequestLine<'_> = parse(line)?;
                return self.agent_request(&line, out);
            }
            "control_response" => {
                let line: ResponseLine<'_> = parse(line)?;
                return self.agent_answered(&line, out);
            }
            "control_cancel_request" => {
                let line: CancelLine<'_> = parse(line)?;
                self.request_cancelled(&line.request_id, out);
            }
            "conversation_reset" => {
                self.turn.acted = true;
                self.session.resumed();
                self.meter.reset();
                self.plans.clear();
            }
            "rate_limit_event" => system::rate_limit(&parse(line)?, out),
            "tool_progress" => {
                let line = parse(line)?;
                self.progress(&line, out);
            }
            "command_lifecycle" | "prompt_suggestion" | "auth_status" | "tool_use_summary" | "keep_alive" => {}
            _ => return Ok(Read::Unknown),
        }
        Ok(Read::Known)
    }

    fn system(&mut self, subtype: &str, uuid: Option<&str>, line: &str, out: &mut Vec<ChatEvent>) -> Result<Read, Malformed> {
        match subtype {
            "init" => {
                let line: InitLine<'_> = parse(line)?;
                self.initialized(&line, out);
            }
            "status" => {
                let line: StatusLine<'_> = parse(line)?;
                self.status(&line, uuid, out);
            }
            "compact_boundary" => {
                let line: BoundaryLine<'_> = parse(line)?;
                self.compacted(&line.compact_metadata, uuid, out);
            }
            "api_retry" => system::retry(&parse(line)?, out),
            "task_started" | "task_progress" => {
                let line: TaskLine<'_> = parse(line)?;
                self.task_runs(&line, out);
            }
            "task_notification" => {
                let line: TaskLine<'_> = parse(line)?;
                self.task_ended(&line, out);
            }
            "informational" | "model_fallback" | "model_refusal_no_fallback" => system::text(&parse(line)?, out),
            "model_refusal_fallback" => {
                let line: TextLine<'_> = parse(line)?;
                system::text(&line, out);
                if line.retracted_message_uuids.is_some_and(|uuids| !uuids.is_empty()) {
                    self.speaker(None).retract();
                }
            }
            "notification" => system::notification(&parse(line)?, out),
            "hook_response" => system::hook(&parse(line)?, out),
            "session_title_changed" => {
                let line: TextLine<'_> = parse(line)?;
                if let Some(title) = line.title.as_deref().filter(|title| !title.is_empty()) {
                    out.push(EventKind::Title { title: title.to_owned() }.into());
                }
            }
            "local_command_output" => {
                let line: TextLine<'_> = parse(line)?;
                self.turn.acted = true;
                if let Some(text) = line.content.as_deref() {
                    let place = super::messages::WholePlace { message_id: uuid, alone: true };
                    self.speaker(None).whole(place, super::messages::Voice::Answer, text, out);
                }
            }
            subtype if is_silent(subtype) => {}
            _ => return Ok(Read::Unknown),
        }
        Ok(Read::Known)
    }

    fn host_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        let tag = match tag(line) {
            Ok(tag) => tag,
            Err(kind) => return self.unmapped_event(kind, out),
        };
        match &*tag.kind {
            "control_request" => {
                let Ok(request) = parse::<RequestLine<'_>>(line) else { return };
                let Ok(tag) = parse::<RequestTag<'_>>(request.request.get()) else { return };
                // A new process: nothing of the old one will be answered.
                if &*tag.subtype == "initialize" {
                    self.close("The agent's process ended", out);
                    self.meter.new_process();
                    self.requests.host.clear();
                }
                self.turn.interrupted |= &*tag.subtype == "interrupt";
                self.requests.host.insert(request.request_id.to_string(), HostRequest::of(&tag.subtype));
            }
            "control_response" => {
                if let Ok(answer) = parse::<ResponseLine<'_>>(line) {
                    self.host_answered(&answer, out);
                }
            }
            "user" => {
                if let Ok(prompt) = parse::<PromptLine<'_>>(line) {
                    self.prompted(prompt.message.content.get());
                }
            }
            _ => {}
        }
    }

    /// The host's prompt. One that comes while a turn runs is for later.
    fn prompted(&mut self, content: &str) {
        if self.turn.prompt.is_some() {
            return;
        }
        let text = match content.starts_with('"') {
            true => parse::<Str<'_>>(content).map(|text| text.to_string()).ok(),
            false => parse::<Vec<super::wire::Block<'_>>>(content).ok().and_then(|blocks| {
                let text = blocks.into_iter().find_map(|block| block.text)?;
                Some(text.to_string())
            }),
        };
        // Only its beginning says something: whether it is a command.
        let beginning: String = text.unwrap_or_default().trim_start().chars().take(64).collect();
        self.turn.prompt = Some(beginning);
        // What was interrupted before is another turn.
        self.turn.interrupted = false;
    }
}

fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Malformed> {
    Ok(serde_json::from_str(json)?)
}

/// The kind of a line; why it is none otherwise.
fn tag(line: &str) -> Result<Tag<'_>, &'static str> {
    serde_json::from_str(line).map_err(|error: serde_json::Error| match error.is_data() {
        true => "invalid_message",
        false => "invalid_json",
    })
}

impl Normalizer for ClaudeCode {
    fn push(&mut self, line: &str, from: Side, out: &mut Vec<ChatEvent>) {
        match from {
            Side::Agent => self.agent_line(line, out),
            Side::Host => self.host_line(line, out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<ChatEvent>) {
        let reason = match reason {
            FinishReason::End => "The agent ended before this call did",
            FinishReason::Cancelled => "The turn was cancelled",
            FinishReason::Error => "The agent failed before this call ended",
        };
        self.close(reason, out);
    }

    fn unmapped(&self) -> &BTreeMap<String, u64> {
        self.unmapped.counts()
    }

    fn source(&self) -> &'static str {
        "claude_code.stream_json"
    }
}

/// `system` lines that say nothing a reader of the conversation needs.
fn is_silent(subtype: &str) -> bool {
    matches!(
        subtype,
        "thinking_tokens"
            | "task_updated"
            | "background_tasks_changed"
            | "session_state_changed"
            | "permission_denied"
            | "hook_started"
            | "hook_progress"
            | "memory_recall"
            | "files_persisted"
            | "plugin_install"
            | "elicitation_complete"
    )
}
