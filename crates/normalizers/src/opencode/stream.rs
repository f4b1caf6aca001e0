//! The text of one part: told in deltas, in snapshots, or both, in any order.
//!
//! The server writes a snapshot down when it is sent, not when it is made: under load one can hold text whose deltas are still to
//! come. So a delta that only repeats what snapshots told is nothing new; the last snapshot, which ends the part, is the truth.

use std::borrow::Cow;

/// What of a part's text is new to the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum News<'a> {
    Nothing,
    /// Follows what was shown.
    More(Cow<'a, str>),
    /// The whole text of another version than the one that was shown.
    Differs(String),
}

/// What was shown of a part, and how much of it the deltas have told. Compared by position, never searched for overlaps.
#[derive(Debug, Clone, Default)]
pub(super) struct PartStream {
    shown: String,
    /// Where the next delta continues.
    told: usize,
    /// Where the last snapshot that brought something new began to.
    grown: usize,
    /// The text is told again from its start, after a lost connection to the model.
    again: bool,
}

impl PartStream {
    /// The text will be told again from its start.
    pub(super) fn restart(&mut self) {
        self.told = 0;
        self.grown = 0;
        self.again = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// The next piece.
    pub(super) fn push<'a>(&mut self, delta: Cow<'a, str>) -> News<'a> {
        if delta.is_empty() {
            return News::Nothing;
        }
        for start in [self.told, self.grown] {
            let awaited = self.shown.get(start..).unwrap_or("");
            if awaited.is_empty() {
                continue;
            }
            if awaited.starts_with(&*delta) {
                self.told = start + delta.len();
                return News::Nothing;
            }
            if let Some(rest) = delta.strip_prefix(awaited) {
                let rest = rest.to_owned();
                self.append(&rest);
                return News::More(Cow::Owned(rest));
            }
        }
        if self.again && self.told < self.shown.len() {
            self.shown.truncate(self.told);
            self.append(&delta);
            self.again = false;
            return News::Differs(self.shown.clone());
        }
        self.append(&delta);
        News::More(delta)
    }

    /// The text as it stands; `last` where the part is whole.
    pub(super) fn snapshot<'a>(&mut self, text: &'a str, last: bool) -> News<'a> {
        // Parts begin empty, and parts that a lost connection cut off are stored so.
        if text.is_empty() {
            return News::Nothing;
        }
        if let Some(rest) = text.strip_prefix(self.shown.as_str()) {
            if rest.is_empty() {
                return News::Nothing;
            }
            self.grown = self.shown.len();
            self.shown.push_str(rest);
            return News::More(Cow::Borrowed(rest));
        }
        // Older servers end a part without the whitespace at its end.
        let shorter = self.shown.strip_prefix(text);
        if !last || shorter.is_some_and(|rest| !self.again && rest.trim().is_empty()) {
            return News::Nothing;
        }
        text.clone_into(&mut self.shown);
        self.told = text.len();
        self.again = false;
        News::Differs(text.to_owned())
    }

    fn append(&mut self, text: &str) {
        self.shown.push_str(text);
        self.told = self.shown.len();
        self.grown = self.shown.len();
    }
}

#[cfg(test)]
mod tests {
    use super::{News, PartStream};

    fn more(text: &str) -> News<'_> {
        News::More(text.into())
    }

    #[test]
    fn deltas_then_the_whole() {
        let mut stream = PartStream::default();
        assert_eq!(stream.snapshot("", false), News::Nothing);
        assert_eq!(stream.push("Hel".into()), more("Hel"));
        assert_eq!(stream.push("lo ".into()), more("lo "));
        assert_eq!(stream.snapshot("Hello wor", false), more("wor"));
        assert_eq!(stream.push("wor".into()), News::Nothing);
        assert_eq!(stream.push("ld".into()), more("ld"));
        assert_eq!(stream.snapshot("Hello world", true), News::Nothing);
    }

    #[test]
    fn a_snapshot_that_is_ahead_of_its_deltas() {
        let mut stream = PartStream::default();
        assert_eq!(stream.snapshot("Hello ", false), more("Hello "));
        assert_eq!(stream.snapshot("Hello world", false), more("world"));
        assert_eq!(stream.push("world".into()), News::Nothing);
        let mut stream = PartStream::default();
        assert_eq!(stream.snapshot("Hello ", false), more("Hello "));
        assert_eq!(stream.push("Hel".into()), News::Nothing);
        assert_eq!(stream.push("lo wor".into()), more("wor"));
        assert_eq!(stream.push("ld".into()), more("ld"));
    }

    #[test]
    fn a_piece_that_comes_twice_is_two_pieces() {
        let mut stream = PartStream::default();
        for _ in 0..3 {
            assert_eq!(stream.push("ha".into()), more("ha"));
        }
        assert_eq!(stream.snapshot("hahaha", true), News::Nothing);
    }

    #[test]
    fn the_last_snapshot_is_the_truth() {
        let mut stream = PartStream::default();
        stream.push("Hello".into());
        assert_eq!(stream.snapshot("Hal", false), News::Nothing);
        assert_eq!(stream.snapshot("Hallo", true), News::Differs("Hallo".to_owned()));
        assert_eq!(stream.snapshot("Hallo", true), News::Nothing);
        let mut stream = PartStream::default();
        stream.push("Hello \n".into());
        assert_eq!(stream.snapshot("Hello", true), News::Nothing);
    }

    #[test]
    fn a_text_that_is_told_again() {
        let mut stream = PartStream::default();
        stream.push("partial ".into());
        stream.restart();
        assert_eq!(stream.push("par".into()), News::Nothing);
        assert_eq!(stream.push("tial text".into()), more("text"));
        let mut stream = PartStream::default();
        stream.push("partial ".into());
        stream.restart();
        assert_eq!(stream.push("part".into()), News::Nothing);
        assert_eq!(stream.push("y".into()), News::Differs("party".to_owned()));
        assert_eq!(stream.snapshot("party!", true), more("!"));
    }
}
