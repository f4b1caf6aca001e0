//! The model's settings of a contract in Codex's terms.

use chat_grammar::contract::{Model, ModelSetting};
use chat_grammar::{ChatError, Result};
use serde_json::Value;

const REASONING: &str = "reasoning";
const SPEED: &str = "speed";
const REASONING_SUMMARY: &str = "reasoning_summary";

/// What `turn/start` takes as a summary (Codex 0.171.0).
const SUMMARIES: [&str; 4] = ["auto", "concise", "detailed", "none"];

/// How the model is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    /// A reasoning effort; the model's own where there is none.
    pub(super) effort: Option<Chosen>,
    /// A service tier by id or name; the usual speed where there is none.
    pub(super) speed: Option<Chosen>,
    /// Codex asks for no summary by itself for some models, which would leave no thoughts to show.
    pub(super) summary: String,
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
        let mut settings = Self { effort: None, speed: None, summary: "auto".to_owned() };
        for (index, setting) in model.settings.iter().enumerate() {
            let path = format!("model.settings[{index}]");
            let value = word(setting, &path)?;
            let chosen = Chosen { value: value.to_owned(), path: format!("{path}.value") };
            match setting.config_id.as_str() {
                REASONING => settings.effort = Some(chosen),
                // "standard" is the usual speed, which has no id.
                SPEED => settings.speed = Some(chosen).filter(|speed| !is_usual_speed(&speed.value)),
                REASONING_SUMMARY if SUMMARIES.contains(&value) => settings.summary = value.to_owned(),
                REASONING_SUMMARY => {
                    let problem = format!("{value:?} is no kind of summary; there is: {}", SUMMARIES.join(", "));
                    return Err(ChatError::unsupported(chosen.path, problem));
                }
                other => {
                    let known = [REASONING, SPEED, REASONING_SUMMARY].join(", ");
                    let problem = format!("{other:?} is no setting of Codex; there is: {known}");
                    return Err(ChatError::unsupported(format!("{path}.configId"), problem));
                }
            }
        }
        Ok(settings)
    }
}

fn is_usual_speed(value: &str) -> bool {
    matches!(value, "standard" | "default")
}

fn word<'a>(setting: &'a ModelSetting, path: &str) -> Result<&'a str> {
    match &setting.value {
        Value::String(word) if !word.is_empty() => Ok(word),
        _ => Err(ChatError::unsupported(format!("{path}.value"), "must be the id of a choice")),
    }
}
