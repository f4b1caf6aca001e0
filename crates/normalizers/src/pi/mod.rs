//! Pi: `pi --mode rpc`, JSON lines over stdio.

mod answers;
mod calls;
mod compaction;
mod dialogs;
mod errors;
mod host_bash;
mod messages;
mod normalize;
mod permissions;
mod responses;
mod results;
mod session;
mod snapshots;
mod subject;
mod turn;
mod turns;
mod usage;
mod wire;

pub(crate) use normalize::Pi;
pub(crate) use turns::segment;

/// A message that is not of the form that its kind promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Malformed {
    NoJson,
    OtherForm,
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        match error.is_data() {
            true => Self::OtherForm,
            false => Self::NoJson,
        }
    }
}
