//! The end of what an agent wrote to its stderr.

use crate::recorder::{RecordedStream, Recorder};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is kept.
const TAIL: usize = 32 * 1024;
/// How much of a line goes to a recording at once.
const MAX_RECORDED: usize = 64 * 1024;

/// Shared by the task that reads the stream and those who ask for its end.
#[derive(Debug, Clone, Default)]
pub(super) struct StderrTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
}

impl StderrTail {
    /// The last 32 KiB at most, without control sequences of terminals.
    pub(super) fn text(&self) -> String {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let plain = strip_ansi_escapes::strip(bytes.make_contiguous());
        String::from_utf8_lossy(&plain).into_owned()
    }

    /// Reads the stream to its end.
    pub(super) async fn follow(self, mut stream: impl AsyncRead + Unpin, recorder: Option<Recorder>) {
        let mut chunk = vec![0; 8 * 1024];
        let mut line = Vec::new();
        loop {
            let count = match stream.read(&mut chunk).await {
                Ok(count) if count > 0 => count,
                _ => break,
            };
            self.push(&chunk[..count]);
            let Some(recorder) = &recorder else { continue };
            for byte in &chunk[..count] {
                if *byte == b'\n' || line.len() >= MAX_RECORDED {
                    record(recorder, &mut line);
                }
                if *byte != b'\n' {
                    line.push(*byte);
                }
            }
        }
        if let Some(recorder) = &recorder {
            record(recorder, &mut line);
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut tail = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(bytes);
        let excess = tail.len().saturating_sub(TAIL);
        tail.drain(..excess);
    }
}

fn record(recorder: &Recorder, line: &mut Vec<u8>) {
    if !line.is_empty() {
        recorder.write(RecordedStream::Stderr, &String::from_utf8_lossy(line));
        line.clear();
    }
}
