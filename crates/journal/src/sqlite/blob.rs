//! How a run of updates is laid down in a row.

use super::failure::{Failure, Outcome};
use zstd::bulk::Compressor;
use zstd::zstd_safe::compress_bound;

/// The row holds the text itself.
const PLAIN: i64 = 0;
/// The row holds the text compressed with zstd.
const ZSTD: i64 = 1;

/// Smaller texts gain little and cost a compressor's start.
const COMPRESS_FROM: usize = 4096;

/// Level 3 takes a quarter more time here for the same size, measured on native records.
const LEVEL: i32 = 1;

/// A longer buffer, which only a huge update needs, is given back.
const KEEP: usize = 1024 * 1024;

/// SQLite's own limit on a value.
const MAX_BYTES: usize = 1_000_000_000;

/// A row's data with its marker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Blob<'a> {
    pub(crate) format: i64,
    pub(crate) data: &'a [u8],
}

/// Compresses with one context and one buffer for all rows, which is up to three times as fast as new ones for each.
pub(crate) struct Encoder {
    compressor: Option<Compressor<'static>>,
    buffer: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self { compressor: Compressor::new(LEVEL).ok(), buffer: Vec::new() }
    }

    /// The smaller of the two forms.
    pub(crate) fn encode<'a>(&'a mut self, text: &'a [u8]) -> Blob<'a> {
        let plain = Blob { format: PLAIN, data: text };
        let Some(compressor) = self.compressor.as_mut().filter(|_| text.len() > COMPRESS_FROM) else {
            return plain;
        };
        self.buffer.clear();
        if text.len() < KEEP {
            self.buffer.shrink_to(compress_bound(KEEP));
        }
        self.buffer.reserve(compress_bound(text.len()));
        match compressor.compress_to_buffer(text, &mut self.buffer) {
            Ok(size) if size < text.len() => Blob { format: ZSTD, data: &self.buffer },
            _ => plain,
        }
    }
}

/// The text of a row; `bytes` is its length.
pub(crate) fn decode(format: i64, bytes: i64, data: &[u8]) -> Outcome<String> {
    let damaged = |problem: &str| Failure::Damaged(format!("a row of the journal {problem}"));
    let length =
        usize::try_from(bytes).ok().filter(|length| *length <= MAX_BYTES).ok_or_else(|| damaged("has no valid length"))?;
    let text = match format {
        PLAIN => data.to_vec(),
        ZSTD => zstd::bulk::decompress(data, length).map_err(|error| damaged(&format!("cannot be decompressed: {error}")))?,
        other => return Err(damaged(&format!("has the unknown format {other}"))),
    };
    if text.len() != length {
        return Err(damaged("has another length than it should"));
    }
    String::from_utf8(text).map_err(|_| damaged("is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(encoder: &mut Encoder, text: &str) -> i64 {
        let blob = encoder.encode(text.as_bytes());
        assert_eq!(decode(blob.format, text.len() as i64, blob.data).unwrap(), text);
        blob.format
    }

    #[test]
    fn long_texts_are_compressed_and_short_ones_are_not() {
        let mut encoder = Encoder::new();
        assert_eq!(round_trip(&mut encoder, ""), PLAIN);
        assert_eq!(round_trip(&mut encoder, &"a".repeat(COMPRESS_FROM)), PLAIN);
        assert_eq!(round_trip(&mut encoder, &"a".repeat(COMPRESS_FROM + 1)), ZSTD);
        assert_eq!(round_trip(&mut encoder, &"{\"text\":\"ä\"}\n".repeat(500_000)), ZSTD);
        assert_eq!(round_trip(&mut encoder, &"b".repeat(COMPRESS_FROM * 2)), ZSTD);
    }

    #[test]
    fn damaged_rows_are_told() {
        let mut encoder = Encoder::new();
        let text = "a".repeat(COMPRESS_FROM * 2);
        let data = encoder.encode(text.as_bytes()).data.to_vec();
        for (format, bytes, data) in [
            (ZSTD, 10, &data[..]),
            (ZSTD, 8192, &data[1..]),
            (PLAIN, 3, b"ab"),
            (PLAIN, 1, b"\xff"),
            (9, 1, b"a"),
            (ZSTD, i64::MAX, &data),
        ] {
            assert!(matches!(decode(format, bytes, data), Err(Failure::Damaged(_))));
        }
    }
}
