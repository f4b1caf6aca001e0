//! Output that is told as a whole again and again, as the pieces by which it grows.

use super::wire::Truncation;
use std::borrow::Cow;

/// The output of one call, as it was told last: all of it, or its tail.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    seen: String,
    /// Where `seen` begins in the whole output, in bytes.
    start: u64,
}

/// What a snapshot tells beyond the one before.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Growth<'a> {
    Nothing,
    Piece(Cow<'a, str>),
    /// It is another text, as the state of something that goes on.
    Other,
}

impl Snapshots {
    /// Takes the next snapshot. Where it is only a tail, its place in the whole is computed from the lengths that Pi gives; Pi does
    /// not count the newline that it takes off the end of a tail, so that two places are possible, and the text decides.
    pub(super) fn take<'a>(&mut self, text: &'a str, truncation: Option<Truncation>) -> Growth<'a> {
        let growth = match truncation.filter(|truncation| truncation.truncated) {
            None if self.start == 0 => match text.strip_prefix(self.seen.as_str()) {
                Some("") => Growth::Nothing,
                Some(rest) => Growth::Piece(Cow::Borrowed(rest)),
                None => Growth::Other,
            },
            None => Growth::Other,
            Some(truncation) => return self.take_tail(text, truncation),
        };
        if growth != Growth::Nothing {
            self.keep(text, 0);
        }
        growth
    }

    fn take_tail<'a>(&mut self, text: &'a str, truncation: Truncation) -> Growth<'a> {
        let untrimmed = truncation.total_bytes.saturating_sub(text.len() as u64);
        // As a rule output ends with a newline. What was seen may itself be off by one.
        let likely = untrimmed.saturating_sub(1);
        for start in [likely, untrimmed, likely.saturating_sub(1)] {
            let known = start.checked_sub(self.start).and_then(|shift| self.seen.get(usize::try_from(shift).ok()?..));
            let Some(known) = known.filter(|known| !known.is_empty()) else { continue };
            // The newline at the end of what was seen may be the one that was taken off here.
            if known.trim_end_matches('\n').starts_with(text) || known == text {
                return Growth::Nothing;
            }
            if let Some(rest) = text.strip_prefix(known) {
                self.keep(text, start);
                return Growth::Piece(Cow::Borrowed(rest));
            }
        }
        let end = self.start + self.seen.len() as u64;
        let missing = likely.saturating_sub(end);
        self.keep(text, likely);
        match missing {
            0 => Growth::Piece(Cow::Borrowed(text)),
            _ => Growth::Piece(Cow::Owned(format!("\n… {missing} bytes omitted …\n{text}"))),
        }
    }

    fn keep(&mut self, text: &str, start: u64) {
        // Usually the text goes on: only what is new is copied.
        match text.strip_prefix(self.seen.as_str()) {
            Some(rest) if self.start == start => self.seen.push_str(rest),
            _ => text.clone_into(&mut self.seen),
        }
        self.start = start;
    }
}

#[cfg(test)]
mod tests {
    use super::{Growth, Snapshots};
    use crate::pi::wire::Truncation;

    /// The last `count` lines without the newline at the end, as Pi gives them.
    fn tail(whole: &str, count: usize) -> (String, Truncation) {
        let lines: Vec<&str> = whole.trim_end_matches('\n').split('\n').collect();
        let text = lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n");
        let truncation = Truncation { truncated: true, total_bytes: whole.len() as u64 };
        (text, truncation)
    }

    #[test]
    fn a_growing_text_comes_in_pieces() {
        let mut snapshots = Snapshots::default();
        assert_eq!(snapshots.take("", None), Growth::Nothing);
        assert_eq!(snapshots.take("a\n", None), Growth::Piece("a\n".into()));
        assert_eq!(snapshots.take("a\nb\n", None), Growth::Piece("b\n".into()));
        assert_eq!(snapshots.take("a\nb\n", None), Growth::Nothing);
        assert_eq!(snapshots.take("50%", None), Growth::Other);
    }

    #[test]
    fn a_tail_that_moves_comes_in_pieces() {
        let mut snapshots = Snapshots::default();
        let (mut whole, mut told) = (String::new(), String::new());
        for number in 0..50 {
            whole += &format!("line {number}\n");
            let growth = match number {
                0..10 => snapshots.take(&whole, None),
                _ => {
                    let (text, truncation) = tail(&whole, 10);
                    match snapshots.take(&text, Some(truncation)) {
                        Growth::Piece(piece) => Growth::Piece(piece.into_owned().into()),
                        other => panic!("{other:?}"),
                    }
                }
            };
            let Growth::Piece(piece) = growth else { panic!("{growth:?}") };
            told += &piece;
        }
        assert_eq!(told, whole.trim_end_matches('\n'));
    }

    #[test]
    fn what_was_missed_is_told() {
        let mut snapshots = Snapshots::default();
        let (text, truncation) = tail(&"x\n".repeat(2005), 2000);
        let Growth::Piece(piece) = snapshots.take(&text, Some(truncation)) else { panic!("no piece") };
        assert_eq!(&*piece, format!("\n… 10 bytes omitted …\n{text}"));
    }
}
