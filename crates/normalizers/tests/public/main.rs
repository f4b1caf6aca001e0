//! Events in their public JSON form, and messages of older forms.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "the helpers are shared")]

#[path = "../common/mod.rs"]
mod common;
mod older_forms;
mod parts;
mod recordings;
mod updates;
