//! What one `nextBatch` hands to JavaScript: the updates as one JSON array, with the agents' own messages beside it. Those are
//! more than half of the bytes and seldom read, so that they are parsed only where somebody looks at them.

use chat_journal::{Chunk, ChunkPiece, ChunkUpdate};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

/// A run of updates for JavaScript.
#[derive(Debug)]
pub struct Batch {
    /// A JSON array of the updates, in two forms. An object is the whole update; where it has a native message,
    /// `_meta.amalgm.native.message` is the pair of numbers `[start, end]`: where it stands in `natives`, in bytes. An array is an
    /// update that is nothing but a piece of text: `[form, text, id, at, sequence]`, and `start, end` where it has a native message
    /// (of `source`); everything else is the same in every update of its form, which makes it four times as fast to read.
    pub text: BatchText,
    /// The native messages, one after the other, as JSON text in UTF-8.
    pub natives: Vec<u8>,
    /// Where the native messages of pieces come from.
    pub source: String,
    /// How many updates there are.
    pub updates: usize,
}

/// Text in the form in which the engine takes it without decoding.
#[derive(Debug)]
pub enum BatchText {
    /// One byte a character. Characters beyond ASCII stand as JSON escapes.
    Ascii(String),
    /// Where those would be too many: escapes are slow to read.
    Utf16(Vec<u16>),
}

/// Escapes are worth their while up to one in so many bytes; then a batch is parsed as one byte a character, twice as fast.
const ESCAPES_ONE_IN: usize = 32;

impl Batch {
    /// The updates of consecutive chunks past a sequence.
    pub(crate) fn new(chunks: &[Arc<Chunk>], after: u64) -> Self {
        let bytes = chunks.iter().map(|chunk| chunk.text_after(after).len()).sum();
        // About half of it is native messages. Growing would copy what is there again and again.
        let mut builder =
            BatchBuilder { text: Vec::with_capacity(bytes / 2), natives: Vec::with_capacity(bytes), ..BatchBuilder::default() };
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
    source: Option<String>,
    updates: usize,
}

impl BatchBuilder {
    fn push(&mut self, update: ChunkUpdate<'_>) {
        self.text.push(if self.updates == 0 { b'[' } else { b',' });
        self.updates += 1;
        let place = update.native.map(|(native, at)| {
            let start = self.natives.len();
            self.natives.extend_from_slice(native.as_bytes());
            (start, self.natives.len(), at, at + native.len())
        });
        if let Some(piece) = update.piece.filter(|_| self.is_of_one_source(&update)) {
            let ChunkPiece { form, text, id, at } = piece;
            let _ = write!(self.text, "[{},{text},{id},{at},{}", form.number(), update.sequence);
            if let Some((start, end, ..)) = place {
                let _ = write!(self.text, ",{start},{end}");
            }
            self.text.push(b']');
            return;
        }
        let whole = || (update.json, "");
        let (before, after) = match place {
            Some((_, _, from, to)) => update.json.get(..from).zip(update.json.get(to..)).unwrap_or_else(whole),
            None => whole(),
        };
        self.text.extend_from_slice(before.as_bytes());
        if let Some((start, end, ..)) = place {
            let _ = write!(self.text, "[{start},{end}]");
        }
        self.text.extend_from_slice(after.as_bytes());
    }

    /// Whether a native message is of the batch's one source. The first piece that has one decides.
    fn is_of_one_source(&mut self, update: &ChunkUpdate<'_>) -> bool {
        let Some((_, at)) = update.native else { return true };
        let written = update.json.get(..at).and_then(|before| before.strip_suffix(r#"","message":"#));
        let Some((_, source)) = written.and_then(|before| before.rsplit_once(r#"{"source":""#)) else { return false };
        self.source.get_or_insert_with(|| source.to_owned()) == source
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
        Batch {
            text: BatchText::new(text),
            natives: self.natives,
            source: self.source.unwrap_or_default(),
            updates: self.updates,
        }
    }
}

impl BatchText {
    fn new(json: String) -> Self {
        if json.is_ascii() {
            return Self::Ascii(json);
        }
        // In UTF-8 a character beyond ASCII has one byte that begins it.
        let beyond = json.bytes().filter(|byte| *byte >= 0xC0).count();
        if beyond > json.len() / ESCAPES_ONE_IN {
            return Self::Utf16(json.encode_utf16().collect());
        }
        let mut escaped = String::with_capacity(json.len() + 10 * beyond);
        let mut rest = json.as_str();
        while let Some(at) = rest.bytes().position(|byte| !byte.is_ascii()) {
            let (plain, from) = rest.split_at(at);
            escaped.push_str(plain);
            let mut characters = from.chars();
            // JSON text has characters beyond ASCII only within strings, where an escape means the same.
            for unit in characters.next().into_iter().flat_map(|character| character.encode_utf16(&mut [0; 2]).to_vec()) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
            rest = characters.as_str();
        }
        escaped.push_str(rest);
        Self::Ascii(escaped)
    }
}

#[cfg(test)]
mod tests {
    use super::BatchText;
    use serde_json::{Value, json};

    #[test]
    fn characters_beyond_ascii_mean_the_same_either_way() {
        let seldom = json!([{ "text": format!("{}é✓😀{}", "a".repeat(200), "b".repeat(200)) }]);
        let often = json!([{ "text": "日本語😀".repeat(100) }]);
        let (BatchText::Ascii(escaped), BatchText::Utf16(wide)) =
            (BatchText::new(seldom.to_string()), BatchText::new(often.to_string()))
        else {
            panic!("few are escaped, many are not");
        };
        assert!(escaped.is_ascii());
        assert_eq!(serde_json::from_str::<Value>(&escaped).expect("JSON"), seldom);
        let wide = String::from_utf16(&wide).expect("well-formed");
        assert_eq!(serde_json::from_str::<Value>(&wide).expect("JSON"), often);
    }
}
