//! What one `nextBatch` hands to JavaScript: the updates as one JSON array, with the agents' own messages beside it. Those are
//! more than half of the bytes and seldom read, so that they are parsed only where somebody looks at them.

use chat_journal::{Chunk, ChunkUpdate};
use std::io::Write;
use std::sync::Arc;

/// A run of updates for JavaScript.
#[derive(Debug)]
pub struct Batch {
    /// A JSON array of the updates. In each that has a native message, `_meta.amalgm.native.message` is the pair of numbers
    /// `[start, end]`: where it stands in `natives`, in bytes.
    pub text: BatchText,
    /// The native messages, one after the other, as JSON text in UTF-8.
    pub natives: Vec<u8>,
    /// How many updates there are.
    pub updates: usize,
}

/// Text in the form in which the engine takes it without decoding.
#[derive(Debug)]
pub enum BatchText {
    /// Every character is ASCII.
    Ascii(String),
    Utf16(Vec<u16>),
}

impl Batch {
    /// The updates of consecutive chunks past a sequence.
    pub(crate) fn new(chunks: &[Arc<Chunk>], after: u64) -> Self {
        let mut builder = BatchBuilder::default();
        for chunk in chunks {
            chunk.updates_after(after).for_each(|update| builder.push(update));
        }
        builder.finish()
    }
}

#[derive(Debug, Default)]
struct BatchBuilder {
    text: Vec<u8>,
    natives: Vec<u8>,
    updates: usize,
}

impl BatchBuilder {
    fn push(&mut self, update: ChunkUpdate<'_>) {
        self.text.push(if self.updates == 0 { b'[' } else { b',' });
        self.updates += 1;
        let json = update.json.as_bytes();
        let parts = update.native.and_then(|(start, end)| Some((json.get(..start)?, json.get(start..end)?, json.get(end..)?)));
        let Some((before, native, after)) = parts else {
            self.text.extend_from_slice(json);
            return;
        };
        let start = self.natives.len();
        self.natives.extend_from_slice(native);
        self.text.extend_from_slice(before);
        let _ = write!(self.text, "[{start},{}]", self.natives.len());
        self.text.extend_from_slice(after);
    }

    fn finish(mut self) -> Batch {
        if self.updates == 0 {
            self.text.push(b'[');
        }
        self.text.push(b']');
        let text = match String::from_utf8(self.text) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let text = if text.is_ascii() { BatchText::Ascii(text) } else { BatchText::Utf16(text.encode_utf16().collect()) };
        Batch { text, natives: self.natives, updates: self.updates }
    }
}
