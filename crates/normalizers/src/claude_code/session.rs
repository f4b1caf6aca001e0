//! What the session runs with: id, directory, model, mode, tools, MCP servers and commands.

use super::normalize::ClaudeCode;
use super::subject;
use super::wire::{Command, InitLine, Initialized};
use chat_grammar::acp::{AvailableCommand, AvailableCommandInput, UnstructuredCommandInput};
use chat_grammar::event::{ChatEvent, EventKind, SessionInit};

/// What readers know of the session.
#[derive(Debug, Default)]
pub(super) struct Session {
    id: Option<String>,
    cwd: Option<String>,
    model: Option<String>,
    mode: Option<String>,
    tools: Vec<String>,
    pub mcp_servers: Vec<(String, String)>,
    commands: Vec<(String, String)>,
    /// Readers know all of this as it is.
    told: bool,
    /// The running process is to resume a session, whose totals of tokens and cost nobody knows yet.
    resumes: bool,
}

impl Session {
    pub(super) fn new(id: Option<String>, cwd: Option<String>, model: Option<String>) -> Self {
        Self { resumes: id.is_some(), id, cwd, model, ..Self::default() }
    }

    pub(super) fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// True where the mode lets every call run.
    pub(super) fn asks_nothing(&self) -> bool {
        self.mode.as_deref() == Some("bypassPermissions")
    }

    /// From now on the totals are known, or begin anew.
    pub(super) fn resumed(&mut self) {
        self.resumes = false;
    }

    fn event(&self) -> ChatEvent {
        EventKind::SessionInit(SessionInit {
            provider_session_id: self.id.clone(),
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            tools: self.tools.clone(),
            mcp_servers: self.mcp_servers.clone(),
        })
        .into()
    }
}

impl ClaudeCode {
    /// `system/init`, which comes again at every turn.
    pub(super) fn initialized(&mut self, line: &InitLine<'_>, out: &mut Vec<ChatEvent>) {
        self.meter.speed.told(line.fast_mode_state.as_deref());
        let session = &mut self.session;
        let owned = |text: &Option<crate::rpc::Str<'_>>, known: &Option<String>| {
            text.as_deref().map(str::to_owned).or_else(|| known.clone())
        };
        let id = owned(&line.session_id, &session.id);
        if id != session.id {
            // Another session counts from 0, unless it is a fork of one that is not known here.
            if !session.resumes {
                self.meter.reset();
            }
            session.id = id;
            session.told = false;
        }
        let cwd = owned(&line.cwd, &session.cwd);
        let model = owned(&line.model, &session.model);
        let tools = line.tools.as_ref().map(|tools| tools.iter().map(|tool| subject::canonical(tool).to_owned()).collect());
        let tools = tools.unwrap_or_else(|| session.tools.clone());
        let servers = line.mcp_servers.as_ref().map(|servers| {
            let status = |status: Option<&str>| status.unwrap_or("unknown").to_owned();
            servers.iter().map(|server| (server.name.to_string(), status(server.status.as_deref()))).collect()
        });
        let servers = servers.unwrap_or_else(|| session.mcp_servers.clone());
        let failed: Vec<String> = servers
            .iter()
            .filter(|server| server.1 == "failed" && !session.mcp_servers.contains(server))
            .map(|server: &(String, String)| server.0.clone())
            .collect();
        let changed = cwd != session.cwd || model != session.model || tools != session.tools || servers != session.mcp_servers;
        session.cwd = cwd;
        session.model = model;
        session.tools = tools;
        session.mcp_servers = servers;
        if changed || !session.told {
            session.told = true;
            out.push(session.event());
        }
        for name in failed {
            let message = format!("The MCP server {name:?} failed to start");
            out.push(EventKind::Warning { message, detail: None, retry: None }.into());
        }
        if let Some(mode) = line.permission_mode.as_deref() {
            self.mode_is(mode, out);
        }
        if let Some(commands) = &line.slash_commands {
            let known = |name: &str| self.session.commands.iter().find(|command| command.0 == name);
            let commands = commands.iter().map(|name| {
                let text = known(name).map(|command| command.1.clone()).unwrap_or_default();
                (name.to_string(), text, None)
            });
            let commands: Vec<_> = commands.collect();
            let same = commands.iter().map(|command| &command.0).eq(self.session.commands.iter().map(|command| &command.0));
            if !same {
                self.commands_are(commands, out);
            }
        }
    }

    /// The answer to `initialize`.
    pub(super) fn initialize_answered(&mut self, answer: &Initialized<'_>, out: &mut Vec<ChatEvent>) {
        if let Some(mode) = answer.current_permission_mode.as_deref() {
            self.mode_is(mode, out);
        }
        self.meter.speed.offered(answer.models);
        let commands = answer.commands.iter().flatten().map(|command: &Command<'_>| {
            let hint = command.argument_hint.as_deref().filter(|hint| !hint.is_empty()).map(str::to_owned);
            (command.name.to_string(), command.description.as_deref().unwrap_or_default().to_owned(), hint)
        });
        self.commands_are(commands.collect(), out);
    }

    fn commands_are(&mut self, commands: Vec<(String, String, Option<String>)>, out: &mut Vec<ChatEvent>) {
        let plain: Vec<(String, String)> = commands.iter().map(|(name, text, _)| (name.clone(), text.clone())).collect();
        if plain == self.session.commands {
            return;
        }
        self.session.commands = plain;
        let commands = commands.into_iter().map(|(name, text, hint)| {
            let input = hint.map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
            AvailableCommand::new(name, text).input(input)
        });
        out.push(EventKind::Commands { commands: commands.collect() }.into());
    }

    /// The permission mode, told where it changed.
    pub(super) fn mode_is(&mut self, mode: &str, out: &mut Vec<ChatEvent>) {
        if self.session.mode.as_deref() != Some(mode) {
            self.session.mode = Some(mode.to_owned());
            out.push(EventKind::Mode { mode_id: mode.to_owned() }.into());
        }
    }

    /// The model, told where it changed and the session is known.
    pub(super) fn model_is(&mut self, model: &str, out: &mut Vec<ChatEvent>) {
        if self.session.model.as_deref() != Some(model) {
            self.session.model = Some(model.to_owned());
            if self.session.told {
                out.push(self.session.event());
            }
        }
    }
}
