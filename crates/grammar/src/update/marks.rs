//! What stands where in an update's text. The writer knows it; of a text that was read back from the journal it is found again.

use crate::event::Visibility;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::ops::Range;

/// What stands where in an update's text, in bytes, so that a reader need not look for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// The agent's own message.
    pub native: Option<Range<usize>>,
    /// Where the update is nothing but a piece of text: its parts.
    pub piece: Option<Piece>,
}

/// An update of one of the forms that make up nearly all of a long turn: all that is not the same in every one of its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub form: PieceForm,
    /// The text, as a JSON string.
    pub text: Range<usize>,
    /// The id of the message or tool call, as a JSON string.
    pub id: Range<usize>,
    /// `_meta.amalgm.at`.
    pub at: i64,
}

/// The forms of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceForm {
    /// `agent_message_chunk` with a text and a message id.
    Text,
    /// `agent_thought_chunk` with the same, and `_meta.amalgm.reasoning`.
    Reasoning(Visibility),
    /// `tool_call_update` with nothing but `_meta.amalgm.delta.output`.
    ToolOutput,
}

impl PieceForm {
    /// How the facade tells the forms apart (`lib/native.ts`).
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Text => 0,
            Self::ToolOutput => 1,
            Self::Reasoning(Visibility::Full) => 2,
            Self::Reasoning(Visibility::Summary) => 3,
            Self::Reasoning(Visibility::Redacted) => 4,
            Self::Reasoning(Visibility::Plan) => 5,
        }
    }
}

impl Marks {
    /// The marks of an update's text as `write_update` made it. Any other text has its native message found, if it has one.
    pub fn find(json: &str) -> Self {
        Scan { json, at: 0 }.piece().unwrap_or_else(|| Self { native: native_range(json), piece: None })
    }
}

impl Piece {
    /// The piece that an update's text is, with its places counted from `start`.
    pub(super) fn find(json: &str, start: usize) -> Option<Self> {
        let piece = Scan { json, at: 0 }.piece()?.piece?;
        let moved = |range: Range<usize>| range.start + start..range.end + start;
        Some(Self { text: moved(piece.text), id: moved(piece.id), ..piece })
    }
}

/// Reads a text of a known form from left to right; `None` as soon as it is of another form.
struct Scan<'a> {
    json: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn piece(mut self) -> Option<Marks> {
        self.skip(r#"{"sessionUpdate":""#)?;
        let is_thought = self.skip(r#"agent_thought_chunk","content":{"type":"text","text":"#).is_some();
        let is_chunk = is_thought || self.skip(r#"agent_message_chunk","content":{"type":"text","text":"#).is_some();
        let mut text = 0..0;
        if is_chunk {
            text = self.string()?;
            self.skip(r#"},"messageId":"#)?;
        } else {
            self.skip(r#"tool_call_update","toolCallId":"#)?;
        }
        let id = self.string()?;
        self.skip(r#","_meta":{"amalgm":{"at":"#)?;
        let at = self.number()?;
        self.skip(r#","conversationId":"#)?;
        self.string()?;
        self.skip(r#","turnId":"#)?;
        self.string()?;
        self.skip(r#","sequence":"#)?;
        self.number()?;
        let form = if is_thought {
            self.skip(r#","reasoning":"#)?;
            let word = self.string()?;
            PieceForm::Reasoning(serde_json::from_str::<Visibility>(self.json.get(word)?).ok()?)
        } else if is_chunk {
            PieceForm::Text
        } else {
            self.skip(r#","delta":{"output":"#)?;
            text = self.string()?;
            self.skip("}")?;
            PieceForm::ToolOutput
        };
        let native = match self.skip(r#","native":{"source":"#) {
            Some(()) => {
                self.string()?;
                self.skip(r#","message":"#)?;
                // It is the last member of the innermost of four objects.
                let end = self.json.len().checked_sub("}}}}".len())?;
                (self.json.get(end..)? == "}}}}" && self.at < end).then_some(Some(self.at..end))?
            }
            None => {
                self.skip("}}}")?;
                (self.at == self.json.len()).then_some(None)?
            }
        };
        Some(Marks { native, piece: Some(Piece { form, text, id, at }) })
    }

    fn rest(&self) -> &str {
        self.json.get(self.at..).unwrap_or("")
    }

    fn skip(&mut self, expected: &str) -> Option<()> {
        self.rest().starts_with(expected).then(|| self.at += expected.len())
    }

    /// A JSON string, with its quotes.
    fn string(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let mut bytes = self.rest().bytes().enumerate();
        if bytes.next()?.1 != b'"' {
            return None;
        }
        while let Some((index, byte)) = bytes.next() {
            match byte {
                b'\\' => drop(bytes.next()?),
                b'"' => {
                    self.at = start + index + 1;
                    return Some(start..self.at);
                }
                _ => {}
            }
        }
        None
    }

    fn number(&mut self) -> Option<i64> {
        let digits = self.rest().bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
        let number = self.rest().get(..digits)?.parse().ok()?;
        self.at += digits;
        Some(number)
    }
}

/// Where the native message stands in an update's JSON text, in bytes.
fn native_range(json: &str) -> Option<Range<usize>> {
    let update: WireUpdate<'_> = serde_json::from_str(json).ok()?;
    let message = update.meta?.amalgm?.native?.message?.get();
    // A borrowed part of `json`.
    let start = (message.as_ptr() as usize).checked_sub(json.as_ptr() as usize)?;
    Some(start..start + message.len())
}

#[derive(Deserialize)]
struct WireUpdate<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<WireMeta<'a>>,
}

#[derive(Deserialize)]
struct WireMeta<'a> {
    #[serde(borrow)]
    amalgm: Option<WireAmalgm<'a>>,
}

#[derive(Deserialize)]
struct WireAmalgm<'a> {
    #[serde(borrow)]
    native: Option<WireNative<'a>>,
}

#[derive(Deserialize)]
struct WireNative<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}
