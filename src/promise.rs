//! Promises of the core's futures, and the threads that drive them.

use crate::error::to_napi;
use chat_grammar::{ChatError, Result};
use futures::FutureExt;
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, AsyncBlockBuilder, ToNapiValue};
use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use tokio::runtime::Handle;

/// A promise of what the core answers. What must happen in call order happens before this is called, on the JavaScript thread.
pub(crate) fn answer<T, F>(env: &Env, future: F) -> napi::Result<AsyncBlock<T>>
where
    T: ToNapiValue + Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let guarded = AssertUnwindSafe(future).catch_unwind();
    AsyncBlockBuilder::new(async move {
        guarded.await.unwrap_or_else(|panic| Err(ChatError::runtime(panic_text(&*panic)))).map_err(to_napi)
    })
    .build(env)
}

/// The runtime that drives everything in this process.
///
/// # Errors
/// `RUNTIME_ERROR` where the environment is being torn down.
pub(crate) fn runtime() -> Result<Handle> {
    napi::bindgen_prelude::within_runtime_if_available(Handle::try_current)
        .map_err(|error| ChatError::runtime(format!("the native runtime is not running: {error}")))
}

// The work is short tasks between a pipe, the journal and JavaScript: two threads keep up with it, and an embedding host has
// better uses for its cores.
pub(crate) fn limit_threads() {
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(8)
        .thread_name("chat-native")
        .enable_all()
        .build();
    if let Ok(runtime) = built {
        napi::bindgen_prelude::create_custom_tokio_runtime(runtime);
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}
