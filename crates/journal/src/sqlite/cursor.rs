//! Where a listing goes on: behind the last conversation of the page before.

use chat_grammar::{ChatError, ErrorCode, Result};
use std::fmt;

/// The place of a conversation in the order of listings. As text it is opaque: hexadecimal, so that nobody takes it apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) updated_at: String,
    pub(crate) id: String,
}

/// Leads the text, so that another kind of cursor is told from ours.
const MARK: &str = "c1";

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{MARK}\n{}\n{}", self.updated_at, self.id);
        text.bytes().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl Cursor {
    /// # Errors
    /// `INVALID_OPTIONS` at `cursor` for a text that no page has returned.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        decode(text).ok_or_else(|| {
            ChatError::at(ErrorCode::InvalidOptions, "cursor", "is none of this store; pass `nextCursor` of a page as it was")
        })
    }
}

fn decode(text: &str) -> Option<Cursor> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect::<Option<_>>()?;
    let bytes = digits.chunks(2).map(|pair| Some(pair.first()? << 4 | pair.get(1)?)).collect::<Option<_>>()?;
    let text = String::from_utf8(bytes).ok()?;
    let (updated_at, id) = text.strip_prefix(MARK)?.strip_prefix('\n')?.split_once('\n')?;
    Some(Cursor { updated_at: updated_at.to_owned(), id: id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let cursor = Cursor { updated_at: "2026-11-30T18:24:00.111Z".into(), id: "ä\nb".into() };
        assert_eq!(Cursor::parse(&cursor.to_string()).unwrap(), cursor);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "x", "6", "63310a", "6332 0a", "ff", "63310a61", "ä"] {
            let error = Cursor::parse(text).unwrap_err();
            assert_eq!(
                (error.code, error.details),
                (ErrorCode::InvalidOptions, Some(serde_json::json!({ "path": "cursor" }))),
                "{text}"
            );
        }
    }
}
