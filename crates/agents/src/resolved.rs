//! What the host resolved a contract to, typed.

use crate::adapter::PreparedExecution;
use crate::secrets::Secrets;
use chat_grammar::acp::{EnvVariable, HttpHeader, McpServer};
use chat_grammar::contract::AuthMode;
use chat_grammar::{ChatError, ErrorCode, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Words that a variable's name holds when its value is secret.
const SECRET_WORDS: [&str; 8] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE"];

/// The value that `native.resolve` returned for a contract.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Resolved {
    /// What the contract's `auth` stands for.
    pub(crate) credential: Option<Credential>,
    /// Further environment of the agent.
    pub(crate) env: BTreeMap<String, String>,
    /// All servers that reach the agent.
    #[serde(skip)]
    pub(crate) mcp_servers: Vec<McpServer>,
    pub(crate) instructions: Option<String>,
    pub(crate) acp_launch: Option<AcpLaunch>,
    /// Another executable for the installation.
    pub(crate) command: Option<String>,
    pub(crate) args: Option<Vec<String>>,
}

/// What stands for a login. An adapter puts each where its agent takes it, never on a command line.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Credential {
    pub(crate) api_key: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    /// The home whose login a subscription uses.
    pub(crate) login_home: Option<String>,
}

/// How to start an ACP agent.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AcpLaunch {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: Vec<EnvVariable>,
    #[serde(default)]
    pub(crate) auth_method_id: Option<String>,
    /// The auth modes that may be used.
    #[serde(deserialize_with = "auth_modes")]
    pub(crate) auth_modes: Vec<AuthMode>,
}

impl Resolved {
    /// Reads what the host returned; null is nothing.
    ///
    /// # Errors
    /// `INVALID_OPTIONS` at the path of what is of another type, missing or unknown, such as
    /// `native.resolve().mcpServers[0].command`.
    pub(crate) fn read(value: &Value) -> Result<Self> {
        if value.is_null() {
            return Ok(Self::default());
        }
        let Value::Object(members) = value else { return Err(invalid("", "must be an object")) };
        // Read apart: their type stands in a member, and a reader that looks for it first no longer knows where an error is.
        let mut members = members.clone();
        let servers = members.shift_remove("mcpServers");
        let mut resolved: Self = typed(&Value::Object(members), "")?;
        if let Some(servers) = servers {
            let Value::Array(servers) = servers else { return Err(invalid(".mcpServers", "must be an array")) };
            let servers = servers.iter().enumerate().map(|(index, server)| server_of(server, index));
            resolved.mcp_servers = servers.collect::<Result<_>>()?;
        }
        Ok(resolved)
    }

    /// What a contract was resolved to, as far as any agent that is a program of its own can be given it. `agent` is what it is called.
    ///
    /// # Errors
    /// As `read`, and `UNSUPPORTED_EXECUTION_INPUT`: tools of which nobody says where they come from, a launch that is for ACP agents,
    /// a working directory that is none.
    pub(crate) fn of_contract(execution: &PreparedExecution, agent: &str) -> Result<Self> {
        let contract = &execution.contract;
        if execution.resolved.is_null() && !contract.tools.tool_ids.is_empty() {
            let problem = "tools are selected, and there is no native.resolve() that says which MCP servers they come from";
            return Err(ChatError::unsupported("tools.toolIds", problem));
        }
        let resolved = Self::read(&execution.resolved)?;
        if resolved.acp_launch.is_some() {
            let problem = format!("is for adapter acp; {agent} is no ACP agent");
            return Err(ChatError::unsupported("resolved.acpLaunch", problem));
        }
        let cwd = &contract.cwd.path;
        if !Path::new(cwd).is_dir() {
            return Err(ChatError::unsupported("cwd.path", format!("{cwd:?} is no directory")));
        }
        Ok(resolved)
    }

    /// What of it must not be written down.
    pub(crate) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        if let Some(credential) = &self.credential {
            credential.api_key.iter().chain(credential.headers.values()).for_each(|value| secrets.add(value));
        }
        self.env.iter().filter(|(name, _)| is_secret(name)).for_each(|(_, value)| secrets.add(value));
        let variables = |secrets: &mut Secrets, variables: &[EnvVariable]| {
            variables.iter().for_each(|variable| secrets.add(&variable.value));
        };
        let headers = |secrets: &mut Secrets, headers: &[HttpHeader]| {
            headers.iter().for_each(|header| secrets.add(&header.value));
        };
        for server in &self.mcp_servers {
            match server {
                McpServer::Stdio(server) => variables(&mut secrets, &server.env),
                McpServer::Http(server) => headers(&mut secrets, &server.headers),
                McpServer::Sse(server) => headers(&mut secrets, &server.headers),
                // No other kind is read.
                _ => {}
            }
        }
        if let Some(launch) = &self.acp_launch {
            launch.env.iter().filter(|variable| is_secret(&variable.name)).for_each(|variable| secrets.add(&variable.value));
        }
        secrets
    }
}

// Nearly every member may hold a secret.
impl fmt::Debug for Resolved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Resolved").field("command", &self.command).finish_non_exhaustive()
    }
}

fn server_of(server: &Value, index: usize) -> Result<McpServer> {
    let path = format!(".mcpServers[{index}]");
    let Value::Object(members) = server else { return Err(invalid(&path, "must be an object")) };
    let mut members = members.clone();
    match members.shift_remove("type") {
        None => typed(&Value::Object(members), &path).map(McpServer::Stdio),
        Some(Value::String(kind)) if kind == "stdio" => typed(&Value::Object(members), &path).map(McpServer::Stdio),
        Some(Value::String(kind)) if kind == "http" => typed(&Value::Object(members), &path).map(McpServer::Http),
        Some(Value::String(kind)) if kind == "sse" => typed(&Value::Object(members), &path).map(McpServer::Sse),
        Some(kind) => Err(invalid(&format!("{path}.type"), format_args!("must be \"http\", \"sse\" or absent, got {kind}"))),
    }
}

/// Reads a value that stands at `path`.
fn typed<T: DeserializeOwned>(value: &Value, path: &str) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let within = error.path().to_string();
        let separator = if within.starts_with('[') { "" } else { "." };
        let at = if within == "." { path.to_owned() } else { format!("{path}{separator}{within}") };
        invalid(&at, error.into_inner())
    })
}

fn invalid(path: &str, problem: impl fmt::Display) -> ChatError {
    ChatError::at(ErrorCode::InvalidOptions, format!("native.resolve(){path}"), problem)
}

fn auth_modes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AuthMode>, D::Error> {
    let mode = |name: String| match name.as_str() {
        "platform" => Ok(AuthMode::Platform),
        "subscription" => Ok(AuthMode::Subscription),
        "byok" => Ok(AuthMode::Byok),
        _ => Err(serde::de::Error::custom(format_args!("{name:?} is no auth mode"))),
    };
    Vec::<String>::deserialize(deserializer)?.into_iter().map(mode).collect()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn path_of_error(value: &Value) -> String {
        let error = Resolved::read(value).expect_err("it is malformed");
        assert_eq!(error.code, ErrorCode::InvalidOptions);
        let details = error.details.expect("details");
        let path = details["path"].as_str().expect("a path").to_owned();
        path.strip_prefix("native.resolve()").expect("the path starts with what returned it").to_owned()
    }

    fn full() -> Value {
        json!({
            "credential": { "apiKey": "sk-test-000", "baseUrl": "http://127.0.0.1", "headers": { "x-org": "header-value" }, "loginHome": "/home/user" },
            "env": { "MY_TOKEN": "token-value", "EDITOR": "vi-editor" },
            "mcpServers": [
                { "name": "files", "command": "/bin/files", "args": ["-v"], "env": [{ "name": "A", "value": "server-value" }] },
                { "type": "http", "name": "web", "url": "http://127.0.0.1/mcp", "headers": [{ "name": "B", "value": "http-value" }] },
                { "type": "sse", "name": "old", "url": "http://127.0.0.1/sse", "headers": [{ "name": "C", "value": "sse-value" }] },
            ],
            "instructions": null,
            "acpLaunch": { "command": "agent", "args": ["acp"], "env": [{ "name": "API_KEY", "value": "launch-value" }], "authModes": ["byok"] },
            "command": "/opt/agent",
            "args": ["--flag"],
        })
    }

    #[test]
    fn every_member_is_read() {
        let resolved = Resolved::read(&full()).expect("well formed");
        let credential = resolved.credential.expect("a credential");
        assert_eq!(credential.api_key.as_deref(), Some("sk-test-000"));
        assert_eq!(credential.login_home.as_deref(), Some("/home/user"));
        assert_eq!(resolved.env["EDITOR"], "vi-editor");
        let servers: Vec<Value> = resolved.mcp_servers.iter().map(|server| json!(server)).collect();
        assert_eq!(Value::from(servers), full()["mcpServers"]);
        assert_eq!(resolved.acp_launch.map(|launch| launch.auth_modes), Some(vec![AuthMode::Byok]));
        assert_eq!((resolved.instructions, resolved.command.as_deref()), (None, Some("/opt/agent")));
        assert_eq!(resolved.args, Some(vec!["--flag".to_owned()]));
        assert_eq!(Resolved::read(&Value::Null).expect("nothing"), Resolved::default());
        assert_eq!(Resolved::read(&json!({})).expect("nothing"), Resolved::default());
    }

    #[test]
    fn what_is_malformed_is_named_by_its_path() {
        assert_eq!(path_of_error(&json!([])), "");
        assert_eq!(path_of_error(&json!({ "mcpServer": [] })), ".mcpServer");
        assert_eq!(path_of_error(&json!({ "credential": { "apikey": "x" } })), ".credential.apikey");
        assert_eq!(path_of_error(&json!({ "credential": { "headers": { "a": 1 } } })), ".credential.headers.a");
        assert_eq!(path_of_error(&json!({ "env": { "A": null } })), ".env.A");
        assert_eq!(path_of_error(&json!({ "mcpServers": {} })), ".mcpServers");
        assert_eq!(path_of_error(&json!({ "mcpServers": [{ "type": "ftp" }] })), ".mcpServers[0].type");
        let server = |server: Value| path_of_error(&json!({ "mcpServers": [server] }));
        assert_eq!(server(json!({ "name": "a", "command": 1, "args": [], "env": [] })), ".mcpServers[0].command");
        assert_eq!(server(json!({ "name": "a", "args": [], "env": [] })), ".mcpServers[0]");
        assert_eq!(
            server(json!({ "name": "a", "command": "a", "args": [], "env": [{ "name": 1, "value": "" }] })),
            ".mcpServers[0].env[0].name"
        );
        assert_eq!(
            path_of_error(&json!({ "acpLaunch": { "command": "a", "args": [], "authModes": ["none"] } })),
            ".acpLaunch.authModes"
        );
    }

    #[test]
    fn its_secrets_are_masked_and_not_shown() {
        let resolved = Resolved::read(&full()).expect("well formed");
        let text = "sk-test-000 header-value token-value server-value http-value sse-value launch-value";
        let masked = resolved.secrets().mask(text).into_owned();
        assert_eq!(masked, ["[secret]"; 7].join(" "));
        assert_eq!(resolved.secrets().mask("vi-editor /opt/agent"), "vi-editor /opt/agent");
        let shown = format!("{resolved:?}");
        assert!(text.split(' ').all(|secret| !shown.contains(secret)), "{shown}");
    }
}
