//! Who pays: accounts as model providers of Codex. Secrets go by environment, never on the command line.

use super::toml;
use crate::account::{Account, Provider};
use std::collections::BTreeMap;

pub(super) const OPENAI: Provider = Provider {
    agent: "Codex",
    id: "openai",
    name: "OpenAI",
    api: "Responses API",
    key_variable: "OPENAI_API_KEY",
    home_variable: "CODEX_HOME",
    home_folder: ".codex",
    login_file: "auth.json",
    how_to_log_in: "Run `codex login`",
};

/// Where the key stands in the agent's environment. Shells that the agent starts do not get it.
pub(super) const KEY_VARIABLE: &str = "CHAT_NATIVE_API_KEY";
/// Where the provider's headers stand, by number.
pub(super) const HEADER_VARIABLE: &str = "CHAT_NATIVE_HEADER_";

const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
/// What the provider is called in Codex's configuration.
pub(super) const PROVIDER: &str = "chat_native";

/// Configuration overrides of an account: `key=value` in TOML.
pub(super) fn overrides(account: &Account) -> Vec<String> {
    match account {
        Account::Key { base_url, headers, .. } => {
            let headers = headers.keys().enumerate().map(|(index, name)| {
                let variable = format!("{HEADER_VARIABLE}{index}");
                format!("{}={}", toml::string(name), toml::string(&variable))
            });
            let headers: Vec<_> = headers.collect();
            let more = format!("env_key={},env_http_headers={{{}}}", toml::string(KEY_VARIABLE), headers.join(","));
            provider(base_url.as_deref().unwrap_or(OPENAI_BASE_URL), &more)
        }
        Account::Login { base_url: Some(base_url), .. } => provider(base_url, "requires_openai_auth=true"),
        Account::Login { base_url: None, .. } => vec![format!("model_provider={}", toml::string(OPENAI.id))],
    }
}

/// What the agent's environment holds for an account.
pub(super) fn variables(account: &Account) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    if let Account::Key { api_key, headers, .. } = account {
        variables.extend(api_key.clone().map(|key| (KEY_VARIABLE.to_owned(), key)));
        let headers = headers.values().enumerate();
        variables.extend(headers.map(|(index, value)| (format!("{HEADER_VARIABLE}{index}"), value.clone())));
    }
    variables
}

fn provider(base_url: &str, more: &str) -> Vec<String> {
    // Few retries of its own: a failure that stays shall be told within seconds, not minutes.
    let limits = "request_max_retries=2,stream_max_retries=3,stream_idle_timeout_ms=120000";
    let (name, url) = (toml::string(PROVIDER), toml::string(base_url));
    vec![
        format!("model_provider={name}"),
        format!("model_providers.{PROVIDER}={{name={name},base_url={url},wire_api=\"responses\",{limits},{more}}}"),
    ]
}
