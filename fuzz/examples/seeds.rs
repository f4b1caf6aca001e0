//! Writes the first inputs and the dictionary of each target, made of the recordings: `corpus/<agent>/`, `dictionaries/<agent>.txt`.

use chat_fuzz::program::{AGENT, HOST, INSTRUCTIONS, LINES};
use chat_fuzz::recordings::{self, AGENTS, Line};
use chat_grammar::event::Side;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// The longest input that holds lines. Longer ones are cut into several.
const INPUT_LIMIT: usize = 1024;

/// Words that are longer say something to people, not to a program.
const WORD_LIMIT: usize = 40;

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for agent in AGENTS {
        let corpus = folder.join("corpus").join(agent);
        let dictionaries = folder.join("dictionaries");
        fs::create_dir_all(&corpus)?;
        fs::create_dir_all(&dictionaries)?;
        let mut words = BTreeSet::new();
        for (number, lines) in recordings::of(agent).iter().enumerate() {
            for (place, input) in inputs(number, lines).into_iter().enumerate() {
                fs::write(corpus.join(format!("seed-{number:03}-{place:03}")), input)?;
            }
            for line in lines {
                collect(&serde_json::from_str(&line.text).unwrap_or_default(), &mut words);
            }
        }
        let entries: String = words.iter().map(|word| format!("\"{word}\"\n")).collect();
        fs::write(dictionaries.join(format!("{agent}.txt")), entries)?;
    }
    Ok(())
}

/// A recording as instructions that play it, from its beginning and from its middle, and as lines.
fn inputs(number: usize, lines: &[Line]) -> Vec<Vec<u8>> {
    let Ok(number) = u8::try_from(number) else { return Vec::new() };
    let mut inputs = vec![vec![INSTRUCTIONS, number, 4, 4, 4, 4, 4, 4, 4, 4]];
    if let Ok(middle) = u8::try_from(lines.len() / 2) {
        inputs.push(vec![INSTRUCTIONS, number, 4, 7, middle, 4, 4, 4]);
    }
    let mut input = vec![LINES];
    for line in lines.iter().filter(|line| line.text.len() < INPUT_LIMIT / 2) {
        if input.len() + line.text.len() > INPUT_LIMIT {
            inputs.push(std::mem::replace(&mut input, vec![LINES]));
            if inputs.len() >= 8 {
                break;
            }
        }
        input.push(if line.side == Side::Host { HOST } else { AGENT });
        input.extend_from_slice(line.text.as_bytes());
        input.push(b'\n');
    }
    inputs
}

/// The names of members, with what follows them on the wire, and the words that stand as values.
fn collect(value: &Value, words: &mut BTreeSet<String>) {
    let word = |text: &str| {
        let plain = |character: char| character.is_ascii_alphanumeric() || "_-/.$ ".contains(character);
        text.len() <= WORD_LIMIT && text.chars().all(plain) && !text.chars().any(|character| character.is_ascii_digit())
    };
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if word(name) {
                    words.insert(format!(r#"\"{name}\":"#));
                }
                collect(value, words);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, words)),
        Value::String(text) if word(text) && !text.contains(' ') => {
            words.insert(format!(r#"\"{text}\""#));
        }
        _ => {}
    }
}
