//! The updates of recordings against the official schema of ACP, and what ACP does not have against ours.

use super::variations::{Played, normalizer};
use super::{fixtures, push};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason};
use chat_grammar::update::{Place, UpdateMapper, write_update};
use jsonschema::{Registry, Validator};
use serde_json::{Value, json};
use std::fs;

const OURS: [&str; 5] =
    ["permission_request", "permission_response", "elicitation_request", "elicitation_response", "usage_step"];

struct Validators {
    official: Validator,
    ours: Validator,
}

impl Validators {
    fn new() -> Self {
        let read = |file: &str| -> Value {
            let text = fs::read_to_string(fixtures().join("acp-schema").join(file)).expect("the schema exists");
            serde_json::from_str(&text).expect("a schema")
        };
        let registry = Registry::new().add("json-schema:///acp.json", read("schema.json")).expect("a schema");
        let registry = registry.prepare().expect("a registry");
        let mut extensions = read("extensions.json");
        extensions["$id"] = json!("json-schema:///extensions.json");
        let build = |schema: &Value| jsonschema::options().with_registry(&registry).build(schema).expect("a validator");
        Self { official: build(&json!({ "$ref": "json-schema:///acp.json#/$defs/SessionUpdate" })), ours: build(&extensions) }
    }

    fn problem(&self, update: &Value) -> Option<String> {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let validator = if OURS.contains(&kind) { &self.ours } else { &self.official };
        validator.validate(update).err().map(|error| format!("{kind} at {}: {error}", error.instance_path()))
    }
}

/// Every update of the recordings is valid; there are more than `least`.
pub(crate) fn every_update_is_valid(recordings: &[Played<'_>], least: usize) {
    let validators = Validators::new();
    let (mut checked, mut problems) = (0, Vec::new());
    for Played { harness, name, lines } in recordings {
        let mut normalizer = normalizer(harness);
        let mut mapper = UpdateMapper::new("conversation", "turn");
        let mut sequence = 0;
        let mut check = |events: Vec<ChatEvent>| {
            for event in events {
                let ended = matches!(event.kind, EventKind::Done { .. });
                let mut updates = Vec::new();
                mapper.push(event, &mut updates);
                for update in &updates {
                    sequence += 1;
                    let place = Place { conversation_id: "conversation", turn_id: "turn", sequence, at: 1 };
                    let mut text = Vec::new();
                    write_update(update, place, None, &mut text);
                    let update = serde_json::from_slice(&text).expect("an update is JSON");
                    problems.extend(validators.problem(&update).map(|problem| format!("{name}: {problem}")));
                    checked += 1;
                }
                if ended {
                    mapper = UpdateMapper::new("conversation", "turn");
                }
            }
        };
        for line in lines {
            let mut events = Vec::new();
            push(normalizer.as_mut(), line, &mut events);
            check(events);
        }
        let mut events = Vec::new();
        normalizer.finish(FinishReason::End, &mut events);
        check(events);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > least, "{checked} updates");
}
