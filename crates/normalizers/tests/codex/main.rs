//! The normalizer of Codex against its recordings, against reported bugs, and against nonsense.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod cases;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "what is common serves the tests of every agent")]
mod common;
mod independent;
mod properties;
mod rules;
mod schema;
mod segments;
mod snapshots;
