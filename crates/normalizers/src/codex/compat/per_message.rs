//! The normalizer behind the function that takes one notification at a time.

use super::message::Notice;
use super::tokens::Totals;
use crate::codex::messages::{self, MessageKind};
use crate::codex::normalize::Codex;
use crate::{Normalizer, Options};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side, ToolUpdated};
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads notifications of today's and of older forms.
#[derive(Debug)]
pub(crate) struct PerMessage {
    codex: Codex,
    totals: Totals,
    /// Turns that were not named.
    turns: u64,
    /// What a retry says beside that it is one: told with the next message.
    held: Vec<ChatEvent>,
}

impl PerMessage {
    pub(crate) fn new() -> Self {
        let codex = Codex::new(Options::default());
        Self { codex, totals: Totals::default(), turns: 0, held: Vec::new() }
    }

    fn notice(&mut self, mut notice: Notice, out: &mut Vec<ChatEvent>) {
        let retries = notice.is_retry();
        if notice.method.starts_with("turn/") {
            self.turns = self.turns.saturating_add(1);
        }
        notice.modernize(&format!("turn-{}", self.turns));
        let thread = notice.thread_id().unwrap_or_default().to_owned();
        match notice.method.as_str() {
            "thread/tokenUsage/updated" => self.usage(&thread, &notice, out),
            "item/updated" => self.item_updated(notice, out),
            "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => {
                let before = out.len();
                self.codex.push(&notice.text(), Side::Agent, out);
                if out.len() == before {
                    self.unknown_call(&notice, out);
                }
            }
            method => {
                if matches!(method, "turn/started" | "turn/completed") {
                    self.totals.turn_changed(&thread);
                }
                let before = out.len();
                self.codex.push(&notice.text(), Side::Agent, out);
                if retries {
                    let told = out.split_off(before);
                    self.held.extend(told.into_iter().filter(|event| !matches!(event.kind, EventKind::Warning { .. })));
                }
            }
        }
    }

    fn usage(&mut self, thread: &str, notice: &Notice, out: &mut Vec<ChatEvent>) {
        // Nobody says here which turns run: what is reported is taken for news, not for a replay.
        let turn = notice.params.get("turnId").and_then(Value::as_str);
        if let (Some(turn), Some(thread)) = (turn, self.codex.threads.find(notice.thread_id())) {
            thread.usage.live(turn);
        }
        for params in self.totals.reports(thread, &notice.params) {
            let report = Notice { method: notice.method.clone(), params };
            let before = out.len();
            self.codex.push(&report.text(), Side::Agent, out);
            for event in out.iter_mut().skip(before) {
                // The provider's record as it was reported.
                if let (EventKind::UsageFinal { usage }, Some(record)) = (&mut event.kind, notice.params.get("tokenUsage")) {
                    usage.raw = record.clone();
                }
            }
        }
    }

    /// An item as it is at the moment, neither begun nor ended by that.
    fn item_updated(&mut self, mut notice: Notice, out: &mut Vec<ChatEvent>) {
        let Some(Value::Object(item)) = notice.params.get("item").cloned() else {
            return self.codex.push(&notice.text(), Side::Agent, out);
        };
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        let (id, turn) = (text("id"), notice.params.get("turnId").and_then(Value::as_str).map(str::to_owned));
        let kind = match text("type") {
            "agentMessage" => Some(MessageKind::Answer),
            "plan" => Some(MessageKind::Plan),
            "reasoning" => Some(MessageKind::Thought),
            _ => None,
        };
        if let Some(kind) = kind {
            if let Some(thread) = self.codex.threads.find(notice.thread_id()) {
                messages::so_far(thread, id, &item, kind, out);
            }
            return;
        }
        let known = |codex: &mut Codex, notice: &Notice| {
            let thread = codex.threads.find(notice.thread_id())?;
            thread.calls.find(id, turn.as_deref()).map(str::to_owned)
        };
        let Some(call) = known(&mut self.codex, &notice) else {
            "item/started".clone_into(&mut notice.method);
            return self.codex.push(&notice.text(), Side::Agent, out);
        };
        let output = text("aggregatedOutput");
        let streamed = self.codex.tools.streamed(&call);
        let news = output.strip_prefix(streamed.as_str()).filter(|news| !news.is_empty()).map(str::to_owned);
        let update = ToolUpdated { tool_call_id: call, in_progress: true, output_delta: news, ..ToolUpdated::default() };
        self.codex.tools.update(update, out);
    }

    /// The output of a call whose start this state has not seen.
    fn unknown_call(&mut self, notice: &Notice, out: &mut Vec<ChatEvent>) {
        let text = |name: &str| notice.params.get(name).and_then(Value::as_str);
        let (Some(id), Some(delta)) = (text("itemId").filter(|id| !id.is_empty()), text("delta")) else { return };
        let Some(thread) = self.codex.threads.find(notice.thread_id()) else { return };
        if thread.calls.find(id, None).is_none() {
            let tool_call_id = id.to_owned();
            let parent_tool_call_id = thread.parent.clone();
            let update = ToolUpdated { tool_call_id, output_delta: Some(delta.to_owned()), ..ToolUpdated::default() };
            out.push(ChatEvent { kind: EventKind::ToolUpdated(update), parent_tool_call_id });
        }
    }
}

impl Normalizer for PerMessage {
    fn push(&mut self, line: &str, from: Side, out: &mut Vec<ChatEvent>) {
        let notice = Notice::read(line).filter(|_| from == Side::Agent);
        if !notice.as_ref().is_some_and(Notice::is_retry) {
            out.append(&mut self.held);
        }
        match notice {
            Some(notice) => self.notice(notice, out),
            None => self.codex.push(line, from, out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<ChatEvent>) {
        out.append(&mut self.held);
        self.codex.finish(reason, out);
    }

    fn unmapped(&self) -> &BTreeMap<String, u64> {
        self.codex.unmapped()
    }

    fn source(&self) -> &'static str {
        self.codex.source()
    }
}
