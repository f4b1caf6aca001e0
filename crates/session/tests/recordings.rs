//! Every bundled recording, played through chat, journal and back: snapshots that a reviewer can read, updates that the
//! official schema accepts, and the laws of a turn.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use chat_grammar::records::{TurnOrigin, TurnRecord, TurnStatus};
use chat_session::WaitingRequest;
use futures::future::BoxFuture;
use jsonschema::{Registry, Validator};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use support::{Conversation, Setup, parsed, recordings, sequences};

/// More turns than any recording has.
const TURN_LIMIT: usize = 20;

/// The variant in `cursor/unknown-messages` that stands for those of a later ACP.
const FUTURE_UPDATE: &str = "brand_new_update";

struct Played {
    turn: TurnRecord,
    updates: Vec<Value>,
}

fn names() -> Vec<String> {
    let mut names = Vec::new();
    for folder in fs::read_dir(recordings()).expect("recordings") {
        let folder = folder.expect("readable").path();
        let agent = folder.file_name().expect("a name").to_string_lossy().into_owned();
        for file in fs::read_dir(&folder).expect("readable") {
            let path = file.expect("readable").path();
            if path.extension().is_some_and(|extension| extension == "ndjson") {
                names.push(format!("{agent}/{}", path.file_stem().expect("a name").to_string_lossy()));
            }
        }
    }
    names.sort();
    names
}

async fn play(session: &Conversation<'_>) -> Vec<Played> {
    let mut played = Vec::new();
    for _ in 0..TURN_LIMIT {
        let id = session.send("Go on.").await.expect("sent");
        let updates = parsed(&session.updates(&id, 0).await);
        let turn = (*session.completion(&id).await).clone();
        if turn.error.as_ref().is_some_and(|error| error.reason == "replay_exhausted") {
            return played;
        }
        played.push(Played { turn, updates });
    }
    panic!("the recording does not end");
}

/// Fills in forms with the first choice of everything that has choices; opens no page.
fn fill_in(asked: WaitingRequest) -> BoxFuture<'static, Option<String>> {
    let asked: Value = serde_json::from_str(&asked.json).expect("JSON");
    let choice = |schema: &Value| match schema["type"].as_str() {
        Some("boolean") => json!(true),
        _ if schema["enum"].is_array() => schema["enum"][0].clone(),
        _ if schema["oneOf"].is_array() => schema["oneOf"][0]["const"].clone(),
        _ => Value::Null,
    };
    let answer = match asked["request"]["requestedSchema"]["properties"].as_object() {
        Some(fields) => {
            let filled = fields.iter().map(|(name, schema)| (name.clone(), choice(schema)));
            let content: Map<_, _> = filled.filter(|(_, choice)| !choice.is_null()).collect();
            json!({ "response": { "action": "accept", "content": content } })
        }
        None => json!({ "response": { "action": "cancel" } }),
    };
    Box::pin(async move { Some(answer.to_string()) })
}

#[test]
fn every_recording() {
    let validators = Validators::new();
    let mut problems = Vec::new();
    for name in names() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let fixture = Setup { on_request: Some(Arc::new(fill_in)), ..Setup::default() }.start();
            let session = fixture.session(&name, "instant").await;
            let played = play(&session).await;
            for Played { turn, updates } in &played {
                check_turn(&name, turn, updates, &mut problems);
                updates.iter().for_each(|update| validators.check(&name, update, &mut problems));
            }
            check_tools(&name, &played, &mut problems);
            let messages = fixture.chat.messages(&session.id).await.expect("messages");
            let snapshot = render(&played, &messages);
            insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
                insta::assert_snapshot!(name.replace('/', "__"), snapshot);
            });
            fixture.chat.close().await;
        });
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn check_turn(name: &str, turn: &TurnRecord, updates: &[Value], problems: &mut Vec<String>) {
    let expected: Vec<u64> = (1..=turn.last_sequence).collect();
    if sequences(updates) != expected {
        problems.push(format!("{name}: sequences {:?}", sequences(updates)));
    }
    let mut fullness = updates.iter().filter(|update| update["sessionUpdate"] == "usage_update");
    if !fullness.all(|update| update["_meta"]["amalgm"]["usage"]["context"]["used"] == update["used"]) {
        problems.push(format!("{name}: a usage_update without its step"));
    }
    let failed = turn.status == TurnStatus::Failed;
    let errors = updates
        .iter()
        .filter(|update| update["severity"] == "error" && update["_meta"]["amalgm"]["parentToolCallId"].is_null());
    if errors.count() != usize::from(failed) {
        problems.push(format!("{name}: a failed turn has one error notice, any other none"));
    }
    if turn.origin != TurnOrigin::Host || turn.status == TurnStatus::Running {
        problems.push(format!("{name}: {:?} {:?}", turn.origin, turn.status));
    }
}

/// Each call begins once, before anything else is said of it, and ends exactly once, never going back.
fn check_tools(name: &str, played: &[Played], problems: &mut Vec<String>) {
    let mut states: BTreeMap<&str, &str> = BTreeMap::new();
    for update in played.iter().flat_map(|played| &played.updates) {
        let Some(id) = update["toolCallId"].as_str() else { continue };
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => {
                let state = update["status"].as_str().unwrap_or("pending");
                if states.insert(id, state).is_some() {
                    problems.push(format!("{name}: {id} begins twice"));
                }
            }
            Some("tool_call_update") => {
                let Some(state) = states.get_mut(id) else {
                    problems.push(format!("{name}: {id} is updated before it begins"));
                    continue;
                };
                if matches!(*state, "completed" | "failed") {
                    problems.push(format!("{name}: {id} goes on after its end"));
                }
                *state = update["status"].as_str().unwrap_or(state);
            }
            _ => {}
        }
    }
    for (id, state) in states {
        if !matches!(state, "completed" | "failed") {
            problems.push(format!("{name}: {id} is left {state}"));
        }
    }
}

struct Validators {
    official: Validator,
    extensions: Validator,
    ours: BTreeSet<&'static str>,
}

impl Validators {
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/acp-schema");
        let read = |file: &str| -> Value {
            serde_json::from_str(&fs::read_to_string(folder.join(file)).expect("the schema exists")).expect("a schema")
        };
        let registry = Registry::new().add("json-schema:///acp.json", read("schema.json")).expect("a schema");
        let registry = registry.prepare().expect("a registry");
        let mut extensions = read("extensions.json");
        extensions["$id"] = json!("json-schema:///extensions.json");
        let build = |schema: &Value| jsonschema::options().with_registry(&registry).build(schema).expect("a validator");
        Self {
            official: build(&json!({ "$ref": "json-schema:///acp.json#/$defs/SessionUpdate" })),
            extensions: build(&extensions),
            ours: BTreeSet::from([
                "permission_request",
                "permission_response",
                "elicitation_request",
                "elicitation_response",
                "usage_step",
            ]),
        }
    }

    fn check(&self, name: &str, update: &Value, problems: &mut Vec<String>) {
        let kind = update["sessionUpdate"].as_str().unwrap_or("");
        // Passed on as an ACP agent sent it, though no schema knows it yet.
        if kind == FUTURE_UPDATE {
            return;
        }
        let validator = if self.ours.contains(kind) { &self.extensions } else { &self.official };
        if let Err(error) = validator.validate(update) {
            problems.push(format!("{name}: {kind} at {}: {error}", error.instance_path()));
        }
    }
}

fn render(played: &[Played], messages: &[chat_grammar::records::MessageRecord]) -> String {
    let mut text = String::new();
    for Played { turn, updates } in played {
        let stop = turn.stop_reason.as_deref().unwrap_or("-");
        let native = turn.native_stop_reason.as_deref().unwrap_or("-");
        writeln!(text, "turn {}: {} {stop} (native {native})", turn.ordinal, turn.status.as_str()).expect("written");
        if let Some(error) = &turn.error {
            let retryable = if error.retryable { "retryable" } else { "final" };
            writeln!(text, "  error {} {} {retryable}: {}", error.code, error.reason, one_line(&error.message))
                .expect("written");
        }
        if let Some(usage) = &turn.usage {
            let tokens = &usage.tokens;
            let counts = [tokens.input_tokens, tokens.cache_read_tokens, tokens.cache_write_tokens, tokens.output_tokens];
            let counts: Vec<String> =
                counts.iter().map(|count| count.map_or_else(|| "?".to_owned(), |count| count.to_string())).collect();
            writeln!(text, "  usage {} steps, input/read/write/output {}", usage.steps, counts.join("/")).expect("written");
        }
        for update in updates {
            writeln!(text, "  {}", short(&stable(update))).expect("written");
        }
        let message = messages.iter().find(|message| message.turn_id == turn.id && message.ordinal % 2 == 0);
        let parts = message.map_or("[]", |message| message.parts.get());
        let parts: Vec<Value> = serde_json::from_str(parts).expect("parts");
        for part in parts {
            writeln!(text, "  part {}", short(&without(&part, &["startedAt", "finishedAt", "durationMs"]))).expect("written");
        }
    }
    text
}

/// An update without what differs from run to run; native messages only by name.
fn stable(update: &Value) -> Value {
    let mut update = update.clone();
    let meta = update["_meta"]["amalgm"].take();
    let mut extra = without(&meta, &["at", "conversationId", "turnId", "sequence", "native"]);
    strip_ids(&mut extra);
    strip_ids(&mut update);
    match &mut update {
        Value::Object(members) => {
            members.remove("_meta");
            if extra.as_object().is_some_and(|extra| !extra.is_empty()) {
                members.insert("_meta".to_owned(), extra);
            }
        }
        _ => unreachable!("an update is an object"),
    }
    update
}

fn strip_ids(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in ["turnId", "sessionId", "raw"] {
                members.remove(name);
            }
            // Our own request ids begin with the turn's.
            for name in ["requestId", "toolCallId"] {
                if let Some(Value::String(id)) = members.get_mut(name)
                    && let Some((turn, request)) = id.split_once(':')
                    && uuid::Uuid::parse_str(turn).is_ok()
                {
                    *id = request.to_owned();
                }
            }
            members.values_mut().for_each(strip_ids);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_ids),
        _ => {}
    }
}

fn without(value: &Value, names: &[&str]) -> Value {
    let members = value.as_object().cloned().unwrap_or_default();
    Value::Object(members.into_iter().filter(|(name, _)| !names.contains(&name.as_str())).collect::<Map<_, _>>())
}

fn short(value: &Value) -> String {
    let mut value = value.clone();
    shorten(&mut value);
    value.to_string()
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            let count = text.chars().count();
            if count > 240 {
                let head: String = text.chars().take(120).collect();
                let tail: String = text.chars().skip(count - 60).collect();
                *text = format!("{head} …{count} characters… {tail}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        _ => {}
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}
