//! Every update of every recording against the official schema, and what ACP does not have against ours.

use crate::common;
use chat_grammar::update::{Place, UpdateMapper, write_update};
use jsonschema::Registry;
use serde_json::{Value, json};
use std::fs;

const OURS: [&str; 5] =
    ["permission_request", "permission_response", "elicitation_request", "elicitation_response", "usage_step"];

fn schema(file: &str) -> Value {
    let path = common::fixtures().join("acp-schema").join(file);
    serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON")
}

/// The updates of all events as one conversation's turn.
fn updates(events: Vec<chat_grammar::event::ChatEvent>) -> Vec<Value> {
    let mut mapper = UpdateMapper::new("conversation", "turn");
    let mut updates = Vec::new();
    events.into_iter().for_each(|event| mapper.push(event, &mut updates));
    let texts = updates.iter().zip(1..).map(|(update, sequence)| {
        let place = Place { conversation_id: "conversation", turn_id: "turn", sequence, at: 0 };
        let mut text = Vec::new();
        write_update(update, place, None, &mut text);
        serde_json::from_slice(&text).expect("an update is JSON")
    });
    texts.collect()
}

#[test]
fn every_update_is_valid() {
    let registry = Registry::new().add("json-schema:///acp.json", schema("schema.json")).expect("a schema");
    let registry = registry.prepare().expect("a registry");
    let mut extensions = schema("extensions.json");
    extensions["$id"] = json!("json-schema:///extensions.json");
    let build = |schema: &Value| jsonschema::options().with_registry(&registry).build(schema).expect("a validator");
    let official = build(&json!({ "$ref": "json-schema:///acp.json#/$defs/SessionUpdate" }));
    let extensions = build(&extensions);
    let mut problems = Vec::new();
    for recording in super::recordings() {
        for update in updates(super::play(&recording.lines())) {
            let kind = update["sessionUpdate"].as_str().unwrap_or("");
            let validator = if OURS.contains(&kind) { &extensions } else { &official };
            if let Err(error) = validator.validate(&update) {
                problems.push(format!("{}: {kind} at {}: {error}", recording.name, error.instance_path()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
