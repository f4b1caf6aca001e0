//! Updates on their way into the journal: checked against what is known of their turn, then joined into rows.

use super::blob::Encoder;
use super::failure::{Failure, Outcome};
use super::group::Scope;
use super::row::integer;
use super::turns::{TurnState, turn_state, unknown_turn};
use crate::chunk::Chunk;
use crate::store::{AppendDone, UpdateBatch};
use chat_grammar::{ChatError, ErrorCode};
use rusqlite::params;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A batch with the call that answers it. It is answered in any case: dropped unanswered, with `RUNTIME_ERROR`.
pub(crate) struct Append {
    pub(crate) batch: UpdateBatch,
    /// Set where the batch was refused before it reached the writer.
    refusal: Option<ChatError>,
    done: Option<AppendDone>,
}

impl Append {
    pub(crate) fn new(batch: UpdateBatch, done: AppendDone) -> Self {
        Self { batch, refusal: None, done: Some(done) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.batch.chunk.text().len()
    }

    /// The same without its updates, to be refused in its turn.
    pub(crate) fn refused(mut self, error: ChatError) -> Self {
        self.refusal = Some(error);
        self.batch.chunk = Arc::new(Chunk::from_text(self.batch.chunk.first_sequence(), String::new()));
        self
    }

    pub(crate) fn settle(mut self, result: Result<(), ChatError>) {
        self.answer(result);
    }

    fn answer(&mut self, result: Result<(), ChatError>) {
        // The caller's fault must not end the writer, on which all turns depend.
        if let Some(done) = self.done.take()
            && catch_unwind(AssertUnwindSafe(|| done(result))).is_err()
        {
            tracing::error!(turn = %self.batch.turn_id, "the answer to a batch of updates panicked");
        }
    }
}

impl Drop for Append {
    fn drop(&mut self) {
        self.answer(Err(ChatError::runtime("the journal's writer stopped before it answered")));
    }
}

/// What may share a row of the journal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowCaps {
    pub(crate) updates: usize,
    pub(crate) bytes: usize,
}

/// Owner and id.
type TurnKey = (Arc<str>, Arc<str>);

struct LiveTurn {
    conversation_id: Arc<str>,
    /// The highest sequence that is committed or in this transaction.
    last_sequence: u64,
    row: OpenRow,
}

// A row that grows until something ends it; with each chunk the place of its command in the group.
#[derive(Default)]
struct OpenRow {
    chunks: Vec<(usize, Arc<Chunk>)>,
    updates: usize,
    bytes: usize,
}

/// The turns that this host writes to, with their last sequence, so that an append asks the database nothing. It stays true
/// because only the holder of a turn's lease appends to it. After a transaction that failed it is emptied.
pub(crate) struct LiveTurns {
    turns: HashMap<TurnKey, LiveTurn>,
    /// Turns whose row has grown since the last flush.
    open: Vec<TurnKey>,
    /// The keys of turns that were sealed.
    sealed: Vec<i64>,
    encoder: Encoder,
    scratch: Vec<u8>,
}

/// Commands that failed when their row was written.
pub(crate) struct RowFailure {
    pub(crate) commands: Vec<usize>,
    pub(crate) failure: Failure,
}

impl LiveTurns {
    pub(crate) fn new() -> Self {
        Self { turns: HashMap::new(), open: Vec::new(), sealed: Vec::new(), encoder: Encoder::new(), scratch: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.turns.clear();
        self.open.clear();
        self.sealed.clear();
    }

    /// Forgets a turn that was sealed.
    pub(crate) fn seal(&mut self, owner: &str, turn_id: &str, key: i64) {
        self.turns.remove(&(Arc::from(owner), Arc::from(turn_id)));
        self.sealed.push(key);
    }

    /// The keys of the turns that were sealed since the last call.
    pub(crate) fn take_sealed(&mut self) -> Vec<i64> {
        std::mem::take(&mut self.sealed)
    }

    /// Takes the updates of a command into the row of their turn. `full` gets what went wrong with the row that had to be
    /// written before.
    pub(crate) fn accept(
        &mut self,
        scope: &Scope<'_>,
        caps: RowCaps,
        command: usize,
        append: &Append,
        full: &mut Vec<RowFailure>,
    ) -> Outcome<()> {
        if let Some(error) = &append.refusal {
            return Err(error.clone().into());
        }
        let UpdateBatch { owner, conversation_id, turn_id, chunk } = &append.batch;
        let key = (owner.clone(), turn_id.clone());
        let joins = self.turns.get(&key).is_some_and(|turn| turn.row.has_room_for(chunk, caps));
        if !joins {
            full.extend(self.flush_turn(scope, &key));
        }
        if !self.turns.contains_key(&key) {
            let turn = claim(scope, owner, conversation_id, turn_id)?;
            self.turns.insert(key.clone(), turn);
        }
        let Some(turn) = self.turns.get_mut(&key).filter(|turn| turn.conversation_id == *conversation_id) else {
            return unknown_turn(scope.connection, owner, conversation_id, turn_id);
        };
        if chunk.is_empty() {
            return Ok(());
        }
        check_chunk(turn_id, turn.last_sequence + 1, chunk)?;
        turn.last_sequence = chunk.last_sequence();
        if turn.row.chunks.is_empty() {
            self.open.push(key);
        }
        turn.row.push(command, chunk.clone());
        Ok(())
    }

    /// Writes all rows that have grown.
    pub(crate) fn flush(&mut self, scope: &Scope<'_>) -> Vec<RowFailure> {
        let open = std::mem::take(&mut self.open);
        open.iter().filter_map(|key| self.flush_turn(scope, key)).collect()
    }

    fn flush_turn(&mut self, scope: &Scope<'_>, key: &TurnKey) -> Option<RowFailure> {
        let row = std::mem::take(&mut self.turns.get_mut(key)?.row);
        let failure = write_row(scope, &mut self.encoder, &mut self.scratch, key, &row).err()?;
        // The next append asks the database again.
        self.turns.remove(key);
        Some(RowFailure { commands: row.chunks.into_iter().map(|(command, _)| command).collect(), failure })
    }
}

impl OpenRow {
    fn has_room_for(&self, chunk: &Chunk, caps: RowCaps) -> bool {
        self.chunks.is_empty()
            || (self.updates + chunk.len() <= caps.updates && self.bytes + 1 + chunk.text().len() <= caps.bytes)
    }

    fn push(&mut self, command: usize, chunk: Arc<Chunk>) {
        self.updates += chunk.len();
        self.bytes += chunk.text().len() + usize::from(!self.chunks.is_empty());
        self.chunks.push((command, chunk));
    }
}

// What an append needs to know of a turn. A running turn of a dead host goes over to the host that writes to it.
fn claim(scope: &Scope<'_>, owner: &str, conversation_id: &Arc<str>, turn_id: &str) -> Outcome<LiveTurn> {
    let TurnState { running, host, last_sequence, .. } = turn_state(scope.connection, owner, turn_id)?
        .filter(|turn| turn.conversation_id == **conversation_id)
        .map_or_else(|| unknown_turn(scope.connection, owner, conversation_id, turn_id), Ok)?;
    if !running {
        let message = format!("turn {turn_id:?} is sealed; its updates cannot change any more");
        return Err(ChatError::new(ErrorCode::TurnAlreadySealed, message).into());
    }
    if host != scope.host.id {
        scope.host.require_lease(scope.connection, turn_id, &host)?;
        scope
            .connection
            .prepare_cached("UPDATE turns SET host = ?3 WHERE owner = ?1 AND id = ?2 AND status = 'running'")?
            .execute(params![owner, turn_id, scope.host.id])?;
    }
    Ok(LiveTurn { conversation_id: conversation_id.clone(), last_sequence, row: OpenRow::default() })
}

fn check_chunk(turn_id: &str, expected: u64, chunk: &Chunk) -> Outcome<()> {
    let (first, updates) = (chunk.first_sequence(), chunk.len());
    if first != expected {
        return Err(Failure::refused(format!("turn {turn_id:?}: expected sequence {expected}, got {first}")));
    }
    // Such an update would come back as two.
    if newlines(chunk.text().as_bytes()) + 1 != updates {
        return Err(Failure::refused(format!(
            "turn {turn_id:?}: an update from sequence {first} on holds a line break or is empty"
        )));
    }
    Ok(())
}

// Short runs with a small counter each, which the compiler turns into vector code: a tenth of the time of a plain count.
fn newlines(text: &[u8]) -> usize {
    text.chunks(192).map(|run| usize::from(run.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>())).sum()
}

fn write_row(
    scope: &Scope<'_>,
    encoder: &mut Encoder,
    scratch: &mut Vec<u8>,
    (owner, turn_id): &TurnKey,
    row: &OpenRow,
) -> Outcome<()> {
    let Some(((_, first), (_, last))) = row.chunks.first().zip(row.chunks.last()) else {
        return Ok(());
    };
    let text = if row.chunks.len() == 1 { first.text().as_bytes() } else { row.join_into(scratch) };
    let blob = encoder.encode(text);
    // The lease is checked in the statement: another host may have taken the turn for left over since we looked.
    let written = scope
        .connection
        .prepare_cached(
            "INSERT INTO journal (turn, first, last, format, bytes, data)
             SELECT key, ?4, ?5, ?6, ?7, ?8 FROM turns WHERE owner = ?1 AND id = ?2 AND status = 'running' AND host = ?3",
        )?
        .execute(params![
            owner,
            turn_id,
            scope.host.id,
            integer(first.first_sequence())?,
            integer(last.last_sequence())?,
            blob.format,
            integer(text.len() as u64)?,
            blob.data,
        ])?;
    if written == 1 { Ok(()) } else { Err(lease_lost(scope, owner, turn_id)) }
}

impl OpenRow {
    fn join_into<'a>(&self, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        scratch.clear();
        for (_, chunk) in &self.chunks {
            if !scratch.is_empty() {
                scratch.push(b'\n');
            }
            scratch.extend_from_slice(chunk.text().as_bytes());
        }
        scratch
    }
}

fn lease_lost(scope: &Scope<'_>, owner: &str, turn_id: &str) -> Failure {
    match turn_state(scope.connection, owner, turn_id) {
        Err(failure) => failure,
        Ok(Some(state)) if !state.running => {
            let message = format!("turn {turn_id:?} was sealed by another host, which took this one for dead");
            ChatError::new(ErrorCode::TurnAlreadySealed, message).into()
        }
        Ok(_) => Failure::refused(format!("turn {turn_id:?} went over to another host, which took this one for dead")),
    }
}
