//! Events in their public JSON form, as the package's `events` and `normalizers` entry points show them, and normalizers that
//! speak it.

mod batch;
mod fields;
mod long_texts;
mod normalizer;
mod notes;
mod raw;
mod read;
mod tools;
mod updates;

pub use batch::UpdateParts;
pub(crate) use fields::Fields;
pub use normalizer::JsonNormalizer;
pub use read::Fault;
pub(crate) use tools::error as tool_error;
pub use updates::{recording_updates, session_updates};
