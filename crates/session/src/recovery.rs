//! Turns that nobody drives any more are sealed from what the journal holds.

use crate::core::Core;
use crate::pump::assistant_message;
use chat_grammar::catalog::ModelCatalog;
use chat_grammar::records::{TurnFailure, TurnRecord, TurnSeal, TurnStatus};
use chat_grammar::time::iso8601;
use chat_grammar::transcript::Transcript;
use chat_grammar::usage::{UsageStep, finalize_turn_usage};
use chat_grammar::{ChatError, ErrorCode, Result};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashSet;

const READ_UPDATES: usize = 4096;
const READ_BYTES: usize = 4 * 1024 * 1024;

/// Ends the processes of dead hosts and seals as `interrupted` the turns that they left running. A turn that another host recovers at the same time is that
/// host's.
///
/// # Errors
/// `STORE_ERROR`.
pub(crate) async fn recover(core: &Core) -> Result<Vec<TurnRecord>> {
    // First: an agent that nobody hears must not go on changing files.
    end_orphans(core).await?;
    let mut recovered = Vec::new();
    for turn in core.store.running_turns(core.owner()).await? {
        // Those of this chat are driven.
        if core.tail(&turn.conversation_id, &turn.id).is_some() {
            continue;
        }
        let failure = TurnFailure::interrupted("host_died", "the process that ran this turn ended before the turn did");
        match seal_from_journal(core, &turn.conversation_id, &turn.id, failure).await {
            Ok(turn) => {
                core.announce(&turn);
                recovered.push(turn);
            }
            Err(error) if error.code == ErrorCode::TurnAlreadySealed => {}
            Err(error) => return Err(error),
        }
    }
    Ok(recovered)
}

/// Seals a turn with a failure and the message and usage that its committed updates come to.
///
/// # Errors
/// `TURN_NOT_FOUND`, `TURN_ALREADY_SEALED`, `STORE_ERROR`.
pub(crate) async fn seal_from_journal(
    core: &Core,
    conversation_id: &str,
    turn_id: &str,
    failure: TurnFailure,
) -> Result<TurnRecord> {
    let (store, owner) = (&core.store, core.owner());
    let turn = store.get_turn(owner, conversation_id, turn_id).await?;
    let turn = turn.ok_or_else(|| ChatError::turn_not_found(conversation_id, turn_id))?;
    let mut transcript = Transcript::new();
    let mut steps = Steps::default();
    each_update(core, conversation_id, turn_id, |_, json| {
        transcript.add(json);
        steps.add(json);
    })
    .await?;
    transcript.close_open_tools();
    let ended_at = iso8601(core.clock.now().await);
    let status = match failure.code.as_str() {
        "TURN_INTERRUPTED" => TurnStatus::Interrupted,
        _ => TurnStatus::Failed,
    };
    let seal = TurnSeal {
        turn_id: turn_id.to_owned(),
        status,
        stop_reason: None,
        native_stop_reason: None,
        error: Some(failure),
        usage: finalize_turn_usage(&steps.steps, ModelCatalog::published()),
        usage_steps: steps.steps,
        message: assistant_message(&turn, &transcript, &ended_at),
        ended_at,
    };
    store.seal_turn(owner, seal).await
}

/// Reads every committed update of a turn, in order, with its sequence.
///
/// # Errors
/// `SESSION_NOT_FOUND`, `TURN_NOT_FOUND`, `STORE_ERROR`.
pub(crate) async fn each_update(
    core: &Core,
    conversation_id: &str,
    turn_id: &str,
    mut each: impl FnMut(u64, &str),
) -> Result<()> {
    let mut last = 0;
    loop {
        let after = last;
        let chunks = core.store.read_updates(core.owner(), conversation_id, turn_id, after, READ_UPDATES, READ_BYTES).await?;
        for update in chunks.iter().flat_map(|chunk| chunk.updates_after(after)) {
            each(update.sequence, update.json);
            last = update.sequence;
        }
        if last == after {
            return Ok(());
        }
    }
}

/// Ends what the agents of dead hosts left running, once a host.
///
/// # Errors
/// `STORE_ERROR`.
async fn end_orphans(core: &Core) -> Result<()> {
    let mut dead = core.store.dead_hosts().await?;
    dead.retain(|host| !core.lock_cleaned_hosts().contains(host));
    if !dead.is_empty() {
        let ended = chat_agents::end_orphans(&dead).await;
        if ended > 0 {
            tracing::info!(ended, "processes of dead hosts were ended");
        }
        core.lock_cleaned_hosts().extend(dead);
    }
    Ok(())
}

/// The usage steps that stand in a turn's updates.
#[derive(Default)]
struct Steps {
    steps: Vec<UsageStep>,
    ids: HashSet<String>,
}

#[derive(Deserialize)]
struct WireUpdate<'a> {
    #[serde(borrow, rename = "sessionUpdate")]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct WireStep {
    step: UsageStep,
}

#[derive(Deserialize)]
struct WireFullness {
    #[serde(rename = "_meta")]
    meta: WireMeta,
}

#[derive(Deserialize)]
struct WireMeta {
    amalgm: WireUsage,
}

#[derive(Deserialize)]
struct WireUsage {
    usage: UsageStep,
}

impl Steps {
    fn add(&mut self, json: &str) {
        let Ok(update) = serde_json::from_str::<WireUpdate<'_>>(json) else { return };
        let step = match update.kind.as_ref() {
            "usage_step" => serde_json::from_str::<WireStep>(json).map(|update| update.step),
            "usage_update" => serde_json::from_str::<WireFullness>(json).map(|update| update.meta.amalgm.usage),
            _ => return,
        };
        if let Ok(step) = step
            && self.ids.insert(step.record.id.clone())
        {
            self.steps.push(step);
        }
    }
}
