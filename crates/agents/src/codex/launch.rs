//! How `codex app-server` is started: with a complete and closed configuration of our own.
//!
//! Codex's home is private (an adapter's, an installation's and an account's), so that the user's own configuration, servers,
//! instructions, skills, rules and hooks stay out, and what Codex writes stays in. The project's own are shut out by overrides.

use super::auth::{self, HEADER_VARIABLE, KEY_VARIABLE, OPENAI};
use super::toml;
use crate::account::Account;
use crate::adapter::{HostContext, PreparedExecution};
use crate::environment;
use crate::home::{self, LoginFile};
use crate::locate;
use crate::process::Launch;
use crate::registry::{AgentOptions, Installation};
use crate::resolved::Resolved;
use chat_grammar::event::FailureClass;
use chat_grammar::records::TurnFailure;
use std::path::{Path, PathBuf};

/// Features that bring in what the host did not select or that call other servers at start-up (Codex 0.171.0).
const SHUT_OFF: [&str; 5] = ["plugins", "apps", "goals", "skill_search", "shell_snapshot"];
/// Features without which something would be missing: questions are otherwise for plan mode only.
const SWITCHED_ON: [&str; 1] = ["default_mode_request_user_input"];

/// A Codex that can be started, and the login that it was lent.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) launch: Launch,
    pub(super) login: Option<LoginFile>,
}

/// Makes everything ready for a start.
///
/// # Errors
/// The failure of the turn: no program, no login, a home that cannot be written.
pub(super) fn prepare(
    execution: &PreparedExecution,
    resolved: &Resolved,
    options: &AgentOptions,
    host: &HostContext,
) -> Result<Prepared, TurnFailure> {
    let contract = &execution.contract;
    let account =
        Account::of(&OPENAI, execution, resolved, &options.host_env).map_err(|error| runtime("unsupported", error.message))?;
    account.check(&OPENAI)?;
    let installation = options.installation("codex", &contract.agent.installation_id);
    let cwd = PathBuf::from(&contract.cwd.path);
    if !cwd.is_dir() {
        return Err(runtime("cwd_missing", format!("cwd.path: {} is no directory", cwd.display())));
    }
    let program = program(installation, resolved, options, &cwd)?;

    let binding = format!("{:?}:{}", contract.auth.mode, contract.auth.binding_id);
    let home = home::private_home(&host.state_dir, "codex", &contract.agent.installation_id, &binding)
        .map_err(|error| runtime("home_failed", format!("no private home in {}: {error}", host.state_dir.display())))?;
    let login = account.lend(&OPENAI, &home)?;

    let mut env = environment::inherited(&options.host_env, options.inherit_env.as_deref());
    env.extend(installation.map(|installation| installation.env.clone()).unwrap_or_default());
    env.extend(resolved.env.clone());
    env.extend(auth::variables(&account));
    env.insert("CODEX_HOME".to_owned(), home.to_string_lossy().into_owned());
    let mut args = locate::arguments(installation, resolved);
    args.extend(arguments(&account, &cwd));
    Ok(Prepared { launch: Launch { program, args, env, cwd }, login })
}

fn program(
    installation: Option<&Installation>,
    resolved: &Resolved,
    options: &AgentOptions,
    cwd: &Path,
) -> Result<PathBuf, TurnFailure> {
    let path = options.host_env.get("PATH").map_or("", String::as_str);
    locate::program(&["codex"], installation, resolved.command.as_deref(), path, cwd).map_err(|problem| {
        let message = format!(
            "{problem}. Install Codex with `npm install -g @openai/codex`, or name its program in native.installations.codex"
        );
        runtime("agent_missing", message)
    })
}

fn arguments(account: &Account, cwd: &Path) -> Vec<String> {
    let mut overrides = auth::overrides(account);
    // Both spellings of the folder: a full-access session in a trusted folder would read the project's configuration, and write
    // the trust down.
    let mut folders = vec![cwd.to_path_buf()];
    folders.extend(cwd.canonicalize().ok().filter(|canonical| canonical != cwd));
    let untrusted =
        folders.iter().map(|folder| format!("{}={{trust_level=\"untrusted\"}}", toml::string(&folder.to_string_lossy())));
    overrides.push(format!("projects={{{}}}", untrusted.collect::<Vec<_>>().join(",")));
    overrides.push(format!("shell_environment_policy.exclude=[\"{KEY_VARIABLE}\",\"{HEADER_VARIABLE}*\"]"));
    for fixed in [
        "project_doc_max_bytes=0",
        "skills.include_instructions=false",
        "tools.update_plan.enabled=true",
        "check_for_update_on_startup=false",
        "analytics.enabled=false",
        "cli_auth_credentials_store=\"file\"",
        "suppress_unstable_features_warning=true",
    ] {
        overrides.push(fixed.to_owned());
    }
    let mut args = vec!["app-server".to_owned()];
    args.extend(overrides.into_iter().flat_map(|value| ["-c".to_owned(), value]));
    args.extend(SHUT_OFF.iter().flat_map(|feature| ["--disable".to_owned(), (*feature).to_owned()]));
    args.extend(SWITCHED_ON.iter().flat_map(|feature| ["--enable".to_owned(), (*feature).to_owned()]));
    args
}

fn runtime(reason: &str, message: String) -> TurnFailure {
    TurnFailure::new(FailureClass::Runtime, reason, message, false)
}
