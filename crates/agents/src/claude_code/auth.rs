//! Who pays. Secrets go by environment, never on the command line.

use crate::adapter::PreparedExecution;
use crate::resolved::{Credential, Resolved};
use chat_grammar::contract::AuthMode;
use chat_grammar::event::FailureClass;
use chat_grammar::records::TurnFailure;
use chat_grammar::{ChatError, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The provider's custom, and where Claude Code looks for a key. Any of the others would beat a login.
pub(super) const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
pub(super) const HEADERS_VARIABLE: &str = "ANTHROPIC_CUSTOM_HEADERS";
/// What Claude Code itself needs, and nothing that it starts may have.
pub(super) const SECRET_VARIABLES: [&str; 2] = [KEY_VARIABLE, HEADERS_VARIABLE];
const BASE_URL_VARIABLE: &str = "ANTHROPIC_BASE_URL";
/// What chooses an account and an endpoint, and must not come from the host's own environment.
pub(super) const ACCOUNT_VARIABLES: [&str; 5] =
    [KEY_VARIABLE, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", HEADERS_VARIABLE, BASE_URL_VARIABLE];

const ANTHROPIC: &str = "anthropic";

/// An account that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Account {
    /// A key for a server with the Messages API; `base_url` where it is another than Anthropic's.
    Key { base_url: Option<String>, api_key: Option<String>, headers: BTreeMap<String, String> },
    /// The login that a configuration folder holds; `base_url` where it is used with another address than Claude Code's own.
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
                let usual = host_env.get(KEY_VARIABLE).filter(|_| execution.resolved.is_null()).cloned();
                let credential = Credential { api_key: credential.api_key.clone().or(usual), ..credential };
                key(credential, &execution.contract.model.provider_id)
            }
        }
    }

    /// What the agent's environment holds for it.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        let (base_url, more) = match self {
            Self::Key { base_url, api_key, headers } => {
                let lines: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                let headers = (!lines.is_empty()).then(|| (HEADERS_VARIABLE, lines.join("\n")));
                (base_url, [api_key.clone().map(|key| (KEY_VARIABLE, key)), headers])
            }
            Self::Login { base_url, .. } => (base_url, [None, None]),
        };
        let base_url = base_url.clone().map(|url| (BASE_URL_VARIABLE, url));
        base_url.into_iter().chain(more.into_iter().flatten()).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Whether the account can be used at all; Claude Code itself would say so only when the model is asked.
    ///
    /// # Errors
    /// Class `auth`, reason `missing_key`.
    pub(super) fn check(&self) -> Result<(), TurnFailure> {
        match self {
            Self::Key { api_key: None, .. } => {
                let message = format!(
                    "no key: set {KEY_VARIABLE} in the host's environment or give `credential.apiKey` from native.resolve()"
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
    if credential.base_url.is_none() && provider_id != ANTHROPIC {
        let problem = format!(
            "Claude Code speaks to Anthropic; for {provider_id:?} give `credential.baseUrl` of a server with the Messages API"
        );
        return Err(ChatError::unsupported("model.providerId", problem));
    }
    let is_line = |text: &str| !text.contains(['\n', '\r']);
    if !credential.headers.iter().all(|(name, value)| is_line(name) && is_line(value)) {
        return Err(ChatError::unsupported("resolved.credential.headers", "a header is one line"));
    }
    Ok(Account::Key { base_url: credential.base_url, api_key: credential.api_key, headers: credential.headers })
}

fn login(credential: Credential, host_env: &BTreeMap<String, String>) -> Result<Account> {
    let foreign = [("apiKey", credential.api_key.is_some()), ("headers", !credential.headers.is_empty())];
    if let Some((field, _)) = foreign.into_iter().find(|(_, given)| *given) {
        let problem = "a subscription is used with its login and nothing else";
        return Err(ChatError::unsupported(format!("resolved.credential.{field}"), problem));
    }
    let configured = || host_env.get("CLAUDE_CONFIG_DIR").filter(|home| !home.is_empty()).map(PathBuf::from);
    let usual = || host_env.get("HOME").or_else(|| host_env.get("USERPROFILE")).map(|home| PathBuf::from(home).join(".claude"));
    let home = credential.login_home.map(PathBuf::from).or_else(configured).or_else(usual);
    Ok(Account::Login { home, base_url: credential.base_url })
}
