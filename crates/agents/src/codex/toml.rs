//! Values of configuration overrides, which Codex reads as TOML.

/// A TOML basic string: JSON's escapes are a subset of TOML's, but for DEL, which TOML wants escaped.
pub(super) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
