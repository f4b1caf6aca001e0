//! The input of a call while the model still writes it: JSON that is not closed yet.

use serde_json::{Map, Value};

/// More members than this are told only with the whole input, so that many small ones do not cost their square.
const TOLD_MEMBERS: usize = 32;

/// An object of which the text comes in pieces. Each byte is looked at once.
#[derive(Debug, Default)]
pub(super) struct PartialInput {
    text: String,
    /// The members that are whole.
    members: Map<String, Value>,
    scanned: usize,
    /// Where the member begins that is being written.
    member: usize,
    depth: u32,
    in_string: bool,
    escaped: bool,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    Closed,
    /// It is no object, or no JSON.
    Broken,
}

impl PartialInput {
    /// Takes the next piece. Returns the whole members so far where this piece completed one.
    pub(super) fn push(&mut self, piece: &str) -> Option<Value> {
        self.text.push_str(piece);
        let before = self.members.len();
        while self.state == State::Open
            && let Some(byte) = self.text.as_bytes().get(self.scanned).copied()
        {
            self.byte(byte);
            self.scanned += 1;
        }
        let grown = self.members.len() > before && self.members.len() <= TOLD_MEMBERS;
        (grown && self.state != State::Broken).then(|| Value::Object(self.members.clone()))
    }

    /// The whole input; `None` where the text did not close.
    pub(super) fn whole(&self) -> Option<Value> {
        (self.state == State::Closed).then(|| Value::Object(self.members.clone()))
    }

    /// The text so far, as the model wrote it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn byte(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' if self.depth == 0 => {
                self.depth = 1;
                self.member = self.scanned + 1;
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth > 1 => self.depth -= 1,
            b'}' if self.depth == 1 => {
                self.depth = 0;
                self.state = State::Closed;
                self.member_ended();
            }
            b',' if self.depth == 1 => self.member_ended(),
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ if self.depth == 0 => self.state = State::Broken,
            _ => {}
        }
    }

    fn member_ended(&mut self) {
        let text = self.text.get(self.member..self.scanned).unwrap_or("");
        self.member = self.scanned + 1;
        if text.trim().is_empty() && self.members.is_empty() && self.state == State::Closed {
            return;
        }
        match serde_json::from_str::<Map<String, Value>>(&format!("{{{text}}}")) {
            Ok(member) if member.len() == 1 => self.members.extend(member),
            _ => self.state = State::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PartialInput;
    use serde_json::{Value, json};

    fn told(pieces: &[&str]) -> (Vec<Value>, Option<Value>) {
        let mut input = PartialInput::default();
        let told = pieces.iter().filter_map(|piece| input.push(piece)).collect();
        (told, input.whole())
    }

    #[test]
    fn whole_members_are_told_as_they_come() {
        let (told, whole) = told(&["{\"path\":\"/a", "/b\"", ",\"edits\":[{\"x\":\"},\"}", ",1]", "}"]);
        assert_eq!(told, [json!({ "path": "/a/b" }), json!({ "path": "/a/b", "edits": [{ "x": "}," }, 1] })]);
        assert_eq!(whole, Some(json!({ "path": "/a/b", "edits": [{ "x": "}," }, 1] })));
    }

    #[test]
    fn what_does_not_close_keeps_its_whole_members() {
        let (told, whole) = told(&["{\"a\":1,\"b\":\"half \\\""]);
        assert_eq!((told, whole), (vec![json!({ "a": 1 })], None));
    }

    #[test]
    fn an_empty_object_is_whole() {
        assert_eq!(told(&["{", "}"]), (vec![], Some(json!({}))));
    }

    #[test]
    fn what_is_no_object_is_never_whole() {
        for text in ["[1,2]", "5", "{\"a\" 1}", "{\"a\":1,,}", "{,}", "{\"a\":tru,"] {
            assert_eq!(told(&[text]).1, None, "{text}");
        }
    }
}
