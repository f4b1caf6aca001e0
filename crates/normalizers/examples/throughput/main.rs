//! How fast the normalizers read, against a parse of the same lines into `serde_json::Value`: `npm run bench:normalizers`.
//! Takes the number of rounds, 15 by default.

mod outputs;
mod recordings;
mod stopwatch;

use std::error::Error;
use std::io::{self, Write};

/// The agents, by the names of their normalizers.
const AGENTS: [&str; 6] = ["acp", "claude_code", "codex", "cursor", "opencode", "pi"];

/// The outputs that are streamed, in bytes.
const OUTPUTS: [usize; 3] = [2_500_000, 5_000_000, 10_000_000];

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(15), |rounds| rounds.parse::<usize>())?;
    let mut out = io::stdout().lock();
    writeln!(out, "All recordings, median of {rounds} rounds\n")?;
    writeln!(out, "| agent | MB | push MB/s | Value MB/s | push / Value |\n| --- | --- | --- | --- | --- |")?;
    for agent in AGENTS {
        let recordings = recordings::read(agent)?;
        let bytes = recordings.iter().flatten().map(|(_, text)| text.len()).sum::<usize>() as f64;
        let (push, parse) = stopwatch::against_parse(agent, &recordings, rounds)?;
        writeln!(
            out,
            "| {agent} | {:.2} | {:.0} | {:.0} | {:.2} |",
            bytes / 1e6,
            bytes / 1e6 / push,
            bytes / 1e6 / parse,
            parse / push
        )?;
    }
    let rounds = rounds.div_ceil(3);
    writeln!(out, "\nA tool output in pieces of 4 KiB, median of {rounds} rounds\n")?;
    writeln!(
        out,
        "| agent | how it sends output | 2.5 MB | 5 MB | 10 MB | time a byte, 10 MB / 2.5 MB | push / Value at 10 MB |\n| --- | --- | --- | --- | --- | --- | --- |"
    )?;
    for form in outputs::FORMS {
        let mut times = Vec::new();
        let mut against = 0.0;
        for size in OUTPUTS {
            let lines = outputs::lines(form, size);
            outputs::check(form, size, &lines)?;
            let (push, parse) = stopwatch::against_parse(form.agent, &[lines], rounds)?;
            times.push(push);
            against = parse / push;
        }
        let [small, middle, large] = times[..] else { continue };
        writeln!(
            out,
            "| {} | {} | {:.1} ms | {:.1} ms | {:.1} ms | {:.2} | {against:.2} |",
            form.agent,
            form.manner,
            small * 1e3,
            middle * 1e3,
            large * 1e3,
            large / small / 4.0
        )?;
    }
    Ok(())
}
