//! What a running Claude Code says of its models, in its answer to `initialize`.

use super::settings::{Chosen, Settings, Thinking};
use chat_grammar::{ChatError, Result};
use serde::Deserialize;
use serde_json::Value;

/// The models that this Claude Code lists. Others may be served by the provider: Claude Code takes any name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Catalog {
    models: Vec<Model>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Model {
    /// An alias, such as `opus`.
    value: String,
    #[serde(default)]
    resolved_model: Option<String>,
    #[serde(default)]
    supported_effort_levels: Vec<String>,
    #[serde(default)]
    supports_fast_mode: bool,
    /// False where a model thinks whatever it is told; older versions do not say.
    #[serde(default)]
    supports_thinking_off: Option<bool>,
}

impl Catalog {
    /// Reads the answer to `initialize`. What is not of the form is left out.
    pub(super) fn read(answer: &Value) -> Self {
        let models = answer["models"].as_array().into_iter().flatten();
        Self { models: models.filter_map(|model| serde_json::from_value(model.clone()).ok()).collect() }
    }

    fn find(&self, model_id: &str) -> Option<&Model> {
        let by_alias = self.models.iter().find(|model| model.value == model_id);
        by_alias.or_else(|| self.models.iter().find(|model| model.resolved_model.as_deref() == Some(model_id)))
    }

    /// Checks the choices. Claude Code drops with a warning, or in silence, what it does not know.
    ///
    /// # Errors
    /// `UNSUPPORTED_EXECUTION_INPUT` at the setting.
    pub(super) fn check(&self, model_id: &str, settings: &Settings) -> Result<()> {
        let model = self.find(model_id);
        if let Some(effort) = &settings.effort {
            let efforts = self.efforts(model);
            if !efforts.is_empty() && !efforts.contains(&effort.value.as_str()) {
                return Err(no_choice(effort, "reasoning effort", model_id, &efforts.join(", ")));
            }
        }
        let Some(model) = model else { return Ok(()) };
        if let Some(speed) = &settings.speed
            && !model.supports_fast_mode
        {
            return Err(no_choice(speed, "speed", model_id, "standard"));
        }
        match &settings.thinking {
            Some((Thinking::Disabled, chosen)) if model.supports_thinking_off == Some(false) => {
                Err(no_choice(chosen, "thinking", model_id, "adaptive"))
            }
            _ => Ok(()),
        }
    }

    /// The efforts of a model; of one that is not known here, those that any model has.
    fn efforts(&self, model: Option<&Model>) -> Vec<&str> {
        let models = self.models.iter().filter(|other| model.is_none_or(|model| model == *other));
        let mut efforts = Vec::new();
        for effort in models.flat_map(|model| &model.supported_effort_levels) {
            if !efforts.contains(&effort.as_str()) {
                efforts.push(effort.as_str());
            }
        }
        efforts
    }
}

fn no_choice(chosen: &Chosen, what: &str, model_id: &str, choices: &str) -> ChatError {
    let problem = format!("{:?} is no {what} of {model_id}; there is: {choices}", chosen.value);
    ChatError::unsupported(chosen.path.as_str(), problem)
}
