//! One export of each kind that panics, for the tests of the border. Not part of a release.
#![allow(clippy::panic, clippy::new_without_default, missing_docs)]

use crate::promise::answer;
use napi::Env;
use napi::bindgen_prelude::AsyncBlock;
use napi_derive::napi;

#[napi(catch_unwind)]
pub fn panic_in_function() {
    panic!("injected into a function");
}

#[napi(catch_unwind, ts_return_type = "Promise<void>")]
pub fn panic_in_promise(env: &Env) -> napi::Result<AsyncBlock<()>> {
    answer(env, async { panic!("injected into a promise") })
}

#[napi]
pub struct PanickingConstructor {}

#[napi]
impl PanickingConstructor {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        panic!("injected into a constructor");
    }
}

#[napi]
pub struct PanickingMethods {}

#[napi]
impl PanickingMethods {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self {}
    }

    #[napi(catch_unwind)]
    pub fn method(&self) {
        panic!("injected into a method");
    }

    #[napi(getter, catch_unwind)]
    pub fn property(&self) -> u32 {
        panic!("injected into a getter");
    }
}
