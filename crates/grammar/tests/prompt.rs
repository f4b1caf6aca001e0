//! Prompts: what is refused, with the block and the field.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use chat_grammar::ErrorCode;
use chat_grammar::prompt::normalize_prompt;
use serde_json::{Value, json};

fn parts(parts: Value) -> Value {
    json!({ "parts": parts })
}

#[test]
fn every_kind_of_block_is_kept_as_it_is() {
    let prompt = parts(json!([
        { "type": "text", "text": "" },
        { "type": "text", "text": "Look", "annotations": { "audience": ["user"] } },
        { "type": "image", "data": "aGk=", "mimeType": "image/png" },
        { "type": "audio", "data": "aGk=", "mimeType": "audio/wav" },
        { "type": "resource_link", "uri": "file:///a", "name": "a", "size": 3, "title": null },
        { "type": "resource", "resource": { "uri": "file:///a", "text": "x", "mimeType": "text/plain" } },
        { "type": "resource", "resource": { "uri": "file:///a", "blob": "aGk=" } },
    ]));
    assert_eq!(normalize_prompt(&prompt.to_string()).expect("the prompt is whole"), prompt);
}

#[test]
fn faults_are_named_by_block_and_field() {
    for (prompt, part, field) in [
        (json!("hello"), None, "prompt"),
        (json!({}), None, "prompt.parts"),
        (parts(json!([])), None, "prompt.parts"),
        (json!({ "parts": [], "text": "x" }), None, "prompt.text"),
        (parts(json!(["x"])), Some(0), "prompt.parts[0]"),
        (parts(json!([{ "type": "text", "text": "x" }, { "type": "video" }])), Some(1), "prompt.parts[1].type"),
        (parts(json!([{ "text": "x" }])), Some(0), "prompt.parts[0].type"),
        (parts(json!([{ "type": "text" }])), Some(0), "prompt.parts[0].text"),
        (parts(json!([{ "type": "text", "text": 1 }])), Some(0), "prompt.parts[0].text"),
        (parts(json!([{ "type": "image", "data": "aGk=" }])), Some(0), "prompt.parts[0].mimeType"),
        (parts(json!([{ "type": "image", "data": "", "mimeType": "image/png" }])), Some(0), "prompt.parts[0].data"),
        (parts(json!([{ "type": "resource_link", "uri": "a", "name": "a", "size": -1 }])), Some(0), "prompt.parts[0].size"),
        (parts(json!([{ "type": "resource" }])), Some(0), "prompt.parts[0].resource"),
        (parts(json!([{ "type": "resource", "resource": { "uri": "a" } }])), Some(0), "prompt.parts[0].resource.text"),
        (parts(json!([{ "type": "text", "text": "x", "_meta": 1 }])), Some(0), "prompt.parts[0]._meta"),
    ] {
        let error = normalize_prompt(&prompt.to_string()).expect_err("the prompt is malformed");
        assert_eq!(error.code, ErrorCode::InvalidPrompt);
        assert_eq!(error.details.expect("a prompt error has details")["part"], json!(part), "{prompt}");
        assert!(error.message.starts_with(field), "{} does not begin with {field}", error.message);
    }
}
