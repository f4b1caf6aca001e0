//! `normalizeRecording` of `…/normalizers`.

use crate::normalizer::unknown;
use chat_normalizers::public::{RecordingReader, UpdateParts};
use chat_normalizers::recording::{self, RecordedLine};
use napi::bindgen_prelude::{Either, Latin1String, Uint8Array, Uint32Array, Utf16String};
use napi_derive::napi;
use std::sync::mpsc::sync_channel;

/// Updates as parts: five numbers an update.
#[napi(object, object_from_js = false)]
pub struct NativeUpdateParts {
    /// An update's form; the place of its id; the place of its text's block, and where the text begins and ends there, in UTF-16
    /// units. Form 6 is an update that stands in `whole`, in their order.
    pub items: Uint32Array,
    pub ids: Vec<String>,
    #[napi(ts_type = "Array<string>")]
    pub blocks: Vec<Either<Latin1String, Utf16String>>,
    /// A JSON array.
    #[napi(ts_type = "string")]
    pub whole: Either<Latin1String, Utf16String>,
}

impl From<UpdateParts> for NativeUpdateParts {
    fn from(parts: UpdateParts) -> Self {
        let UpdateParts { items, ids, blocks, whole } = parts;
        Self { items: items.into(), ids, blocks: blocks.into_iter().map(engine_text).collect(), whole: engine_text(whole) }
    }
}

/// Text in the form in which the engine takes it without decoding.
fn engine_text(text: String) -> Either<Latin1String, Utf16String> {
    match text.is_ascii() {
        true => Either::A(Latin1String::from(text)),
        false => Either::B(Utf16String::from(text)),
    }
}

/// How many lines are handed on together.
const TOGETHER: usize = 256;
/// How many such hands the cutting may be ahead.
const AHEAD: usize = 16;

/// A line of a recording, or the text of one whose invalid UTF-8 was replaced.
type Cut<'a> = Result<RecordedLine<'a>, String>;

/// A recording is cut into lines while those before are understood.
fn read(mut reader: RecordingReader, ndjson: &[u8]) -> UpdateParts {
    std::thread::scope(|scope| {
        let (sender, lines) = sync_channel::<Vec<Cut<'_>>>(AHEAD);
        scope.spawn(move || {
            let mut lines = ndjson.split(|byte| *byte == b'\n').filter_map(cut).peekable();
            while lines.peek().is_some() && sender.send(lines.by_ref().take(TOGETHER).collect()).is_ok() {}
        });
        for line in lines.into_iter().flatten() {
            match line {
                Ok(line) => reader.push(&line),
                Err(text) => recording::line(&text).iter().for_each(|line| reader.push(line)),
            }
        }
    });
    reader.finish()
}

fn cut(line: &[u8]) -> Option<Cut<'_>> {
    match str::from_utf8(line) {
        Ok(text) => recording::line(text).map(Ok),
        Err(_) => Some(Err(String::from_utf8_lossy(line).into_owned())),
    }
}

/// The ACP updates of a whole recording; invalid UTF-8 is replaced, what is no line of a recording left out. Throws `INVALID_OPTIONS` for an agent that is not known.
#[napi(catch_unwind)]
pub fn normalize_recording(harness: String, ndjson: Uint8Array) -> napi::Result<NativeUpdateParts> {
    let reader = RecordingReader::new(&harness).ok_or_else(|| unknown(&harness))?;
    Ok(read(reader, &ndjson).into())
}
