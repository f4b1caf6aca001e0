//! Committed updates, read back.

use super::blob::decode;
use super::failure::{Failure, Outcome};
use super::row::count;
use super::turns::unknown_turn;
use crate::chunk::Chunk;
use rusqlite::{Connection, OptionalExtension, params};

/// Which updates of a turn are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) after: u64,
    pub(crate) limit: usize,
    pub(crate) max_bytes: usize,
}

/// The updates of the span; the last chunk may go beyond `max_bytes` by one update.
pub(crate) fn read(
    connection: &Connection,
    owner: &str,
    conversation_id: &str,
    turn_id: &str,
    span: Span,
) -> Outcome<Vec<Chunk>> {
    let key: i64 = connection
        .prepare_cached("SELECT key FROM turns WHERE owner = ?1 AND conversation_id = ?2 AND id = ?3")?
        .query_row([owner, conversation_id, turn_id], |row| row.get(0))
        .optional()?
        .map_or_else(|| unknown_turn(connection, owner, conversation_id, turn_id), Ok)?;
    let mut statement = connection
        .prepare_cached("SELECT first, last, format, bytes, data FROM journal WHERE turn = ?1 AND last > ?2 ORDER BY last")?;
    // Beyond what SQLite can hold there are no updates.
    let mut rows = statement.query(params![key, i64::try_from(span.after).unwrap_or(i64::MAX)])?;

    let (mut updates, mut bytes) = (span.limit, span.max_bytes);
    let mut chunks = Vec::new();
    while updates > 0 && (bytes > 0 || chunks.is_empty()) {
        let Some(row) = rows.next()? else { break };
        let (first, last) = (count(row, "first")?, count(row, "last")?);
        let data = row.get_ref("data")?.as_blob().map_err(rusqlite::Error::from)?;
        let chunk = Chunk::from_text(first, decode(row.get("format")?, row.get("bytes")?, data)?);
        if chunk.last_sequence() != last {
            let problem = format!("the row of updates {first} to {last} of turn {turn_id:?} holds {}", chunk.len());
            return Err(Failure::Damaged(problem));
        }
        let chunk = cut(chunk, span.after, updates, bytes);
        updates = updates.saturating_sub(chunk.len());
        bytes = bytes.saturating_sub(chunk.text().len());
        let whole = chunk.last_sequence() == last;
        chunks.push(chunk);
        if !whole {
            break;
        }
    }
    Ok(chunks)
}

// The chunk's updates past a sequence that it reaches beyond: as many as fit, but at least one.
fn cut(chunk: Chunk, after: u64, max_updates: usize, max_bytes: usize) -> Chunk {
    let rest = chunk.text_after(after);
    let ends = rest.match_indices('\n').map(|(at, _)| at).chain([rest.len()]);
    let fits = |(index, end): &(usize, usize)| *index == 0 || (*index < max_updates && *end <= max_bytes);
    let end = ends.enumerate().take_while(fits).last().map_or(0, |(_, end)| end);
    if end == chunk.text().len() {
        return chunk;
    }
    let text = rest.get(..end).unwrap_or_default().to_owned();
    Chunk::from_text(chunk.first_sequence().max(after.saturating_add(1)), text)
}
