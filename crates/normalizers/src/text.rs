//! Text that an agent streams and then says again: in deltas and as a whole, or anew after a lost connection.

use std::borrow::Cow;

/// What of a message's text is new to the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Nothing,
    /// Follows what was shown.
    Next(&'a str),
    /// The whole text of another version than the one that was shown.
    Contradiction(Cow<'a, str>),
}

/// One text, told in deltas, as a whole or both, and perhaps more than once. What was shown is compared by position, never
/// searched for overlaps.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextStream {
    shown: String,
    /// How much of `shown` the version that is being told has repeated. All of it where the text is told for the first time.
    told: usize,
}

impl TextStream {
    /// The agent begins this text again from its start.
    pub(crate) fn restart(&mut self) {
        self.told = 0;
    }

    /// What the reader has seen.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Takes the next piece of the text.
    pub(crate) fn push<'a>(&mut self, delta: &'a str) -> Piece<'a> {
        let awaited = self.shown.get(self.told..).unwrap_or("");
        if awaited.is_empty() {
            self.shown.push_str(delta);
            self.told = self.shown.len();
            return next(delta);
        }
        if awaited.starts_with(delta) {
            self.told += delta.len();
            return Piece::Nothing;
        }
        if let Some(rest) = delta.strip_prefix(awaited) {
            self.shown.push_str(rest);
            self.told = self.shown.len();
            return next(rest);
        }
        self.shown.truncate(self.told);
        self.shown.push_str(delta);
        self.told = self.shown.len();
        Piece::Contradiction(Cow::Owned(self.shown.clone()))
    }

    /// Takes the text as a whole.
    pub(crate) fn whole<'a>(&mut self, text: &'a str) -> Piece<'a> {
        let piece = match text.strip_prefix(self.shown.as_str()) {
            Some(rest) => next(rest),
            None => Piece::Contradiction(Cow::Borrowed(text)),
        };
        if piece != Piece::Nothing {
            text.clone_into(&mut self.shown);
        }
        self.told = self.shown.len();
        piece
    }
}

fn next(text: &str) -> Piece<'_> {
    match text {
        "" => Piece::Nothing,
        text => Piece::Next(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, TextStream};

    #[test]
    fn a_whole_adds_only_the_missing_rest() {
        let mut stream = TextStream::default();
        assert_eq!(stream.push("Hello"), Piece::Next("Hello"));
        assert_eq!(stream.whole("Hello, world"), Piece::Next(", world"));
        assert_eq!(stream.whole("Hello, world"), Piece::Nothing);
    }

    #[test]
    fn a_whole_that_differs_is_shown_whole() {
        let mut stream = TextStream::default();
        stream.push("Hello");
        assert_eq!(stream.whole("Hallo"), Piece::Contradiction("Hallo".into()));
        assert_eq!(stream.whole("Hallo"), Piece::Nothing);
    }

    #[test]
    fn a_restart_shows_what_goes_beyond() {
        let mut stream = TextStream::default();
        stream.push("partial text ");
        stream.restart();
        assert_eq!(stream.push("par"), Piece::Nothing);
        assert_eq!(stream.push("tial text wh"), Piece::Next("wh"));
        assert_eq!(stream.push("ole"), Piece::Next("ole"));
        assert_eq!(stream.whole("partial text whole"), Piece::Nothing);
    }

    #[test]
    fn a_restart_that_differs_is_shown_whole() {
        let mut stream = TextStream::default();
        stream.push("partial");
        stream.restart();
        assert_eq!(stream.push("part"), Piece::Nothing);
        assert_eq!(stream.push("y"), Piece::Contradiction("party".into()));
        assert_eq!(stream.push("!"), Piece::Next("!"));
        assert_eq!(stream.whole("party!"), Piece::Nothing);
    }
}
