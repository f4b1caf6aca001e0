//! MCP servers in Codex's form: `config.mcp_servers` of `thread/start`. It travels over the pipe, never on the command line.

use chat_grammar::acp::{EnvVariable, HttpHeader, McpServer};
use chat_grammar::{ChatError, Result};
use serde_json::{Map, Value, json};

/// The servers by name.
///
/// # Errors
/// `UNSUPPORTED_EXECUTION_INPUT` at the server: a transport that Codex does not have, or a name that it refuses or that is there
/// twice.
pub(super) fn servers(servers: &[McpServer]) -> Result<Map<String, Value>> {
    let mut config = Map::new();
    for (index, server) in servers.iter().enumerate() {
        let path = format!("resolved.mcpServers[{index}]");
        let (name, entry) = match server {
            McpServer::Stdio(server) => {
                let entry = json!({ "command": server.command, "args": server.args, "env": variables(&server.env) });
                (&server.name, entry)
            }
            McpServer::Http(server) => (&server.name, json!({ "url": server.url, "http_headers": headers(&server.headers) })),
            McpServer::Sse(server) => {
                let problem = format!("Codex takes stdio and HTTP servers; {:?} is an SSE server", server.name);
                return Err(ChatError::unsupported(format!("{path}.type"), problem));
            }
            _ => return Err(ChatError::unsupported(format!("{path}.type"), "Codex takes stdio and HTTP servers")),
        };
        let is_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        if name.is_empty() || !name.chars().all(is_word) {
            let problem = format!("{name:?} is no name of a server for Codex: letters, digits, - and _");
            return Err(ChatError::unsupported(format!("{path}.name"), problem));
        }
        if config.insert(name.clone(), entry).is_some() {
            return Err(ChatError::unsupported(format!("{path}.name"), format!("{name:?} is the name of two servers")));
        }
    }
    Ok(config)
}

fn variables(variables: &[EnvVariable]) -> Map<String, Value> {
    variables.iter().map(|variable| (variable.name.clone(), Value::from(variable.value.as_str()))).collect()
}

fn headers(headers: &[HttpHeader]) -> Map<String, Value> {
    headers.iter().map(|header| (header.name.clone(), Value::from(header.value.as_str()))).collect()
}
