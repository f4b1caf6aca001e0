//! Finds and ends processes by the id that they carry in their environment. Commands of agents often live in sessions of their
//! own, where no signal to the agent's group reaches them; the environment they inherit.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};
use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, Signal, System, UpdateKind};

/// How long a process may take to end after it was asked to.
const GRACE: Duration = Duration::from_millis(500);
/// When it is given up to look for more of them.
const LIMIT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);
/// How often `kill` looks again: what was started between look and kill is found by the next.
const KILL_ROUNDS: usize = 5;

/// Asks every process of this user that carries one of `entries` (`NAME=value`) to end, kills those that do not, and looks
/// again until there is none. Never the own process. Blocks; returns how many there were.
pub(super) fn end(entries: &[String]) -> usize {
    let started = Instant::now();
    let mut known: BTreeSet<Pid> = BTreeSet::new();
    let mut scan = Scan::new();
    loop {
        let carriers = scan.carriers(entries);
        if carriers.is_empty() || started.elapsed() > LIMIT {
            return known.len();
        }
        for process in carriers {
            let is_new = known.insert(process.pid());
            if started.elapsed() > GRACE {
                process.kill();
            } else if is_new && process.kill_with(Signal::Term).is_none() {
                // Systems without signals.
                process.kill();
            }
        }
        thread::sleep(POLL);
    }
}

/// Kills every process of this user that carries one of `entries`, without asking and without waiting.
pub(super) fn kill(entries: &[String]) {
    let mut scan = Scan::new();
    for _ in 0..KILL_ROUNDS {
        let carriers = scan.carriers(entries);
        if carriers.is_empty() {
            return;
        }
        for process in carriers {
            process.kill();
        }
    }
}

#[derive(Default)]
struct Scan {
    system: Option<System>,
}

impl Scan {
    fn new() -> Self {
        Self { system: System::new().ok() }
    }

    fn carriers(&mut self, entries: &[String]) -> Vec<&Process> {
        let Some(system) = &mut self.system else { return Vec::new() };
        // A process may change its environment by starting another program, so it is read anew each time.
        let details =
            ProcessRefreshKind::nothing().without_tasks().with_environ(UpdateKind::Always).with_user(UpdateKind::OnlyIfNotSet);
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, details);
        let own = Pid::from_u32(std::process::id());
        let user = system.process(own).and_then(|process| process.user_id().cloned());
        let is_carrier = |process: &Process| {
            process.pid() != own
                && process.thread_kind().is_none()
                && !matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead)
                && process.user_id() == user.as_ref()
                && process.environ().iter().any(|variable| entries.iter().any(|entry| variable == entry.as_str()))
        };
        system.processes().values().filter(|process| is_carrier(process)).collect()
    }
}
