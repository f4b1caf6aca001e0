//! Numbers that count something.

use chat_grammar::usage::MAX_COUNT;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A count. What is none (negative, a fraction, too large, no number) is unknown and harms nothing else.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let raw = Option::<&'de RawValue>::deserialize(deserializer)?;
    Ok(raw.and_then(|raw| raw.get().parse().ok()).filter(|count| *count <= MAX_COUNT))
}

/// An amount of money; what is none is unknown.
pub(crate) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let raw = Option::<&'de RawValue>::deserialize(deserializer)?;
    let amount = raw.and_then(|raw| raw.get().parse::<f64>().ok());
    Ok(amount.filter(|amount| amount.is_finite() && *amount >= 0.0))
}

/// A duration in milliseconds; the older CLI says some as fractions.
pub(crate) fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    amount(deserializer).map(|amount| amount.map(|amount| amount as u64))
}
