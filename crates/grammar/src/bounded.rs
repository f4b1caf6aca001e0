//! Long output kept as its head and its tail, so that a turn's memory is bounded.

/// Streamed output of more bytes than this is not repeated whole at the end of its tool call.
pub const STREAMED_OUTPUT_LIMIT: u64 = 1024 * 1024;

const KEPT: usize = 64 * 1024;

/// A growing text of which only the first and the last 64 KiB are kept once it is longer than both.
#[derive(Debug, Clone, Default)]
pub struct HeadAndTail {
    head: String,
    tail: String,
    bytes: u64,
}

impl HeadAndTail {
    /// Adds a piece at the end.
    pub fn push(&mut self, piece: &str) {
        self.bytes += piece.len() as u64;
        let room = KEPT.saturating_sub(self.head.len());
        let cut = if self.tail.is_empty() { floor_boundary(piece, room) } else { 0 };
        let (front, back) = piece.split_at(cut);
        self.head.push_str(front);
        self.tail.push_str(back);
        // Trimmed only when twice too long: each byte is moved a bounded number of times.
        if self.tail.len() > 2 * KEPT {
            let drop = ceil_boundary(&self.tail, self.tail.len() - KEPT);
            self.tail.drain(..drop);
        }
    }

    /// How many bytes were added in all.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The text, with a line in the middle that says how much is left out.
    pub fn text(&self) -> String {
        let omitted = self.bytes - (self.head.len() + self.tail.len()) as u64;
        match omitted {
            0 => format!("{}{}", self.head, self.tail),
            _ => format!("{}\n… {omitted} bytes omitted …\n{}", self.head, self.tail),
        }
    }

    /// A text shortened to its head and tail where it is longer than both.
    pub fn shorten(text: &str) -> String {
        if text.len() <= 2 * KEPT {
            return text.to_owned();
        }
        let head = text.get(..floor_boundary(text, KEPT)).unwrap_or("");
        let tail = text.get(ceil_boundary(text, text.len() - KEPT)..).unwrap_or("");
        Self { head: head.to_owned(), tail: tail.to_owned(), bytes: text.len() as u64 }.text()
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0)
}

fn ceil_boundary(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(text.len())
}
