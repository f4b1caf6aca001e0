//! `NativeSubscription`: a reader of one turn.

use crate::promise::answer;
use chat_session::{Batch, BatchText, Subscription};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Buffer, Either, Latin1String, Utf16String};
use napi_derive::napi;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Mutex, Notify};

/// A run of updates.
#[napi(object, object_from_js = false)]
pub struct NativeBatch {
    /// A JSON array of the updates. An object is a whole update; where it has a native message, `_meta.amalgm.native.message` is
    /// `[start, end]`: where it stands in `natives`, in bytes. An array is an update that is nothing but a piece of text:
    /// `[form, text, id, at, sequence]`, and `start, end` where it has a native message.
    #[napi(ts_type = "string")]
    pub text: Either<Latin1String, Utf16String>,
    /// The native messages as JSON text in UTF-8.
    pub natives: Buffer,
    /// Where the native messages of pieces come from.
    pub source: String,
}

impl From<Batch> for NativeBatch {
    fn from(batch: Batch) -> Self {
        let text = match batch.text {
            BatchText::Ascii(text) => Either::A(Latin1String::from(text)),
            BatchText::Utf16(text) => Either::B(Utf16String::from(text)),
        };
        Self { text, natives: batch.natives.into(), source: batch.source }
    }
}

/// A reader of one turn.
#[napi]
pub struct NativeSubscription {
    reader: Arc<Reader>,
}

struct Reader {
    subscription: Mutex<Option<Subscription>>,
    closed: AtomicBool,
    closing: Notify,
}

impl NativeSubscription {
    pub(crate) fn new(subscription: Subscription) -> Self {
        let subscription = Mutex::new(Some(subscription));
        Self { reader: Arc::new(Reader { subscription, closed: AtomicBool::new(false), closing: Notify::new() }) }
    }
}

#[napi]
impl NativeSubscription {
    /// The next updates, as many as are there; `null` after the last one and once the reader is closed. One call at a time.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeBatch | null>")]
    pub fn next_batch(&self, env: &Env) -> napi::Result<AsyncBlock<Option<NativeBatch>>> {
        let reader = Arc::clone(&self.reader);
        answer(env, async move {
            let mut slot = reader.subscription.lock().await;
            let closing = reader.closing.notified();
            if reader.closed.load(Ordering::SeqCst) {
                *slot = None;
            }
            let Some(subscription) = slot.as_mut() else { return Ok(None) };
            let batch = tokio::select! {
                biased;
                () = closing => None,
                batch = subscription.next_batch() => Some(batch?),
            };
            if batch.is_none() {
                *slot = None;
            }
            Ok(batch.flatten().map(NativeBatch::from))
        })
    }

    /// Frees the reader; a `nextBatch` that waits gives `null`.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.reader.closed.store(true, Ordering::SeqCst);
        self.reader.closing.notify_waiters();
        if let Ok(mut slot) = self.reader.subscription.try_lock() {
            *slot = None;
        }
    }
}
