//! The fuzz targets on a stable compiler: the same inputs' form, the same body, a bounded number of executions from a fixed seed.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(unreachable_pub, dead_code, reason = "a crate of its own elsewhere")]
#[path = "../../../../fuzz/src/lib.rs"]
mod fuzz;

use fuzz::program::{self, INSTRUCTIONS, LINES};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRng, TestRunner};

/// How many executions each kind of input gets: some seconds an agent without optimisation.
const EXECUTIONS: u32 = 400;

fn runner() -> TestRunner {
    let config = Config { cases: EXECUTIONS, failure_persistence: None, ..Config::default() };
    let generator = TestRng::deterministic_rng(config.rng_algorithm);
    TestRunner::new_with_rng(config, generator)
}

fn holds(agent: &str, input: &[u8]) -> Result<(), TestCaseError> {
    let steps = program::read(input, fuzz::recordings::of(agent));
    fuzz::run::check(agent, &steps).map_err(|problem| TestCaseError::fail(format!("{agent}: {problem}")))
}

/// Recorded lines whose bytes were damaged.
fn lines(agent: &str) -> impl Strategy<Value = Vec<u8>> {
    let recordings = fuzz::recordings::of(agent);
    let damage = prop::collection::vec((any::<Index>(), any::<u8>()), 0..6);
    (any::<Index>(), any::<Index>(), 1..12_usize, damage).prop_map(move |(which, start, count, damage)| {
        let lines = &recordings[which.index(recordings.len())];
        let mut input = vec![LINES];
        for line in &lines[start.index(lines.len())..].iter().take(count).collect::<Vec<_>>() {
            let host = line.side == chat_grammar::event::Side::Host;
            input.push(if host { program::HOST } else { program::AGENT });
            input.extend_from_slice(line.text.as_bytes());
            input.push(b'\n');
        }
        for (place, byte) in damage {
            let place = place.index(input.len());
            input[place] = byte;
        }
        input
    })
}

fn instructions() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..96).prop_map(|mut input| {
        input.insert(0, INSTRUCTIONS);
        input
    })
}

fn fuzz(agent: &'static str) {
    let failed = |error| panic!("{error}");
    runner().run(&lines(agent), |input| holds(agent, &input)).unwrap_or_else(failed);
    runner().run(&instructions(), |input| holds(agent, &input)).unwrap_or_else(failed);
}

#[test]
fn acp() {
    fuzz("acp");
}

#[test]
fn claude_code() {
    fuzz("claude_code");
}

#[test]
fn codex() {
    fuzz("codex");
}

#[test]
fn cursor() {
    fuzz("cursor");
}

#[test]
fn opencode() {
    fuzz("opencode");
}

#[test]
fn pi() {
    fuzz("pi");
}
