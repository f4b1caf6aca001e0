//! Committed updates, read back.

use super::blob::decode;
use super::failure::{Failure, Outcome};
use super::row::count;
use crate::chunk::Chunk;
use chat_grammar::ChatError;
use rusqlite::{Connection, OptionalExtension, params};

/// Which updates of a turn are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) after: u64,
    pub(crate) limit: usize,
    pub(crate) max_bytes: usize,
}

/// The updates of the span; the last chunk may go beyond `max_bytes` by one update.
pub(crate) fn read(connection: &Connection, owner: &str, conversation_id: &str, turn_id: &str, span: Span) -> Outcome<Vec<Chunk>> {
    let key: i64 = connection
        .prepare_cached("SELECT key FROM turns WHERE owner = ?1 AND conversation_id = ?2 AND id = ?3")?
        .query_row([owner, conversation_id, turn_id], |row| row.get(0))
        .optional()?
        .ok_or_else(|| ChatError::turn_not_found(conversation_id, turn_id))?;
    let mut statement = connection
        .prepare_cached("SELECT first, last, format, bytes, data FROM journal WHERE turn = ?1 AND last > ?2 ORDER BY last")?;
    // Beyond what SQLite can hold there are no updates.
    let mut rows = statement.query(params![key, i64::try_from(span.after).unwrap_or(i64::MAX)])?;

    let (mut updates, mut bytes) = (span.limit, span.max_bytes);
    let mut chunks = Vec::new();
    while updates > 0 && (bytes > 0 || chunks.is_empty()) {
        let Some(row) = rows.next()? else { break };
        let (first, last) = (count(row, "first")?, count(row, "last")?);
        let text = decode(row.get("format")?, row.get("bytes")?, row.get_ref("data")?.as_blob().map_err(rusqlite::Error::from)?)?;
        let chunk = Chunk::from_text(first, text);
        if chunk.last_sequence() != last {
            return Err(Failure::Damaged(format!("the row of updates {first} to {last} of turn {turn_id:?} holds {}", chunk.len())));
        }
        let Some(chunk) = cut(chunk, span.after, updates, bytes) else { continue };
        updates = updates.saturating_sub(chunk.len());
        bytes = bytes.saturating_sub(chunk.text().len());
        chunks.push(chunk);
    }
    Ok(chunks)
}

// The chunk's updates past a sequence, as many as fit, but at least one.
fn cut(chunk: Chunk, after: u64, max_updates: usize, max_bytes: usize) -> Option<Chunk> {
    let rest = chunk.text_after(after);
    let mut fitting = None;
    for (index, (at, _)) in rest.match_indices('\n').chain([(rest.len(), "")]).enumerate() {
        if index > 0 && (index >= max_updates || at > max_bytes) {
            break;
        }
        fitting = Some(at);
    }
    let text = rest.get(..fitting?)?;
    if text.len() == chunk.text().len() {
        return Some(chunk);
    }
    Some(Chunk::from_text(chunk.first_sequence().max(after.saturating_add(1)), text.to_owned()))
}
