//! The model's settings of a contract in Claude Code's terms.

use chat_grammar::contract::{Model, ModelSetting};
use chat_grammar::{ChatError, Result};
use serde_json::Value;

const REASONING: &str = "reasoning";
const SPEED: &str = "speed";
const THINKING: &str = "thinking";

/// How the model is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// A reasoning effort; the model's own where there is none.
    pub(super) effort: Option<Chosen>,
    /// There where the model is to be fast.
    pub(super) speed: Option<Chosen>,
    pub(super) thinking: Option<(Thinking, Chosen)>,
}

/// Whether and how much the model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    Adaptive,
    Disabled,
    /// So many tokens at most; for models that think by budget.
    Budget(u32),
}

/// A choice, and where it stands in the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) value: String,
    pub(super) path: String,
}

impl Settings {
    /// Reads the settings, as far as they can be checked without the agent.
    ///
    /// # Errors
    /// `UNSUPPORTED_EXECUTION_INPUT` at the setting.
    pub(super) fn read(model: &Model) -> Result<Self> {
        let mut settings = Self::default();
        for (index, setting) in model.settings.iter().enumerate() {
            let path = format!("model.settings[{index}]");
            let value = word(setting, &path)?;
            let chosen = Chosen { value: value.to_owned(), path: format!("{path}.value") };
            match (setting.config_id.as_str(), value) {
                (REASONING, _) => settings.effort = Some(chosen),
                (SPEED, "standard" | "default") => settings.speed = None,
                (SPEED, "fast") => settings.speed = Some(chosen),
                (SPEED, _) => return Err(no_choice(&chosen, "speed", "standard, fast")),
                (THINKING, _) => match thinking(value) {
                    Some(thinking) => settings.thinking = Some((thinking, chosen)),
                    None => return Err(no_choice(&chosen, "way to think", "adaptive, disabled, a number of tokens")),
                },
                (other, _) => {
                    let known = [REASONING, SPEED, THINKING].join(", ");
                    let problem = format!("{other:?} is no setting of Claude Code; there is: {known}");
                    return Err(ChatError::unsupported(format!("{path}.configId"), problem));
                }
            }
        }
        Ok(settings)
    }

    /// The arguments that apply them. Each is one word with its value, so that no value is taken for an option.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        if let Some(effort) = &self.effort {
            arguments.push(format!("--effort={}", effort.value));
        }
        if self.speed.is_some() {
            arguments.push(r#"--settings={"fastMode":true}"#.to_owned());
        }
        match self.thinking {
            Some((Thinking::Adaptive, _)) => arguments.push("--thinking=adaptive".to_owned()),
            Some((Thinking::Disabled, _)) => arguments.push("--thinking=disabled".to_owned()),
            Some((Thinking::Budget(tokens), _)) => arguments.push(format!("--max-thinking-tokens={tokens}")),
            None => {}
        }
        arguments
    }
}

fn thinking(value: &str) -> Option<Thinking> {
    match value {
        "adaptive" => Some(Thinking::Adaptive),
        "disabled" => Some(Thinking::Disabled),
        number => number.parse().ok().filter(|tokens| *tokens > 0).map(Thinking::Budget),
    }
}

fn no_choice(chosen: &Chosen, what: &str, choices: &str) -> ChatError {
    ChatError::unsupported(chosen.path.as_str(), format!("{:?} is no {what}; there is: {choices}", chosen.value))
}

fn word<'a>(setting: &'a ModelSetting, path: &str) -> Result<&'a str> {
    match &setting.value {
        Value::String(word) if !word.is_empty() => Ok(word),
        _ => Err(ChatError::unsupported(format!("{path}.value"), "must be the id of a choice")),
    }
}
