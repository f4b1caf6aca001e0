//! Requests of the agent in a running turn: who answers them, and that the agent hears of it after the journal did.

use super::limits::Mode;
use super::{Command, Driver, OpenAgent, existing};
use crate::answer::{Decision, UPDATED_INPUT};
use crate::open_requests::{Asks, OpenRequest};
use crate::pump::TurnPump;
use crate::requests::{invalid, not_pending};
use chat_agents::AgentMessage;
use chat_grammar::Result;
use chat_grammar::contract::PermissionMode;
use chat_grammar::event::{DecidedBy, RequestAnswer};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

impl Driver {
    /// Looks at the requests that came last: some are answered at once, others wait from here on.
    pub(super) async fn attend(&mut self, pump: &mut TurnPump, mode: &Mode) {
        let new = pump.requests().take_new();
        if new.is_empty() {
            return;
        }
        if *mode != Mode::Running {
            self.cancel_requests(pump, "The turn is ending").await;
            return;
        }
        let allows = pump.permission_mode() == PermissionMode::FullAccess;
        let (allowed, waiting): (Vec<_>, Vec<_>) =
            new.into_iter().partition(|request| allows && matches!(request.asks, Asks::Leave { .. }));
        let decisions: Vec<_> = allowed.into_iter().filter_map(|request| self.allow(request)).collect();
        // Who is asked may look into the journal. A refusal ends the turn.
        let answered = match decisions.is_empty() {
            true => pump.commit().await,
            false => self.decide(pump, decisions).await,
        };
        if answered.is_ok() {
            waiting.iter().for_each(|request| self.wait_for_answer(pump, request));
        }
    }

    /// What `full_access` decides.
    fn allow(&self, request: OpenRequest) -> Option<Decision> {
        let Asks::Leave { choices, .. } = &request.asks else { return None };
        let option_id = self.agent.as_ref()?.session.full_access_choice(choices);
        let reason = option_id.is_none().then(|| "No choice was offered that allows".to_owned());
        let answer = RequestAnswer::Permission { option_id, reason, updated_input: None };
        Some(Decision { request, answer, by: DecidedBy::FullAccess })
    }

    /// Asks the host's callback, where there is one, and starts the clock.
    fn wait_for_answer(&self, pump: &TurnPump, request: &OpenRequest) {
        if let Some(limit) = self.core.options.request_limit_ms {
            pump.requests().limit(&request.native_id, Instant::now() + Duration::from_millis(limit));
        }
        let Some(on_request) = self.core.on_request.clone() else { return };
        let (waiting, request_id) = (request.to_waiting(), request.id.clone());
        // A callback may never answer: it must not keep the chat alive.
        let (core, conversation_id) = (Arc::downgrade(&self.core), Arc::clone(&self.conversation_id));
        self.core.runtime.spawn(async move {
            let Some(answer) = on_request(waiting).await else { return };
            if let Some(driver) = core.upgrade().and_then(|core| existing(&core, &conversation_id)) {
                // A driver that is gone has no turn to answer in.
                let _ = driver.send(Command::Answered { request_id, answer });
            }
        });
    }

    /// The answer of a caller.
    ///
    /// # Errors
    /// `REQUEST_NOT_PENDING`, `INVALID_OPTIONS`, `STORE_ERROR`.
    pub(super) async fn respond(&mut self, pump: &mut TurnPump, request_id: &str, answer: &str) -> Result<()> {
        let request = pump.requests().find(request_id).ok_or_else(|| not_pending(request_id))?;
        let decision = self.read(request, answer)?;
        self.decide(pump, vec![decision]).await
    }

    /// What the host decided, as far as the agent can carry it out.
    ///
    /// # Errors
    /// `INVALID_OPTIONS` at the path of what is wrong with the answer.
    fn read(&self, request: OpenRequest, answer: &str) -> Result<Decision> {
        let decision = Decision::read(request, answer)?;
        let changes_input = matches!(&decision.answer, RequestAnswer::Permission { updated_input: Some(_), .. });
        let can = |agent: &OpenAgent| agent.session.takes_updated_input(&decision.request.native_id);
        if changes_input && !self.agent.as_ref().is_some_and(can) {
            return Err(invalid(UPDATED_INPUT, "cannot be given: this agent runs the tool with its own input or not at all"));
        }
        Ok(decision)
    }

    /// The answer of the host's callback. Where somebody else was faster, it is none.
    pub(super) async fn take_callback_answer(&mut self, pump: &mut TurnPump, request_id: &str, answer: &str) {
        let Some(request) = pump.requests().find(request_id) else { return };
        let decision = self.read(request.clone(), answer).unwrap_or_else(|error| {
            tracing::warn!(request = request_id, %error, "the host's answer is none: the request is cancelled");
            let reason = format!("The host gave no valid answer: {}", error.message);
            Decision::cancelled(request, DecidedBy::Host, &reason)
        });
        // A refusal of the journal ends the turn, and is told there.
        let _ = self.decide(pump, vec![decision]).await;
    }

    /// Cancels what nobody answered in time.
    pub(super) async fn cancel_overdue(&mut self, pump: &mut TurnPump) {
        let limit = self.core.options.request_limit_ms.unwrap_or_default();
        let reason = format!("Nobody answered within {limit} ms");
        let overdue = pump.requests().overdue(Instant::now()).into_iter();
        let decisions = overdue.map(|request| Decision::cancelled(request, DecidedBy::Host, &reason)).collect();
        let _ = self.decide(pump, decisions).await;
    }

    /// Cancels all requests, since the turn ends.
    pub(super) async fn cancel_requests(&mut self, pump: &mut TurnPump, reason: &str) {
        let open = pump.requests().all().into_iter();
        let decisions: Vec<_> = open.map(|request| Decision::cancelled(request, DecidedBy::TurnEnd, reason)).collect();
        if !decisions.is_empty() {
            let _ = self.decide(pump, decisions).await;
        }
    }

    /// Journals what was decided, and delivers it once that is committed.
    ///
    /// # Errors
    /// That of the store: then nothing is delivered.
    async fn decide(&mut self, pump: &mut TurnPump, decisions: Vec<Decision>) -> Result<()> {
        for decision in decisions {
            // What an agent says about one answer may end other requests too.
            if !pump.requests().holds(&decision.request.native_id) {
                continue;
            }
            let (events, source) = match &mut self.agent {
                Some(agent) => {
                    let events = agent.session.answer(&decision.request.native_id, &decision.answer);
                    (events, agent.session.source().to_owned())
                }
                None => (Vec::new(), String::new()),
            };
            pump.take(vec![AgentMessage::made(decision.told(events))], &source).await;
        }
        pump.commit().await?;
        if let Some(agent) = &mut self.agent {
            agent.session.deliver().await;
        }
        Ok(())
    }
}
