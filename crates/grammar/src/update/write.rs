//! The one serialization of an update: the ACP text with `_meta` spliced in before its last brace.

use super::{Body, Delta, Extra, Marks, Piece, PieceForm, Update};
use crate::acp::{ContentBlock, ContentChunk, SessionUpdate, ToolCallUpdateFields};
use serde::Serialize;
use std::io::Write;
use std::ops::Range;

/// Where an update stands in its turn, and when its native message was read.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub conversation_id: &'a str,
    pub turn_id: &'a str,
    /// 1, 2, 3 … within the turn.
    pub sequence: u64,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// The agent's own message behind an update.
#[derive(Debug, Clone, Copy)]
pub struct Native<'a> {
    /// Which of the agent's streams it came on.
    pub source: &'a str,
    /// The message as JSON text.
    pub message: &'a str,
}

/// Appends the update's JSON text to the buffer. The members stand in a fixed order; `native` is last and holds the agent's
/// message word for word. What stands where in the buffer is returned.
pub fn write_update(update: &Update, place: Place<'_>, native: Option<Native<'_>>, buffer: &mut Vec<u8>) -> Marks {
    let start = buffer.len();
    let mut piece = write_piece(update, place.at, buffer);
    match (&update.body, &piece) {
        (Body::Relayed(body), _) => body.open(buffer),
        // Every variant is an object with at least its tag, so the text ends with a brace and has a member before it.
        (Body::Official(_), Some(_)) => reopen(buffer),
        (Body::Official(body), None) => {
            append(body, buffer);
            reopen(buffer);
        }
        (Body::Extension(body), _) => {
            append(body, buffer);
            reopen(buffer);
        }
    }
    let _ = write!(buffer, r#""amalgm":{{"at":{},"conversationId":"#, place.at);
    append(place.conversation_id, buffer);
    buffer.extend_from_slice(br#","turnId":"#);
    append(place.turn_id, buffer);
    let _ = write!(buffer, r#","sequence":{}"#, place.sequence);
    match &mut piece {
        Some(piece) if piece.form == PieceForm::ToolOutput => {
            buffer.extend_from_slice(br#","delta":{"output":"#);
            let output = update.extra.delta.as_ref().and_then(|delta| delta.output.as_deref()).unwrap_or("");
            piece.text = append_text(output, buffer);
            buffer.push(b'}');
        }
        _ => append_members(&update.extra, buffer),
    }
    let native = native.and_then(|native| append_native(native, update.extra.truncated.is_some(), buffer));
    buffer.extend_from_slice(b"}}}");
    // Agents write pieces in the order of a form or in another; the text tells.
    if matches!(update.body, Body::Relayed(_)) {
        piece = buffer.get(start..).and_then(|text| Piece::find(std::str::from_utf8(text).ok()?, start));
    }
    Marks { native, piece }
}

/// Goes back into a closed object, to its `_meta`.
fn reopen(buffer: &mut Vec<u8>) {
    buffer.pop();
    buffer.extend_from_slice(br#","_meta":{"#);
}

/// Writes the ACP part of a piece exactly as the official types are written, which takes them several times as long.
fn write_piece(update: &Update, at: i64, buffer: &mut Vec<u8>) -> Option<Piece> {
    let Body::Official(official) = &update.body else { return None };
    let form = PieceForm::of(official, &update.extra)?;
    let (tag, chunk) = match official.as_ref() {
        SessionUpdate::AgentMessageChunk(chunk) => ("agent_message_chunk", chunk),
        SessionUpdate::AgentThoughtChunk(chunk) => ("agent_thought_chunk", chunk),
        SessionUpdate::ToolCallUpdate(call) => {
            buffer.extend_from_slice(br#"{"sessionUpdate":"tool_call_update","toolCallId":"#);
            let id = append_text(&call.tool_call_id.0, buffer);
            buffer.push(b'}');
            return Some(Piece { form, text: 0..0, id, at });
        }
        _ => return None,
    };
    let (ContentBlock::Text(content), Some(message_id)) = (&chunk.content, &chunk.message_id) else { return None };
    let _ = write!(buffer, r#"{{"sessionUpdate":"{tag}","content":{{"type":"text","text":"#);
    let text = append_text(&content.text, buffer);
    buffer.extend_from_slice(br#"},"messageId":"#);
    let id = append_text(&message_id.0, buffer);
    buffer.push(b'}');
    Some(Piece { form, text, id, at })
}

impl PieceForm {
    /// The form of an update that has nothing beside what its form has.
    pub fn of(update: &SessionUpdate, extra: &Extra) -> Option<Self> {
        let Extra { parent_tool_call_id: None, reasoning, mcp: None, delta, compaction: None, init: None, retry: None, .. } =
            extra
        else {
            return None;
        };
        if extra.usage.is_some() || extra.truncated.is_some() || extra.error.is_some() {
            return None;
        }
        match (update, reasoning, delta) {
            (SessionUpdate::AgentMessageChunk(chunk), None, None) => is_plain(chunk).then_some(Self::Text),
            (SessionUpdate::AgentThoughtChunk(chunk), Some(visibility), None) => {
                is_plain(chunk).then_some(Self::Reasoning(*visibility))
            }
            (SessionUpdate::ToolCallUpdate(call), None, Some(Delta { input: None, output: Some(_) })) => {
                (call.meta.is_none() && call.fields == ToolCallUpdateFields::default()).then_some(Self::ToolOutput)
            }
            _ => None,
        }
    }
}

fn is_plain(chunk: &ContentChunk) -> bool {
    let plain =
        |block: &ContentBlock| matches!(block, ContentBlock::Text(text) if text.annotations.is_none() && text.meta.is_none());
    plain(&chunk.content) && chunk.message_id.is_some() && chunk.meta.is_none()
}

fn append_members(extra: &Extra, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    append(extra, buffer);
    if buffer.len() - start <= "{}".len() {
        buffer.truncate(start);
    } else {
        // `{"a":1}` becomes `,"a":1`.
        buffer.pop();
        if let Some(brace) = buffer.get_mut(start) {
            *brace = b',';
        }
    }
}

fn append_native(native: Native<'_>, truncated: bool, buffer: &mut Vec<u8>) -> Option<Range<usize>> {
    buffer.extend_from_slice(br#","native":{"source":"#);
    append(native.source, buffer);
    if truncated {
        let _ = write!(buffer, r#","truncated":{{"bytes":{}}}}}"#, native.message.len());
        None
    } else {
        buffer.extend_from_slice(br#","message":"#);
        let start = buffer.len();
        // A newline would end the update in the journal; JSON text has them only between tokens.
        match native.message.bytes().any(|byte| byte == b'\n' || byte == b'\r') {
            false => buffer.extend_from_slice(native.message.as_bytes()),
            true => buffer.extend(native.message.bytes().map(|byte| if byte == b'\n' || byte == b'\r' { b' ' } else { byte })),
        }
        let range = start..buffer.len();
        buffer.push(b'}');
        Some(range)
    }
}

fn append_text(text: &str, buffer: &mut Vec<u8>) -> Range<usize> {
    let start = buffer.len();
    append(text, buffer);
    start..buffer.len()
}

fn append<T: Serialize + ?Sized>(value: &T, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    // Writing to memory cannot fail, and none of our types has a map with keys that are no strings.
    if serde_json::to_writer(&mut *buffer, value).is_err() {
        buffer.truncate(start);
        buffer.extend_from_slice(b"null");
    }
}
