//! Writes what a host and an agent say to each other to a file, in the form that the replay adapter plays.

use crate::secrets::Secrets;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime};
use uuid::Uuid;

/// How much may wait to be written. A recording that falls further behind ends: one with holes would be played wrongly.
const MAX_WAITING: usize = 256 * 1024 * 1024;

/// Who says what is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordedStream {
    /// The host to the agent.
    Stdin,
    /// The agent to the host.
    Stdout,
    /// The agent's log.
    Stderr,
    /// A remark of the recorder.
    Recorder,
}

impl RecordedStream {
    fn name(self) -> &'static str {
        match self {
            Self::Stdin => "stdin",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Recorder => "recorder",
        }
    }
}

/// The recording of one agent process. What is said is written by a thread of its own; all of it is in the file when the last
/// clone has been dropped, and whenever nothing waits to be written.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    writer: Arc<Writer>,
    started: Instant,
}

#[derive(Debug)]
struct Writer {
    /// `None` only while it is dropped.
    lines: Option<Sender<Line>>,
    thread: Option<JoinHandle<()>>,
    waiting: Arc<AtomicUsize>,
    ended: AtomicBool,
}

#[derive(Debug)]
struct Line {
    at_ms: u128,
    stream: RecordedStream,
    text: String,
}

impl Recorder {
    /// Begins a file in `dir`, named after the time. `details` is an object of what else the header tells, such as
    /// `harness_version`. The secrets stand in no part of the file.
    ///
    /// # Errors
    /// The folder or the file cannot be made.
    pub(crate) fn start(dir: &Path, harness: &str, details: Value, secrets: Secrets) -> io::Result<Self> {
        let mut file = BufWriter::new(create(dir)?);
        let mut header = Map::from_iter([("recording".to_owned(), 1.into()), ("harness".to_owned(), harness.into())]);
        if let Value::Object(details) = details {
            header.extend(details);
        }
        writeln!(file, "{}", secrets.mask(&Value::Object(header).to_string()))?;
        file.flush()?;
        let (lines, queue) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&waiting);
        let thread =
            thread::Builder::new().name("recorder".to_owned()).spawn(move || write_all(file, &queue, &secrets, &written))?;
        let writer = Writer { lines: Some(lines), thread: Some(thread), waiting, ended: AtomicBool::new(false) };
        Ok(Self { writer: Arc::new(writer), started: Instant::now() })
    }

    /// Records a line without its end. Never blocks and never fails: a recording that cannot be written ends with a warning.
    pub(crate) fn write(&self, stream: RecordedStream, text: &str) {
        let writer = &self.writer;
        if writer.ended.load(Ordering::Relaxed) {
            return;
        }
        if writer.waiting.fetch_add(text.len(), Ordering::Relaxed) + text.len() > MAX_WAITING {
            if !writer.ended.swap(true, Ordering::Relaxed) {
                tracing::warn!("a recording ends early: it cannot be written as fast as the agent speaks");
            }
            return;
        }
        if let Some(lines) = &writer.lines {
            let line = Line { at_ms: self.started.elapsed().as_millis(), stream, text: text.to_owned() };
            // The thread has told why it is gone.
            let _ = lines.send(line);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of a recording panicked");
        }
    }
}

fn create(dir: &Path) -> io::Result<File> {
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    let mut file = OpenOptions::new();
    file.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folder.mode(0o700);
        file.mode(0o600);
    }
    folder.create(dir)?;
    let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string().replace(':', "-");
    let id = Uuid::new_v4().simple().to_string();
    file.open(dir.join(format!("{time}-{}.ndjson", &id[..8])))
}

fn write_all(mut file: BufWriter<File>, queue: &Receiver<Line>, secrets: &Secrets, waiting: &AtomicUsize) {
    let mut index = 0;
    loop {
        let next = match queue.try_recv() {
            Ok(line) => Ok(Some(line)),
            Err(TryRecvError::Empty) => file.flush().map(|()| queue.recv().ok()),
            Err(TryRecvError::Disconnected) => file.flush().map(|()| None),
        };
        let written = next.and_then(|line| {
            let Some(line) = line else { return Ok(false) };
            waiting.fetch_sub(line.text.len(), Ordering::Relaxed);
            writeln!(file, "{}", entry(index, &line, secrets)).map(|()| true)
        });
        match written {
            Ok(true) => index += 1,
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "a recording cannot be written any further");
                return;
            }
        }
    }
}

fn entry(index: u64, line: &Line, secrets: &Secrets) -> String {
    let text = secrets.mask(&line.text);
    // A message of the protocol stands as it is; what is none stands as a string. One that is itself a string would be read as
    // what is none, and a line end would end the entry.
    let is_message = !matches!(line.stream, RecordedStream::Stderr | RecordedStream::Recorder)
        && !text.trim_start().starts_with('"')
        && !text.contains('\n')
        && serde_json::from_str::<IgnoredAny>(&text).is_ok();
    let message = if is_message { text.trim().to_owned() } else { Value::from(&*text).to_string() };
    format!(r#"{{"i":{index},"t":{},"ch":"{}","msg":{message}}}"#, line.at_ms, line.stream.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat_normalizers::{Channel, recording, segment};
    use serde_json::json;
    use std::fs;
    use std::path::PathBuf;
    use tempfile::TempDir;

    fn only_file(dir: &Path) -> PathBuf {
        let mut files = fs::read_dir(dir).expect("the folder exists").map(|entry| entry.expect("readable").path());
        let file = files.next().expect("a recording");
        assert_eq!(files.next(), None);
        file
    }

    /// Says again what a recording of the fixtures holds, and returns what was recorded.
    fn record_again(dir: &Path, original: &str) -> String {
        let recorder = Recorder::start(dir, "codex", json!({ "harness_version": "0.171.0" }), Secrets::default())
            .expect("the folder can be written");
        for line in recording::read(original) {
            let stream = match line.channel {
                Channel::Host => RecordedStream::Stdin,
                Channel::Agent => RecordedStream::Stdout,
                Channel::Other => RecordedStream::Stderr,
            };
            recorder.write(stream, &line.text);
        }
        drop(recorder);
        fs::read_to_string(only_file(dir)).expect("readable")
    }

    #[test]
    fn what_is_recorded_is_read_back_and_can_be_played() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings/codex");
        let original = fs::read_to_string(fixtures.join("command-success-output-deltas.ndjson")).expect("the fixture exists");
        let dir = TempDir::new().expect("a folder");
        let recorded = record_again(dir.path(), &original);
        let header: Value = serde_json::from_str(recorded.lines().next().expect("a header")).expect("JSON");
        assert_eq!(header, json!({ "recording": 1, "harness": "codex", "harness_version": "0.171.0" }));
        let (original, recorded) = (recording::read(&original), recording::read(&recorded));
        let said = |lines: &[chat_normalizers::RecordedLine<'_>]| -> Vec<(Channel, String)> {
            lines.iter().map(|line| (line.channel, line.text.to_string())).collect()
        };
        assert_eq!(said(&recorded), said(&original));
        assert_eq!(segment("codex", &recorded), segment("codex", &original));
    }

    #[test]
    fn what_is_no_message_is_read_back_too() {
        let dir = TempDir::new().expect("a folder");
        let recorder = Recorder::start(dir.path(), "codex", Value::Null, Secrets::default()).expect("a recorder");
        let texts = ["not JSON", "\"a string\"", "{\"cut", "{\n}", " {} ", "\u{2028}"];
        texts.iter().for_each(|text| recorder.write(RecordedStream::Stdout, text));
        drop(recorder);
        let recorded = fs::read_to_string(only_file(dir.path())).expect("readable");
        let read: Vec<String> = recording::read(&recorded).into_iter().map(|line| line.text.into_owned()).collect();
        assert_eq!(read, ["not JSON", "\"a string\"", "{\"cut", "{\n}", "{}", "\u{2028}"]);
    }

    #[test]
    fn secrets_stand_in_no_part_of_the_file() {
        let mut secrets = Secrets::default();
        secrets.add("sk-test-000");
        let dir = TempDir::new().expect("a folder");
        let recorder = Recorder::start(dir.path(), "codex", json!({ "note": "sk-test-000" }), secrets).expect("a recorder");
        recorder.write(RecordedStream::Stdin, "{\"key\":\"sk-test-000\"}");
        recorder.write(RecordedStream::Stderr, "with sk-test-000");
        drop(recorder);
        let recorded = fs::read_to_string(only_file(dir.path())).expect("readable");
        assert!(!recorded.contains("sk-test-000"), "{recorded}");
        assert_eq!(recorded.matches("[secret]").count(), 3, "{recorded}");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_a_recording() {
        use std::os::unix::fs::PermissionsExt;
        let parent = TempDir::new().expect("a folder");
        let dir = parent.path().join("recordings");
        let recorder = Recorder::start(&dir, "codex", Value::Null, Secrets::default()).expect("a recorder");
        drop(recorder);
        let mode = |path: &Path| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
        assert_eq!((mode(&dir), mode(&only_file(&dir))), (0o700, 0o600));
    }
}
