//! Counts that come as a list: one entry a kind of tokens, or one a model call.

use super::count_of;
use serde_json::{Map, Value};

const KIND: [&str; 6] = ["type", "kind", "name", "tokenType", "token_type", "modality"];
const COUNT: [&str; 6] = ["count", "tokenCount", "token_count", "tokens", "value", "amount"];

/// One object of the counts of a list whose entries name their kind, such as `{"type": "input", "count": 12}`. `None` where
/// they do not.
pub(super) fn by_kind(list: &[Value]) -> Option<Map<String, Value>> {
    let mut counts = Map::new();
    for entry in list {
        let kind = KIND.iter().find_map(|key| entry.get(key)?.as_str())?;
        let count = COUNT.iter().find_map(|key| entry.get(key))?;
        if let Some(name) = spelling(kind) {
            let before = counts.get(name).map_or(Some(0), count_of);
            let sum = before.zip(count_of(count)).map(|(before, count)| before.saturating_add(count));
            counts.insert(name.to_owned(), sum.map_or(Value::Null, Value::from));
        }
    }
    (!counts.is_empty()).then_some(counts)
}

fn spelling(kind: &str) -> Option<&'static str> {
    let letters: String = kind.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    Some(match letters.trim_end_matches("tokens").trim_end_matches("token") {
        "input" => "inputTokens",
        "prompt" | "totalinput" => "totalInputTokens",
        "output" | "completion" | "candidates" => "outputTokens",
        "cachedinput" | "cached" => "cachedInputTokens",
        "cacheread" | "cachedread" => "cachedReadTokens",
        "cachewrite" | "cachedwrite" | "cachecreation" => "cachedWriteTokens",
        "reasoning" | "thinking" | "thought" | "thoughts" => "thoughtTokens",
        "total" => "totalTokens",
        _ => return None,
    })
}
