//! Turns in SQL: how they begin, how they end, and what is known of them.

use super::conversations;
use super::failure::{Failure, Outcome};
use super::group::{Scope, Writing};
use super::lease::Host;
use super::messages;
use super::row::{count, integer, json, optional_json, raw_json, to_json, word};
use chat_grammar::records::{ConversationPatch, MessageRecord, TurnOrigin, TurnRecord, TurnSeal, TurnStatus};
use chat_grammar::{ChatError, ErrorCode};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use std::collections::HashMap;

const COLUMNS: &str =
    "key, id, conversation_id, ordinal, status, origin, stop_reason, native_stop_reason, error, execution, prompt,
    started_at, ended_at, usage, host, (SELECT coalesce(max(last), 0) FROM journal WHERE turn = turns.key) AS last_sequence";

/// What a writer needs to know of a turn.
pub(crate) struct TurnState {
    /// What the journal's rows call it by.
    pub(crate) key: i64,
    pub(crate) conversation_id: String,
    pub(crate) running: bool,
    pub(crate) host: String,
    pub(crate) last_sequence: u64,
}

pub(crate) fn turn_state(connection: &Connection, owner: &str, id: &str) -> Outcome<Option<TurnState>> {
    let state = |row: &Row<'_>| {
        Ok(TurnState {
            key: row.get("key")?,
            conversation_id: row.get("conversation_id")?,
            running: word::<TurnStatus>(row, "status")? == TurnStatus::Running,
            host: row.get("host")?,
            last_sequence: count(row, "last_sequence")?,
        })
    };
    select_one(connection, "owner = ?1 AND id = ?2", [owner, id], state)
}

pub(crate) fn get(connection: &Connection, owner: &str, conversation_id: &str, id: &str) -> Outcome<Option<TurnRecord>> {
    select_one(connection, "owner = ?1 AND conversation_id = ?2 AND id = ?3", [owner, conversation_id, id], from_row)
}

/// Says why a turn is not there.
///
/// # Errors
/// `SESSION_NOT_FOUND`, or `TURN_NOT_FOUND` where the conversation exists.
pub(crate) fn unknown_turn<T>(connection: &Connection, owner: &str, conversation_id: &str, turn_id: &str) -> Outcome<T> {
    conversations::require(connection, owner, conversation_id)?;
    Err(ChatError::turn_not_found(conversation_id, turn_id).into())
}

pub(crate) fn latest(connection: &Connection, owner: &str, conversation_id: &str) -> Outcome<Option<TurnRecord>> {
    let condition = "owner = ?1 AND conversation_id = ?2 ORDER BY ordinal DESC LIMIT 1";
    select_one(connection, condition, [owner, conversation_id], from_row)
}

/// The owner's running turns that no live host drives.
pub(crate) fn left_over(connection: &Connection, me: &Host, owner: &str) -> Outcome<Vec<TurnRecord>> {
    let mut statement = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM turns WHERE owner = ?1 AND status = 'running' ORDER BY key"))?;
    let running: Vec<(String, TurnRecord)> =
        statement.query_map([owner], |row| Ok((row.get("host")?, from_row(row)?)))?.collect::<Result<_, _>>()?;
    let mut alive: HashMap<String, bool> = HashMap::new();
    let mut left = Vec::new();
    for (host, turn) in running {
        let lives = match alive.get(&host) {
            Some(lives) => *lives,
            None => {
                let lives = me.sees_alive(connection, &host)?;
                alive.insert(host, lives);
                lives
            }
        };
        if !lives {
            left.push(turn);
        }
    }
    Ok(left)
}

/// Stores a turn that begins, with its message, and changes its conversation.
pub(crate) fn begin(
    scope: &Scope<'_>,
    owner: &str,
    turn: &TurnRecord,
    message: Option<&MessageRecord>,
    patch: ConversationPatch,
) -> Outcome<TurnRecord> {
    let Scope { connection, host } = *scope;
    let (id, conversation_id) = (&turn.id, &turn.conversation_id);
    conversations::update(connection, owner, conversation_id, patch)?;
    if turn.status != TurnStatus::Running {
        return Err(Failure::refused(format!("turn {id:?} cannot begin as {}", turn.status.as_str())));
    }
    let running: Option<String> = connection
        .prepare_cached("SELECT id FROM turns WHERE owner = ?1 AND conversation_id = ?2 AND status = 'running'")?
        .query_row([owner, conversation_id], |row| row.get(0))
        .optional()?;
    if let Some(running) = running {
        let message = format!("turn {running:?} of session {conversation_id:?} is still running");
        return Err(ChatError::new(ErrorCode::SessionBusy, message).into());
    }
    let ordinal = match turn.ordinal {
        0 => connection
            .prepare_cached("SELECT coalesce(max(ordinal), 0) + 1 FROM turns WHERE owner = ?1 AND conversation_id = ?2")?
            .query_row([owner, conversation_id], |row| row.get(0))?,
        given => integer(given)?,
    };
    let origin = match turn.origin {
        TurnOrigin::Host => "host",
        TurnOrigin::Agent => "agent",
    };
    let begun = connection
        .prepare_cached(
            "INSERT INTO turns (owner, id, conversation_id, ordinal, status, origin, execution, prompt, started_at, host)
             VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            owner,
            id,
            conversation_id,
            ordinal,
            origin,
            to_json(&turn.execution)?,
            turn.prompt.get(),
            turn.started_at,
            host.id,
        ])?;
    if begun == 0 {
        let message = format!(
            "turn {id:?} exists already (ids of turns are unique among all sessions of an owner), or one with ordinal {ordinal}"
        );
        return Err(Failure::refused(message));
    }
    if let Some(message) = message {
        messages::insert(connection, owner, conversation_id, id, message)?;
    }
    stored(connection, owner, conversation_id, id)
}

/// Ends a turn for good.
pub(crate) fn seal(writing: &mut Writing<'_>, owner: &str, seal: &TurnSeal) -> Outcome<TurnRecord> {
    let Scope { connection, host } = writing.scope;
    let id = &seal.turn_id;
    let Some(TurnState { key, conversation_id, running, host: holder, .. }) = turn_state(connection, owner, id)? else {
        let message = format!("turn {id:?} does not exist for this owner");
        return Err(ChatError::new(ErrorCode::TurnNotFound, message).into());
    };
    if !running {
        return Err(ChatError::new(ErrorCode::TurnAlreadySealed, format!("turn {id:?} is sealed already")).into());
    }
    if seal.status == TurnStatus::Running {
        return Err(Failure::refused(format!("turn {id:?} cannot be sealed as running")));
    }
    host.require_lease(connection, id, &holder)?;
    connection
        .prepare_cached(
            "UPDATE turns SET status = ?3, stop_reason = ?4, native_stop_reason = ?5, error = ?6, ended_at = ?7, usage = ?8, host = ?9
             WHERE owner = ?1 AND id = ?2 AND status = 'running'",
        )?
        .execute(params![
            owner,
            id,
            seal.status.as_str(),
            seal.stop_reason,
            seal.native_stop_reason,
            seal.error.as_ref().map(to_json).transpose()?,
            seal.ended_at,
            seal.usage.as_ref().map(to_json).transpose()?,
            host.id,
        ])?;
    for step in &seal.usage_steps {
        messages::insert_step(connection, owner, id, step)?;
    }
    if let Some(message) = &seal.message {
        messages::insert(connection, owner, &conversation_id, id, message)?;
    }
    connection
        .prepare_cached("UPDATE conversations SET new_messages = 1, updated_at = ?3 WHERE owner = ?1 AND id = ?2")?
        .execute([owner, &conversation_id, &seal.ended_at])?;
    let record = stored(connection, owner, &conversation_id, id)?;
    writing.live.seal(owner, id, key);
    Ok(record)
}

fn stored(connection: &Connection, owner: &str, conversation_id: &str, id: &str) -> Outcome<TurnRecord> {
    get(connection, owner, conversation_id, id)?
        .ok_or_else(|| Failure::Damaged(format!("turn {id:?} is gone after it was written")))
}

fn select_one<T>(
    connection: &Connection,
    condition: &str,
    parameters: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Outcome<Option<T>> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM turns WHERE {condition}"))?;
    Ok(statement.query_row(parameters, read).optional()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<TurnRecord> {
    Ok(TurnRecord {
        id: row.get("id")?,
        conversation_id: row.get("conversation_id")?,
        ordinal: count(row, "ordinal")?,
        status: word(row, "status")?,
        origin: word(row, "origin")?,
        stop_reason: row.get("stop_reason")?,
        native_stop_reason: row.get("native_stop_reason")?,
        error: optional_json(row, "error")?,
        execution: json(row, "execution")?,
        prompt: raw_json(row, "prompt")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
        last_sequence: count(row, "last_sequence")?,
        usage: optional_json(row, "usage")?,
    })
}
