//! A run of consecutive updates of one turn as one text: the unit that is journaled, fanned out and read back, so that an
//! update is serialized once and never copied one by one.

use chat_grammar::records::JournalEntry;
use chat_grammar::update::{Marks, Piece, PieceForm};
use std::ops::Range;

/// Consecutive updates, separated by newlines (JSON text holds none).
#[derive(Debug, Clone)]
pub struct Chunk {
    first_sequence: u64,
    text: String,
    /// Where each update ends in `text`, in bytes.
    ends: Vec<u32>,
    /// What stands where in each update's place of `text`; empty where the text was read back.
    marks: Vec<Marks>,
}

impl PartialEq for Chunk {
    // All else follows from these.
    fn eq(&self, other: &Self) -> bool {
        self.first_sequence == other.first_sequence && self.text == other.text
    }
}

impl Eq for Chunk {}

/// One update of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct ChunkUpdate<'a> {
    pub sequence: u64,
    pub json: &'a str,
    /// The agent's own message, and where it stands in `json`, in bytes.
    pub native: Option<(&'a str, usize)>,
    /// Its parts where it is known to be nothing but a piece of text.
    pub piece: Option<ChunkPiece<'a>>,
}

impl<'a> ChunkUpdate<'a> {
    /// `origin`: where the update begins in the text of which the marks speak.
    fn new(sequence: u64, json: &'a str, marks: &Marks, origin: usize) -> Self {
        let within = |range: &Range<usize>| json.get(range.start.checked_sub(origin)?..range.end.checked_sub(origin)?);
        let native = marks.native.as_ref().and_then(|range| Some((within(range)?, range.start - origin)));
        let piece = marks.piece.as_ref().and_then(|piece| {
            let Piece { form, text, id, at } = piece;
            Some(ChunkPiece { form: *form, text: within(text)?, id: within(id)?, at: *at })
        });
        Self { sequence, json, native, piece }
    }
}

/// The parts of an update that is nothing but a piece of text.
#[derive(Debug, Clone, Copy)]
pub struct ChunkPiece<'a> {
    pub form: PieceForm,
    /// The text, as a JSON string.
    pub text: &'a str,
    /// The id of the message or tool call, as a JSON string.
    pub id: &'a str,
    /// Milliseconds since 1970.
    pub at: i64,
}

impl Chunk {
    /// Splits a stored text at its newlines.
    pub fn from_text(first_sequence: u64, text: String) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(index, _)| index);
        // An empty text is no update; otherwise the last one ends with the text.
        let last = (!text.is_empty()).then_some(text.len());
        let ends = newlines.chain(last).map(|end| u32::try_from(end).unwrap_or(u32::MAX)).collect();
        Self { first_sequence, text, ends, marks: Vec::new() }
    }

    /// The sequence of the first update.
    pub fn first_sequence(&self) -> u64 {
        self.first_sequence
    }

    /// The sequence of the last update; one less than the first where the chunk is empty.
    pub fn last_sequence(&self) -> u64 {
        self.first_sequence + self.ends.len() as u64 - 1
    }

    /// How many updates it holds.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it holds no update.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The updates, separated by newlines.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The updates past a sequence, separated by newlines; empty where there are none.
    pub fn text_after(&self, sequence: u64) -> &str {
        let skip = usize::try_from(sequence.saturating_add(1).saturating_sub(self.first_sequence)).unwrap_or(usize::MAX);
        match skip.checked_sub(1) {
            None => &self.text,
            // An update's end is followed by its newline.
            Some(last_skipped) => match self.ends.get(last_skipped) {
                Some(end) => self.text.get(*end as usize + 1..).unwrap_or(""),
                None => "",
            },
        }
    }

    /// Each update past a sequence.
    pub fn updates_after(&self, sequence: u64) -> impl Iterator<Item = ChunkUpdate<'_>> {
        let skip = usize::try_from(sequence.saturating_add(1).saturating_sub(self.first_sequence)).unwrap_or(usize::MAX);
        (skip..self.ends.len()).filter_map(move |index| {
            let start = match index.checked_sub(1) {
                None => 0,
                // An update's end is followed by its newline.
                Some(before) => *self.ends.get(before)? as usize + 1,
            };
            let json = self.text.get(start..*self.ends.get(index)? as usize)?;
            let sequence = self.first_sequence + index as u64;
            Some(match self.marks.get(index) {
                // The writer's places are those in the whole text.
                Some(marks) => ChunkUpdate::new(sequence, json, marks, start),
                None => ChunkUpdate::new(sequence, json, &Marks::find(json), 0),
            })
        })
    }

    /// Each update with its sequence.
    pub fn entries(&self) -> impl Iterator<Item = JournalEntry> + '_ {
        let texts = self.text.split('\n').take(self.ends.len());
        (self.first_sequence..).zip(texts).map(|(sequence, json)| JournalEntry { sequence, json: json.to_owned() })
    }
}

/// Grows a chunk by updates that are serialized straight into its buffer.
#[derive(Debug)]
pub struct ChunkBuilder {
    first_sequence: u64,
    buffer: Vec<u8>,
    ends: Vec<u32>,
    marks: Vec<Marks>,
}

impl ChunkBuilder {
    /// An empty chunk whose first update will have this sequence.
    pub fn new(first_sequence: u64) -> Self {
        Self { first_sequence, buffer: Vec::new(), ends: Vec::new(), marks: Vec::new() }
    }

    /// The same, with room for about as much as an earlier chunk took: growing copies what is there again and again.
    pub fn like(earlier: &Chunk) -> Self {
        Self {
            first_sequence: earlier.last_sequence() + 1,
            buffer: Vec::with_capacity(earlier.text.len()),
            ends: Vec::with_capacity(earlier.ends.len()),
            marks: Vec::with_capacity(earlier.ends.len()),
        }
    }

    /// Adds the update that `write` appends to the buffer: one JSON text in UTF-8 without a newline. `write` returns what
    /// stands where in the buffer.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Marks) {
        if !self.ends.is_empty() {
            self.buffer.push(b'\n');
        }
        let marks = write(&mut self.buffer);
        self.marks.push(marks);
        // A chunk is cut far below 4 GiB: at most one update, of at most a frame's 64 MiB, follows after the caps.
        self.ends.push(u32::try_from(self.buffer.len()).unwrap_or(u32::MAX));
    }

    /// The sequence that the next update will have.
    pub fn next_sequence(&self) -> u64 {
        self.first_sequence + self.ends.len() as u64
    }

    /// How many updates it holds.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it holds no update.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The size of its text, in bytes.
    pub fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// The text of the update that was added last; empty where there is none.
    pub fn last_update(&self) -> &str {
        let start = match self.ends.len().checked_sub(2) {
            Some(before) => self.ends.get(before).map_or(0, |end| *end as usize + 1),
            None => 0,
        };
        std::str::from_utf8(self.buffer.get(start..).unwrap_or(&[])).unwrap_or("")
    }

    /// The chunk, ended.
    pub fn finish(self) -> Chunk {
        let text = match String::from_utf8(self.buffer) {
            Ok(text) => text,
            // Serializers write UTF-8; a replacement that moved the ends would still be readable text.
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        Chunk { first_sequence: self.first_sequence, text, ends: self.ends, marks: self.marks }
    }
}
