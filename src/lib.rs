//! The addon: the only code that knows napi. Each file holds one exported type or a group of plain functions, translates
//! arguments and errors, and leaves everything else to the crates below.
//!
//! Nested values cross as JSON text both ways. Every sync export catches panics by `catch_unwind`; every promise is made by
//! `promise::answer`, which catches them too. An error crosses as the JSON text `{code, message, details}` in its message.

#![cfg_attr(test, allow(dead_code, reason = "napi registers exports only outside of test builds"))]

mod callbacks;
mod chat;
mod error;
mod events;
mod execution;
mod input;
mod normalizer;
#[cfg(feature = "test-panics")]
mod panics;
mod promise;
mod recording;
mod runtime;
mod store;
mod subscription;
mod transcript;
mod usage;

use napi_derive::{module_init, napi};

/// The version of this addon, which is the package's.
#[napi(catch_unwind)]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

#[module_init]
fn init() {
    // A panic becomes a JavaScript error; it must not write to the host's stderr as well.
    std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "panic")));
    promise::limit_threads();
}
