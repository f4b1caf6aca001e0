//! Real processes. Tests wait for conditions; the deadline only tells that one never comes.

use super::*;
use crate::frame::Frame;
use crate::secrets::Secrets;
use chat_normalizers::recording;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};
use sysinfo::{ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(60);

fn launch(program: &str, args: &[&str]) -> Launch {
    Launch {
        program: program.into(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        cwd: "/".into(),
    }
}

fn sh(script: &str) -> Launch {
    launch("/bin/sh", &["-c", script])
}

async fn spawn(launch: &Launch) -> AgentProcess {
    Processes::default().spawn(launch, "host of a test", None).await.expect("it starts")
}

/// Reads up to the first line, which the scripts use to tell a process id.
async fn first_pid(agent: &mut AgentProcess) -> u32 {
    match agent.read().await.first() {
        Some(Frame::Line { text, .. }) => text.parse().expect("a process id"),
        other => panic!("no process id but {other:?}; {}", agent.stderr_tail()),
    }
}

async fn read_to_end(agent: &mut AgentProcess) -> Vec<Frame> {
    let mut all = Vec::new();
    loop {
        let frames = agent.read().await;
        if frames.is_empty() {
            return all;
        }
        all.extend(frames);
    }
}

fn line(text: &str) -> Frame {
    Frame::Line { text: text.to_owned(), replaced: false }
}

fn is_alive(pid: u32) -> bool {
    let pid = sysinfo::Pid::from_u32(pid);
    let mut system = System::new().expect("processes can be looked at");
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, ProcessRefreshKind::nothing());
    system.process(pid).is_some_and(|process| process.status() != ProcessStatus::Zombie)
}

async fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < DEADLINE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process id")).expect("a process id");
    kill_process(pid, Signal::KILL).expect("it is there");
}

#[tokio::test]
async fn lines_go_in_and_come_out() {
    let mut agent = spawn(&launch("/bin/cat", &[])).await;
    agent.send("{\"a\":\"\u{2028}\"}".to_owned());
    agent.send("{}".to_owned());
    let mut frames = agent.read().await;
    while frames.len() < 2 {
        frames.extend(agent.read().await);
    }
    assert_eq!(frames, [line("{\"a\":\"\u{2028}\"}"), line("{}")]);
    agent.end().await;
    assert_eq!(agent.exited().await, Exit { code: Some(0), signal: None });
    assert_eq!(agent.read().await, []);
}

#[tokio::test]
async fn the_environment_is_the_given_one_and_the_ids() {
    let mut agent = spawn(&launch("/usr/bin/env", &[])).await;
    let frames = read_to_end(&mut agent).await;
    let mut names: Vec<_> = frames
        .iter()
        .map(|frame| match frame {
            Frame::Line { text, .. } => text.split_once('=').expect("a variable").0,
            Frame::TooLong { .. } => panic!("too long"),
        })
        .collect();
    names.sort_unstable();
    assert_eq!(names, [AGENT_VARIABLE, HOST_VARIABLE, "PATH"]);
    assert!(frames.contains(&line("CHAT_NATIVE_HOST=host of a test")), "{frames:?}");
}

#[tokio::test]
async fn what_cannot_be_started_is_told() {
    let problem = |launch: Launch| async move {
        Processes::default().spawn(&launch, "host of a test", None).await.map(|agent| agent.pid()).expect_err("it cannot start")
    };
    assert_eq!(
        problem(launch("/nowhere/agent", &[])).await,
        "/nowhere/agent cannot be started: No such file or directory (os error 2)"
    );
    assert_eq!(problem(launch("/etc/passwd", &[])).await, "/etc/passwd cannot be started: Permission denied (os error 13)");
    let elsewhere = Launch { cwd: "/nowhere".into(), ..launch("/bin/cat", &[]) };
    assert_eq!(problem(elsewhere).await, "/bin/cat cannot be started: its working directory /nowhere does not exist");
}

#[tokio::test]
async fn how_an_agent_ended_is_told() {
    let mut failed = spawn(&sh("echo last; echo wrong >&2; exit 3")).await;
    assert_eq!(read_to_end(&mut failed).await, [line("last")]);
    assert_eq!(failed.exited().await, Exit { code: Some(3), signal: None });
    assert_eq!(failed.stderr_tail(), "wrong\n");
    let mut killed = spawn(&sh("kill -9 $$")).await;
    assert_eq!(read_to_end(&mut killed).await, []);
    assert_eq!(killed.exited().await, Exit { code: None, signal: Some(9) });
}

#[tokio::test]
async fn an_agent_that_closed_its_stream_is_killed() {
    let mut agent = spawn(&sh("exec >&-; exec sleep 600")).await;
    assert_eq!(read_to_end(&mut agent).await, []);
    assert_eq!(agent.exited().await, Exit { code: None, signal: Some(9) });
}

#[tokio::test]
async fn sending_to_an_agent_that_is_gone_does_nothing() {
    let mut agent = spawn(&launch("/bin/true", &[])).await;
    assert_eq!(read_to_end(&mut agent).await, []);
    agent.send("x".repeat(1_000_000));
    agent.send("y".to_owned());
    assert_eq!(agent.exited().await, Exit { code: Some(0), signal: None });
}

#[tokio::test]
async fn the_end_of_stderr_is_kept_without_colours() {
    let script =
        "head -c 100000 /dev/zero | tr '\\0' x >&2; printf '\\033[31mERROR\\033[0m of the agent\\n' >&2; exec >&-; read _";
    let agent = spawn(&sh(script)).await;
    wait_until("the last line", || agent.stderr_tail().ends_with("xERROR of the agent\n")).await;
    assert!(agent.stderr_tail().len() <= 32 * 1024);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_told_and_the_next_is_read() {
    let mut agent = spawn(&sh("head -c 73400320 /dev/zero | tr '\\0' x; echo; echo next")).await;
    assert_eq!(read_to_end(&mut agent).await, [Frame::TooLong { bytes: 73_400_320 }, line("next")]);
}

#[tokio::test]
async fn an_agent_that_is_not_read_is_held_up() {
    // Tells on stderr how much it could write before its pipe was full, then writes as much again.
    let script = "import os, sys, time
os.set_blocking(1, False)
written = 0
try:
    while True: written += os.write(1, b'x' * 1023 + b'\\n')
except BlockingIOError: pass
print(f'full after {written}.', file=sys.stderr, flush=True)
os.set_blocking(1, True)
os.write(1, b'\\n' + b'end\\n')";
    let mut agent = spawn(&launch("/usr/bin/env", &["python3", "-c", script])).await;
    wait_until("the pipe is full", || agent.stderr_tail().contains("full after")).await;
    let told = agent.stderr_tail();
    let written: usize = told.trim().trim_start_matches("full after ").trim_end_matches('.').parse().expect("a number");
    assert!(written <= 1024 * 1024, "{written}");
    let frames = read_to_end(&mut agent).await;
    let read: usize = frames.iter().map(|frame| if let Frame::Line { text, .. } = frame { text.len() + 1 } else { 0 }).sum();
    assert_eq!(frames.last(), Some(&line("end")));
    // The last line may have been cut where the pipe was full; the script ended it.
    assert!(read - "end\n".len() - written <= 1, "{read} {written}");
}

#[tokio::test]
async fn a_batch_is_bounded() {
    let mut agent = spawn(&sh("yes {} | head -n 5000")).await;
    let mut count = 0;
    loop {
        let frames = agent.read().await;
        assert!(frames.len() <= 256, "{}", frames.len());
        if frames.is_empty() {
            break;
        }
        count += frames.len();
    }
    assert_eq!(count, 5000);
}

#[tokio::test]
async fn a_wait_for_lines_may_be_dropped() {
    let mut agent = spawn(&sh("i=0; while [ $i -lt 500 ]; do echo $i; i=$((i+1)); done")).await;
    let mut frames = Vec::new();
    loop {
        let read = tokio::select! {
            biased;
            read = agent.read() => read,
            () = tokio::task::yield_now() => continue,
        };
        if read.is_empty() {
            break;
        }
        frames.extend(read);
    }
    assert_eq!(frames, (0..500).map(|number| line(&number.to_string())).collect::<Vec<_>>());
}

/// An agent whose command runs in a session of its own, and which waits for the end of its input.
const WITH_COMMAND: &str = "setsid sleep 600 >/dev/null & echo $!; cat >/dev/null";

#[tokio::test]
async fn the_end_of_an_agent_ends_its_commands() {
    let mut agent = spawn(&sh(WITH_COMMAND)).await;
    let mut other = spawn(&sh(WITH_COMMAND)).await;
    let (command, of_other) = (first_pid(&mut agent).await, first_pid(&mut other).await);
    agent.end().await;
    assert_eq!(agent.exited().await, Exit { code: Some(0), signal: None });
    assert!(!is_alive(agent.pid()) && !is_alive(command));
    assert!(is_alive(other.pid()) && is_alive(of_other));
    other.end().await;
}

#[tokio::test]
async fn an_agent_that_ignores_every_request_is_killed() {
    let script =
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 600; done' & while :; do sleep 600; done";
    let mut agent = spawn(&sh(script)).await;
    let command = first_pid(&mut agent).await;
    agent.end().await;
    assert_eq!(agent.exited().await, Exit { code: None, signal: Some(9) });
    assert!(!is_alive(command));
}

#[tokio::test]
async fn a_full_pipe_does_not_keep_an_agent_from_ending() {
    let mut agent = spawn(&sh("echo 1; yes | head -c 1000000; read _; exit 7")).await;
    agent.end().await;
    assert_eq!(agent.exited().await, Exit { code: Some(7), signal: None });
}

#[tokio::test]
async fn a_dropped_agent_is_ended_with_its_commands() {
    let mut agent = spawn(&sh(WITH_COMMAND)).await;
    let (pid, command) = (agent.pid(), first_pid(&mut agent).await);
    drop(agent);
    wait_until("agent and command end", || !is_alive(pid) && !is_alive(command)).await;
}

#[tokio::test]
async fn what_a_killed_agent_leaves_is_ended() {
    let mut agent = spawn(&sh(WITH_COMMAND)).await;
    let command = first_pid(&mut agent).await;
    kill(agent.pid());
    assert_eq!(read_to_end(&mut agent).await, []);
    assert_eq!(agent.exited().await, Exit { code: None, signal: Some(9) });
    wait_until("the command ends", || !is_alive(command)).await;
}

#[tokio::test]
async fn what_holds_the_stream_of_an_agent_that_is_gone_does_not_hold_its_reader() {
    // Without the environment nothing finds it.
    let mut agent = spawn(&sh("env -i setsid sleep 600 & echo $!; sleep 0.1")).await;
    let command = first_pid(&mut agent).await;
    assert_eq!(read_to_end(&mut agent).await, []);
    assert_eq!(agent.exited().await, Exit { code: Some(0), signal: None });
    kill(command);
}

#[tokio::test]
async fn the_end_of_the_process_kills_every_agent_at_once() {
    let processes = Processes::default();
    let mut agents = Vec::new();
    for _ in 0..2 {
        let script = sh(&format!("trap '' TERM; {WITH_COMMAND}; sleep 600"));
        agents.push(processes.spawn(&script, "host of a test", None).await.expect("it starts"));
    }
    let mut pids = Vec::new();
    for agent in &mut agents {
        pids.extend([agent.pid(), first_pid(agent).await]);
    }
    processes.kill_now();
    wait_until("agents and commands end", || pids.iter().all(|pid| !is_alive(*pid))).await;
    let problem = processes.spawn(&sh("true"), "host of a test", None).await.map(|agent| agent.pid());
    assert_eq!(problem, Err("/bin/sh cannot be started: the host is ending".to_owned()));
}

#[tokio::test]
async fn what_is_said_is_recorded() {
    let dir = TempDir::new().expect("a folder");
    let mut secrets = Secrets::default();
    secrets.add("sk-test-000");
    let recorder = Recorder::start(dir.path(), "codex", Value::Null, secrets).expect("a recorder");
    let script = sh("echo log >&2; read line; echo \"$line\"");
    let mut agent = Processes::default().spawn(&script, "host of a test", Some(recorder)).await.expect("it starts");
    wait_until("the log", || agent.stderr_tail() == "log\n").await;
    agent.send("{\"key\":\"sk-test-000\"}".to_owned());
    assert_eq!(read_to_end(&mut agent).await, [line("{\"key\":\"sk-test-000\"}")]);
    agent.end().await;
    drop(agent);
    let file = fs::read_dir(dir.path()).expect("readable").next().expect("a recording").expect("readable").path();
    let masked = "{\"key\":\"[secret]\"}";
    let said = |text: &str| -> Vec<(String, String)> {
        let mut lines: Vec<_> =
            recording::read(text).into_iter().map(|line| (format!("{:?}", line.channel), line.text.into_owned())).collect();
        lines.sort();
        lines
    };
    let expected =
        [("Agent", masked), ("Host", masked), ("Other", "log")].map(|(who, what)| (who.to_owned(), what.to_owned())).to_vec();
    wait_until("the whole recording", || said(&fs::read_to_string(&file).expect("readable")) == expected).await;
}

/// The host of the test below: starts an agent with a command, tells both ids, and waits to be killed.
#[tokio::test]
#[ignore = "started by another test"]
async fn host_that_will_be_killed() {
    let Some(host_id) = std::env::args().find_map(|arg| arg.strip_prefix("host-id-").map(str::to_owned)) else { return };
    let mut agent = Processes::default().spawn(&sh(WITH_COMMAND), &host_id, None).await.expect("it starts");
    let command = first_pid(&mut agent).await;
    println!("started {} {command}", agent.pid());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn an_agent_dies_with_its_host_and_recovery_ends_what_is_left() {
    let host_id = Uuid::new_v4().to_string();
    let mut host = Command::new(std::env::current_exe().expect("the test program"))
        .args(["process::tests::host_that_will_be_killed", "--exact", "--ignored", "--nocapture"])
        // A second filter that matches nothing; it only carries the id.
        .arg(format!("host-id-{host_id}"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let output = BufReader::new(host.stdout.take().expect("a pipe"));
    let told = output.lines().map_while(Result::ok).find_map(|text| text.split_once("started ").map(|(_, ids)| ids.to_owned()));
    let told = told.expect("the host tells what it started");
    let (agent, command) = told.split_once(' ').expect("two ids");
    let (agent, command): (u32, u32) = (agent.parse().expect("an id"), command.parse().expect("an id"));
    assert!(is_alive(agent) && is_alive(command));
    host.kill().expect("it is there");
    host.wait().expect("it ends");
    wait_until("the agent ends", || !is_alive(agent)).await;
    assert!(is_alive(command));
    assert_eq!(end_orphans(&["another host".to_owned()]).await, 0);
    assert!(is_alive(command));
    assert_eq!(end_orphans(&[host_id]).await, 1);
    assert!(!is_alive(command));
}

#[test]
fn the_environment_of_a_launch_is_not_shown() {
    let mut launch = launch("/bin/agent", &[]);
    launch.env.insert("API_KEY".to_owned(), "sk-test-000".to_owned());
    let shown = format!("{launch:?}");
    assert!(shown.contains("API_KEY") && !shown.contains("sk-test-000"), "{shown}");
}
