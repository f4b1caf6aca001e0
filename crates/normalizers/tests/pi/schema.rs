//! Every update of every recording against the official ACP schema, and our extensions against theirs.

use crate::common;
use chat_grammar::update::{Place, UpdateMapper, write_update};
use jsonschema::{Registry, Validator};
use serde_json::{Value, json};
use std::fs;

const EXTENSIONS: [&str; 5] =
    ["permission_request", "permission_response", "elicitation_request", "elicitation_response", "usage_step"];

fn schema(file: &str) -> Value {
    let path = common::fixtures().join("acp-schema").join(file);
    serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON")
}

/// For updates that ACP has, and for those that it does not have.
fn validators() -> (Validator, Validator) {
    let registry = Registry::new().add("json-schema:///acp.json", schema("schema.json")).expect("a schema");
    let registry = registry.prepare().expect("a registry");
    let mut extensions = schema("extensions.json");
    extensions["$id"] = json!("json-schema:///extensions.json");
    let build = |schema: &Value| jsonschema::options().with_registry(&registry).build(schema).expect("a validator");
    (build(&json!({ "$ref": "json-schema:///acp.json#/$defs/SessionUpdate" })), build(&extensions))
}

#[test]
fn every_update_is_valid() {
    let (official, extensions) = validators();
    let mut checked = 0;
    for recording in crate::recordings() {
        let mut mapper = UpdateMapper::new("conversation", "turn");
        let mut updates = Vec::new();
        crate::play(&recording.lines()).into_iter().for_each(|event| mapper.push(event, &mut updates));
        for (update, sequence) in updates.iter().zip(1..) {
            let place = Place { conversation_id: "conversation", turn_id: "turn", sequence, at: 0 };
            let mut text = Vec::new();
            write_update(update, place, None, &mut text);
            let update: Value = serde_json::from_slice(&text).expect("JSON");
            let kind = update["sessionUpdate"].as_str().unwrap_or("");
            let validator = if EXTENSIONS.contains(&kind) { &extensions } else { &official };
            if let Err(error) = validator.validate(&update) {
                panic!("{}: {kind} at {}: {error}", recording.name, error.instance_path());
            }
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked} updates");
}
