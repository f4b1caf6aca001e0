//! One adapter an agent behind one trait. The session core knows agents only through it.

mod account;
mod adapter;
mod claude_code;
mod codex;
mod environment;
mod frame;
mod home;
mod json_rpc;
mod line_connection;
mod locate;
mod mcp_servers;
mod process;
mod recorder;
mod registry;
mod replay;
mod resolved;
mod secrets;
mod spares;

pub use adapter::{
    Adapter, AgentMessage, AgentOutput, AgentSession, HostContext, NativeCheckpoint, Opening, PreparedExecution,
};
pub use process::{Processes, end_orphans};
pub use registry::{Adapters, AgentOptions, Installation, RecordOptions};
