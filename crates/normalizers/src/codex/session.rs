//! What the session runs with: thread, directory, model and MCP servers.

use super::normalize::Codex;
use super::threads::Thread;
use super::wire::{McpStatusNotice, Settings};
use chat_grammar::event::{ChatEvent, EventKind, SessionInit};

/// What readers know of the session.
#[derive(Debug, Default)]
pub(super) struct Session {
    cwd: Option<String>,
    model: Option<String>,
    mcp_servers: Vec<(String, String)>,
}

impl Session {
    pub(super) fn new(cwd: Option<String>, model: Option<String>) -> Self {
        Self { cwd, model, mcp_servers: Vec::new() }
    }

    pub(super) fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// A new process starts its servers anew.
    pub(super) fn restart(&mut self) {
        self.mcp_servers.clear();
    }

    fn take(&mut self, settings: &Settings<'_>) -> bool {
        let model = settings.model.as_deref().map(str::to_owned).or_else(|| self.model.clone());
        let cwd = settings.cwd.as_deref().map(str::to_owned).or_else(|| self.cwd.clone());
        let changed = model != self.model || cwd != self.cwd;
        self.model = model;
        self.cwd = cwd;
        changed
    }

    fn init(&self, thread_id: &str) -> ChatEvent {
        let id = Some(thread_id).filter(|id| !id.is_empty());
        EventKind::SessionInit(SessionInit {
            provider_session_id: id.map(str::to_owned),
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            tools: Vec::new(),
            mcp_servers: self.mcp_servers.clone(),
        })
        .into()
    }
}

impl Thread {
    fn run_with(&mut self, settings: &Settings<'_>) {
        if let Some(model) = settings.model.as_deref().filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
        if let Some(provider) = settings.model_provider.as_deref() {
            self.provider = Some(provider.to_owned());
        }
        if let Some(tier) = &settings.service_tier {
            self.tier.set(tier.as_deref());
        }
    }
}

impl Codex {
    /// The host opened a thread.
    pub(super) fn thread_opened(&mut self, id: &str, settings: &Settings<'_>, out: &mut Vec<ChatEvent>) {
        let thread = self.threads.open(id);
        thread.run_with(settings);
        thread.usage.reload();
        self.session.take(settings);
        out.push(self.session.init(id));
    }

    /// `thread/settings/updated`, and `model/rerouted`.
    pub(super) fn settings_changed(&mut self, thread_id: Option<&str>, settings: &Settings<'_>, out: &mut Vec<ChatEvent>) {
        let Some(thread) = self.threads.find(thread_id) else { return };
        thread.run_with(settings);
        if thread.parent.is_none() && self.session.take(settings) {
            out.push(self.session.init(&thread.id));
        }
    }

    /// `mcpServer/startupStatus/updated`.
    pub(super) fn mcp_status(&mut self, notice: &McpStatusNotice<'_>, out: &mut Vec<ChatEvent>) {
        let thread = self.threads.find(notice.thread_id.as_deref());
        let Some(thread) = thread.filter(|thread| thread.parent.is_none()) else { return };
        let server = (notice.name.to_string(), notice.status.to_string());
        match self.session.mcp_servers.iter_mut().find(|known| known.0 == server.0) {
            Some(known) if *known == server => return,
            Some(known) => *known = server,
            None => self.session.mcp_servers.push(server),
        }
        if &*notice.status == "failed" {
            let message = format!("The MCP server {:?} failed to start", &*notice.name);
            let detail = notice.error.as_deref().map(str::to_owned);
            out.push(EventKind::Warning { message, detail, retry: None }.into());
        }
        // While servers start there is nothing to tell yet.
        if &*notice.status != "starting" {
            out.push(self.session.init(&thread.id));
        }
    }
}
