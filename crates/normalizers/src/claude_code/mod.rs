//! Claude Code: the CLI's stream-json with its control protocol.

mod audit;
mod calls;
mod compaction;
mod edits;
mod errors;
mod input;
mod ledger;
mod lines;
mod messages;
mod normalize;
mod plans;
mod questions;
mod requests;
mod results;
mod session;
mod shell;
mod speed;
mod stream;
mod subject;
mod system;
mod turn_end;
mod turns;
mod usage;
mod wire;

pub(crate) use normalize::ClaudeCode;
pub(crate) use turns::segment;

use serde_json::Value;
use serde_json::value::RawValue;

/// A message that is not of the form that its kind promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Malformed;

impl From<serde_json::Error> for Malformed {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

/// The value of raw JSON; null where there is none.
fn value(raw: Option<&RawValue>) -> Result<Value, Malformed> {
    Ok(match raw {
        Some(raw) => serde_json::from_str(raw.get())?,
        None => Value::Null,
    })
}
