//! How `claude` is started: with a complete and closed configuration of our own.
//!
//! Claude Code's configuration folder is private (an adapter's, an installation's and an account's), so that the user's own
//! settings, servers, instructions, skills and hooks stay out, and what Claude Code writes stays in. The project's own are shut out
//! by options.

use super::auth::{self, ACCOUNT_VARIABLES, ANTHROPIC, SECRET_VARIABLES};
use super::settings::Settings;
use crate::account::Account;
use crate::adapter::{HostContext, PreparedExecution};
use crate::environment;
use crate::home::{self, LoginFile};
use crate::locate;
use crate::process::Launch;
use crate::registry::{AgentOptions, Installation};
use crate::resolved::Resolved;
use chat_grammar::contract::{ExecutionContract, PermissionMode};
use chat_grammar::event::FailureClass;
use chat_grammar::records::TurnFailure;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a host may set otherwise.
const USUAL_ENVIRONMENT: [(&str, &str); 7] = [
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_TELEMETRY", "1"),
    // Notes of other conversations in the same folder.
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1"),
    // Of its 10 by default the last come after minutes: a failure that stays shall be told within seconds.
    ("CLAUDE_CODE_MAX_RETRIES", "3"),
];

/// A Claude Code that can be started, and the login that it was lent.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Without what names the native session.
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
    let account = Account::of(&ANTHROPIC, execution, resolved, &options.host_env)
        .map_err(|error| runtime("unsupported", error.message))?;
    account.check(&ANTHROPIC)?;
    let settings = Settings::read(&contract.model).map_err(|error| runtime("unsupported", error.message))?;
    let installation = options.installation("claude_code", &contract.agent.installation_id);
    let cwd = PathBuf::from(&contract.cwd.path);
    if !cwd.is_dir() {
        return Err(runtime("cwd_missing", format!("cwd.path: {} is no directory", cwd.display())));
    }
    let program = program(installation, resolved, options, &cwd)?;

    let binding = format!("{:?}:{}", contract.auth.mode, contract.auth.binding_id);
    let home = home::private_home(&host.state_dir, "claude_code", &contract.agent.installation_id, &binding)
        .map_err(|error| runtime("home_failed", format!("no private home in {}: {error}", host.state_dir.display())))?;
    let login = account.lend(&ANTHROPIC, &home)?;
    let mut env = environment::inherited(&options.host_env, options.inherit_env.as_deref());
    env.retain(|name, _| !ACCOUNT_VARIABLES.contains(&name.as_str()));
    env.extend(USUAL_ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())));
    env.extend(installation.map(|installation| installation.env.clone()).unwrap_or_default());
    env.extend(resolved.env.clone());
    env.extend(auth::variables(&account));
    env.insert("CLAUDE_CONFIG_DIR".to_owned(), home.to_string_lossy().into_owned());
    keep_from_commands(&home, &mut env)
        .map_err(|error| runtime("home_failed", format!("no private home in {}: {error}", home.display())))?;
    let mut args = locate::arguments(installation, resolved);
    args.extend(arguments(contract, &settings));
    Ok(Prepared { launch: Launch { program, args, env, cwd }, login })
}

/// Its commands must not have Claude Code's secrets: a script that runs before each of them takes them away. Claude Code's
/// own way to keep a key back needs bubblewrap (2.1.332).
fn keep_from_commands(home: &Path, env: &mut BTreeMap<String, String>) -> io::Result<()> {
    let mut lines = vec![format!("unset {}", SECRET_VARIABLES.join(" "))];
    // Its logs of MCP servers would lie in the user's cache.
    let cache = env.insert("XDG_CACHE_HOME".to_owned(), home.join("cache").to_string_lossy().into_owned());
    lines.push(match cache {
        Some(cache) => format!("export XDG_CACHE_HOME='{}'", cache.replace('\'', "'\\''")),
        None => "unset XDG_CACHE_HOME".to_owned(),
    });
    let script = home.join("before-commands.sh");
    fs::write(&script, lines.join("\n") + "\n")?;
    env.insert("CLAUDE_ENV_FILE".to_owned(), script.to_string_lossy().into_owned());
    Ok(())
}

fn program(
    installation: Option<&Installation>,
    resolved: &Resolved,
    options: &AgentOptions,
    cwd: &Path,
) -> Result<PathBuf, TurnFailure> {
    let path = options.host_env.get("PATH").map_or("", String::as_str);
    locate::program(&["claude"], installation, resolved.command.as_deref(), path, cwd).map_err(|problem| {
        let message = format!(
            "{problem}. Install Claude Code with `npm install -g @anthropic-ai/claude-code`, or name its program in \
             native.installations.claude_code"
        );
        runtime("agent_missing", message)
    })
}

fn arguments(contract: &ExecutionContract, settings: &Settings) -> Vec<String> {
    let fixed = [
        "--print",
        "--input-format=stream-json",
        "--output-format=stream-json",
        "--verbose",
        "--include-partial-messages",
        "--permission-prompt-tool=stdio",
        // None at all.
        "--setting-sources=",
        "--strict-mcp-config",
        // Without it newer models tell nothing of their thoughts.
        "--thinking-display=summarized",
    ];
    let mut arguments: Vec<String> = fixed.map(str::to_owned).to_vec();
    arguments.push(format!("--permission-mode={}", permission_mode(contract.permission_mode, is_root())));
    arguments.push(format!("--model={}", contract.model.model_id));
    arguments.extend(settings.arguments());
    arguments
}

/// Root may not bypass the permissions, unless it claims to be in a sandbox: then everything is asked, and leave is given at once.
pub(super) fn permission_mode(mode: PermissionMode, root: bool) -> &'static str {
    match mode {
        PermissionMode::FullAccess if !root => "bypassPermissions",
        PermissionMode::FullAccess | PermissionMode::Ask => "default",
    }
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

fn runtime(reason: &str, message: String) -> TurnFailure {
    TurnFailure::new(FailureClass::Runtime, reason, message, false)
}
