//! Events in their public JSON form, as the package's `events` and `normalizers` entry points show them, and normalizers that
//! speak it.

mod fields;
mod long_texts;
mod normalizer;
mod notes;
mod parts;
mod raw;
mod read;
mod recording;
mod tools;
mod updates;

pub(crate) use fields::Fields;
pub use normalizer::JsonNormalizer;
pub use parts::UpdateParts;
pub use read::Fault;
pub use recording::RecordingReader;
pub(crate) use tools::error as tool_error;
pub use updates::session_updates;
