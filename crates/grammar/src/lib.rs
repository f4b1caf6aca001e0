//! The vocabulary of all layers: events, ACP updates and their `_meta`, records, usage, errors. Pure: no I/O, no clock.

pub mod bounded;
pub mod catalog;
pub mod contract;
pub mod cost;
pub mod error;
pub mod event;
pub mod prompt;
pub mod records;
pub mod relay;
pub mod time;
pub mod transcript;
pub mod update;
pub mod usage;

/// The official ACP v1 schema types, from which the updates that we make ourselves are built.
pub use agent_client_protocol::v1::schema as acp;
pub use contract::ExecutionContract;
pub use error::{ChatError, ErrorCode, Result};
