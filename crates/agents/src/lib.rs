//! One adapter an agent behind one trait. The session core knows agents only through it.

mod adapter;
#[allow(dead_code, reason = "the adapters of driven agents will use it")]
mod environment;
#[allow(dead_code, reason = "the adapters of driven agents will use it")]
mod frame;
#[allow(dead_code, reason = "the adapters of driven agents will use it")]
mod home;
#[allow(dead_code, reason = "the adapters of driven agents will use it")]
mod locate;
#[allow(dead_code, reason = "the adapters of driven agents will use it")]
mod process;
#[allow(dead_code, reason = "the adapters of driven agents will use it")]
mod recorder;
mod registry;
mod replay;
#[allow(dead_code, reason = "the adapters of driven agents will use it")]
mod resolved;
#[allow(dead_code, reason = "the adapters of driven agents will use it")]
mod secrets;

pub use adapter::{
    Adapter, AgentMessage, AgentOutput, AgentSession, HostContext, NativeCheckpoint, Opening, PreparedExecution,
};
pub use process::{Processes, end_orphans};
pub use registry::{Adapters, AgentOptions, Installation, RecordOptions};
