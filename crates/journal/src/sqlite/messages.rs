//! What a turn leaves behind, in SQL: messages, usage steps and the agent's checkpoint.

use super::conversations::require;
use super::failure::{Failure, Outcome};
use super::row::{count, integer, json, raw_json, to_json, word};
use chat_grammar::records::{MessageRecord, ProviderCheckpoint, Role};
use chat_grammar::usage::UsageStep;
use rusqlite::{Connection, OptionalExtension, params};

/// Stores a message of a turn; where its ordinal is 0, it gets the next one of the conversation.
pub(crate) fn insert(
    connection: &Connection,
    owner: &str,
    conversation_id: &str,
    turn_id: &str,
    message: &MessageRecord,
) -> Outcome<()> {
    if message.conversation_id != conversation_id || message.turn_id != turn_id {
        return Err(Failure::refused(format!(
            "message {:?} is none of turn {turn_id:?} in session {conversation_id:?}",
            message.id
        )));
    }
    let ordinal = match message.ordinal {
        0 => connection
            .prepare_cached("SELECT coalesce(max(ordinal), 0) + 1 FROM messages WHERE owner = ?1 AND conversation_id = ?2")?
            .query_row([owner, conversation_id], |row| row.get(0))?,
        given => integer(given)?,
    };
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let inserted = connection
        .prepare_cached(
            "INSERT INTO messages (owner, id, conversation_id, turn_id, ordinal, role, parts, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            owner,
            message.id,
            conversation_id,
            turn_id,
            ordinal,
            role,
            message.parts.get(),
            message.created_at
        ])?;
    if inserted == 0 {
        return Err(Failure::refused(format!("message {:?}, or one with ordinal {ordinal}, exists already", message.id)));
    }
    Ok(())
}

pub(crate) fn list(connection: &Connection, owner: &str, conversation_id: &str) -> Outcome<Vec<MessageRecord>> {
    require(connection, owner, conversation_id)?;
    let mut statement = connection.prepare_cached(
        "SELECT id, conversation_id, turn_id, ordinal, role, parts, created_at FROM messages
         WHERE owner = ?1 AND conversation_id = ?2 ORDER BY ordinal",
    )?;
    let messages = statement.query_map([owner, conversation_id], |row| {
        Ok(MessageRecord {
            id: row.get("id")?,
            conversation_id: row.get("conversation_id")?,
            turn_id: row.get("turn_id")?,
            ordinal: count(row, "ordinal")?,
            role: word(row, "role")?,
            parts: raw_json(row, "parts")?,
            created_at: row.get("created_at")?,
        })
    })?;
    Ok(messages.collect::<Result<_, _>>()?)
}

pub(crate) fn insert_step(connection: &Connection, owner: &str, turn_id: &str, step: &UsageStep) -> Outcome<()> {
    if step.turn_id != turn_id {
        return Err(Failure::refused(format!("usage step {} is of turn {:?}, not of {turn_id:?}", step.index, step.turn_id)));
    }
    let inserted = connection
        .prepare_cached(
            "INSERT INTO usage_steps (owner, turn_id, number, step) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
        )?
        .execute(params![owner, turn_id, integer(step.index)?, to_json(step)?])?;
    if inserted == 0 {
        return Err(Failure::refused(format!("turn {turn_id:?} has usage step {} twice", step.index)));
    }
    Ok(())
}

pub(crate) fn list_steps(
    connection: &Connection,
    owner: &str,
    conversation_id: &str,
    turn_id: Option<&str>,
) -> Outcome<Vec<UsageStep>> {
    require(connection, owner, conversation_id)?;
    let mut statement = connection.prepare_cached(
        "SELECT step FROM turns JOIN usage_steps ON usage_steps.owner = turns.owner AND usage_steps.turn_id = turns.id
         WHERE turns.owner = ?1 AND turns.conversation_id = ?2 AND (?3 IS NULL OR turns.id = ?3)
         ORDER BY turns.ordinal, number",
    )?;
    let steps = statement.query_map(params![owner, conversation_id, turn_id], |row| json(row, "step"))?;
    Ok(steps.collect::<Result<_, _>>()?)
}

pub(crate) fn put_checkpoint(connection: &Connection, owner: &str, checkpoint: &ProviderCheckpoint) -> Outcome<()> {
    require(connection, owner, &checkpoint.conversation_id)?;
    connection
        .prepare_cached(
            "INSERT INTO checkpoints (owner, conversation_id, key, provider_session_id, updated_at, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (owner, conversation_id, key) DO UPDATE SET provider_session_id = excluded.provider_session_id,
                 updated_at = excluded.updated_at, data = excluded.data",
        )?
        .execute(params![
            owner,
            checkpoint.conversation_id,
            checkpoint.key,
            checkpoint.provider_session_id,
            checkpoint.updated_at,
            to_json(&checkpoint.data)?,
        ])?;
    Ok(())
}

pub(crate) fn get_checkpoint(
    connection: &Connection,
    owner: &str,
    conversation_id: &str,
    key: &str,
) -> Outcome<Option<ProviderCheckpoint>> {
    let mut statement = connection.prepare_cached(
        "SELECT conversation_id, key, provider_session_id, updated_at, data FROM checkpoints
         WHERE owner = ?1 AND conversation_id = ?2 AND key = ?3",
    )?;
    let checkpoint = statement.query_row([owner, conversation_id, key], |row| {
        Ok(ProviderCheckpoint {
            conversation_id: row.get("conversation_id")?,
            key: row.get("key")?,
            provider_session_id: row.get("provider_session_id")?,
            updated_at: row.get("updated_at")?,
            data: json(row, "data")?,
        })
    });
    Ok(checkpoint.optional()?)
}
