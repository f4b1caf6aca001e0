//! Functions of the host that the core calls.

use crate::error::json;
use chat_grammar::records::TurnRecord;
use chat_session::{AskTime, Clock, OnRequest, OnTurn, RequestKind, WaitingRequest};
use napi::bindgen_prelude::{FnArgs, Function, Promise};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use std::sync::Arc;

/// Takes the kind and the JSON of a request; gives the answer as JSON, if any.
pub(crate) type AskAboutRequest<'a> = Function<'a, FnArgs<(String, String)>, Promise<Option<String>>>;

/// The time as the host tells it.
pub(crate) fn host_clock(clock: Function<'_, (), f64>) -> napi::Result<Clock> {
    let clock = Arc::new(clock.build_threadsafe_function().weak::<true>().build()?);
    let ask: AskTime = Arc::new(move || {
        let clock = Arc::clone(&clock);
        Box::pin(async move {
            let milliseconds = clock.call_async(()).await.ok()?;
            milliseconds.is_finite().then_some(milliseconds as i64)
        })
    });
    Ok(Clock::Host(ask))
}

/// Told of turns; nobody waits for it.
pub(crate) fn turn_listener(on_turn: Function<'_, String, ()>) -> napi::Result<OnTurn> {
    let on_turn = on_turn.build_threadsafe_function().weak::<true>().build()?;
    Ok(Arc::new(move |turn: &TurnRecord| {
        if let Ok(turn) = json(turn) {
            on_turn.call(turn, ThreadsafeFunctionCallMode::NonBlocking);
        }
    }))
}

/// Asked about requests of agents. Where the function fails, or is gone with its environment, the request waits for others.
pub(crate) fn request_listener(on_request: AskAboutRequest<'_>) -> napi::Result<OnRequest> {
    let on_request = Arc::new(on_request.build_threadsafe_function().weak::<true>().build()?);
    Ok(Arc::new(move |WaitingRequest { kind, json }| {
        let on_request = Arc::clone(&on_request);
        let kind = match kind {
            RequestKind::Permission => "permission",
            RequestKind::Elicitation => "elicitation",
        };
        Box::pin(async move {
            let answer = on_request.call_async_catch((kind.to_owned(), json).into()).await.ok()?;
            answer.await.ok()?
        })
    }))
}
