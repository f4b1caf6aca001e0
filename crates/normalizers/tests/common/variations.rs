//! Recordings that stop anywhere, that lack a message, and in which one comes twice.

use super::laws::{calls_are_in_order, says_nothing};
use super::{Recording, push, render};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason};
use chat_normalizers::{Normalizer, Options, RecordedLine};

/// A recording and whose it is.
#[derive(Debug)]
pub(crate) struct Played<'a> {
    pub(crate) harness: &'a str,
    pub(crate) name: &'a str,
    pub(crate) lines: Vec<RecordedLine<'a>>,
}

impl<'a> Played<'a> {
    pub(crate) fn new(harness: &'a str, recording: &'a Recording) -> Self {
        Self { harness, name: &recording.name, lines: recording.lines() }
    }
}

/// The normalizer of an agent.
pub(crate) fn normalizer(harness: &str) -> Box<dyn Normalizer> {
    chat_normalizers::normalizer(harness, Options::default()).expect("it is registered")
}

/// All events of lines, `finish` included; all laws hold.
fn play(harness: &str, lines: &[RecordedLine<'_>], what: impl Fn() -> String) -> Vec<ChatEvent> {
    let events = super::play_with(normalizer(harness), lines);
    calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{}: {problem}", what()));
    events
}

/// The recording stops after each message. `check` gets how many there were, and the events.
pub(crate) fn stops(played: &Played<'_>, check: impl Fn(usize, &[ChatEvent])) {
    let Played { harness, name, lines } = played;
    for end in 0..=lines.len() {
        let mut normalizer = normalizer(harness);
        let mut events = Vec::new();
        lines[..end].iter().for_each(|line| push(normalizer.as_mut(), line, &mut events));
        let before = events.len();
        normalizer.finish(FinishReason::Error, &mut events);
        says_nothing(&events[before..]).unwrap_or_else(|problem| panic!("{name} cut at {end}: {problem}"));
        calls_are_in_order(&events).unwrap_or_else(|problem| panic!("{name} cut at {end}: {problem}"));
        check(end, &events);
        // What is closed stays closed.
        let closed = events.len();
        normalizer.finish(FinishReason::End, &mut events);
        assert_eq!(events.len(), closed, "{name} cut at {end}");
    }
}

/// The recording lacks one message, each in turn.
pub(crate) fn lacks(played: &Played<'_>, check: impl Fn(Lacking<'_>)) {
    for place in 0..played.lines.len() {
        let mut lines = played.lines.clone();
        let missing = lines.remove(place);
        let name = format!("{} without {place} {}", played.name, head(&missing));
        let events = play(played.harness, &lines, || name.clone());
        check(Lacking { name: &name, place, missing: &missing, lines: &lines, events: &events });
    }
}

/// A recording without one of its messages.
#[derive(Debug)]
pub(crate) struct Lacking<'a> {
    pub(crate) name: &'a str,
    pub(crate) place: usize,
    pub(crate) missing: &'a RecordedLine<'a>,
    /// The others.
    pub(crate) lines: &'a [RecordedLine<'a>],
    pub(crate) events: &'a [ChatEvent],
}

/// Each message that the agent may send twice comes twice. Of what `has_state` nothing is told again; the rest may be.
pub(crate) fn repeats(
    played: &Played<'_>,
    may_repeat: impl Fn(&RecordedLine<'_>) -> bool,
    has_state: impl Fn(&EventKind) -> bool,
) {
    let Played { harness, name, lines } = played;
    let once = play(harness, lines, || (*name).to_owned());
    let lasting = |events: &[ChatEvent]| -> Vec<ChatEvent> {
        let meant = events.iter().filter_map(|event| {
            let kind = event.kind.meaning().filter(|kind| has_state(kind))?.clone();
            Some(ChatEvent { kind, parent_tool_call_id: event.parent_tool_call_id.clone() })
        });
        meant.collect()
    };
    let expected = lasting(&once);
    for place in (0..lines.len()).filter(|place| may_repeat(&lines[*place])) {
        let mut twice = lines.clone();
        twice.insert(place, lines[place].clone());
        let what = || format!("{name} with {place} {} twice", head(&lines[place]));
        let events = play(harness, &twice, what);
        if lasting(&events) != expected {
            let show = |events: &[ChatEvent]| events.iter().map(render::event).collect::<Vec<_>>().join("\n");
            panic!("{}:\n{}\n\ninstead of\n{}", what(), show(&events), show(&once));
        }
    }
}

/// How a line begins, to find it by.
fn head(line: &RecordedLine<'_>) -> String {
    line.text.chars().take(80).collect()
}
