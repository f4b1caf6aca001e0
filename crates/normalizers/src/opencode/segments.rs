//! Cuts a recording into turns: one `send` of a replay plays one of them.

use super::http::{self, Purpose, Route};
use super::normalize::OpenCode;
use super::wire::Request;
use crate::{Channel, Normalizer, Options, RecordedLine, Segment};
use chat_grammar::event::EventKind;

/// A turn, from the line that began it to the line that ended it.
#[derive(Debug)]
struct Turn {
    start: usize,
    end: Option<usize>,
}

/// Every turn with what belongs to it. What comes between two turns belongs to the one before, up to what prepares the next.
pub(crate) fn segment(lines: &[RecordedLine<'_>]) -> Vec<Segment> {
    let turns = turns(lines);
    let mut bounds = Vec::with_capacity(turns.len());
    let mut after = 0;
    for turn in &turns {
        let prepares = |index: &usize| lines.get(*index).is_some_and(prepares);
        bounds.push((after..turn.start).find(prepares).unwrap_or(turn.start));
        after = turn.end.map_or(turn.start, |end| end.max(turn.start)).saturating_add(1);
    }
    if let Some(first) = bounds.first_mut() {
        *first = 0;
    }
    let ends = bounds.iter().skip(1).copied().chain([lines.len()]);
    bounds.iter().zip(ends).map(|(start, end)| Segment { lines: (*start..end).collect() }).collect()
}

/// The turns as the normalizer sees them begin and end.
fn turns(lines: &[RecordedLine<'_>]) -> Vec<Turn> {
    let mut normalizer = OpenCode::new(Options::default());
    let mut turns: Vec<Turn> = Vec::new();
    let mut out = Vec::new();
    let mut runs = false;
    for (index, line) in lines.iter().enumerate() {
        let Some(side) = line.channel.side() else { continue };
        out.clear();
        normalizer.push(&line.text, side, &mut out);
        let done = out.iter().any(|event| matches!(event.kind, EventKind::Done { .. }) && event.parent_tool_call_id.is_none());
        let ran = std::mem::replace(&mut runs, normalizer.sessions.is_running());
        if runs && (!ran || done) {
            turns.push(Turn { start: index, end: None });
        }
        if done || (ran && !runs) {
            let ended = turns.iter_mut().rfind(|turn| turn.end.is_none());
            if let Some(turn) = ended {
                turn.end = Some(index);
            }
        }
    }
    turns
}

/// True for what comes before a turn and is about it: a server starts, the stream is opened, a session is made, read or changed.
fn prepares(line: &RecordedLine<'_>) -> bool {
    if line.channel != Channel::Host {
        return !line.text.starts_with('{');
    }
    let Ok(request) = serde_json::from_str::<Request<'_>>(&line.text) else { return false };
    let path = request.path.split('?').next().unwrap_or_default();
    match route(&request) {
        Route::Ask(Purpose::CreateSession | Purpose::McpServers | Purpose::Providers | Purpose::StartTurn { .. }) => true,
        Route::Change(_) => true,
        Route::Ask(Purpose::Other) => &*request.method != "GET" || path == "/event",
        _ => false,
    }
}

fn route<'a>(request: &'a Request<'_>) -> Route<'a> {
    http::route(&request.method, &request.path)
}
