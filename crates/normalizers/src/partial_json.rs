//! JSON that an agent is still writing, as the input of a tool call that streams.

use serde_json::Value;

/// Values of a text shorter than this are told at each change; of a longer one only when it has grown by a quarter, so that all
/// of them together stay a small multiple of the text.
const TOLD_OFTEN: usize = 256;

/// A JSON text that grows. Each piece is looked at once.
#[derive(Debug, Default)]
pub(crate) struct PartialJson {
    text: String,
    /// The brackets that would close what is open, innermost last.
    closers: Vec<u8>,
    state: State,
    /// The text up to here, with the closers behind it, is JSON.
    whole: usize,
    /// Where the string that is being written can be cut; `None` outside of strings that are values. Half a surrogate pair cannot
    /// be told apart here; it makes no JSON, and the last good value stays.
    cut: Option<usize>,
    /// How long the text was when its value was told last.
    told_at: usize,
    told: Option<Value>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value, or the end of an array.
    #[default]
    Value,
    /// The name of a member, or the end of an object.
    Key,
    Colon,
    /// A comma, or the end of what is open.
    Next,
    /// Inside a string; `escaped` counts the characters of an escape that are still to come.
    Text {
        key: bool,
        escaped: u8,
    },
    /// Inside a number or a word.
    Word,
    /// No JSON: the last good value stays.
    Broken,
}

impl PartialJson {
    /// Takes the next piece; says the value so far where it is another one than was told last.
    pub(crate) fn push(&mut self, piece: &str) -> Option<Value> {
        let start = self.text.len();
        self.text.push_str(piece);
        for (offset, byte) in piece.bytes().enumerate() {
            self.read(byte, start + offset);
        }
        let grown = self.text.len() - self.told_at;
        let due = self.text.len() < TOLD_OFTEN || grown > self.told_at / 4;
        if !due || self.state == State::Broken {
            return None;
        }
        self.told_at = self.text.len();
        let value = self.value()?;
        if self.told.as_ref() == Some(&value) {
            return None;
        }
        self.told = Some(value.clone());
        Some(value)
    }

    /// What is open closed: a string ends where the text does, and a member without a value is left out.
    fn value(&self) -> Option<Value> {
        match self.cut {
            Some(cut) => self.closed(cut, "\""),
            None => self.closed(self.whole, ""),
        }
    }

    fn closed(&self, end: usize, quote: &str) -> Option<Value> {
        let mut text = String::with_capacity(end + self.closers.len() + 1);
        text.push_str(self.text.get(..end)?);
        text.push_str(quote);
        text.extend(self.closers.iter().rev().map(|closer| char::from(*closer)));
        serde_json::from_str(&text).ok()
    }

    fn read(&mut self, byte: u8, at: usize) {
        match self.state {
            State::Broken => {}
            State::Text { key, escaped } => self.read_text(byte, at, key, escaped),
            State::Word if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.') => {}
            State::Word => {
                self.end_value(at);
                self.read(byte, at);
            }
            _ if byte.is_ascii_whitespace() => {}
            State::Value => match byte {
                b'{' => self.open(b'}', State::Key, at),
                b'[' => self.open(b']', State::Value, at),
                b']' => self.close(byte, at),
                b'"' => {
                    self.state = State::Text { key: false, escaped: 0 };
                    self.cut = Some(at + 1);
                }
                _ => self.state = State::Word,
            },
            State::Key => match byte {
                b'"' => self.state = State::Text { key: true, escaped: 0 },
                _ => self.close(byte, at),
            },
            State::Colon => self.state = if byte == b':' { State::Value } else { State::Broken },
            State::Next => match (byte, self.closers.last()) {
                (b',', Some(b'}')) => self.state = State::Key,
                (b',', Some(_)) => self.state = State::Value,
                _ => self.close(byte, at),
            },
        }
    }

    fn read_text(&mut self, byte: u8, at: usize, key: bool, escaped: u8) {
        let escaped = match (escaped, byte) {
            (0, b'"') => {
                self.cut = None;
                return if key { self.state = State::Colon } else { self.end_value(at + 1) };
            }
            (0, b'\\') => 1,
            // `\u` and four digits.
            (1, b'u') => 4,
            (0, _) => 0,
            (left, _) => left - 1,
        };
        // A character of several bytes is never cut: pieces are whole characters, and the cut is used between pieces only.
        if escaped == 0 && !key {
            self.cut = Some(at + 1);
        }
        self.state = State::Text { key, escaped };
    }

    fn open(&mut self, closer: u8, state: State, at: usize) {
        self.closers.push(closer);
        self.whole = at + 1;
        self.state = state;
    }

    fn close(&mut self, byte: u8, at: usize) {
        match self.closers.last() {
            Some(closer) if *closer == byte => {
                self.closers.pop();
                self.end_value(at + 1);
            }
            _ => self.state = State::Broken,
        }
    }

    fn end_value(&mut self, end: usize) {
        self.whole = end;
        self.state = State::Next;
    }
}

#[cfg(test)]
mod tests {
    use super::PartialJson;
    use serde_json::{Value, json};

    fn told(pieces: &[&str]) -> Vec<Value> {
        let mut partial = PartialJson::default();
        pieces.iter().filter_map(|piece| partial.push(piece)).collect()
    }

    #[test]
    fn a_value_grows_with_its_text() {
        let values =
            told(&[r#"{"comm"#, r#"and":"ec"#, r#"ho \"#, r#""x\" "#, r#"","n":1"#, r#"2,"list":[tr"#, "ue, {}", "]}"]);
        let expected = [
            json!({}),
            json!({ "command": "ec" }),
            json!({ "command": "echo " }),
            json!({ "command": "echo \"x\" " }),
            json!({ "command": "echo \"x\" ", "n": 12, "list": [] }),
            json!({ "command": "echo \"x\" ", "n": 12, "list": [true, {}] }),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn an_escape_is_not_cut() {
        assert_eq!(
            told(&[r#"{"a":"x\u00"#, r#"e9y\ud83d"#, r#"\ude00"}"#]),
            [json!({ "a": "x" }), json!({ "a": "x\u{e9}y\u{1f600}" }),]
        );
    }

    #[test]
    fn what_is_no_json_leaves_the_last_good_value() {
        assert_eq!(told(&[r#"{"a":1,"#, "]]", r#""b":2}"#]), [json!({ "a": 1 })]);
        assert_eq!(told(&["}", "{}"]), Vec::<Value>::new());
    }

    #[test]
    fn values_of_a_long_text_are_few() {
        let mut partial = PartialJson::default();
        let mut bytes = 0;
        partial.push(r#"{"content":""#);
        for _ in 0..50_000 {
            bytes += partial.push("0123456789").map_or(0, |value| value.to_string().len());
        }
        assert!(bytes < 500_000 * 8, "{bytes} bytes told");
    }
}
