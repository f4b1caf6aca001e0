//! What a running Codex says of its models: `model/list`.

use super::settings::{Chosen, Settings};
use chat_grammar::{ChatError, Result};
use serde::Deserialize;

/// The models that this Codex knows. Others may be served by the provider: Codex takes them with a warning.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Catalog {
    models: Vec<CatalogModel>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CatalogModel {
    model: String,
    #[serde(default)]
    supported_reasoning_efforts: Vec<Effort>,
    #[serde(default)]
    default_reasoning_effort: Option<String>,
    #[serde(default)]
    input_modalities: Vec<String>,
    #[serde(default)]
    service_tiers: Vec<ServiceTier>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Effort {
    reasoning_effort: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct ServiceTier {
    id: String,
    name: String,
}

/// A page of `model/list`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page {
    data: Vec<CatalogModel>,
    #[serde(default)]
    pub(super) next_cursor: Option<String>,
}

impl Catalog {
    pub(super) fn add(&mut self, page: Page) {
        self.models.extend(page.data);
    }

    fn find(&self, model_id: &str) -> Option<&CatalogModel> {
        self.models.iter().find(|model| model.model == model_id)
    }

    /// Whether the model takes images; true for one that is not known here.
    pub(super) fn takes_images(&self, model_id: &str) -> bool {
        self.find(model_id).is_none_or(|model| model.input_modalities.iter().any(|modality| modality == "image"))
    }

    /// The effort with which the model runs where none is chosen.
    pub(super) fn default_effort(&self, model_id: &str) -> Option<&str> {
        self.find(model_id)?.default_reasoning_effort.as_deref()
    }

    /// Checks the choices. Codex passes on whatever it is given, and the turn fails later.
    ///
    /// # Errors
    /// `UNSUPPORTED_EXECUTION_INPUT` at the setting.
    pub(super) fn check(&self, model_id: &str, settings: &Settings) -> Result<()> {
        if let Some(effort) = &settings.effort {
            let efforts = self.efforts(model_id);
            if !efforts.is_empty() && !efforts.contains(&effort.value.as_str()) {
                return Err(no_choice(effort, "reasoning effort", model_id, &efforts));
            }
        }
        match (&settings.speed, self.find(model_id)) {
            (Some(speed), Some(model)) if model.tier(&speed.value).is_none() => {
                let mut speeds = vec!["standard"];
                speeds.extend(model.service_tiers.iter().map(|tier| tier.id.as_str()));
                Err(no_choice(speed, "speed", model_id, &speeds))
            }
            _ => Ok(()),
        }
    }

    /// The id of the service tier that a speed names; the word itself for a model that is not known here.
    pub(super) fn tier(&self, model_id: &str, speed: &str) -> String {
        let known = self.find(model_id).and_then(|model| model.tier(speed));
        known.unwrap_or(if speed.eq_ignore_ascii_case("fast") { "priority" } else { speed }).to_owned()
    }

    /// The efforts of a model; of one that is not known here, those that any model has.
    fn efforts(&self, model_id: &str) -> Vec<&str> {
        let models = self.models.iter().filter(|model| self.find(model_id).is_none_or(|known| known.model == model.model));
        let mut efforts = Vec::new();
        for effort in models.flat_map(|model| &model.supported_reasoning_efforts) {
            if !efforts.contains(&effort.reasoning_effort.as_str()) {
                efforts.push(effort.reasoning_effort.as_str());
            }
        }
        efforts
    }
}

impl CatalogModel {
    fn tier(&self, speed: &str) -> Option<&str> {
        let mut tiers = self.service_tiers.iter();
        tiers.find(|tier| tier.id == speed || tier.name.eq_ignore_ascii_case(speed)).map(|tier| tier.id.as_str())
    }
}

fn no_choice(chosen: &Chosen, what: &str, model_id: &str, choices: &[&str]) -> ChatError {
    let problem = format!("{:?} is no {what} of {model_id}; there is: {}", chosen.value, choices.join(", "));
    ChatError::unsupported(chosen.path.as_str(), problem)
}
