//! The service tier: the same model at another price, which becomes part of the model's name, since that is how price lists
//! know it.

use chat_grammar::usage::{UsageModel, model_in_mode};

/// Words that say that a call costs what the model costs.
const USUAL: [&str; 4] = ["default", "standard", "auto", ""];
/// What Codex 0.171.0 calls its fast mode on its way to the model's API.
const FAST_TIER: &str = "priority";

/// What a thread's model calls are made in. `None`: as usual.
#[derive(Debug, Clone, Default)]
pub(super) struct Tier {
    session: Option<String>,
    /// What the host asked for one turn; the inner one is as that of the session.
    turn: Option<Option<String>>,
}

impl Tier {
    /// Of all turns from now on.
    pub(super) fn set(&mut self, tier: Option<&str>) {
        self.session = unusual(tier);
    }

    /// The host begins a turn, perhaps in a tier of its own.
    pub(super) fn begin_turn(&mut self, tier: Option<&str>) {
        self.turn = tier.map(|tier| unusual(Some(tier)));
    }

    /// The model as its price is known.
    pub(super) fn priced(&self, provider_id: Option<String>, model_id: Option<String>) -> UsageModel {
        let tier = self.turn.as_ref().unwrap_or(&self.session).as_deref();
        let word = tier.map(|tier| if tier == FAST_TIER { "fast" } else { tier });
        UsageModel {
            provider_id,
            is_undetermined: model_id.is_none() && word.is_some(),
            model_id: match word {
                Some(word) => model_id.map(|model| model_in_mode(&model, word)),
                None => model_id,
            },
            ..UsageModel::default()
        }
    }
}

fn unusual(tier: Option<&str>) -> Option<String> {
    let tier = tier.map(str::to_lowercase)?;
    (!USUAL.contains(&tier.as_str())).then_some(tier)
}
