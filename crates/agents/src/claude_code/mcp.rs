//! MCP servers in Claude Code's form: `mcp_set_servers` of the control protocol. It travels over the pipe, never on the command line.

use chat_grammar::acp::{EnvVariable, HttpHeader, McpServer};
use chat_grammar::{ChatError, Result};
use serde_json::{Map, Value, json};

/// The servers by name.
///
/// # Errors
/// `UNSUPPORTED_EXECUTION_INPUT` at the server: a transport that is not known, or a name that cannot stand in the name of a tool or
/// that is there twice.
pub(super) fn servers(servers: &[McpServer]) -> Result<Map<String, Value>> {
    let mut config = Map::new();
    for (index, server) in servers.iter().enumerate() {
        let path = format!("resolved.mcpServers[{index}]");
        let (name, entry) = match server {
            McpServer::Stdio(server) => {
                let env = variables(&server.env);
                (&server.name, json!({ "type": "stdio", "command": server.command, "args": server.args, "env": env }))
            }
            McpServer::Http(server) => {
                (&server.name, json!({ "type": "http", "url": server.url, "headers": headers(&server.headers) }))
            }
            McpServer::Sse(server) => {
                (&server.name, json!({ "type": "sse", "url": server.url, "headers": headers(&server.headers) }))
            }
            _ => return Err(ChatError::unsupported(format!("{path}.type"), "Claude Code takes stdio, HTTP and SSE servers")),
        };
        let is_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        if name.is_empty() || !name.chars().all(is_word) {
            let problem = format!("{name:?} is no name of a server for Claude Code: letters, digits, - and _");
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
