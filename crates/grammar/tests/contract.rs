//! The execution contract: what is refused and where, and that equal contracts have equal revisions.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use chat_grammar::contract::ExecutionContract;
use chat_grammar::{ChatError, ErrorCode};
use proptest::prelude::*;
use serde_json::{Value, json};

fn contract() -> Value {
    json!({
        "agent": { "adapterId": "replay", "installationId": "codex/text-stream", "revisionId": "1" },
        "model": { "providerId": "openai", "modelId": "gpt", "settings": [{ "configId": "pace", "value": "instant" }] },
        "auth": { "mode": "platform", "bindingId": "none" },
        "tools": { "revisionId": null, "toolIds": [] },
        "cwd": { "path": "/workspace", "workspaceId": null, "materializationRevision": null },
        "permissionMode": "full_access",
        "computerId": "here"
    })
}

fn refused(value: &Value) -> ChatError {
    ExecutionContract::from_json(&value.to_string()).expect_err("the contract is malformed")
}

fn path(error: &ChatError) -> &str {
    error.details.as_ref().and_then(|details| details["path"].as_str()).unwrap_or("")
}

/// Sets the value at a pointer; `None` removes it.
fn with(pointer: &str, value: Option<Value>) -> Value {
    let mut contract = contract();
    let (parent, field) = pointer.rsplit_once('/').expect("a pointer has a slash");
    let target = contract.pointer_mut(parent).expect("the parent exists");
    match (target, value) {
        (Value::Object(members), Some(value)) => drop(members.insert(field.to_owned(), value)),
        (Value::Object(members), None) => drop(members.remove(field)),
        (Value::Array(items), Some(value)) => items.push(value),
        _ => unreachable!("the parent is an object or a list"),
    }
    contract
}

#[test]
fn a_whole_contract_is_read_as_it_is() {
    let read = ExecutionContract::from_json(&contract().to_string()).expect("the contract is whole");
    assert_eq!(serde_json::to_value(read).expect("a contract has a JSON form"), contract());
}

#[test]
fn every_field_is_required_and_named() {
    for pointer in [
        "/agent",
        "/agent/adapterId",
        "/agent/installationId",
        "/agent/revisionId",
        "/model",
        "/model/providerId",
        "/model/modelId",
        "/model/settings",
        "/auth",
        "/auth/mode",
        "/auth/bindingId",
        "/tools",
        "/tools/revisionId",
        "/tools/toolIds",
        "/cwd",
        "/cwd/path",
        "/cwd/workspaceId",
        "/cwd/materializationRevision",
        "/permissionMode",
        "/computerId",
    ] {
        let error = refused(&with(pointer, None));
        assert_eq!(error.code, ErrorCode::InvalidExecutionContract);
        assert_eq!(path(&error), pointer.trim_start_matches('/').replace('/', "."));
    }
}

#[test]
fn malformed_fields_are_named() {
    for (pointer, value, expected) in [
        ("/extra", json!(1), "extra"),
        ("/agent/version", json!("1"), "agent.version"),
        ("/agent/adapterId", json!(""), "agent.adapterId"),
        ("/model/modelId", json!(7), "model.modelId"),
        ("/model/settings", json!("fast"), "model.settings"),
        ("/model/settings/-", json!({ "configId": "x" }), "model.settings[1].value"),
        ("/model/settings/-", json!({ "configId": "x", "value": true }), "model.settings[1].value"),
        ("/model/settings/-", json!({ "configId": "x", "type": "boolean", "value": "yes" }), "model.settings[1].value"),
        ("/model/settings/-", json!({ "configId": "x", "type": "number", "value": 1 }), "model.settings[1].type"),
        ("/model/settings/-", json!({ "configId": "pace", "value": "instant" }), "model.settings[1].configId"),
        ("/model/settings/-", json!({ "configId": "x", "value": "y", "unit": "z" }), "model.settings[1].unit"),
        ("/auth/mode", json!("free"), "auth.mode"),
        ("/tools/toolIds/-", json!(3), "tools.toolIds[0]"),
        ("/cwd/path", json!("workspace"), "cwd.path"),
        ("/cwd/workspaceId", json!(1), "cwd.workspaceId"),
        ("/permissionMode", json!("yolo"), "permissionMode"),
    ] {
        assert_eq!(path(&refused(&with(pointer, Some(value)))), expected);
    }
    assert_eq!(path(&refused(&json!([]))), "execution");
    let error = ExecutionContract::from_json("{").expect_err("half an object");
    assert_eq!(error.code, ErrorCode::InvalidExecutionContract);
}

#[test]
fn windows_paths_are_absolute_too() {
    for path in ["C:\\work", "c:/work", "\\\\server\\share"] {
        let contract = with("/cwd/path", Some(json!(path)));
        assert!(ExecutionContract::from_json(&contract.to_string()).is_ok(), "{path}");
    }
}

#[test]
fn the_revision_is_the_same_on_every_host() {
    let read = ExecutionContract::from_json(&contract().to_string()).expect("the contract is whole");
    // SHA-256 of the canonical JSON, computed with another implementation.
    let expected = "667a1516109f4ae1958c2305bb1a86a103f9c9878ea24559f559acc0af15238f";
    assert_eq!(read.revision().expect("a contract has a revision"), expected);
}

fn shuffle(value: &Value, order: &mut impl FnMut(usize) -> usize) -> Value {
    match value {
        Value::Object(members) => {
            let mut pairs: Vec<_> = members.iter().map(|(key, value)| (key.clone(), shuffle(value, order))).collect();
            for last in (1..pairs.len()).rev() {
                pairs.swap(last, order(last + 1));
            }
            Value::Object(pairs.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| shuffle(item, order)).collect()),
        scalar => scalar.clone(),
    }
}

proptest! {
    #[test]
    fn the_order_of_members_does_not_matter(seed: u64, model in "\\PC{1,20}") {
        let original = with("/model/modelId", Some(json!(model)));
        let mut state = seed;
        let shuffled = shuffle(&original, &mut |count| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap_or(0) % count
        });
        let revision = |value: &Value| ExecutionContract::from_json(&value.to_string()).expect("whole").revision().expect("hashed");
        prop_assert_eq!(revision(&original), revision(&shuffled));
    }

    #[test]
    fn another_contract_has_another_revision(model in "[a-z]{1,12}", other in "[a-z]{1,12}") {
        prop_assume!(model != other);
        let revision = |id: &str| {
            let contract = with("/model/modelId", Some(json!(id)));
            ExecutionContract::from_json(&contract.to_string()).expect("whole").revision().expect("hashed")
        };
        prop_assert_ne!(revision(&model), revision(&other));
    }
}
