//! `Chat` and `ChatSession`.

use crate::callbacks::{AskAboutRequest, host_clock, request_listener, turn_listener};
use crate::error::{json, to_napi};
use crate::promise::{answer, runtime};
use crate::runtime::NativeRuntime;
use crate::store::NativeStore;
use crate::subscription::NativeSubscription;
use chat_agents::{Adapters, HostContext};
use chat_grammar::Result;
use chat_journal::{ConversationStore, SqliteStore};
use chat_session::{Chat, ChatOptions, ChatPorts, Clock};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Function, ToNapiValue};
use napi_derive::napi;
use serde_json::json as value;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

/// The conversations of one owner. Commands whose order matters take their place at the call; their answer is the promise.
#[napi]
pub struct NativeChat {
    chat: Chat,
    agents: Arc<Adapters>,
    /// The agents' homes, where they are not kept.
    passing_state: Option<PathBuf>,
}

type Answer<T> = napi::Result<AsyncBlock<T>>;

impl NativeChat {
    fn ask<T, F>(&self, env: &Env, question: impl FnOnce(Chat) -> F) -> Answer<T>
    where
        T: ToNapiValue + Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        answer(env, question(self.chat.clone()))
    }
}

#[napi]
impl NativeChat {
    /// Options as JSON: `{ownerUserId, journal?, subscriberBuffer?}`. `clock`: milliseconds since 1970, NaN where it failed.
    /// `on_request`: kind (`permission` or `elicitation`) and JSON of a request; gives the answer as JSON, or `null`.
    /// None of the callbacks may throw or reject, and none keeps the process alive.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        options_json: String,
        store: &NativeStore,
        agents: &NativeRuntime,
        clock: Option<Function<'_, (), f64>>,
        on_turn: Option<Function<'_, String, ()>>,
        #[napi(ts_arg_type = "((kind: string, requestJson: string) => Promise<string | null>) | undefined | null")]
        on_request: Option<AskAboutRequest<'_>>,
    ) -> napi::Result<Self> {
        let mut options = ChatOptions::from_json(&options_json).map_err(to_napi)?;
        options.idle_limit_ms = agents.limits.idle_limit_ms.unwrap_or(options.idle_limit_ms);
        options.idle_timeout_ms = agents.limits.idle_timeout_ms.unwrap_or(options.idle_timeout_ms);
        options.request_limit_ms = agents.limits.request_limit_ms;
        options.retry_limit_ms = agents.limits.retry_limit_ms.unwrap_or(options.retry_limit_ms);
        let ports = ChatPorts {
            store: Arc::clone(&store.store) as Arc<dyn ConversationStore>,
            adapters: Arc::clone(&agents.adapters),
            host: host_context(&store.store, agents),
            clock: clock.map(host_clock).transpose()?.unwrap_or(Clock::System),
            on_turn: on_turn.map(turn_listener).transpose()?,
            on_request: on_request.map(request_listener).transpose()?,
            runtime: runtime().map_err(to_napi)?,
        };
        let is_passing = agents.state_dir.is_none() && store.store.path().is_none();
        let passing_state = is_passing.then(|| ports.host.state_dir.clone());
        Ok(Self { chat: Chat::new(options, ports), agents: Arc::clone(&agents.adapters), passing_state })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn prepare_execution(
        &self,
        env: &Env,
        id: String,
        contract_json: String,
        resolved_json: Option<String>,
    ) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.prepare_execution(&id, &contract_json, resolved_json.as_deref()).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn start_session(&self, env: &Env, options_json: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.start_session(&options_json).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn resume_session(&self, env: &Env, options_json: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.resume_session(&options_json).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn get_conversation(&self, env: &Env, id: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.conversation(&id).await?) })
    }

    /// `{conversation, latestTurn}`.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn resume_stored_session(&self, env: &Env, id: String, resolved_json: Option<String>) -> Answer<String> {
        self.ask(env, |chat| async move {
            let (conversation, latest_turn) = chat.resume_stored_session(&id, resolved_json.as_deref()).await?;
            json(&value!({ "conversation": conversation, "latestTurn": latest_turn }))
        })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn recover_interrupted_turns(&self, env: &Env) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.recover_interrupted_turns().await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn page_conversations(&self, env: &Env, options_json: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.page_conversations(&options_json).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn archive_session(&self, env: &Env, id: String) -> Answer<()> {
        self.ask(env, |chat| async move { chat.archive_session(&id).await })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn mark_seen(&self, env: &Env, id: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.mark_seen(&id).await?) })
    }

    /// The running turn, `null` as JSON where there is none.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn active_turn(&self, env: &Env, id: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.active_turn(&id).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn latest_turn(&self, env: &Env, id: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.latest_turn(&id).await?) })
    }

    /// The id of the turn, once the prompt is stored.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn send(&self, env: &Env, session_id: String, options_json: String) -> Answer<String> {
        answer(env, self.chat.send(&session_id, options_json))
    }

    #[napi(catch_unwind)]
    pub fn subscribe(&self, conversation_id: String, turn_id: String, after_sequence: f64) -> NativeSubscription {
        // The facade lets only safe integers pass.
        NativeSubscription::new(self.chat.subscribe(conversation_id, turn_id, after_sequence as u64))
    }

    /// How many subscriptions are open.
    #[napi(catch_unwind)]
    pub fn subscription_count(&self) -> u32 {
        u32::try_from(self.chat.subscription_count()).unwrap_or(u32::MAX)
    }

    /// The sealed turn; waits for its end.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn completion(&self, env: &Env, conversation_id: String, turn_id: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.completion(&conversation_id, &turn_id).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn interrupt(&self, env: &Env, session_id: String) -> Answer<()> {
        answer(env, self.chat.interrupt(&session_id))
    }

    /// Answers a request of the agent: `{outcome, reason?}` or `{response}` as JSON.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn respond(&self, env: &Env, session_id: String, request_id: String, answer_json: String) -> Answer<()> {
        answer(env, self.chat.respond(&session_id, request_id, answer_json))
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn inspect(&self, env: &Env, session_id: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.inspect(&session_id).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn messages(&self, env: &Env, session_id: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.messages(&session_id).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn usage_steps(&self, env: &Env, session_id: String, turn_id: Option<String>) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.usage_steps(&session_id, turn_id.as_deref()).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn update_title(&self, env: &Env, session_id: String, title: String) -> Answer<String> {
        self.ask(env, |chat| async move { json(&chat.update_title(&session_id, title).await?) })
    }

    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close_session(&self, env: &Env, session_id: String) -> Answer<()> {
        answer(env, self.chat.close_session(&session_id))
    }

    /// Ends the agents and seals running turns. The store stays open.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: &Env) -> Answer<()> {
        let passing = self.passing_state.clone();
        self.ask(env, |chat| async move {
            chat.close().await;
            if let Some(folder) = passing {
                // Where it was never made, or is gone, there is nothing to remove.
                let _ = std::fs::remove_dir_all(folder);
            }
            Ok(())
        })
    }

    /// For a process that ends now: returns once all that was accepted is committed.
    #[napi(catch_unwind)]
    pub fn shutdown(&self) {
        self.chat.shutdown();
    }

    /// For a process that ends now: returns once the agents are gone. Only after all chats of the runtime were shut down, which
    /// would take an agent that is ended here for one that failed.
    #[napi(catch_unwind)]
    pub fn end_agents(&self) {
        self.agents.kill_now();
    }
}

fn host_context(store: &SqliteStore, agents: &NativeRuntime) -> HostContext {
    let host_id = store.host_id().to_owned();
    let state_dir = agents.state_dir.clone().unwrap_or_else(|| match store.path() {
        Some(database) => {
            let mut folder = database.as_os_str().to_owned();
            folder.push("-agents");
            folder.into()
        }
        // What is not kept needs no home that is.
        None => std::env::temp_dir().join(format!("chat-native-{host_id}")),
    });
    HostContext { host_id, state_dir }
}
