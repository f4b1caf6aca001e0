//! What the session runs with, and what of the agent's words is its past.

use super::errors;
use super::normalize::Acp;
use super::wire::{ConfigOption, HostParams, InitializeAnswer, Malformed, SessionAnswer, raw};
use crate::Options;
use chat_grammar::acp::{PlanEntry, SessionConfigOption};
use chat_grammar::event::{ChatEvent, EventKind, Relayed, SessionInit, Stop};
use chat_grammar::relay::Members;
use serde_json::value::RawValue;
use std::collections::HashSet;

/// The name of OpenCode 1.18.33 (`opencode acp`).
const LAST_CALL_COUNTER: &str = "OpenCode";

/// What readers know of the session.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The one that was opened or prompted last.
    current: Option<String>,
    /// The agent counts the last model call of a turn as if it were the turn.
    counts_last_call_only: bool,
    /// All that the host opened.
    own: HashSet<String>,
    /// Requests for new sessions that were not answered: the ids of their updates are not known yet.
    opening: u64,
    cwd: Option<String>,
    model: Option<String>,
    servers: Vec<String>,
    /// Between the request that loads a session and the next prompt, the agent tells its past.
    replays: bool,
    mode: Option<String>,
    config: Option<Box<RawValue>>,
    plan: Option<Vec<PlanEntry>>,
}

/// A request of the host whose answer says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostRequest {
    Initialize,
    Authenticate,
    NewSession {
        cwd: Option<String>,
    },
    /// `session/load` and `session/resume`.
    OldSession {
        id: Option<String>,
        cwd: Option<String>,
    },
    Prompt,
    Mode {
        id: Option<String>,
    },
    Model {
        id: Option<String>,
    },
    ConfigOption,
    Other,
}

impl HostRequest {
    pub(super) fn of(method: &str, params: &HostParams<'_>) -> Self {
        let owned = |text: &Option<crate::rpc::Str<'_>>| text.as_deref().map(str::to_owned);
        match method {
            "initialize" => Self::Initialize,
            "authenticate" => Self::Authenticate,
            "session/new" => Self::NewSession { cwd: owned(&params.cwd) },
            "session/load" | "session/resume" => Self::OldSession { id: owned(&params.session_id), cwd: owned(&params.cwd) },
            "session/prompt" => Self::Prompt,
            "session/set_mode" => Self::Mode { id: owned(&params.mode_id) },
            "session/set_model" => Self::Model { id: owned(&params.model_id) },
            "session/set_config_option" => Self::ConfigOption,
            _ => Self::Other,
        }
    }

    /// Whether no turn can be without it: where it fails, that is the turn's end.
    pub(super) fn is_vital(&self) -> bool {
        !matches!(self, Self::Mode { .. } | Self::Model { .. } | Self::ConfigOption | Self::Other)
    }
}

impl Session {
    pub(super) fn new(options: Options) -> Self {
        let own = options.provider_session_id.iter().cloned().collect();
        Self { current: options.provider_session_id, own, cwd: options.cwd, model: options.model, ..Self::default() }
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.current.as_deref()
    }

    /// The agent told its name.
    pub(super) fn agent_is(&mut self, answer: &InitializeAnswer<'_>) {
        let name = answer.agent_info.as_ref().and_then(|info| info.name.as_deref());
        self.counts_last_call_only = name == Some(LAST_CALL_COUNTER);
    }

    /// True for an agent whose answer to a prompt counts the last model call alone, and whose context is empty after one that
    /// was cut.
    pub(super) fn counts_last_call_only(&self) -> bool {
        self.counts_last_call_only
    }

    /// The names of the MCP servers that the host gave to the agent.
    pub(super) fn servers(&self) -> &[String] {
        &self.servers
    }

    pub(super) fn replays(&self) -> bool {
        self.replays
    }

    /// Whether a session may be one of this conversation.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.own.is_empty() || self.opening > 0 || self.own.contains(id)
    }

    /// The host asked for something.
    pub(super) fn requested(&mut self, request: &HostRequest, params: &HostParams<'_>) {
        match request {
            HostRequest::NewSession { .. } => {
                self.opening += 1;
                self.replays = false;
            }
            HostRequest::OldSession { id, .. } => {
                self.own.extend(id.clone());
                self.replays = true;
            }
            HostRequest::Prompt => self.replays = false,
            _ => return,
        }
        if let Some(id) = params.session_id.as_deref().filter(|id| self.own.contains(*id)) {
            self.current = Some(id.to_owned());
        }
        if let Some(servers) = &params.mcp_servers {
            self.servers = servers.iter().map(|server| server.name.to_string()).collect();
        }
    }

    /// A request of the host was answered, with or without success.
    pub(super) fn answered(&mut self, request: &HostRequest) {
        if matches!(request, HostRequest::NewSession { .. }) {
            self.opening = self.opening.saturating_sub(1);
        }
    }

    /// The process is gone: nothing of it will be answered.
    pub(super) fn restart(&mut self) {
        self.opening = 0;
        self.replays = false;
    }

    pub(super) fn tell_mode(&mut self, mode: &str) {
        self.mode = Some(mode.to_owned());
    }

    pub(super) fn tell_config(&mut self, options: &RawValue) {
        self.config = Some(options.to_owned());
    }

    pub(super) fn tell_plan(&mut self, entries: &[PlanEntry]) {
        self.plan = Some(entries.to_vec());
    }

    fn init(&self) -> ChatEvent {
        EventKind::SessionInit(SessionInit {
            provider_session_id: self.current.clone(),
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            tools: Vec::new(),
            mcp_servers: Vec::new(),
        })
        .into()
    }
}

impl Acp {
    /// The answer to a request that opens a session.
    pub(super) fn session_opened(
        &mut self,
        asked: Option<&str>,
        cwd: Option<String>,
        answer: &SessionAnswer<'_>,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        // Only a new session has to be named: the answer to `session/load` does not name the one that was asked for.
        let answered = answer.session_id.as_deref().filter(|id| !id.is_empty());
        if let (Some(asked), Some(answered)) = (asked, answered)
            && asked != answered
        {
            out.push(EventKind::Error(errors::other_session(asked, answered)).into());
            out.push(EventKind::Done { stop_reason: Stop::Failed, native_stop_reason: None }.into());
            return Ok(());
        }
        let id = asked.or(answered).ok_or(Malformed)?.to_owned();
        self.session.own.insert(id.clone());
        self.session.current = Some(id);
        self.session.cwd = cwd.or(self.session.cwd.take());
        match asked {
            None => self.ledger.open_new(),
            Some(_) => self.ledger.open_old(),
        }
        let advertised = answer.models.as_ref().and_then(|models| models.current_model_id.as_deref()).map(str::to_owned);
        let model = advertised.or_else(|| configured_model(answer.config_options?));
        self.session.model = model.or(self.session.model.take());
        out.push(self.session.init());
        if let Some(mode) = answer.modes.as_ref().and_then(|modes| modes.current_mode_id.as_deref()) {
            self.mode_is(mode, out);
        }
        if let Some(options) = answer.config_options {
            self.config_is(options, out);
        }
        Ok(())
    }

    /// The agent works in a mode, which it may have told already.
    pub(super) fn mode_is(&mut self, mode: &str, out: &mut Vec<ChatEvent>) {
        if self.session.mode.as_deref() != Some(mode) {
            self.session.tell_mode(mode);
            out.push(EventKind::Mode { mode_id: mode.to_owned() }.into());
        }
    }

    /// The agent works with a model, which the host chose.
    pub(super) fn model_is(&mut self, model: &str, out: &mut Vec<ChatEvent>) {
        if self.session.model.as_deref() != Some(model) {
            self.session.model = Some(model.to_owned());
            out.push(self.session.init());
        }
    }

    /// The settings as an answer says them. As text, since the official types lose what they do not know.
    pub(super) fn config_is(&mut self, options: &RawValue, out: &mut Vec<ChatEvent>) {
        let told = self.session.config.as_deref().is_some_and(|told| told.get() == options.get());
        if told || !options.get().starts_with('[') {
            return;
        }
        self.session.tell_config(options);
        let mut update = Members::default();
        update.set("sessionUpdate", raw("config_option_update"));
        update.set("configOptions", options.to_owned());
        let meaning = Some(EventKind::Config { options: config_options(options) });
        out.push(EventKind::Relayed(Box::new(Relayed { update: update.into(), meaning })).into());
    }

    /// A plan that no update of the agent's tells. One that is known already says nothing.
    pub(crate) fn plan_is(&mut self, entries: Vec<PlanEntry>, out: &mut Vec<ChatEvent>) {
        if self.session.plan.as_ref() != Some(&entries) {
            self.session.tell_plan(&entries);
            out.push(EventKind::Plan { entries }.into());
        }
    }
}

/// Settings as far as the official types know them.
pub(super) fn config_options(options: &RawValue) -> Vec<SessionConfigOption> {
    let options: Vec<&RawValue> = serde_json::from_str(options.get()).unwrap_or_default();
    options.into_iter().filter_map(|option| serde_json::from_str(option.get()).ok()).collect()
}

fn configured_model(options: &RawValue) -> Option<String> {
    let options: Vec<ConfigOption<'_>> = serde_json::from_str(options.get()).ok()?;
    let model = options.into_iter().find(|option| option.category.as_deref() == Some("model"))?;
    serde_json::from_str(model.current_value?.get()).ok()
}
