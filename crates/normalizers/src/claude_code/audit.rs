//! The CLI's sums of a turn against the steps. A difference is told to whoever looks into the numbers, and nothing is counted
//! because of it.

use super::ledger::Settlement;
use super::usage::{Meter, Step};
use super::wire::{ResultLine, Usage};
use chat_grammar::event::{ChatEvent, EventKind};
use chat_grammar::usage::TokenCounts;

const MESSAGE: &str = "The agent's sum of the turn is not the sum of its model calls";

impl Meter {
    /// Compares both sums: that of all models, and that of the main loop alone. `all` is the former where it is known.
    ///
    /// A sum of zeros is none: interrupted turns and `error_max_budget_usd` have them (2.1.332), whatever was counted. Where a
    /// call was cut the sums of the main loop contradict each other in the CLI itself.
    pub(super) fn compare(
        &self,
        result: &ResultLine<'_>,
        all: Option<TokenCounts>,
        how: Settlement<'_>,
        out: &mut Vec<ChatEvent>,
    ) {
        let every: Vec<&Step> = self.steps.iter().collect();
        let mut differences = vec![all.and_then(|all| difference("modelUsage", all, &every))];
        let main: Vec<&Step> = self.steps.iter().filter(|step| step.is_main && is_begun(step, result)).collect();
        // A refused turn ends with an error as well, and its last call is in no sum of the main loop (2.1.332).
        let succeeded = how.ended_well && result.is_error != Some(true);
        if succeeded && !self.cut && main.iter().all(|step| step.is_sure) {
            let usage = result.usage.and_then(|raw| serde_json::from_str::<Usage>(raw.get()).ok());
            differences.push(usage.and_then(|usage| difference("usage", usage.counts(), &main)));
        }
        let differences: Vec<String> = differences.into_iter().flatten().collect();
        if !differences.is_empty() {
            out.push(EventKind::Debug { message: MESSAGE.to_owned(), detail: Some(differences.join("\n")) }.into());
        }
    }
}

/// The call began in this turn, as far as the CLI says.
fn is_begun(step: &Step, result: &ResultLine<'_>) -> bool {
    let Some(begun) = &result.begun_message_ids else { return true };
    begun.iter().any(|id| Some(&**id) == step.call.as_deref())
}

/// What differs, in words. What either side does not know is no difference.
fn difference(name: &str, sum: TokenCounts, steps: &[&Step]) -> Option<String> {
    let counted = steps.iter().fold(TokenCounts::ZERO, |counted, step| counted.plus(step.counts));
    let buckets = [
        ("input", sum.input_tokens, counted.input_tokens),
        ("output", sum.output_tokens, counted.output_tokens),
        ("cache reads", sum.cache_read_tokens, counted.cache_read_tokens),
        ("cache writes", sum.cache_write_tokens, counted.cache_write_tokens),
    ];
    if steps.is_empty() || buckets.iter().all(|(_, sum, _)| sum.is_none_or(|sum| sum == 0)) {
        return None;
    }
    let told = buckets.into_iter().filter_map(|(bucket, sum, counted)| {
        let (sum, counted) = sum.zip(counted).filter(|(sum, counted)| sum != counted)?;
        Some(format!("{bucket} {sum} instead of {counted}"))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("{name}: {}", told.join(", ")))
}
