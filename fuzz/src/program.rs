//! An input as the messages it stands for. The first byte says how to read the others: as the lines themselves, or as instructions
//! that play recordings with changes, which is how an input comes deep into a conversation.

use super::recordings::Line;
use chat_grammar::event::{FinishReason, Side};
use serde_json::{Value, json};

/// More steps make no other input, only a slower one.
const STEP_LIMIT: usize = 32;

/// The first byte of an input that holds lines. Each begins with the byte of its side.
pub const LINES: u8 = b'L';
pub const HOST: u8 = b'>';
pub const AGENT: u8 = b'<';

/// The first byte of an input that holds instructions.
pub const INSTRUCTIONS: u8 = b'I';

/// One thing that happens to a normalizer.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Message(Side, String),
    /// The stream ended; another process may go on.
    Finish(FinishReason),
}

/// Reads an input. Bytes that are no UTF-8 become replacement characters, as in what an agent prints.
pub fn read(input: &[u8], recordings: &[Vec<Line>]) -> Vec<Step> {
    match input.split_first() {
        Some((&INSTRUCTIONS, bytes)) if !recordings.is_empty() => Player::new(bytes, recordings).play(),
        Some((&LINES, bytes)) => lines(bytes),
        _ => lines(input),
    }
}

fn lines(bytes: &[u8]) -> Vec<Step> {
    let lines = bytes.split(|byte| *byte == b'\n').take(STEP_LIMIT);
    lines
        .map(|line| {
            let (side, line) = match line.split_first() {
                Some((&HOST, line)) => (Side::Host, line),
                Some((&AGENT, line)) => (Side::Agent, line),
                _ => (Side::Agent, line),
            };
            Step::Message(side, String::from_utf8_lossy(line).into_owned())
        })
        .collect()
}

/// Plays recorded lines as the bytes say.
struct Player<'a> {
    bytes: std::slice::Iter<'a, u8>,
    recordings: &'a [Vec<Line>],
    recording: &'a [Line],
    place: usize,
    steps: Vec<Step>,
}

impl<'a> Player<'a> {
    fn new(bytes: &'a [u8], recordings: &'a [Vec<Line>]) -> Self {
        let mut player = Self { bytes: bytes.iter(), recordings, recording: &[], place: 0, steps: Vec::new() };
        player.change_recording();
        player
    }

    /// The next byte of the input; 0 after its end.
    fn next(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.next()) % limit.max(1)
    }

    fn change_recording(&mut self) {
        let which = self.below(self.recordings.len());
        self.recording = &self.recordings[which];
    }

    fn play(mut self) -> Vec<Step> {
        while self.bytes.len() > 0 && self.steps.len() < STEP_LIMIT {
            match self.next() % 16 {
                // The lines of a turn's beginning carry the ids that later ones need.
                0..4 => self.next_lines(1),
                4 => self.next_lines(4),
                5 => self.place += 1,
                6 => self.repeat(),
                7 => self.place = usize::from(self.next()),
                8 => self.change_recording(),
                9 => self.place = self.place.saturating_sub(1 + self.steps.len() / 4),
                10 => self.cut(),
                11 => {
                    let reason = [FinishReason::End, FinishReason::Cancelled, FinishReason::Error][self.below(3)];
                    self.steps.push(Step::Finish(reason));
                }
                12 => self.change(|_, _| Value::Null),
                13 => self.change(|player, old| player.other_type(old)),
                14 => self.change(|player, _| player.spliced()),
                _ => self.change_members(),
            }
        }
        self.steps
    }

    fn line(&self) -> &'a Line {
        &self.recording[self.place % self.recording.len()]
    }

    fn push(&mut self, text: String) {
        self.steps.push(Step::Message(self.line().side, text));
        self.place += 1;
    }

    fn next_lines(&mut self, count: usize) {
        (0..count).for_each(|_| self.push(self.line().text.clone()));
    }

    fn repeat(&mut self) {
        let last = self.steps.iter().rev().find(|step| matches!(step, Step::Message(..)));
        self.steps.extend(last.cloned());
    }

    /// The line as far as somewhere.
    fn cut(&mut self) {
        let text = &self.line().text;
        let share = usize::from(self.next());
        let end = (0..=text.len() * share / 256).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.push(text[..end].to_owned());
    }

    /// Puts another value in the place of one.
    fn change(&mut self, made: impl FnOnce(&mut Self, &Value) -> Value) {
        let mut message = self.message();
        let place = self.walk(&mut message);
        let new = made(self, place);
        *place = new;
        self.push(message.to_string());
    }

    /// Takes a member or element away, or repeats one under the name of another.
    fn change_members(&mut self) {
        let mut message = self.message();
        let removes = self.next().is_multiple_of(2);
        match self.walk(&mut message) {
            Value::Object(members) if !members.is_empty() => {
                let which = self.below(members.len());
                let name = members.keys().nth(which).cloned().unwrap_or_default();
                if let (Some(value), false) = (members.shift_remove(&name), removes) {
                    let which = self.below(members.len());
                    let other = members.keys().nth(which).cloned().unwrap_or(name);
                    members.insert(other, value);
                }
            }
            Value::Array(elements) if !elements.is_empty() => {
                let which = self.below(elements.len());
                match removes {
                    true => drop(elements.remove(which)),
                    false => elements.push(elements[which].clone()),
                }
            }
            other => *other = json!({}),
        }
        self.push(message.to_string());
    }

    fn message(&self) -> Value {
        serde_json::from_str(&self.line().text).unwrap_or_default()
    }

    /// Some value in a message.
    fn walk<'v>(&mut self, message: &'v mut Value) -> &'v mut Value {
        let mut place = message;
        for _ in 0..self.below(8) {
            let size = match &*place {
                Value::Object(members) => members.len(),
                Value::Array(elements) => elements.len(),
                _ => 0,
            };
            if size == 0 {
                break;
            }
            let which = self.below(size);
            place = match place {
                Value::Object(members) => members.values_mut().nth(which).expect("it has so many members"),
                Value::Array(elements) => &mut elements[which],
                _ => unreachable!("a value without a size has no place"),
            };
        }
        place
    }

    fn other_type(&mut self, old: &Value) -> Value {
        match self.below(12) {
            0 => json!([old]),
            1 => json!({ "value": old }),
            2 => json!(old.to_string()),
            3 => json!(true),
            4 => json!(self.next()),
            5 => json!(-1),
            6 => json!(u64::MAX),
            7 => json!(1e300),
            8 => json!(""),
            9 => json!([]),
            10 => json!({}),
            _ => json!(format!("{}\u{0}\u{fffd}\u{1f600}", char::from(self.next()))),
        }
    }

    /// A value of another line of the recording.
    fn spliced(&mut self) -> Value {
        let other = &self.recording[usize::from(self.next()) % self.recording.len()];
        let mut message: Value = serde_json::from_str(&other.text).unwrap_or_default();
        self.walk(&mut message).take()
    }
}
