//! An agent's sum of a turn beside its model calls.

use super::{TokenCounts, UsageOperation, UsageRecord, UsageStep};

/// What an agent's exact sum of a turn counts otherwise than the billable steps since the sum before it, bucket by bucket, in tokens.
/// `None` where the record is no such sum, where there are no steps, or where all that both know is the same.
#[must_use]
pub fn difference(steps: &[UsageStep], sum: &UsageRecord) -> Option<String> {
    if sum.operation != UsageOperation::ChatTurn || !sum.exact {
        return None;
    }
    let is_call = |step: &&UsageStep| {
        let UsageRecord { billable, operation, .. } = step.record;
        billable && matches!(operation, UsageOperation::ChatStep | UsageOperation::Compaction)
    };
    let is_sum = |step: &UsageStep| step.record.operation == UsageOperation::ChatTurn;
    let since = steps.rsplit(is_sum).next().unwrap_or_default();
    let mut calls = since.iter().filter(is_call).peekable();
    calls.peek()?;
    let counted = calls.fold(TokenCounts::ZERO, |sum, step| sum.plus(step.record.tokens));
    let buckets = [
        ("input", sum.tokens.input_tokens, counted.input_tokens),
        ("output", sum.tokens.output_tokens, counted.output_tokens),
        ("cache read", sum.tokens.cache_read_tokens, counted.cache_read_tokens),
        ("cache write", sum.tokens.cache_write_tokens, counted.cache_write_tokens),
    ];
    let differences = buckets.into_iter().filter_map(|(bucket, sum, counted)| {
        let (sum, counted) = (sum?, counted?);
        (sum != counted).then(|| format!("{bucket}: {sum} in the sum, {counted} in the calls"))
    });
    let differences: Vec<String> = differences.collect();
    (!differences.is_empty()).then(|| differences.join("; "))
}
