//! Who pays: auth modes as model providers of Codex. Secrets go by environment, never on the command line.

use super::toml;
use crate::adapter::PreparedExecution;
use crate::resolved::{Credential, Resolved};
use chat_grammar::contract::AuthMode;
use chat_grammar::event::FailureClass;
use chat_grammar::records::TurnFailure;
use chat_grammar::{ChatError, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where the key stands in the agent's environment. Shells that the agent starts do not get it.
pub(super) const KEY_VARIABLE: &str = "CHAT_NATIVE_API_KEY";
/// Where the provider's headers stand, by number.
pub(super) const HEADER_VARIABLE: &str = "CHAT_NATIVE_HEADER_";

/// The variable that holds a user's own key by the provider's custom.
const USUAL_VARIABLE: &str = "OPENAI_API_KEY";
const OPENAI: &str = "openai";
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
/// What the provider is called in Codex's configuration.
pub(super) const PROVIDER: &str = "chat_native";

/// An account that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Account {
    /// A key for a provider's API.
    Key { base_url: String, api_key: Option<String>, headers: BTreeMap<String, String> },
    /// The login that a home holds; `base_url` where it is used with another address than Codex's own.
    Login { home: Option<PathBuf>, base_url: Option<String> },
}

impl Account {
    /// The account of an execution.
    ///
    /// # Errors
    /// `UNSUPPORTED_EXECUTION_INPUT`: the mode cannot be applied with what the host resolved.
    pub(super) fn of(execution: &PreparedExecution, resolved: &Resolved, host_env: &BTreeMap<String, String>) -> Result<Self> {
        let credential = resolved.credential.clone().unwrap_or_default();
        match execution.contract.auth.mode {
            AuthMode::Subscription => login(credential, host_env),
            AuthMode::Platform if credential.api_key.is_none() => {
                let problem = "platform needs a key: give `credential.apiKey` from native.resolve()";
                Err(ChatError::unsupported("auth.mode", problem))
            }
            AuthMode::Platform => key(credential, &execution.contract.model.provider_id),
            AuthMode::Byok => {
                let usual = host_env.get(USUAL_VARIABLE).filter(|_| execution.resolved.is_null()).cloned();
                let credential = Credential { api_key: credential.api_key.clone().or(usual), ..credential };
                key(credential, &execution.contract.model.provider_id)
            }
        }
    }

    /// Configuration overrides: `key=value` in TOML.
    pub(super) fn overrides(&self) -> Vec<String> {
        match self {
            Self::Key { base_url, headers, .. } => {
                let headers = headers.keys().enumerate().map(|(index, name)| {
                    let variable = format!("{HEADER_VARIABLE}{index}");
                    format!("{}={}", toml::string(name), toml::string(&variable))
                });
                let headers: Vec<_> = headers.collect();
                let more = format!("env_key={},env_http_headers={{{}}}", toml::string(KEY_VARIABLE), headers.join(","));
                provider(base_url, &more)
            }
            Self::Login { base_url: Some(base_url), .. } => provider(base_url, "requires_openai_auth=true"),
            Self::Login { base_url: None, .. } => vec![format!("model_provider={}", toml::string(OPENAI))],
        }
    }

    /// What the agent's environment holds for it.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::new();
        if let Self::Key { api_key, headers, .. } = self {
            variables.extend(api_key.clone().map(|key| (KEY_VARIABLE.to_owned(), key)));
            let headers = headers.values().enumerate();
            variables.extend(headers.map(|(index, value)| (format!("{HEADER_VARIABLE}{index}"), value.clone())));
        }
        variables
    }

    /// Whether the account can be used at all; Codex itself would say so only when the model is asked.
    ///
    /// # Errors
    /// Class `auth`, reason `missing_key`.
    pub(super) fn check(&self) -> Result<(), TurnFailure> {
        match self {
            Self::Key { api_key: None, .. } => {
                let message = format!(
                    "no key: set {USUAL_VARIABLE} in the host's environment or give `credential.apiKey` from native.resolve()"
                );
                Err(TurnFailure::new(FailureClass::Auth, "missing_key", message, false))
            }
            _ => Ok(()),
        }
    }
}

fn key(credential: Credential, provider_id: &str) -> Result<Account> {
    if credential.login_home.is_some() {
        let problem = "a login is for auth mode subscription; this execution uses a key";
        return Err(ChatError::unsupported("resolved.credential.loginHome", problem));
    }
    let base_url = match (credential.base_url, provider_id) {
        (Some(base_url), _) => base_url,
        (None, OPENAI) => OPENAI_BASE_URL.to_owned(),
        (None, other) => {
            let problem =
                format!("Codex speaks to OpenAI; for {other:?} give `credential.baseUrl` of a server with the Responses API");
            return Err(ChatError::unsupported("model.providerId", problem));
        }
    };
    Ok(Account::Key { base_url, api_key: credential.api_key, headers: credential.headers })
}

fn login(credential: Credential, host_env: &BTreeMap<String, String>) -> Result<Account> {
    let foreign = [("apiKey", credential.api_key.is_some()), ("headers", !credential.headers.is_empty())];
    if let Some((field, _)) = foreign.into_iter().find(|(_, given)| *given) {
        let problem = "a subscription is used with its login and nothing else";
        return Err(ChatError::unsupported(format!("resolved.credential.{field}"), problem));
    }
    let configured = || host_env.get("CODEX_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let usual = || host_env.get("HOME").or_else(|| host_env.get("USERPROFILE")).map(|home| PathBuf::from(home).join(".codex"));
    let home = credential.login_home.map(PathBuf::from).or_else(configured).or_else(usual);
    Ok(Account::Login { home, base_url: credential.base_url })
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
