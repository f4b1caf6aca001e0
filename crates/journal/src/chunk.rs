//! A run of consecutive updates of one turn as one text: the unit that is journaled, fanned out and read back, so that an
//! update is serialized once and never copied one by one.

use chat_grammar::records::JournalEntry;

/// Consecutive updates, separated by newlines (JSON text holds none).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    first_sequence: u64,
    text: String,
    /// Where each update ends in `text`, in bytes.
    ends: Vec<u32>,
}

impl Chunk {
    /// Splits a stored text at its newlines.
    pub fn from_text(first_sequence: u64, text: String) -> Self {
        let mut builder = ChunkBuilder::new(first_sequence);
        if !text.is_empty() {
            text.split('\n').for_each(|update| builder.push(|buffer| buffer.push_str(update)));
        }
        builder.finish()
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

    /// Each update with its sequence.
    pub fn entries(&self) -> impl Iterator<Item = JournalEntry> + '_ {
        let texts = self.text.split('\n').take(self.ends.len());
        (self.first_sequence..).zip(texts).map(|(sequence, json)| JournalEntry { sequence, json: json.to_owned() })
    }
}

/// Grows a chunk by updates that are written straight into its text.
#[derive(Debug)]
pub struct ChunkBuilder {
    chunk: Chunk,
}

impl ChunkBuilder {
    /// An empty chunk whose first update will have this sequence.
    pub fn new(first_sequence: u64) -> Self {
        Self { chunk: Chunk { first_sequence, text: String::new(), ends: Vec::new() } }
    }

    /// Adds the update that `write` appends to the buffer: one JSON text without a newline.
    pub fn push(&mut self, write: impl FnOnce(&mut String)) {
        if !self.chunk.ends.is_empty() {
            self.chunk.text.push('\n');
        }
        write(&mut self.chunk.text);
        // A chunk is cut far below 4 GiB: at most one update, of at most a frame's 64 MiB, follows after the caps.
        self.chunk.ends.push(u32::try_from(self.chunk.text.len()).unwrap_or(u32::MAX));
    }

    /// The sequence that the next update will have.
    pub fn next_sequence(&self) -> u64 {
        self.chunk.first_sequence + self.chunk.ends.len() as u64
    }

    /// How many updates it holds.
    pub fn len(&self) -> usize {
        self.chunk.ends.len()
    }

    /// Whether it holds no update.
    pub fn is_empty(&self) -> bool {
        self.chunk.ends.is_empty()
    }

    /// The size of its text, in bytes.
    pub fn bytes(&self) -> usize {
        self.chunk.text.len()
    }

    /// The chunk, ended.
    pub fn finish(self) -> Chunk {
        self.chunk
    }
}
