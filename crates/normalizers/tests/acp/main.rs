//! The normalizers of ACP agents and of Cursor, which is one with ways of its own, against their recordings, against reported
//! bugs, and against nonsense.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod cases;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "what is common serves the tests of every agent")]
mod common;
mod cursor;
mod independent;
mod properties;
mod rules;
mod segments;
mod session;
mod snapshots;
mod support;
mod written;

use common::render;
