//! How long reading takes, for whoever asks: run in release with `--run-ignored all --no-capture`.

use chat_normalizers::Channel;
use serde_json::Value;
use std::time::{Duration, Instant};

#[test]
#[ignore = "measures, and asserts nothing"]
fn reading_against_parsing() {
    let recordings = super::recordings();
    let lines: Vec<_> = recordings.iter().map(super::Recording::lines).collect();
    let (mut reading, mut parsing) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..50 {
        for lines in &lines {
            let mut normalizer = super::normalizer();
            let mut out = Vec::new();
            let start = Instant::now();
            for line in lines {
                super::common::push(normalizer.as_mut(), line, &mut out);
                out.clear();
            }
            reading += start.elapsed();
            let start = Instant::now();
            for line in lines.iter().filter(|line| line.channel != Channel::Other) {
                std::hint::black_box(serde_json::from_slice::<Value>(line.text.as_bytes()).ok());
            }
            parsing += start.elapsed();
        }
    }
    let ratio = reading.as_secs_f64() / parsing.as_secs_f64();
    eprintln!("reading {reading:?}, parsing {parsing:?}, ratio {ratio:.2}");
}
