//! The fast mode and the service tiers: the same model at another price, which becomes part of the model's name, since that is
//! how price lists know it.

use super::ledger::is_same_model;
use super::wire::OfferedModel;
use chat_grammar::usage::model_in_mode;
use serde_json::Value;
use serde_json::value::RawValue;

/// Words that say that a call costs what the model costs.
const USUAL: [&str; 4] = ["standard", "default", "auto", ""];

/// Whether the session runs in the fast mode, and which models can.
#[derive(Debug, Default)]
pub(super) struct Speed {
    on: bool,
    /// `None`: nobody said which.
    fast_models: Option<Vec<String>>,
}

/// What the provider says of one call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mode {
    speed: Option<String>,
    tier: Option<String>,
}

impl Mode {
    /// As the counts of a call say.
    pub(super) fn of(usage: &Value) -> Self {
        let mut mode = Self::default();
        mode.read(usage);
        mode
    }

    /// What these counts of the same call say; where they are silent, what is known stays.
    pub(super) fn read(&mut self, usage: &Value) {
        let word = |name: &str| usage.get(name).and_then(Value::as_str).map(str::to_lowercase);
        self.speed = word("speed").or(self.speed.take());
        self.tier = word("service_tier").or(self.tier.take());
    }
}

impl Speed {
    /// `fast_mode_state`, of each turn's beginning and end.
    pub(super) fn told(&mut self, state: Option<&str>) {
        if let Some(state) = state {
            self.on = state == "on";
        }
    }

    /// The models of the answer to `initialize`.
    pub(super) fn offered(&mut self, models: Option<&RawValue>) {
        let models: Option<Vec<OfferedModel<'_>>> = models.and_then(|models| serde_json::from_str(models.get()).ok());
        if let Some(models) = models {
            let fast = models.into_iter().filter(|model| model.supports_fast_mode == Some(true));
            let names = fast.flat_map(|model| [model.value, model.resolved_model]).flatten().map(|name| name.to_string());
            self.fast_models = Some(names.collect());
        }
    }

    /// The model as its price is known. The API may not say how fast a call was (2.1.332 then tells `standard` in its sum, though
    /// it asked for `fast`): what the session runs in decides.
    pub(super) fn priced(&self, model: Option<String>, mode: &Mode) -> Option<String> {
        let model = model?;
        let fast = || (self.on && self.can_be_fast(&model)).then_some("fast");
        let speed = mode.speed.as_deref().or_else(fast);
        let unusual = [speed, mode.tier.as_deref()].into_iter().flatten().find(|word| !USUAL.contains(word));
        Some(unusual.map_or_else(|| model.clone(), |word| model_in_mode(&model, word)))
    }

    fn can_be_fast(&self, model: &str) -> bool {
        self.fast_models.as_ref().is_none_or(|names| names.iter().any(|name| is_same_model(name, model)))
    }
}
