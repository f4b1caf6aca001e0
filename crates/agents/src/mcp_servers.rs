//! MCP servers by name, for agents that are told of them in objects of their own form.

use chat_grammar::acp::{EnvVariable, HttpHeader, McpServer};
use chat_grammar::{ChatError, Result};
use serde_json::{Map, Value};

/// Which transports an agent has, in words, such as `stdio and HTTP servers`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Takes {
    pub(crate) agent: &'static str,
    pub(crate) transports: &'static str,
}

/// The servers by name. `form` gives the agent's own form of one; `None` for a transport that it does not have.
///
/// # Errors
/// `UNSUPPORTED_EXECUTION_INPUT` at the server: a transport that the agent does not have, or a name that cannot stand in the name of
/// a tool or that is there twice.
pub(crate) fn by_name(
    servers: &[McpServer],
    takes: Takes,
    form: impl Fn(&McpServer) -> Option<Value>,
) -> Result<Map<String, Value>> {
    let Takes { agent, transports } = takes;
    let mut config = Map::new();
    for (index, server) in servers.iter().enumerate() {
        let path = format!("resolved.mcpServers[{index}]");
        let name = name(server);
        let Some(entry) = form(server) else {
            let problem = format!("{agent} takes {transports}; {name:?} is another");
            return Err(ChatError::unsupported(format!("{path}.type"), problem));
        };
        let is_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        if name.is_empty() || !name.chars().all(is_word) {
            let problem = format!("{name:?} is no name of a server for {agent}: letters, digits, - and _");
            return Err(ChatError::unsupported(format!("{path}.name"), problem));
        }
        if config.insert(name.to_owned(), entry).is_some() {
            return Err(ChatError::unsupported(format!("{path}.name"), format!("{name:?} is the name of two servers")));
        }
    }
    Ok(config)
}

fn name(server: &McpServer) -> &str {
    match server {
        McpServer::Stdio(server) => &server.name,
        McpServer::Http(server) => &server.name,
        McpServer::Sse(server) => &server.name,
        // No other kind is read.
        _ => "",
    }
}

/// Variables as an object.
pub(crate) fn variables(variables: &[EnvVariable]) -> Map<String, Value> {
    variables.iter().map(|variable| (variable.name.clone(), Value::from(variable.value.as_str()))).collect()
}

/// Headers as an object.
pub(crate) fn headers(headers: &[HttpHeader]) -> Map<String, Value> {
    headers.iter().map(|header| (header.name.clone(), Value::from(header.value.as_str()))).collect()
}
