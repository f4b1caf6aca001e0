//! Cuts a recording into turns: one `send` of a replay plays one of them.

use super::normalize::Pi;
use super::wire::{HostLine, Tag};
use crate::{Channel, Normalizer, Options, RecordedLine, Segment};
use chat_grammar::event::EventKind;

/// From the line that began a turn to the line that ended it, where it was ended.
#[derive(Debug)]
struct Turn {
    start: usize,
    end: Option<usize>,
}

/// Every turn with what belongs to it. What the host asks for between two turns prepares the next one; what the agent says after a turn,
/// up to there, belongs to the one before.
pub(crate) fn segment(lines: &[RecordedLine<'_>]) -> Vec<Segment> {
    let turns = turns(lines);
    let mut bounds: Vec<usize> = Vec::with_capacity(turns.len());
    for (turn, next) in turns.iter().zip(turns.iter().skip(1)) {
        let after = turn.end.unwrap_or_else(|| last_event(lines, turn.start, next.start)).saturating_add(1);
        let prepares = (after..next.start).find(|index| lines.get(*index).is_some_and(|line| line.channel == Channel::Host));
        bounds.push(prepares.unwrap_or(next.start));
    }
    let ends = bounds.iter().copied().chain([lines.len()]);
    let starts = [0].into_iter().chain(bounds.iter().copied());
    let segments = starts.zip(ends).take(turns.len());
    segments.map(|(start, end)| Segment { lines: (start..end).collect() }).collect()
}

/// The turns as the normalizer knows them, so that a replay ends where a recorded turn did.
fn turns(lines: &[RecordedLine<'_>]) -> Vec<Turn> {
    let mut pi = Pi::new(Options::default());
    let mut turns: Vec<Turn> = Vec::new();
    let mut prompt = None;
    let mut events = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(side) = line.channel.side() else { continue };
        let is_prompt = line.channel == Channel::Host
            && serde_json::from_str::<HostLine<'_>>(&line.text).is_ok_and(|line| &*line.kind == "prompt");
        if is_prompt {
            prompt = Some(index);
        }
        let (open, begun) = (pi.turn.is_open(), pi.turn.begun());
        events.clear();
        pi.push(&line.text, side, &mut events);
        if pi.turn.begun() > begun {
            // A new process took the prompt while the turn of the old one was still open.
            let start = prompt.filter(|_| open).unwrap_or(index);
            turns.push(Turn { start, end: None });
        }
        let ended = events.iter().any(|event| matches!(event.kind, EventKind::Done { .. }));
        if ended {
            match turns.last_mut().filter(|turn| turn.end.is_none()) {
                Some(turn) => turn.end = Some(index),
                // Refused or handled at once, in a recording of the agent's side only.
                None => turns.push(Turn { start: index, end: Some(index) }),
            }
        }
    }
    turns
}

/// The last line on which the agent said something by itself.
fn last_event(lines: &[RecordedLine<'_>], start: usize, end: usize) -> usize {
    let is_event = |line: &RecordedLine<'_>| {
        line.channel == Channel::Agent && serde_json::from_str::<Tag<'_>>(&line.text).is_ok_and(|tag| &*tag.kind != "response")
    };
    let said = (start..end).rev().find(|index| lines.get(*index).is_some_and(is_event));
    said.unwrap_or(start)
}
