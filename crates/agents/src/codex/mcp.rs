//! MCP servers in Codex's form: `config.mcp_servers` of `thread/start`. It travels over the pipe, never on the command line.

use crate::mcp_servers::{Takes, by_name, headers, variables};
use chat_grammar::Result;
use chat_grammar::acp::McpServer;
use serde_json::{Map, Value, json};

const TAKES: Takes = Takes { agent: "Codex", transports: "stdio and HTTP servers" };

/// The servers by name.
///
/// # Errors
/// As `by_name`.
pub(super) fn servers(servers: &[McpServer]) -> Result<Map<String, Value>> {
    by_name(servers, TAKES, |server| {
        Some(match server {
            McpServer::Stdio(server) => {
                json!({ "command": server.command, "args": server.args, "env": variables(&server.env) })
            }
            McpServer::Http(server) => json!({ "url": server.url, "http_headers": headers(&server.headers) }),
            _ => return None,
        })
    })
}
