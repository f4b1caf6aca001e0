//! One agent process: lines in, lines out, and its end.

use super::group::Group;
use super::stderr::StderrTail;
use super::{Exit, Life, Started};
use crate::frame::{Frame, Frames};
use crate::recorder::{RecordedStream, Recorder};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long an agent may take to follow each stage of its end.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long its end may take altogether once it was killed: what it started is asked first, too.
const SWEEP_LIMIT: Duration = Duration::from_secs(8);
/// How long the stream of an agent that is gone may be silent. Something that it started may hold the pipe for ever.
const DRAIN_SILENCE: Duration = Duration::from_millis(500);
/// How much of the stream is read after the agent is gone: what a pipe holds at most (Linux, pipe-max-size).
const DRAIN_BYTES: usize = 1024 * 1024;
const MAX_FRAMES: usize = 256;
const MAX_BYTES: usize = 1024 * 1024;

/// A running agent. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct AgentProcess {
    group: Arc<Group>,
    marks: BTreeMap<String, String>,
    life: watch::Receiver<Life>,
    /// `None` once its input has ended.
    input: Option<mpsc::UnboundedSender<String>>,
    /// `None` once its stream has ended.
    output: Option<ChildStdout>,
    frames: Frames,
    /// Lines that were read but not yet handed out.
    pending: VecDeque<Frame>,
    drained: usize,
    stderr: StderrTail,
    stderr_task: JoinHandle<()>,
    input_task: JoinHandle<()>,
    recorder: Option<Recorder>,
}

impl AgentProcess {
    pub(super) fn new(started: Started, marks: BTreeMap<String, String>, recorder: Option<Recorder>) -> io::Result<Self> {
        let Started { group, pipes, life } = started;
        let killed_on_failure = KillOnFailure(Some(&group));
        let stdin = ChildStdin::from_std(pipes.stdin)?;
        let stdout = ChildStdout::from_std(pipes.stdout)?;
        let stderr_pipe = ChildStderr::from_std(pipes.stderr)?;
        killed_on_failure.disarm();
        let (input, lines) = mpsc::unbounded_channel();
        let input_task = tokio::spawn(write(stdin, lines, recorder.clone()));
        let stderr = StderrTail::default();
        let stderr_task = tokio::spawn(stderr.clone().follow(stderr_pipe, recorder.clone()));
        Ok(Self {
            group,
            marks,
            life,
            input: Some(input),
            output: Some(stdout),
            frames: Frames::default(),
            pending: VecDeque::new(),
            drained: 0,
            stderr,
            stderr_task,
            input_task,
            recorder,
        })
    }

    /// The id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.group.pid()
    }

    /// The variables by which all that the agent starts is found. What an agent starts with another environment than its own needs
    /// them given.
    pub(crate) fn marks(&self) -> &BTreeMap<String, String> {
        &self.marks
    }

    /// Queues a line, without its end. That the agent takes no more shows as the end of its stream.
    pub(crate) fn send(&self, line: String) {
        if let Some(input) = &self.input {
            // The writer is gone with the agent's input.
            let _ = input.send(line);
        }
    }

    /// Waits for lines and returns those that are there together, at most 256 or 1 MiB; none once the stream has ended. What is not
    /// read fills the agent's pipe and holds the agent up. It may be dropped while it waits without losing any.
    pub(crate) async fn read(&mut self) -> Vec<Frame> {
        while self.pending.is_empty() {
            let Some(output) = &mut self.output else { return Vec::new() };
            let mut chunk = Vec::with_capacity(64 * 1024);
            let gone = *self.life.borrow() != Life::Running;
            let count = if gone {
                // Nothing is lost where the pipe is read no further than it can hold.
                match timeout(DRAIN_SILENCE, output.read_buf(&mut chunk)).await {
                    Ok(Ok(count)) if self.drained < DRAIN_BYTES => count,
                    _ => 0,
                }
            } else {
                tokio::select! {
                    biased;
                    read = output.read_buf(&mut chunk) => read.unwrap_or(0),
                    _ = self.life.changed() => continue,
                }
            };
            let mut frames = Vec::new();
            if count == 0 {
                self.output = None;
                frames.extend(self.frames.finish());
            } else {
                self.drained += if gone { count } else { 0 };
                self.frames.push(&chunk, &mut frames);
            }
            if let Some(recorder) = &self.recorder {
                frames.iter().for_each(|frame| record(recorder, frame));
            }
            self.pending.extend(frames);
        }
        self.take_pending()
    }

    /// Waits for the end of a process whose stream has ended; kills it where it has not ended after 2 seconds.
    pub(crate) async fn exited(&mut self) -> Exit {
        if timeout(PATIENCE, exit(&mut self.life)).await.is_err() {
            self.group.kill();
        }
        let exit = exit(&mut self.life).await;
        // Its last words are often there only now.
        if !self.stderr_task.is_finished() {
            let _ = timeout(DRAIN_SILENCE, &mut self.stderr_task).await;
        }
        exit
    }

    /// The last 32 KiB at most of what the agent wrote to its stderr, without control sequences of terminals.
    pub(crate) fn stderr_tail(&self) -> String {
        self.stderr.text()
    }

    /// Ends the agent and all that it started: the end of its input asks it first, then a signal, then it is killed.
    pub(crate) async fn end(&mut self) {
        self.input = None;
        if !self.ends_within_patience().await {
            self.group.terminate();
            if !self.ends_within_patience().await {
                self.group.kill();
            }
        }
        let swept = self.life.wait_for(|life| matches!(life, Life::Swept(_)));
        if timeout(SWEEP_LIMIT, swept).await.is_err() {
            tracing::warn!(pid = self.group.pid(), "what an agent started could not be ended in time");
        }
    }

    /// What it still writes is thrown away meanwhile: an agent that cannot write would not end.
    async fn ends_within_patience(&mut self) -> bool {
        let output = &mut self.output;
        let discard = async {
            if let Some(output) = output {
                // Where this fails there is nothing to read.
                let _ = tokio::io::copy(output, &mut tokio::io::sink()).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = exit(&mut self.life) => true,
            () = discard => false,
            () = tokio::time::sleep(PATIENCE) => false,
        }
    }

    fn take_pending(&mut self) -> Vec<Frame> {
        let mut bytes = 0;
        let mut count = 0;
        for frame in self.pending.iter().take(MAX_FRAMES) {
            bytes += if let Frame::Line { text, .. } = frame { text.len() } else { 0 };
            if count > 0 && bytes > MAX_BYTES {
                break;
            }
            count += 1;
        }
        self.pending.drain(..count).collect()
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        // Its thread ends what it has started.
        self.group.kill();
        // Something else may hold its pipes for ever.
        self.stderr_task.abort();
        self.input_task.abort();
    }
}

/// Kills an agent whose pipes cannot be used.
struct KillOnFailure<'a>(Option<&'a Arc<Group>>);

impl KillOnFailure<'_> {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for KillOnFailure<'_> {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            group.kill();
        }
    }
}

async fn exit(life: &mut watch::Receiver<Life>) -> Exit {
    match life.wait_for(|life| *life != Life::Running).await.map(|life| *life) {
        Ok(Life::Exited(exit) | Life::Swept(exit)) => exit,
        // The agent's thread has failed, and the agent ended with it.
        Ok(Life::Running) | Err(_) => Exit { code: None, signal: None },
    }
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<String>, recorder: Option<Recorder>) {
    while let Some(mut line) = lines.recv().await {
        if let Some(recorder) = &recorder {
            recorder.write(RecordedStream::Stdin, &line);
        }
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

fn record(recorder: &Recorder, frame: &Frame) {
    match frame {
        Frame::Line { text, .. } => recorder.write(RecordedStream::Stdout, text),
        Frame::TooLong { bytes } => recorder.write(RecordedStream::Recorder, &format!("a line of {bytes} bytes was not read")),
    }
}
