//! Takes secrets out of what is written down.

use aho_corasick::{AhoCorasick, MatchKind};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What stands in the place of a secret.
const MASK: &str = "[secret]";
/// Shorter values are no secrets that anything relies on ("none", "1234"), and to mask them would garble what is recorded.
const MIN_LENGTH: usize = 6;

/// Values that must not be written down.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    values: Arc<BTreeSet<String>>,
    matcher: Option<AhoCorasick>,
}

impl Secrets {
    /// Adds a value, also in the form that it has inside JSON. Values of less than 6 bytes are ignored.
    pub(crate) fn add(&mut self, value: &str) {
        if value.len() < MIN_LENGTH {
            return;
        }
        let values = Arc::make_mut(&mut self.values);
        values.insert(value.to_owned());
        values.insert(in_json(value));
        // Fails only where the values are larger than memory addresses.
        self.matcher = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(self.values.iter()).ok();
    }

    /// The text with `[secret]` in the place of every secret.
    pub(crate) fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.matcher {
            Some(matcher) if matcher.is_match(text) => {
                Cow::Owned(matcher.replace_all(text, &vec![MASK; matcher.patterns_len()]))
            }
            _ => Cow::Borrowed(text),
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// A value as it stands between the quotes of a JSON string.
fn in_json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        let mut secrets = Secrets::default();
        values.iter().for_each(|value| secrets.add(value));
        secrets
    }

    #[test]
    fn every_occurrence_is_masked() {
        let secrets = secrets(&["sk-test-000", "sk-test-000-long"]);
        assert_eq!(secrets.mask("a sk-test-000-long, sk-test-000sk-test-000"), "a [secret], [secret][secret]");
        assert!(matches!(secrets.mask("nothing"), Cow::Borrowed("nothing")));
    }

    #[test]
    fn a_secret_inside_json_is_masked() {
        let secrets = secrets(&["pass\"word\\\u{e9}\n"]);
        let message = serde_json::json!({ "key": "pass\"word\\\u{e9}\n" }).to_string();
        assert_eq!(secrets.mask(&message), "{\"key\":\"[secret]\"}");
    }

    #[test]
    fn short_values_are_left() {
        assert_eq!(secrets(&["", "none"]).mask("none"), "none");
    }

    #[test]
    fn they_are_not_shown() {
        assert_eq!(format!("{:?}", secrets(&["sk-test-000"])), "Secrets { .. }");
    }
}
