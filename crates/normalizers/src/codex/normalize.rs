//! The state machine: which rule reads which message.

use super::Malformed;
use super::messages::{self, MessageKind, PartKey};
use super::requests::{HostRequest, Purpose, Requests};
use super::session::Session;
use super::threads::Threads;
use super::wire::{
    Delta, HostParams, ItemNotice, RawResponseNotice, ReroutedNotice, ResolvedNotice, Settings, SettingsNotice, ThreadAnswer,
    TurnAnswer, TurnNotice, UsageNotice,
};
use super::{errors, usage};
use crate::rpc::{self, Envelope, RpcError};
use crate::tools::ToolCalls;
use crate::unmapped::Unmapped;
use crate::{Normalizer, Options};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side, Stop};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The normalizer of Codex.
#[derive(Debug)]
pub(crate) struct Codex {
    pub(super) session: Session,
    pub(super) threads: Threads,
    pub(super) tools: ToolCalls,
    pub(super) requests: Requests,
    unmapped: Unmapped,
}

/// What came of a message.
enum Read {
    Known,
    Unknown,
}

impl Codex {
    pub(crate) fn new(options: Options) -> Self {
        let mut threads = Threads::new(options.model.clone());
        if let Some(id) = &options.provider_session_id {
            threads.open(id);
        }
        Self {
            session: Session::new(options.cwd, options.model),
            threads,
            tools: ToolCalls::default(),
            requests: Requests::default(),
            unmapped: Unmapped::default(),
        }
    }

    pub(super) fn cwd(&self) -> Option<&str> {
        self.session.cwd()
    }

    fn unmapped_event(&mut self, kind: &str, out: &mut Vec<ChatEvent>) {
        self.unmapped.event(kind, out);
    }

    /// True for a thread of this conversation; what another thread says is counted and left out.
    pub(super) fn ours(&mut self, thread_id: Option<&str>, out: &mut Vec<ChatEvent>) -> bool {
        let foreign = thread_id.is_some_and(|id| self.threads.is_foreign(id));
        if foreign {
            self.unmapped_event("foreign_thread", out);
        }
        !foreign
    }

    fn agent_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        if self.frequent_line(line, out) {
            return;
        }
        let envelope = match rpc::envelope(line) {
            Ok(envelope) => envelope,
            Err(problem) => return self.unmapped_event(problem.kind(), out),
        };
        let Envelope { id, method, params, result, error } = envelope;
        let (read, kind) = match (method.as_deref(), id) {
            (Some(method), Some(id)) => {
                let read = params.ok_or(Malformed).and_then(|params| self.agent_request(method, id, params, out));
                (read.map(|known| if known { Read::Known } else { Read::Unknown }), method)
            }
            (Some(method), None) => {
                (params.ok_or(Malformed).and_then(|params| self.notification(method, params.get(), out)), method)
            }
            (None, Some(id)) => (self.agent_answer(id, result, error, out), "response"),
            (None, None) => (Err(Malformed), "invalid_message"),
        };
        if !matches!(read, Ok(Read::Known)) {
            self.unmapped_event(kind, out);
        }
    }

    /// The kinds that make up most of a stream, each read in one pass. False where the line is of another kind or form.
    fn frequent_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) -> bool {
        let Some(method) = rpc::leading_method(line) else { return false };
        match method {
            "item/commandExecution/outputDelta" => {
                let Some(delta) = rpc::params(line) else { return false };
                self.output(delta, out);
            }
            "item/started" | "item/completed" => {
                let Some(notice) = rpc::params(line) else { return false };
                if self.item_notice(method, &notice, out).is_err() {
                    self.unmapped_event(method, out);
                }
            }
            method => {
                let Some(kind) = MessageKind::of_delta(method) else { return false };
                let Some(delta) = rpc::params(line) else { return false };
                self.delta(delta, kind, out);
            }
        }
        true
    }

    fn item_notice(&mut self, method: &str, notice: &ItemNotice<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        match (self.ours(notice.thread_id.as_deref(), out), method) {
            (false, _) => Ok(()),
            (true, "item/started") => self.item_started(notice, out),
            (true, _) => self.item_completed(notice, out),
        }
    }

    fn notification(&mut self, method: &str, params: &str, out: &mut Vec<ChatEvent>) -> Result<Read, Malformed> {
        if let Some(kind) = MessageKind::of_delta(method) {
            self.delta(serde_json::from_str(params)?, kind, out);
            return Ok(Read::Known);
        }
        match method {
            "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => {
                self.output(serde_json::from_str(params)?, out);
            }
            "item/commandExecution/terminalInteraction" => {
                let notice = serde_json::from_str(params)?;
                self.terminal_input(&notice, out);
            }
            "item/mcpToolCall/progress" => {
                let notice = serde_json::from_str(params)?;
                self.progress(&notice, out);
            }
            "item/started" | "item/completed" => {
                let notice: ItemNotice<'_> = serde_json::from_str(params)?;
                self.item_notice(method, &notice, out)?;
            }
            "thread/tokenUsage/updated" => {
                let notice: UsageNotice<'_> = serde_json::from_str(params)?;
                if self.ours(notice.thread_id.as_deref(), out)
                    && let Some(thread) = self.threads.find(notice.thread_id.as_deref())
                {
                    usage::updated(thread, &notice, out)?;
                }
            }
            "rawResponse/completed" => {
                let notice: RawResponseNotice<'_> = serde_json::from_str(params)?;
                let raw = serde_json::from_str(params)?;
                if self.ours(notice.thread_id.as_deref(), out)
                    && let Some(thread) = self.threads.find(notice.thread_id.as_deref())
                {
                    usage::response(thread, &notice, raw, out);
                }
            }
            "turn/started" => {
                let notice: TurnNotice<'_> = serde_json::from_str(params)?;
                self.adopt_by_root_turn(&notice, out);
                if self.ours(notice.thread_id.as_deref(), out) {
                    self.turn_started(&notice);
                }
            }
            "turn/completed" => {
                let notice: TurnNotice<'_> = serde_json::from_str(params)?;
                if self.ours(notice.thread_id.as_deref(), out) {
                    self.turn_completed(&notice, out);
                }
            }
            "turn/plan/updated" => {
                let notice: super::wire::PlanNotice<'_> = serde_json::from_str(params)?;
                if self.ours(notice.thread_id.as_deref(), out) {
                    self.plan(&notice, out);
                }
            }
            "error" => {
                let notice: super::wire::ErrorNotice<'_> = serde_json::from_str(params)?;
                if self.ours(notice.thread_id.as_deref(), out) {
                    self.error(&notice, out);
                }
            }
            "warning" | "configWarning" | "deprecationNotice" | "guardianWarning" => {
                let notice = serde_json::from_str(params)?;
                self.warning(&notice, out)?;
            }
            "thread/name/updated" => {
                let notice = serde_json::from_str(params)?;
                self.title(&notice, out);
            }
            "thread/settings/updated" => {
                let notice: SettingsNotice<'_> = serde_json::from_str(params)?;
                self.settings_changed(notice.thread_id.as_deref(), &notice.thread_settings, out);
            }
            "model/rerouted" => {
                let notice: ReroutedNotice<'_> = serde_json::from_str(params)?;
                let settings = Settings { model: Some(notice.to_model), ..Settings::default() };
                self.settings_changed(notice.thread_id.as_deref(), &settings, out);
            }
            "mcpServer/startupStatus/updated" => {
                let notice = serde_json::from_str(params)?;
                self.mcp_status(&notice, out);
            }
            "serverRequest/resolved" => {
                let notice: ResolvedNotice<'_> = serde_json::from_str(params)?;
                self.request_resolved(notice.request_id, out);
            }
            method if is_silent(method) => {}
            _ => return Ok(Read::Unknown),
        }
        Ok(Read::Known)
    }

    fn delta(&mut self, delta: Delta<'_>, kind: MessageKind, out: &mut Vec<ChatEvent>) {
        let key = match (kind, delta.summary_index, delta.content_index) {
            (MessageKind::Thought, Some(index), _) => PartKey::Summary(index),
            (MessageKind::Thought, None, index) => PartKey::Raw(index.unwrap_or(0)),
            _ => PartKey::Text,
        };
        if self.ours(delta.thread_id.as_deref(), out)
            && let Some(thread) = self.threads.find(delta.thread_id.as_deref())
        {
            messages::delta(thread, delta, kind, key, out);
        }
    }

    /// The agent's answer to a request of the host.
    fn agent_answer(
        &mut self,
        id: &RawValue,
        result: Option<&RawValue>,
        error: Option<&RawValue>,
        out: &mut Vec<ChatEvent>,
    ) -> Result<Read, Malformed> {
        let Some(request) = self.requests.host.remove(id.get()) else { return Ok(Read::Unknown) };
        if let Some(error) = error {
            let error: RpcError<'_> = serde_json::from_str(error.get())?;
            self.request_failed(&request, error.message.as_deref().unwrap_or("The request failed"), out);
            return Ok(Read::Known);
        }
        let Some(result) = result else { return Err(Malformed) };
        match request.purpose {
            Purpose::OpenThread => {
                let answer: ThreadAnswer<'_> = serde_json::from_str(result.get())?;
                let settings: Settings<'_> = serde_json::from_str(result.get())?;
                self.thread_opened(&answer.thread.id, &settings, out);
            }
            Purpose::StartTurn => {
                // Only some of these requests are answered with their turn.
                let answer: Option<TurnAnswer<'_>> = serde_json::from_str(result.get()).ok();
                if let (Some(answer), Some(thread_id)) = (answer, &request.thread_id) {
                    self.threads.open(thread_id).usage.live(&answer.turn.id);
                }
            }
            Purpose::Other => {}
        }
        Ok(Read::Known)
    }

    /// A request that was to begin a session or a turn was refused: that is the turn's end.
    fn request_failed(&mut self, request: &HostRequest, message: &str, out: &mut Vec<ChatEvent>) {
        let thread = self.threads.find(request.thread_id.as_deref());
        let runs = request.purpose == Purpose::StartTurn && thread.as_ref().is_some_and(|thread| thread.turn.is_some());
        if let Some(thread) = thread {
            thread.compaction_asked = false;
        }
        match request.purpose {
            Purpose::Other => {}
            // A turn that runs goes on.
            _ if runs => {
                out.push(
                    EventKind::Warning { message: crate::failures::unwrap_message(message), detail: None, retry: None }.into(),
                );
            }
            Purpose::OpenThread | Purpose::StartTurn => {
                out.push(EventKind::Error(errors::request_failure(message)).into());
                out.push(EventKind::Done { stop_reason: Stop::Failed, native_stop_reason: None }.into());
            }
        }
    }

    fn host_line(&mut self, line: &str, out: &mut Vec<ChatEvent>) {
        let envelope = match rpc::envelope(line) {
            Ok(envelope) => envelope,
            Err(problem) => return self.unmapped_event(problem.kind(), out),
        };
        let Envelope { id: Some(id), method, params, result, error } = envelope else { return };
        let Some(method) = method.as_deref() else {
            let error: Option<RpcError<'_>> = error.and_then(|error| serde_json::from_str(error.get()).ok());
            let message = error.as_ref().map(|error| error.message.as_deref().unwrap_or("The request was refused"));
            return self.host_answer(id, result, message, out);
        };
        // A new process: ids begin again, and nothing of the old one will be answered.
        if method == "initialize" {
            self.close("The agent's process ended", out);
            self.requests.host.clear();
            self.session.restart();
        }
        let host: HostParams<'_> = params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
        let thread_id = host.thread_id.as_deref().map(str::to_owned);
        let purpose = Purpose::of(method);
        if let (Purpose::StartTurn, Some(thread_id)) = (purpose, &thread_id) {
            let thread = self.threads.open(thread_id);
            thread.compaction_asked |= method == "thread/compact/start";
            thread.tier.begin_turn(host.service_tier_for_turn.as_deref());
        }
        self.requests.host.insert(id.get().to_owned(), HostRequest { purpose, thread_id });
    }
}

impl Normalizer for Codex {
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
        "codex.app-server.notification"
    }
}

/// Notifications that say nothing a reader of the conversation needs.
fn is_silent(method: &str) -> bool {
    matches!(
        method,
        "item/reasoning/summaryPartAdded"
            | "rawResponseItem/completed"
            | "turn/diff/updated"
            | "thread/started"
            | "thread/status/changed"
            | "thread/readState/changed"
            | "thread/archived"
            | "thread/unarchived"
            | "thread/closed"
            | "thread/compacted"
            | "thread/goal/updated"
            | "thread/goal/cleared"
            | "hook/started"
            | "hook/completed"
            | "account/updated"
            | "account/rateLimits/updated"
            | "account/login/completed"
            | "remoteControl/status/changed"
            | "skills/changed"
            | "app/list/updated"
    )
}
