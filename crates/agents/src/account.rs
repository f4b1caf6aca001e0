//! Who pays for an agent's model: a key for a provider's API, or the login that the agent's own program has made.

use crate::adapter::PreparedExecution;
use crate::home::LoginFile;
use crate::resolved::{Credential, Resolved};
use chat_grammar::contract::AuthMode;
use chat_grammar::event::FailureClass;
use chat_grammar::records::TurnFailure;
use chat_grammar::{ChatError, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An agent whose own provider can be paid in both ways.
#[derive(Debug)]
pub(crate) struct Provider {
    /// What the agent is called, such as `Codex`.
    pub(crate) agent: &'static str,
    /// What the provider is called, in contracts and to readers, such as `openai` and `OpenAI`.
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// What another server must speak, such as `Responses API`.
    pub(crate) api: &'static str,
    /// The variable that holds a user's own key by the provider's custom.
    pub(crate) key_variable: &'static str,
    /// Where the user's login lies: in the folder that this variable names, else in this folder of the user's home, in this file.
    pub(crate) home_variable: &'static str,
    pub(crate) home_folder: &'static str,
    pub(crate) login_file: &'static str,
    /// How a user logs in.
    pub(crate) how_to_log_in: &'static str,
}

/// An account that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Account {
    /// A key; `base_url` where the server is another than the provider's own.
    Key { base_url: Option<String>, api_key: Option<String>, headers: BTreeMap<String, String> },
    /// The login that a folder holds; `base_url` where it is used with another address than the agent's own.
    Login { home: Option<PathBuf>, base_url: Option<String> },
}

impl Account {
    /// The account of an execution.
    ///
    /// # Errors
    /// `UNSUPPORTED_EXECUTION_INPUT`: the mode cannot be applied with what the host resolved.
    pub(crate) fn of(
        provider: &Provider,
        execution: &PreparedExecution,
        resolved: &Resolved,
        host_env: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let credential = resolved.credential.clone().unwrap_or_default();
        let provider_id = &execution.contract.model.provider_id;
        match execution.contract.auth.mode {
            AuthMode::Subscription => login(provider, credential, host_env),
            AuthMode::Platform if credential.api_key.is_none() => {
                let problem = "platform needs a key: give `credential.apiKey` from native.resolve()";
                Err(ChatError::unsupported("auth.mode", problem))
            }
            AuthMode::Platform => key(provider, credential, provider_id),
            AuthMode::Byok => {
                let usual = host_env.get(provider.key_variable).filter(|_| execution.resolved.is_null()).cloned();
                let credential = Credential { api_key: credential.api_key.clone().or(usual), ..credential };
                key(provider, credential, provider_id)
            }
        }
    }

    /// Whether the account can be used at all; the agent itself would say so only when the model is asked.
    ///
    /// # Errors
    /// Class `auth`, reason `missing_key`.
    pub(crate) fn check(&self, provider: &Provider) -> Result<(), TurnFailure> {
        match self {
            Self::Key { api_key: None, .. } => {
                let variable = provider.key_variable;
                let message = format!(
                    "no key: set {variable} in the host's environment or give `credential.apiKey` from native.resolve()"
                );
                Err(TurnFailure::new(FailureClass::Auth, "missing_key", message, false))
            }
            _ => Ok(()),
        }
    }

    /// Copies a login into the private home: in its own home the agent would read all else that is there.
    ///
    /// # Errors
    /// Class `auth`, reason `login_required`.
    pub(crate) fn lend(&self, provider: &Provider, home: &Path) -> Result<Option<LoginFile>, TurnFailure> {
        let Self::Login { home: source, .. } = self else { return Ok(None) };
        let missing = |detail: String| {
            let message = format!("not logged in to {}: {detail}. {}, then try again", provider.agent, provider.how_to_log_in);
            TurnFailure::new(FailureClass::Auth, "login_required", message, false)
        };
        let Some(source) = source else { return Err(missing("no home folder is known".to_owned())) };
        let source = source.join(provider.login_file);
        let login = LoginFile::new(source.clone(), home.join(provider.login_file));
        match login.bring() {
            Ok(true) => Ok(Some(login)),
            Ok(false) => Err(missing(format!("there is no {}", source.display()))),
            Err(error) => Err(missing(format!("{}: {error}", source.display()))),
        }
    }
}

fn key(provider: &Provider, credential: Credential, provider_id: &str) -> Result<Account> {
    if credential.login_home.is_some() {
        let problem = "a login is for auth mode subscription; this execution uses a key";
        return Err(ChatError::unsupported("resolved.credential.loginHome", problem));
    }
    if credential.base_url.is_none() && provider_id != provider.id {
        let Provider { agent, name, api, .. } = provider;
        let problem =
            format!("{agent} speaks to {name}; for {provider_id:?} give `credential.baseUrl` of a server with the {api}");
        return Err(ChatError::unsupported("model.providerId", problem));
    }
    let is_line = |text: &str| !text.contains(['\n', '\r']);
    if !credential.headers.iter().all(|(name, value)| is_line(name) && is_line(value)) {
        return Err(ChatError::unsupported("resolved.credential.headers", "a header is one line"));
    }
    Ok(Account::Key { base_url: credential.base_url, api_key: credential.api_key, headers: credential.headers })
}

fn login(provider: &Provider, credential: Credential, host_env: &BTreeMap<String, String>) -> Result<Account> {
    let foreign = [("apiKey", credential.api_key.is_some()), ("headers", !credential.headers.is_empty())];
    if let Some((field, _)) = foreign.into_iter().find(|(_, given)| *given) {
        let problem = "a subscription is used with its login and nothing else";
        return Err(ChatError::unsupported(format!("resolved.credential.{field}"), problem));
    }
    let configured = || host_env.get(provider.home_variable).filter(|home| !home.is_empty()).map(PathBuf::from);
    let user = || host_env.get("HOME").or_else(|| host_env.get("USERPROFILE"));
    let usual = || user().map(|home| PathBuf::from(home).join(provider.home_folder));
    let home = credential.login_home.map(PathBuf::from).or_else(configured).or_else(usual);
    Ok(Account::Login { home, base_url: credential.base_url })
}
