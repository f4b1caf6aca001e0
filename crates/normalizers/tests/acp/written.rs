//! The updates as they are journaled: word for word what the agent sent where nothing was changed, and of the official form.

use crate::support::{self, Recording};
use chat_grammar::event::EventKind;
use chat_grammar::update::{Native, Place, UpdateMapper, write_update};
use jsonschema::{Registry, Validator};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// An update as text, and the line of the recording that caused it.
pub(crate) struct Written {
    pub(crate) json: Value,
    pub(crate) text: String,
    pub(crate) line: usize,
    /// It is an update of the agent's own that was passed on.
    pub(crate) relayed: bool,
}

/// Every update that a recording comes to.
pub(crate) fn written(recording: &Recording) -> Vec<Written> {
    let lines = recording.lines();
    let mut normalizer = support::normalizer(recording.harness);
    let mut mapper = UpdateMapper::new("conversation", "turn");
    let mut all = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let mut events = Vec::new();
        support::push(normalizer.as_mut(), line, &mut events);
        let mut native = Some(Native { source: normalizer.source(), message: &line.text });
        for event in events {
            let relayed = matches!(event.kind, EventKind::Relayed(_));
            let mut updates = Vec::new();
            mapper.push(event, &mut updates);
            for update in updates {
                let place = Place { conversation_id: "conversation", turn_id: "turn", sequence: all.len() as u64 + 1, at: 1 };
                let mut buffer = Vec::new();
                write_update(&update, place, native.take_if(|_| update.has_native()), &mut buffer);
                let text = String::from_utf8(buffer).expect("UTF-8");
                let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}: {text}", recording.name));
                all.push(Written { json, text, line: index, relayed });
            }
        }
    }
    all
}

struct Validators {
    official: Validator,
    extensions: Validator,
    kinds: BTreeSet<String>,
}

impl Validators {
    fn new() -> Self {
        let read = |file: &str| -> Value {
            let text = fs::read_to_string(support::fixtures().join("acp-schema").join(file)).expect("the schema exists");
            serde_json::from_str(&text).expect("a schema")
        };
        let (schema, mut extensions) = (read("schema.json"), read("extensions.json"));
        let variants = schema["$defs"]["SessionUpdate"]["oneOf"].as_array().expect("variants");
        let kinds =
            variants.iter().filter_map(|variant| Some(variant["properties"]["sessionUpdate"]["const"].as_str()?.to_owned()));
        let kinds = kinds.collect();
        let registry = Registry::new().add("json-schema:///acp.json", schema).expect("a schema").prepare().expect("a registry");
        extensions["$id"] = json!("json-schema:///extensions.json");
        let build = |schema: &Value| jsonschema::options().with_registry(&registry).build(schema).expect("a validator");
        let official = build(&json!({ "$ref": "json-schema:///acp.json#/$defs/SessionUpdate" }));
        Self { official, extensions: build(&extensions), kinds }
    }
}

const OURS: [&str; 5] =
    ["permission_request", "permission_response", "elicitation_request", "elicitation_response", "usage_step"];

#[test]
fn every_update_is_of_the_official_form() {
    let validators = Validators::new();
    let mut problems = Vec::new();
    for recording in support::recordings() {
        for update in written(&recording) {
            let kind = update.json["sessionUpdate"].as_str().expect("a kind");
            let validator = match kind {
                kind if OURS.contains(&kind) => &validators.extensions,
                kind if validators.kinds.contains(kind) => &validators.official,
                // What the schema does not know, only an agent says.
                _ => {
                    assert!(update.relayed, "{} {kind}", recording.name);
                    continue;
                }
            };
            if let Err(error) = validator.validate(&update.json) {
                problems.push(format!("{} line {}: {kind} at {}: {error}", recording.name, update.line, error.instance_path()));
            }
            assert!(!update.text.contains(['\n', '\r']), "{}", recording.name);
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn an_update_carries_the_agents_message_where_it_is_not_the_agents_message_itself() {
    let (mut same, mut changed) = (0, 0);
    for recording in support::recordings() {
        let lines = recording.lines();
        let mut last = None;
        for mut update in
            written(&recording).into_iter().filter(|update| lines[update.line].channel == chat_normalizers::Channel::Agent)
        {
            let message: Value = serde_json::from_str(&lines[update.line].text).expect("JSON");
            let amalgm = update.json["_meta"].as_object_mut().and_then(|meta| meta.remove("amalgm")).expect("our meta");
            let is_first = last.replace(update.line) != Some(update.line);
            match amalgm.get("native") {
                Some(native) => {
                    assert_eq!(native["message"], message, "{}", recording.name);
                    changed += 1;
                }
                None if update.relayed && message["method"] == "session/update" => {
                    let mut sent = message["params"]["update"].clone();
                    sent.as_object_mut().expect("an update").entry("_meta").or_insert_with(|| json!({}));
                    assert_eq!(update.json, sent, "{} line {}", recording.name, update.line);
                    same += 1;
                }
                None => assert!(!is_first, "{} line {}", recording.name, update.line),
            }
        }
    }
    assert!(same > 400 && changed > 100, "{same} {changed}");
}
