//! Measuring: each round does both things once, so that what else the machine does meets both.

use crate::recordings::Line;
use chat_normalizers::{Normalizer, Options};
use serde_json::Value;
use std::hint::black_box;
use std::time::Instant;

/// A normalizer that knows the session of [`crate::outputs`].
pub(crate) fn normalizer(agent: &str) -> Result<Box<dyn Normalizer>, String> {
    let options = Options { provider_session_id: Some("session".to_owned()), ..Options::default() };
    chat_normalizers::normalizer(agent, options).ok_or_else(|| format!("no normalizer {agent}"))
}

/// The seconds that it takes to push all lines, and to parse them; medians.
pub(crate) fn against_parse(agent: &str, recordings: &[Vec<Line>], rounds: usize) -> Result<(f64, f64), String> {
    let (mut pushing, mut parsing) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let start = Instant::now();
        for lines in recordings {
            let mut normalizer = normalizer(agent)?;
            let mut events = Vec::new();
            for (side, text) in lines {
                normalizer.push(text, *side, &mut events);
                black_box(&events);
                events.clear();
            }
        }
        pushing.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        for (_, text) in recordings.iter().flatten() {
            black_box(serde_json::from_slice::<Value>(text.as_bytes()).ok());
        }
        parsing.push(start.elapsed().as_secs_f64());
    }
    Ok((median(pushing), median(parsing)))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
