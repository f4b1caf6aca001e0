//! Token counts: one step a model call. Where numbers are repeated, estimated or missing, and what is made of that, is decided
//! by the call's id and by what the CLI says it counted in the end.

use super::speed::{Mode, Speed};
use super::wire::{ModelUsages, Usage};
use chat_grammar::event::{ChatEvent, EventKind};
use chat_grammar::usage::{ContextFullness, TokenCounts, UsageModel, UsageOperation, UsageRecord};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashSet};

/// The counts of the events of a call.
const STREAM_SOURCE: &str = "claude.stream_event.usage";
/// The counts of a call that came without events.
const ASSISTANT_SOURCE: &str = "claude.assistant.usage";

/// What was counted, and what is still to be counted.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Calls whose final counts are not known, in the order in which they began.
    pub(super) pending: Vec<PendingCall>,
    /// The billable steps since the last result.
    pub(super) steps: Vec<Step>,
    /// A call of the main loop since the last result is in a sum of several.
    pub(super) cut: bool,
    told: HashSet<String>,
    /// What the CLI's running totals were at the last result; `None`: unknown, as after a resume.
    pub(super) totals: Option<Totals>,
    windows: BTreeMap<String, u64>,
    context: Context,
    /// The newest call of the main loop, whose counts say how full the context is.
    newest: Option<String>,
    pub(super) speed: Speed,
}

#[derive(Debug, Default)]
struct Context {
    model: Option<String>,
    now: ContextFullness,
    told: ContextFullness,
}

/// The CLI's running totals.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Totals {
    pub cost_usd: f64,
    pub models: ModelUsages,
}

/// A model call that began.
#[derive(Debug, Clone)]
pub(super) struct PendingCall {
    pub id: String,
    pub model: Option<String>,
    pub parent: Option<String>,
    pub usage: Usage,
    pub raw: Value,
    pub mode: Mode,
    /// Its counts came with a reason to stop: they are final unless more lines of it come.
    pub settled: bool,
    pub streamed: bool,
}

/// What a billable step counted.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The API's message; `None` where it is no single call.
    pub call: Option<String>,
    /// A call of the main loop whose counts are all the provider's.
    pub is_sure: bool,
    /// No call of a subagent, and none of the CLI's own.
    pub is_main: bool,
    pub model: Option<String>,
    pub counts: TokenCounts,
    /// Of the cache writes, those for an hour.
    pub long_writes: Option<u64>,
    pub reasoning: Option<u64>,
}

/// A model call as a line tells of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    pub id: &'a str,
    pub model: Option<&'a str>,
    pub parent: Option<&'a str>,
    pub usage: Option<&'a RawValue>,
    pub stopped: bool,
    pub streamed: bool,
}

impl Meter {
    /// A meter of a session whose running totals are these.
    pub(super) fn new(totals: Option<Totals>) -> Self {
        Self { totals, ..Self::default() }
    }

    /// A call began, or a line of it repeats its counts.
    pub(super) fn began(&mut self, told: Told<'_>) {
        if self.told.contains(told.id) {
            return;
        }
        let usage = told.usage.and_then(|raw| serde_json::from_str::<Usage>(raw.get()).ok());
        let raw = || told.usage.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        match self.pending.iter_mut().find(|call| call.id == told.id) {
            Some(call) => {
                // While a call is streamed, its lines repeat the counts of its beginning.
                if let Some(usage) = usage.filter(|_| told.stopped || !call.streamed) {
                    call.usage = usage.or(call.usage);
                    call.raw = raw();
                    call.mode.read(&call.raw);
                }
                call.settled |= told.stopped;
            }
            None => {
                if told.parent.is_none() {
                    self.newest = Some(told.id.to_owned());
                }
                let raw = raw();
                let mode = Mode::of(&raw);
                self.pending.push(PendingCall {
                    id: told.id.to_owned(),
                    model: told.model.map(str::to_owned),
                    parent: told.parent.map(str::to_owned),
                    usage: usage.unwrap_or_default(),
                    raw,
                    mode,
                    settled: told.stopped,
                    streamed: told.streamed,
                });
            }
        }
    }

    /// The final counts of a streamed call.
    pub(super) fn ended(&mut self, told: Told<'_>, out: &mut Vec<ChatEvent>) {
        self.began(Told { usage: None, ..told });
        let Some(position) = self.pending.iter().position(|call| call.id == told.id) else { return };
        let mut call = self.pending.remove(position);
        if let Some(raw) = told.usage {
            let usage: Usage = serde_json::from_str(raw.get()).unwrap_or_default();
            call.usage = usage.or(call.usage);
            call.raw = serde_json::from_str(raw.get()).unwrap_or_default();
            call.mode.read(&call.raw);
        }
        self.step(call, Certainty::Exact, out);
    }

    /// Another message of this speaker begins: the calls of it that told why they stopped are complete.
    pub(super) fn settle_others(&mut self, parent: Option<&str>, id: &str, out: &mut Vec<ChatEvent>) {
        let complete: Vec<PendingCall> =
            self.pending.extract_if(.., |call| call.settled && call.parent.as_deref() == parent && call.id != id).collect();
        complete.into_iter().for_each(|call| self.step(call, Certainty::Exact, out));
    }

    /// The native stream ended without a result: what is known of the calls, in their order.
    pub(super) fn abandon(&mut self, out: &mut Vec<ChatEvent>) {
        for call in std::mem::take(&mut self.pending) {
            let certainty = if call.settled { Certainty::Exact } else { Certainty::OutputUnknown };
            self.step(call, certainty, out);
        }
    }

    /// A new process accounts for its own calls alone: those of one that died are in no sum of it (2.1.332).
    pub(super) fn new_process(&mut self) {
        self.steps.clear();
        self.cut = false;
    }

    /// The size of a model's window.
    pub(super) fn window(&mut self, model: &str, size: Option<u64>) {
        if let Some(size) = size.filter(|size| *size > 0) {
            self.windows.insert(model.to_owned(), size);
        }
    }

    /// How many tokens the context holds now.
    pub(super) fn context_used(&self) -> Option<u64> {
        self.context.now.used
    }

    /// A compaction left so many tokens in the context.
    pub(super) fn compacted(&mut self, used: Option<u64>) {
        self.context.now.used = used;
    }

    /// The conversation begins anew, with totals of its own.
    pub(super) fn reset(&mut self) {
        self.totals = Some(Totals::default());
        self.context = Context::default();
    }

    /// A call becomes a step.
    pub(super) fn step(&mut self, call: PendingCall, certainty: Certainty, out: &mut Vec<ChatEvent>) {
        if !self.told.insert(call.id.clone()) {
            return;
        }
        let mut tokens = call.usage.counts();
        let mut reasoning = call.usage.output_tokens_details.and_then(|details| details.thinking_tokens);
        let (billable, exact) = match certainty {
            Certainty::Exact => (true, true),
            Certainty::Output { tokens: output, reasoning: thought, exact } => {
                tokens.output_tokens = output;
                reasoning = thought;
                (true, exact)
            }
            Certainty::OutputUnknown | Certainty::CountedElsewhere => {
                tokens.output_tokens = None;
                reasoning = None;
                (certainty == Certainty::OutputUnknown, false)
            }
        };
        if billable {
            self.steps.push(Step {
                call: Some(call.id.clone()),
                is_sure: certainty == Certainty::Exact,
                is_main: call.parent.is_none(),
                model: call.model.clone(),
                counts: tokens,
                long_writes: call.usage.long_writes(),
                reasoning,
            });
        }
        self.cut |= call.parent.is_none() && certainty == Certainty::CountedElsewhere;
        let context = match billable && self.newest.as_ref() == Some(&call.id) {
            true => self.context_after(call.model.as_deref(), tokens),
            false => ContextFullness::default(),
        };
        let record = UsageRecord {
            operation: UsageOperation::ChatStep,
            source: if call.streamed { STREAM_SOURCE } else { ASSISTANT_SOURCE }.to_owned(),
            exact,
            billable,
            tokens,
            reasoning_tokens: reasoning,
            cache_write1h_tokens: call.usage.long_writes(),
            context,
            parent_tool_call_id: call.parent,
            raw: call.raw,
            ..record(call.id, self.speed.priced(call.model, &call.mode))
        };
        emit(record, out);
    }

    fn context_after(&mut self, model: Option<&str>, tokens: TokenCounts) -> ContextFullness {
        let read = tokens.input_tokens.zip(tokens.cache_read_tokens).zip(tokens.cache_write_tokens);
        self.context.model = model.map(str::to_owned);
        self.context.now = ContextFullness {
            used: read.map(|((input, read), write)| {
                [read, write, tokens.output_tokens.unwrap_or(0)].into_iter().fold(input, u64::saturating_add)
            }),
            size: model.and_then(|model| self.windows.get(model).copied()),
        };
        if self.context.now.size.is_some() {
            self.context.told = self.context.now;
        }
        self.context.now
    }

    /// How full the context is, where readers do not know it: the window's size is only told at the end of a turn.
    pub(super) fn snapshot(&mut self, id: String, out: &mut Vec<ChatEvent>) {
        let model = self.context.model.clone();
        self.context.now.size = model.as_ref().and_then(|model| self.windows.get(model).copied());
        let known = self.context.now.used.is_some() && self.context.now.size.is_some();
        if !known || self.context.now == self.context.told {
            return;
        }
        self.context.told = self.context.now;
        let record = UsageRecord {
            operation: UsageOperation::ContextSnapshot,
            source: "claude.context".to_owned(),
            billable: false,
            context: self.context.now,
            ..record(id, model)
        };
        emit(record, out);
    }
}

/// What is known of the output of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    /// All counts are the provider's final ones.
    Exact,
    /// The output is what the CLI counted besides all other calls.
    Output { tokens: Option<u64>, reasoning: Option<u64>, exact: bool },
    /// Nobody said how long the output was.
    OutputUnknown,
    /// The call is in a sum that is a step of its own.
    CountedElsewhere,
}

/// A record with nothing in it but whose it is. What Claude Code does not name a model for is of several, or of a mode of its own.
pub(super) fn record(id: String, model_id: Option<String>) -> UsageRecord {
    UsageRecord {
        id,
        operation: UsageOperation::ChatStep,
        model: UsageModel { is_undetermined: model_id.is_none(), model_id, ..UsageModel::default() },
        source: String::new(),
        exact: true,
        billable: true,
        tokens: TokenCounts::default(),
        reasoning_tokens: None,
        cache_write1h_tokens: None,
        native_cost_usd: None,
        context: ContextFullness::default(),
        parent_tool_call_id: None,
        raw: Value::Null,
    }
}

pub(super) fn emit(usage: UsageRecord, out: &mut Vec<ChatEvent>) {
    let parent_tool_call_id = usage.parent_tool_call_id.clone();
    out.push(ChatEvent { kind: EventKind::UsageFinal { usage }, parent_tool_call_id });
}

impl Usage {
    pub(super) fn counts(self) -> TokenCounts {
        TokenCounts {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: self.cache_read_input_tokens,
            cache_write_tokens: self.cache_creation_input_tokens,
        }
    }

    /// Of the cache writes, those for an hour. Where nothing was written, there are none.
    pub(super) fn long_writes(self) -> Option<u64> {
        let told = self.cache_creation.and_then(|cache| cache.ephemeral_1h_input_tokens);
        told.or_else(|| self.cache_creation_input_tokens.filter(|written| *written == 0))
    }

    /// These counts; where one is unknown, that of before.
    fn or(self, before: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.or(before.input_tokens),
            output_tokens: self.output_tokens.or(before.output_tokens),
            cache_read_input_tokens: self.cache_read_input_tokens.or(before.cache_read_input_tokens),
            cache_creation_input_tokens: self.cache_creation_input_tokens.or(before.cache_creation_input_tokens),
            cache_creation: self.cache_creation.or(before.cache_creation),
            output_tokens_details: self.output_tokens_details.or(before.output_tokens_details),
        }
    }
}
