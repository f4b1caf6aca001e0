//! The session core: prepared executions, conversations, the pump of a turn, fan-out to subscribers, and recovery.

mod answer;
mod batch;
mod chat;
mod clock;
mod core;
mod driver;
mod executions;
mod open_requests;
mod options;
mod pump;
mod recovery;
mod requests;
mod subscription;
mod tail;

pub use self::core::{OnRequest, OnTurn, RequestKind, WaitingRequest};
pub use batch::{Batch, BatchText};
pub use chat::{Chat, ChatPorts};
pub use clock::{AskTime, Clock};
pub use options::{BatchLimits, ChatOptions, SubscriberBuffer};
pub use subscription::Subscription;
