//! `…/transcript`.

use chat_grammar::transcript::Transcript;
use napi_derive::napi;

/// Updates to message parts.
#[napi]
pub struct NativeTranscript {
    transcript: Transcript,
}

#[napi]
impl NativeTranscript {
    /// An empty transcript.
    #[napi(constructor, catch_unwind)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { transcript: Transcript::new() }
    }

    /// Adds one update; one whose sequence was seen changes nothing.
    #[napi(catch_unwind)]
    pub fn add(&mut self, update_json: String) {
        self.transcript.add(&update_json);
    }

    /// The message parts as a JSON array.
    #[napi(catch_unwind)]
    pub fn parts(&self) -> String {
        self.transcript.parts_json().get().to_owned()
    }

    /// The highest sequence that was added.
    #[napi(catch_unwind)]
    pub fn last_sequence(&self) -> f64 {
        self.transcript.last_sequence() as f64
    }
}
