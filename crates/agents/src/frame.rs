//! Splits an agent's stream into lines.

use std::mem;

/// The longest line that is read. Codex sends images and whole files inside one message.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// One line of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A line without its end. `replaced` tells that bytes which are no UTF-8 became U+FFFD.
    Line { text: String, replaced: bool },
    /// A line that was longer than what is read. Nothing of it was kept.
    TooLong { bytes: u64 },
}

/// Only the byte 0x0A ends a line: JSON may hold U+2028 and other line ends of Unicode unescaped.
#[derive(Debug)]
pub(crate) struct Frames {
    line: Vec<u8>,
    /// Bytes of a line that is too long; 0 while the line is kept.
    skipped: u64,
    max_line: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self { line: Vec::new(), skipped: 0, max_line: MAX_LINE }
    }
}

impl Frames {
    /// Takes bytes as they were read and appends the lines that they complete. Empty lines are left out.
    pub(crate) fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) {
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            self.extend(piece);
            if pieces.peek().is_some() {
                frames.extend(self.finish());
            }
        }
    }

    /// The line that the stream ended in, where there is one.
    pub(crate) fn finish(&mut self) -> Option<Frame> {
        let mut line = mem::take(&mut self.line);
        let skipped = mem::take(&mut self.skipped);
        if skipped > 0 {
            return Some(Frame::TooLong { bytes: skipped });
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.is_empty() {
            return None;
        }
        Some(match String::from_utf8(line) {
            Ok(text) => Frame::Line { text, replaced: false },
            Err(error) => Frame::Line { text: String::from_utf8_lossy(error.as_bytes()).into_owned(), replaced: true },
        })
    }

    fn extend(&mut self, piece: &[u8]) {
        if self.skipped == 0 && self.line.len() + piece.len() <= self.max_line {
            self.line.extend_from_slice(piece);
        } else {
            self.skipped += (mem::take(&mut self.line).len() + piece.len()) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &str) -> Frame {
        Frame::Line { text: text.to_owned(), replaced: false }
    }

    fn split(pieces: &[&[u8]], max_line: usize) -> Vec<Frame> {
        let mut splitter = Frames { max_line, ..Frames::default() };
        let mut frames = Vec::new();
        for piece in pieces {
            splitter.push(piece, &mut frames);
        }
        frames.extend(splitter.finish());
        frames
    }

    #[test]
    fn only_a_newline_ends_a_line() {
        let text = "{\"a\":\"\u{2028}\u{2029}\u{85}\u{b}\"}\r\n\n\r\n{}";
        assert_eq!(split(&[text.as_bytes()], 100), [line("{\"a\":\"\u{2028}\u{2029}\u{85}\u{b}\"}"), line("{}")]);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_noted() {
        let replaced = Frame::Line { text: "a\u{fffd}b".to_owned(), replaced: true };
        assert_eq!(split(&[b"a\xffb\nc\n"], 100), [replaced, line("c")]);
    }

    #[test]
    fn a_character_may_be_cut_between_two_reads() {
        assert_eq!(split(&[b"\xe2\x82", b"\xac\n"], 100), [line("\u{20ac}")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_is_read() {
        let pieces: [&[u8]; 3] = [b"12345", b"678", b"9\nok\n"];
        assert_eq!(split(&pieces, 8), [Frame::TooLong { bytes: 9 }, line("ok")]);
        assert_eq!(split(&[b"12345678\n"], 8), [line("12345678")]);
    }

    #[test]
    fn what_is_skipped_is_not_kept() {
        let mut splitter = Frames { max_line: 10, ..Frames::default() };
        for _ in 0..1000 {
            splitter.push(&[b'x'; 7], &mut Vec::new());
        }
        assert!(splitter.line.capacity() <= 20);
    }

    proptest! {
        #[test]
        fn where_reads_cut_the_stream_does_not_matter(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), Just(0xe2), Just(0x82), any::<u8>()], 0..200),
            cuts in prop::collection::vec(0..200usize, 0..20),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(split(&pieces, 20), split(&[&bytes], 20));
        }
    }
}
