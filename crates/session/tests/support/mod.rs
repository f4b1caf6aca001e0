//! A chat over bundled recordings on a file of its own.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod scripted;

use chat_agents::{Adapters, AgentOptions, HostContext};
use chat_grammar::Result;
use chat_grammar::records::{ExecutionHandle, TurnRecord};
use chat_journal::{ConversationStore, SqliteOptions, SqliteStore};
use chat_session::{Batch, BatchText, Chat, ChatOptions, ChatPorts, Clock, OnRequest, OnTurn, Subscription};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings").canonicalize().expect("recordings exist")
}

pub(crate) fn open_store(path: &Path) -> SqliteStore {
    SqliteStore::open(SqliteOptions::new(path))
}

pub(crate) fn host(folder: &Path) -> HostContext {
    HostContext { host_id: "test".to_owned(), state_dir: folder.join("agents") }
}

/// A chat with its store and folder.
pub(crate) struct Fixture {
    pub(crate) chat: Chat,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) folder: TempDir,
}

pub(crate) struct Setup {
    pub(crate) options: Value,
    pub(crate) on_turn: Option<OnTurn>,
    pub(crate) on_request: Option<OnRequest>,
    /// Instead of those of this version.
    pub(crate) adapters: Option<Arc<Adapters>>,
    pub(crate) wrap: fn(SqliteStore) -> Arc<dyn ConversationStore>,
    pub(crate) folder: TempDir,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            options: json!({ "ownerUserId": "ada" }),
            on_turn: None,
            on_request: None,
            adapters: None,
            wrap: |store| Arc::new(store),
            folder: TempDir::new().expect("a folder"),
        }
    }
}

impl Setup {
    pub(crate) fn start(self) -> Fixture {
        let store = (self.wrap)(open_store(&self.folder.path().join("chat.sqlite")));
        let agents = AgentOptions {
            replay_dirs: vec![self.folder.path().to_owned()],
            bundled_recordings: Some(recordings()),
            ..AgentOptions::default()
        };
        let ports = ChatPorts {
            store: Arc::clone(&store),
            adapters: self.adapters.unwrap_or_else(|| Arc::new(Adapters::new(agents))),
            host: host(self.folder.path()),
            clock: Clock::System,
            on_turn: self.on_turn,
            on_request: self.on_request,
            runtime: tokio::runtime::Handle::current(),
        };
        let options = ChatOptions::from_json(&self.options.to_string()).expect("options");
        Fixture { chat: Chat::new(options, ports), store, folder: self.folder }
    }
}

pub(crate) fn contract(recording: &str, pace: &str) -> Value {
    json!({
        "agent": { "adapterId": "replay", "installationId": recording, "revisionId": "1" },
        "model": { "providerId": "openai", "modelId": "gpt", "settings": [{ "configId": "pace", "value": pace }] },
        "auth": { "mode": "platform", "bindingId": "none" },
        "tools": { "revisionId": null, "toolIds": [] },
        "cwd": { "path": "/workspace", "workspaceId": null, "materializationRevision": null },
        "permissionMode": "full_access",
        "computerId": "here"
    })
}

pub(crate) fn prompt(text: &str) -> Value {
    json!({ "parts": [{ "type": "text", "text": text }] })
}

impl Fixture {
    /// A conversation ready for `send`.
    pub(crate) async fn session(&self, recording: &str, pace: &str) -> Conversation<'_> {
        self.session_with(&contract(recording, pace)).await
    }

    /// The same where permissions are asked for.
    pub(crate) async fn asking(&self, recording: &str) -> Conversation<'_> {
        let mut contract = contract(recording, "instant");
        contract["permissionMode"] = json!("ask");
        self.session_with(&contract).await
    }

    /// The same with a contract.
    pub(crate) async fn session_with(&self, contract: &Value) -> Conversation<'_> {
        let name = contract["agent"]["installationId"].as_str().expect("an installation");
        let execution = self.chat.prepare_execution(name, &contract.to_string(), None).await.expect("prepared");
        let options = json!({ "execution": execution }).to_string();
        let id = self.chat.start_session(&options).await.expect("a session").id;
        Conversation { chat: &self.chat, execution, id }
    }
}

pub(crate) struct Conversation<'a> {
    pub(crate) chat: &'a Chat,
    pub(crate) execution: ExecutionHandle,
    pub(crate) id: String,
}

impl Conversation<'_> {
    pub(crate) async fn send(&self, text: &str) -> Result<String> {
        let options = json!({ "execution": self.execution, "prompt": prompt(text) });
        self.chat.send(&self.id, options.to_string()).await
    }

    pub(crate) fn watch(&self, turn: &str, after: u64) -> Subscription {
        self.chat.subscribe(self.id.clone(), turn.to_owned(), after)
    }

    pub(crate) async fn completion(&self, turn: &str) -> Arc<TurnRecord> {
        self.chat.completion(&self.id, turn).await.expect("the turn is sealed")
    }

    /// Reads a turn from its start up to the first update of a kind.
    pub(crate) async fn see(&self, turn: &str, kind: &str) -> Value {
        self.see_that(turn, kind, |_| true).await
    }

    /// The first update of a kind that is what is looked for.
    pub(crate) async fn see_that(&self, turn: &str, kind: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut subscription = self.watch(turn, 0);
        while let Some(batch) = subscription.next_batch().await.expect("the reader keeps up") {
            let updates = parsed(&self.texts(turn, &batch));
            if let Some(update) = updates.into_iter().find(|update| update["sessionUpdate"] == kind && is_it(update)) {
                return update;
            }
        }
        panic!("the turn ended without a {kind}");
    }

    /// Answers a request.
    pub(crate) async fn respond(&self, request: &Value, answer: Value) -> Result<()> {
        let id = request["requestId"].as_str().expect("an id").to_owned();
        self.chat.respond(&self.id, id, answer.to_string()).await
    }

    /// What waits, as `inspect` says.
    pub(crate) async fn pending(&self) -> Value {
        self.chat.inspect(&self.id).await.expect("inspected")["pendingRequests"].clone()
    }

    pub(crate) fn texts(&self, turn: &str, batch: &Batch) -> Vec<String> {
        texts(&self.id, turn, batch)
    }

    /// All updates past a sequence, as the journal has them.
    pub(crate) async fn updates(&self, turn: &str, after: u64) -> Vec<String> {
        let mut subscription = self.watch(turn, after);
        let mut updates = Vec::new();
        while let Some(batch) = subscription.next_batch().await.expect("the reader keeps up") {
            updates.extend(self.texts(turn, &batch));
        }
        updates
    }
}

/// The texts of a batch's updates, each whole again, with its native message in its place.
pub(crate) fn texts(conversation: &str, turn: &str, batch: &Batch) -> Vec<String> {
    let text = match &batch.text {
        BatchText::Ascii(text) => text.clone(),
        BatchText::Utf16(text) => String::from_utf16(text).expect("well-formed"),
    };
    let updates: Vec<Value> = serde_json::from_str(&text).expect("an array");
    assert_eq!(updates.len(), batch.updates);
    updates.iter().map(|update| whole(conversation, turn, update, batch)).collect()
}

fn whole(conversation: &str, turn: &str, update: &Value, batch: &Batch) -> String {
    let native = |place: &[Value]| {
        let (from, to) = (place[0].as_u64().expect("a place"), place[1].as_u64().expect("a place"));
        let native = std::str::from_utf8(&batch.natives[from as usize..to as usize]).expect("UTF-8");
        serde_json::from_str::<Value>(native).expect("a native message is JSON")
    };
    let Some(piece) = update.as_array() else {
        let mut update = update.clone();
        if let Some(message) = update.pointer_mut("/_meta/amalgm/native/message") {
            *message = native(message.as_array().expect("a place"));
        }
        return update.to_string();
    };
    let [form, text, id, at, sequence, place @ ..] = piece.as_slice() else { panic!("{update} is no piece") };
    let visibility = ["full", "summary", "redacted", "plan"];
    let mut meta = json!({ "at": at, "conversationId": conversation, "turnId": turn, "sequence": sequence });
    let content = json!({ "type": "text", "text": text });
    let mut update = match form.as_u64().expect("a form") {
        0 => json!({ "sessionUpdate": "agent_message_chunk", "content": content, "messageId": id }),
        1 => {
            meta["delta"] = json!({ "output": text });
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": id })
        }
        form => {
            meta["reasoning"] = json!(visibility[form as usize - 2]);
            json!({ "sessionUpdate": "agent_thought_chunk", "content": content, "messageId": id })
        }
    };
    if !place.is_empty() {
        meta["native"] = json!({ "source": batch.source, "message": native(place) });
    }
    update["_meta"] = json!({ "amalgm": meta });
    update.to_string()
}

pub(crate) fn parsed(updates: &[String]) -> Vec<Value> {
    updates.iter().map(|update| serde_json::from_str(update).expect("an update is JSON")).collect()
}

pub(crate) fn sequences(updates: &[Value]) -> Vec<u64> {
    updates.iter().map(|update| update["_meta"]["amalgm"]["sequence"].as_u64().expect("a sequence")).collect()
}

/// The text that the agent said in these updates, to the user and not in a subagent.
pub(crate) fn said(updates: &[Value]) -> String {
    let own = updates.iter().filter(|update| update["_meta"]["amalgm"]["parentToolCallId"].is_null());
    own.filter(|update| update["sessionUpdate"] == "agent_message_chunk")
        .filter_map(|update| update["content"]["text"].as_str())
        .collect()
}

/// The updates of a kind.
pub(crate) fn of_kind<'a>(updates: &'a [Value], kind: &str) -> Vec<&'a Value> {
    updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
}
