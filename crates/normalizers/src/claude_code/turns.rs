//! Cuts a recording into turns: one `send` of a replay plays one of them.

use super::wire::{RequestLine, RequestTag, Tag};
use crate::rpc::Str;
use crate::{Channel, RecordedLine, Segment};
use serde::Deserialize;

/// What a line says about turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// A prompt of the host.
    Prompt,
    /// The first request of a new process.
    Process,
    /// Another request of the host, which prepares what comes after it, unless it interrupts.
    Preparation,
    /// The CLI begins a turn, also one of its own.
    Init,
    /// The main loop says something.
    Content,
    /// The rest of what belongs to a turn: subagents, tasks, results.
    News,
    Result,
    Other,
}

/// A turn, from the line that began it to the line that ended it.
#[derive(Debug, Clone, Copy)]
struct Turn {
    start: usize,
    end: Option<usize>,
}

/// Every turn with what belongs to it. What comes between two turns belongs to the one before, up to the requests of the host
/// that prepare the next.
pub(crate) fn segment(lines: &[RecordedLine<'_>]) -> Vec<Segment> {
    let kinds: Vec<Line> = lines.iter().map(kind).collect();
    let turns = turns(&kinds);
    let mut bounds: Vec<usize> = Vec::with_capacity(turns.len());
    for (number, turn) in turns.iter().enumerate() {
        let after = number
            .checked_sub(1)
            .and_then(|before| turns.get(before))
            .map_or(0, |before| before.end.map_or(before.start, |end| end).saturating_add(1));
        bounds.push(if number == 0 { 0 } else { prepared_from(&kinds, after, turn.start) });
    }
    let ends = bounds.iter().skip(1).copied().chain([lines.len()]);
    bounds.iter().zip(ends).map(|(start, end)| Segment { lines: (*start..end).collect() }).collect()
}

/// The first request that prepares a turn; its own first line where there is none.
fn prepared_from(kinds: &[Line], after: usize, start: usize) -> usize {
    let gap = kinds.get(after..start).unwrap_or_default();
    let late = gap.iter().rposition(|kind| *kind == Line::News || *kind == Line::Content);
    let open = late.map_or(0, |late| late + 1);
    let prepares = |kind: &&Line| matches!(**kind, Line::Preparation | Line::Process);
    let first = gap.iter().skip(open).position(|kind| prepares(&kind));
    first.map_or(start, |first| after + open + first)
}

fn turns(kinds: &[Line]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut process = None;
    for (index, kind) in kinds.iter().enumerate() {
        let running = turns.last().is_some_and(|turn| turn.end.is_none());
        match kind {
            Line::Process => {
                if let Some(turn) = turns.last_mut().filter(|turn| turn.end.is_none()) {
                    turn.end = Some(index.saturating_sub(1));
                }
                process = Some(index);
            }
            // A prompt that comes while a turn runs joins it, or begins one of its own when the CLI comes to it.
            Line::Prompt | Line::Init | Line::Content if !running => turns.push(Turn { start: index, end: None }),
            Line::Result => match turns.last_mut().filter(|turn| turn.end.is_none()) {
                Some(turn) => turn.end = Some(index),
                // A process that cannot begin ends a turn that nobody began.
                None => turns.push(Turn { start: process.unwrap_or(index), end: Some(index) }),
            },
            _ => {}
        }
    }
    turns
}

/// Who a line is of.
#[derive(Default, Deserialize)]
struct Owner<'a> {
    #[serde(borrow, default)]
    parent_tool_use_id: Option<Str<'a>>,
    #[serde(rename = "isReplay", default)]
    is_replay: bool,
}

fn owner(text: &str) -> Owner<'_> {
    serde_json::from_str(text).unwrap_or_default()
}

fn kind(line: &RecordedLine<'_>) -> Line {
    let Ok(tag) = serde_json::from_str::<Tag<'_>>(&line.text) else { return Line::Other };
    let subtype = tag.subtype.as_deref();
    match (line.channel, &*tag.kind) {
        (Channel::Host, "user") => Line::Prompt,
        (Channel::Host, "control_request") => request(&line.text),
        (Channel::Agent, "system") if subtype == Some("init") => Line::Init,
        (Channel::Agent, "result") => Line::Result,
        (Channel::Agent, "assistant" | "stream_event") => match owner(&line.text).parent_tool_use_id {
            Some(_) => Line::News,
            None => Line::Content,
        },
        // An echo: the CLI writes one before its answer to `set_model`.
        (Channel::Agent, "user") if owner(&line.text).is_replay => Line::Other,
        (Channel::Agent, "user" | "command_lifecycle" | "prompt_suggestion") => Line::News,
        (Channel::Agent, "system") if subtype.is_some_and(|subtype| subtype.starts_with("task_")) => Line::News,
        _ => Line::Other,
    }
}

fn request(text: &str) -> Line {
    let request = serde_json::from_str::<RequestLine<'_>>(text).ok();
    let tag = request.and_then(|request| serde_json::from_str::<RequestTag<'_>>(request.request.get()).ok());
    match tag.as_ref().map(|tag| &*tag.subtype) {
        Some("initialize") => Line::Process,
        Some("interrupt") => Line::Other,
        Some(_) => Line::Preparation,
        None => Line::Other,
    }
}
