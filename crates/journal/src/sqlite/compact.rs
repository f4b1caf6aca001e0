//! Sealed turns, made small while nothing else is to do. An agent that streams slowly leaves one small row an update, which
//! nothing can compress; joined and compressed they take about a tenth of the space. What a reader gets stays the same.

use super::append::RowCaps;
use super::blob::{Encoder, decode};
use super::failure::Outcome;
use super::group::roll_back;
use super::row::{count, integer};
use rusqlite::{Connection, params};
use std::collections::VecDeque;

/// How much text one step joins, in bytes: what comes in meanwhile waits a few milliseconds.
const STEP_BYTES: u64 = 256 * 1024;

/// Turns that wait to be made small.
pub(crate) struct Compaction {
    waiting: VecDeque<Remainder>,
    encoder: Encoder,
}

/// A turn's rows past a sequence.
#[derive(Debug)]
struct Remainder {
    turn: i64,
    after: i64,
}

/// Consecutive rows that may become one.
#[derive(Debug)]
struct Run {
    rows: usize,
    first: i64,
    last: i64,
    bytes: u64,
}

impl Compaction {
    pub(crate) fn new() -> Self {
        Self { waiting: VecDeque::new(), encoder: Encoder::new() }
    }

    /// Turns, by their keys, that get no more updates.
    pub(crate) fn add(&mut self, turns: impl IntoIterator<Item = i64>) {
        self.waiting.extend(turns.into_iter().map(|turn| Remainder { turn, after: 0 }));
    }

    pub(crate) fn is_done(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Does a piece of the work in one transaction. A turn that fails is left as it is.
    pub(crate) fn step(&mut self, connection: &Connection, caps: RowCaps) -> Outcome<()> {
        let Some(Remainder { turn, after }) = self.waiting.pop_front() else {
            return Ok(());
        };
        let outcome = join_rows(connection, turn, after, caps, &mut self.encoder);
        if outcome.is_err() {
            roll_back(connection);
        }
        if let Some(after) = outcome? {
            self.waiting.push_front(Remainder { turn, after });
        }
        Ok(())
    }
}

// Where to go on, if anywhere.
fn join_rows(connection: &Connection, turn: i64, after: i64, caps: RowCaps, encoder: &mut Encoder) -> Outcome<Option<i64>> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let (runs, rest) = find_runs(connection, turn, after, caps)?;
    for run in runs {
        join(connection, turn, &run, encoder)?;
    }
    connection.execute_batch("COMMIT")?;
    Ok(rest)
}

fn find_runs(connection: &Connection, turn: i64, after: i64, caps: RowCaps) -> Outcome<(Vec<Run>, Option<i64>)> {
    let mut statement =
        connection.prepare_cached("SELECT first, last, bytes FROM journal WHERE turn = ?1 AND last > ?2 ORDER BY last")?;
    let mut rows = statement.query(params![turn, after])?;
    let (mut runs, mut joined): (Vec<Run>, u64) = (Vec::new(), 0);
    let mut open: Option<Run> = None;
    while let Some(row) = rows.next()? {
        let (first, last, bytes) = (row.get(0)?, row.get(1)?, count(row, "bytes")?);
        if let Some(run) = open.as_mut().filter(|run| run.takes(last, bytes, caps)) {
            run.rows += 1;
            run.last = last;
            run.bytes = run.bytes.saturating_add(1 + bytes);
            continue;
        }
        if let Some(run) = open.replace(Run { rows: 1, first, last, bytes }).filter(Run::is_worth_it) {
            joined = joined.saturating_add(run.bytes);
            runs.push(run);
        }
        if joined >= STEP_BYTES {
            return Ok((runs, Some(first - 1)));
        }
    }
    runs.extend(open.filter(Run::is_worth_it));
    Ok((runs, None))
}

impl Run {
    fn is_worth_it(&self) -> bool {
        self.rows > 1
    }

    fn takes(&self, last: i64, bytes: u64, caps: RowCaps) -> bool {
        let updates = usize::try_from(last - self.first + 1).unwrap_or(usize::MAX);
        updates <= caps.updates && self.bytes.saturating_add(1 + bytes) <= caps.bytes as u64
    }
}

fn join(connection: &Connection, turn: i64, run: &Run, encoder: &mut Encoder) -> Outcome<()> {
    let range = params![turn, run.first, run.last];
    let mut text = String::new();
    {
        let mut statement = connection.prepare_cached(
            "SELECT format, bytes, data FROM journal WHERE turn = ?1 AND last BETWEEN ?2 AND ?3 ORDER BY last",
        )?;
        let mut rows = statement.query(range)?;
        while let Some(row) = rows.next()? {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&decode(row.get(0)?, row.get(1)?, row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?)?);
        }
    }
    connection.prepare_cached("DELETE FROM journal WHERE turn = ?1 AND last BETWEEN ?2 AND ?3")?.execute(range)?;
    let blob = encoder.encode(text.as_bytes());
    connection
        .prepare_cached("INSERT INTO journal (turn, first, last, format, bytes, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![turn, run.first, run.last, blob.format, integer(text.len() as u64)?, blob.data])?;
    Ok(())
}
