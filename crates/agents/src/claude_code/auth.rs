//! Who pays, in Claude Code's environment. Secrets never stand on the command line.

use crate::account::{Account, Provider};
use std::collections::BTreeMap;

pub(super) const ANTHROPIC: Provider = Provider {
    agent: "Claude Code",
    id: "anthropic",
    name: "Anthropic",
    api: "Messages API",
    key_variable: KEY_VARIABLE,
    home_variable: "CLAUDE_CONFIG_DIR",
    home_folder: ".claude",
    login_file: ".credentials.json",
    how_to_log_in: "Run `claude` and `/login`",
};

/// The provider's custom, and where Claude Code looks for a key. Any of the others would beat a login.
pub(super) const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
pub(super) const HEADERS_VARIABLE: &str = "ANTHROPIC_CUSTOM_HEADERS";
/// What Claude Code itself needs, and nothing that it starts may have.
pub(super) const SECRET_VARIABLES: [&str; 2] = [KEY_VARIABLE, HEADERS_VARIABLE];
const BASE_URL_VARIABLE: &str = "ANTHROPIC_BASE_URL";
/// What chooses an account and an endpoint, and must not come from the host's own environment.
pub(super) const ACCOUNT_VARIABLES: [&str; 5] =
    [KEY_VARIABLE, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", HEADERS_VARIABLE, BASE_URL_VARIABLE];

/// What the agent's environment holds for an account.
pub(super) fn variables(account: &Account) -> BTreeMap<String, String> {
    let (base_url, more) = match account {
        Account::Key { base_url, api_key, headers } => {
            let lines: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            let headers = (!lines.is_empty()).then(|| (HEADERS_VARIABLE, lines.join("\n")));
            (base_url, [api_key.clone().map(|key| (KEY_VARIABLE, key)), headers])
        }
        Account::Login { base_url, .. } => (base_url, [None, None]),
    };
    let base_url = base_url.clone().map(|url| (BASE_URL_VARIABLE, url));
    base_url.into_iter().chain(more.into_iter().flatten()).map(|(name, value)| (name.to_owned(), value)).collect()
}
