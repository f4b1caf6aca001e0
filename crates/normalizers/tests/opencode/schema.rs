//! Every update that the events of the recordings become is one that the official schema accepts, or ours.

use crate::{common, normalizer, recordings};
use chat_grammar::event::EventKind;
use chat_grammar::update::{Place, UpdateMapper, write_update};
use jsonschema::{Registry, Validator};
use serde_json::{Value, json};
use std::fs;

struct Validators {
    official: Validator,
    ours: Validator,
}

impl Validators {
    fn new() -> Self {
        let folder = common::fixtures().join("acp-schema");
        let read = |file: &str| -> Value {
            serde_json::from_str(&fs::read_to_string(folder.join(file)).expect("the schema exists")).expect("a schema")
        };
        let registry = Registry::new().add("json-schema:///acp.json", read("schema.json")).expect("a schema");
        let registry = registry.prepare().expect("a registry");
        let mut extensions = read("extensions.json");
        extensions["$id"] = json!("json-schema:///extensions.json");
        let build = |schema: &Value| jsonschema::options().with_registry(&registry).build(schema).expect("a validator");
        Self { official: build(&json!({ "$ref": "json-schema:///acp.json#/$defs/SessionUpdate" })), ours: build(&extensions) }
    }

    fn check(&self, name: &str, update: &Value) {
        let ours = ["permission_request", "permission_response", "elicitation_request", "elicitation_response", "usage_step"];
        let kind = update["sessionUpdate"].as_str().expect("a kind");
        let validator = if ours.contains(&kind) { &self.ours } else { &self.official };
        if let Err(error) = validator.validate(update) {
            panic!("{name}: {kind} at {}: {error}", error.instance_path());
        }
    }
}

#[test]
fn every_update_is_valid() {
    let validators = Validators::new();
    let mut checked = 0;
    for recording in recordings() {
        let mut normalizer = normalizer();
        let mut mapper = UpdateMapper::new("conversation", "turn");
        let mut sequence = 0;
        for line in recording.lines() {
            let mut events = Vec::new();
            common::push(normalizer.as_mut(), &line, &mut events);
            for event in events {
                let ended = matches!(event.kind, EventKind::Done { .. });
                let mut updates = Vec::new();
                mapper.push(event, &mut updates);
                for update in &updates {
                    sequence += 1;
                    let place = Place { conversation_id: "conversation", turn_id: "turn", sequence, at: 1 };
                    let mut text = Vec::new();
                    write_update(update, place, None, &mut text);
                    validators.check(&recording.name, &serde_json::from_slice(&text).expect("JSON"));
                    checked += 1;
                }
                if ended {
                    mapper = UpdateMapper::new("conversation", "turn");
                }
            }
        }
    }
    assert!(checked > 500, "{checked} updates");
}
