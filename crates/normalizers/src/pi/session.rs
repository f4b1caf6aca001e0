//! What the session runs with: its file, directory, model, tools, thinking level and commands.

use super::Malformed;
use super::normalize::Pi;
use super::wire::{Commands, LevelChanged, Levels, Message, Model, Sections, SessionInfo, State, ToolDeclaration};
use crate::Options;
use crate::rpc::Str;
use chat_grammar::acp::{AvailableCommand, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption};
use chat_grammar::event::{ChatEvent, EventKind, SessionInit};

/// What readers know of the session.
#[derive(Debug, Default)]
pub(super) struct Session {
    init: SessionInit,
    told: Option<SessionInit>,
    level: Option<String>,
    levels: Vec<String>,
    told_level: Option<(String, Vec<String>)>,
}

impl Session {
    pub(super) fn new(options: Options) -> Self {
        let Options { cwd, provider_session_id, model } = options;
        Self { init: SessionInit { provider_session_id, cwd, model, ..SessionInit::default() }, ..Self::default() }
    }

    pub(super) fn cwd(&self) -> Option<&str> {
        self.init.cwd.as_deref()
    }

    fn tell_init(&mut self, out: &mut Vec<ChatEvent>) {
        if self.told.as_ref() != Some(&self.init) {
            self.told = Some(self.init.clone());
            out.push(EventKind::SessionInit(self.init.clone()).into());
        }
    }

    fn take_model(&mut self, model: &Model<'_>) {
        // So Pi calls the model where it has none.
        if &*model.id != "unknown" {
            self.init.model = Some(model.id.to_string());
        }
    }

    /// Tells the thinking level with those that can be set, once both are known.
    fn tell_level(&mut self, out: &mut Vec<ChatEvent>) {
        let Some(level) = self.level.clone().filter(|level| self.levels.contains(level)) else { return };
        let now = Some((level.clone(), self.levels.clone()));
        if now == self.told_level {
            return;
        }
        self.told_level = now;
        let options: Vec<_> =
            self.levels.iter().map(|level| SessionConfigSelectOption::new(level.clone(), level.clone())).collect();
        let mut option = SessionConfigOption::select("reasoning", "Thinking level", level, options);
        option.category = Some(SessionConfigOptionCategory::ThoughtLevel);
        out.push(EventKind::Config { options: vec![option] }.into());
    }
}

impl Pi {
    /// The answer to `get_state`.
    pub(super) fn state_told(&mut self, state: &State<'_>, out: &mut Vec<ChatEvent>) {
        // A session is picked up by its file; one that is not stored has only an id.
        let id = state.session_file.as_deref().or(state.session_id.as_deref());
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            self.session.init.provider_session_id = Some(id.to_owned());
        }
        if let Some(model) = &state.model {
            self.session.take_model(model);
            self.usage.window(model.context_window);
        }
        self.session.tell_init(out);
        self.level_told(state.thinking_level.as_ref(), out);
    }

    /// The answer to `set_model`. Which thinking levels the new model has is not known.
    pub(super) fn model_told(&mut self, model: &Model<'_>, out: &mut Vec<ChatEvent>) {
        self.session.take_model(model);
        self.session.levels.clear();
        self.usage.window(model.context_window);
        self.session.tell_init(out);
    }

    /// The answer to `get_available_thinking_levels`.
    pub(super) fn levels_told(&mut self, levels: &Levels<'_>, out: &mut Vec<ChatEvent>) {
        self.session.levels = levels.levels.iter().map(|level| level.to_string()).collect();
        self.session.tell_level(out);
    }

    /// `thinking_level_changed`.
    pub(super) fn level_changed(&mut self, changed: &LevelChanged<'_>, out: &mut Vec<ChatEvent>) {
        self.level_told(Some(&changed.level), out);
    }

    fn level_told(&mut self, level: Option<&Str<'_>>, out: &mut Vec<ChatEvent>) {
        if let Some(level) = level {
            self.session.level = Some(level.to_string());
            self.session.tell_level(out);
        }
    }

    /// The answer to `get_commands`.
    pub(super) fn commands_told(&mut self, commands: &Commands<'_>, out: &mut Vec<ChatEvent>) {
        let commands = commands
            .commands
            .iter()
            .map(|command| AvailableCommand::new(command.name.to_string(), command.description.as_deref().unwrap_or_default()));
        out.push(EventKind::Commands { commands: commands.collect() }.into());
    }

    /// The system message: nothing to show but which tools there are, and where Pi works.
    pub(super) fn system_told(&mut self, message: &Message<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let tools: Vec<ToolDeclaration<'_>> = match message.tools_added {
            Some(tools) => serde_json::from_str(tools.get())?,
            None => Vec::new(),
        };
        // The directory stands in a tag, as in `<cwd>\n/workspace\n</cwd>`.
        let sections: Option<Sections<'_>> =
            message.sections.map(|sections| serde_json::from_str(sections.get())).transpose()?;
        let cwd = sections.as_ref().and_then(|sections| {
            let tagged = sections.cwd.as_deref()?.trim().strip_prefix("<cwd>")?.strip_suffix("</cwd>")?;
            Some(tagged.trim().to_owned())
        });
        if self.session.init.cwd.is_none() {
            self.session.init.cwd = cwd;
            self.calls.work_in(self.session.cwd());
        }
        for tool in tools {
            if self.session.init.tools.iter().all(|known| *known != *tool.name) {
                self.session.init.tools.push(tool.name.to_string());
            }
        }
        self.session.tell_init(out);
        Ok(())
    }

    /// `session_info_changed`.
    pub(super) fn info_changed(&mut self, info: &SessionInfo<'_>, out: &mut Vec<ChatEvent>) {
        if let Some(name) = info.name.as_deref().filter(|name| !name.is_empty()) {
            out.push(EventKind::Title { title: name.to_owned() }.into());
        }
    }
}
