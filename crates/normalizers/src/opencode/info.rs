//! What the session runs with: directory, model, agent, title, MCP servers.

use super::Malformed;
use super::normalize::OpenCode;
use super::wire::{Command, McpServers, Providers, SessionInfo, SessionNotice};
use chat_grammar::acp::AvailableCommand;
use chat_grammar::event::{ChatEvent, EventKind, McpTool, SessionInit};
use std::collections::HashMap;

/// What readers know of the session.
#[derive(Debug, Default)]
pub(super) struct Info {
    cwd: Option<String>,
    /// Provider and model, as OpenCode writes them: `provider/model`.
    model: Option<String>,
    agent: Option<String>,
    title: Option<String>,
    /// Name and status of each server; `None` as long as nobody asked.
    mcp_servers: Option<Vec<(String, String)>>,
    /// The session that was announced.
    announced: Option<String>,
    /// Context sizes by provider and model, in tokens.
    limits: HashMap<(String, String), u64>,
}

impl Info {
    pub(super) fn new(cwd: Option<String>, model: Option<String>) -> Self {
        Self { cwd, model, ..Self::default() }
    }

    /// A path without the directory of the session.
    pub(super) fn short_path(&self, path: &str) -> String {
        let below = self.cwd.as_deref().and_then(|cwd| path.strip_prefix(cwd.trim_end_matches('/'))?.strip_prefix('/'));
        below.unwrap_or(path).to_owned()
    }

    /// The host gives the session a title: that is no news of the agent's.
    pub(super) fn titled(&mut self, title: &str) {
        self.title = Some(title.to_owned());
    }

    /// The size of a model's context, where the host asked the server for its models.
    pub(super) fn context_size(&self, provider: Option<&str>, model: Option<&str>) -> Option<u64> {
        if self.limits.is_empty() {
            return None;
        }
        self.limits.get(&(provider?.to_owned(), model?.to_owned())).copied()
    }

    /// The server and tool of an MCP tool, whose name is `<server>_<tool>`. Where the servers are known, only they are servers.
    pub(super) fn mcp_tool(&self, tool: &str) -> Option<McpTool> {
        let (server, tool) = match &self.mcp_servers {
            Some(servers) => {
                let named = |name: &str| {
                    let rest = tool.strip_prefix(plain(name).as_str())?.strip_prefix('_')?;
                    Some((name.to_owned(), rest))
                };
                servers.iter().filter_map(|(name, _)| named(name)).max_by_key(|(name, _)| name.len())?
            }
            None => tool.split_once('_').map(|(server, tool)| (server.to_owned(), tool))?,
        };
        (!server.is_empty() && !tool.is_empty()).then(|| McpTool { server, tool: tool.to_owned() })
    }

    fn init(&self, session_id: &str) -> ChatEvent {
        EventKind::SessionInit(SessionInit {
            provider_session_id: Some(session_id.to_owned()),
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            tools: Vec::new(),
            mcp_servers: self.mcp_servers.clone().unwrap_or_default(),
        })
        .into()
    }
}

/// A server's name as it stands in the names of its tools.
fn plain(name: &str) -> String {
    name.chars().map(|character| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' }).collect()
}

/// Titles that say only when a session began. The agent replaces them later.
fn is_default_title(title: &str) -> bool {
    title.starts_with("New session - ") || title.starts_with("Child session - ")
}

impl OpenCode {
    /// The host opened a session: it is the conversation's from now on.
    pub(super) fn session_opened(&mut self, info: &SessionInfo<'_>, fresh: bool, out: &mut Vec<ChatEvent>) {
        let session = self.sessions.open(&info.id);
        session.fresh |= fresh;
        if self.info.announced.as_deref() != Some(&*info.id) {
            self.info.title = info.title.as_deref().map(str::to_owned);
            self.info.agent = None;
            // What another session ran with says nothing about this one.
            if self.info.announced.is_some() {
                self.info.model = None;
            }
        }
        self.settings(info, out);
    }

    /// `session.created` and `session.updated`.
    pub(super) fn session_news(&mut self, notice: &SessionNotice<'_>, out: &mut Vec<ChatEvent>) {
        let info = &notice.info;
        if let Some(parent) = info.parent_id.as_deref() {
            if let Some(child) = self.sessions.adopt(&info.id, parent) {
                child.title = info.title.as_deref().map(str::to_owned);
                return;
            }
        } else if self.http.creates_session() && self.sessions.get(&info.id).is_none() {
            // The answer that says whose session it is has not come yet.
            return;
        }
        if self.sessions.find(&info.id).is_none() {
            return self.foreign(out);
        }
        if self.sessions.is_current(&info.id) {
            self.settings(info, out);
        }
    }

    fn settings(&mut self, info: &SessionInfo<'_>, out: &mut Vec<ChatEvent>) {
        let known = &mut self.info;
        let model = info.model.as_ref().map(|model| format!("{}/{}", &*model.provider_id, &*model.id));
        let cwd = info.directory.as_deref().map(str::to_owned);
        let changed = (model.is_some() && model != known.model) || (cwd.is_some() && cwd != known.cwd);
        known.model = model.or(known.model.take());
        known.cwd = cwd.or(known.cwd.take());
        if changed || known.announced.as_deref() != Some(&*info.id) {
            known.announced = Some(info.id.to_string());
            out.push(known.init(&info.id));
        }
        if let Some(title) = info.title.as_deref().filter(|title| !title.is_empty() && !is_default_title(title))
            && known.title.as_deref() != Some(title)
        {
            known.title = Some(title.to_owned());
            out.push(EventKind::Title { title: title.to_owned() }.into());
        }
        if let Some(agent) = info.agent.as_deref()
            && known.agent.as_deref() != Some(agent)
        {
            known.agent = Some(agent.to_owned());
            out.push(EventKind::Mode { mode_id: agent.to_owned() }.into());
        }
    }

    /// `GET /mcp`.
    pub(super) fn mcp_servers(&mut self, body: &str, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let servers: McpServers<'_> = serde_json::from_str(body)?;
        let known = self.info.mcp_servers.take().unwrap_or_default();
        for (name, server) in &servers {
            let failed = &*server.status == "failed";
            let news = !known.iter().any(|(known, status)| known == name && status == "failed");
            if failed && news {
                let message = format!("The MCP server {name:?} failed to start");
                let detail = server.error.as_deref().map(str::to_owned);
                out.push(EventKind::Warning { message, detail, retry: None }.into());
            }
        }
        let told: Vec<(String, String)> = servers.into_iter().map(|(name, server)| (name, server.status.to_string())).collect();
        let changed = told != known;
        self.info.mcp_servers = Some(told);
        if let Some(id) = self.info.announced.clone().filter(|_| changed) {
            out.push(self.info.init(&id));
        }
        Ok(())
    }

    /// `GET /command`.
    pub(super) fn commands(&self, body: &str, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let commands: Vec<Command<'_>> = serde_json::from_str(body)?;
        let commands = commands
            .iter()
            .map(|command| AvailableCommand::new(&*command.name, command.description.as_deref().unwrap_or_default()));
        out.push(EventKind::Commands { commands: commands.collect() }.into());
        Ok(())
    }

    /// `GET /config/providers`. Nothing of it is told: it holds keys in clear.
    pub(super) fn providers(&mut self, body: &str) -> Result<(), Malformed> {
        let providers: Providers<'_> = serde_json::from_str(body)?;
        for provider in providers.providers {
            for (model, limits) in provider.models {
                if let Some(context) = limits.limit.and_then(|limit| limit.context).filter(|context| *context > 0) {
                    self.info.limits.insert((provider.id.to_string(), model), context);
                }
            }
        }
        Ok(())
    }
}
