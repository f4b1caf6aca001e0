//! MCP servers in Claude Code's form: `mcp_set_servers` of the control protocol. It travels over the pipe, never on the command line.

use crate::mcp_servers::{Takes, by_name, headers, variables};
use chat_grammar::Result;
use chat_grammar::acp::McpServer;
use serde_json::{Map, Value, json};

const TAKES: Takes = Takes { agent: "Claude Code", transports: "stdio, HTTP and SSE servers" };

/// The servers by name.
///
/// # Errors
/// As `by_name`.
pub(super) fn servers(servers: &[McpServer]) -> Result<Map<String, Value>> {
    by_name(servers, TAKES, |server| {
        Some(match server {
            McpServer::Stdio(server) => {
                json!({ "type": "stdio", "command": server.command, "args": server.args, "env": variables(&server.env) })
            }
            McpServer::Http(server) => json!({ "type": "http", "url": server.url, "headers": headers(&server.headers) }),
            McpServer::Sse(server) => json!({ "type": "sse", "url": server.url, "headers": headers(&server.headers) }),
            _ => return None,
        })
    })
}
