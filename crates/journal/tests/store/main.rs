//! The SQLite store as the session core and a person with a shell see it.
#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of test functions")]

mod closing;
mod crash;
mod journal;
mod lease;
mod listing;
mod opening;
mod owners;
mod sharing;
mod support;
mod turns;
