//! What can be decided without a running Codex.

use super::answers::Request;
use super::auth::{OPENAI, overrides, variables};
use super::catalog::{Catalog, Page};
use super::mcp;
use super::prompt::{Images, input};
use super::settings::Settings;
use crate::account::Account;
use crate::adapter::PreparedExecution;
use crate::resolved::Resolved;
use chat_grammar::contract::{ExecutionContract, Model};
use chat_grammar::event::{QuestionAction, RequestAnswer};
use chat_grammar::records::ExecutionHandle;
use chat_grammar::{ChatError, ErrorCode, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn model(settings: Value) -> Model {
    serde_json::from_value(json!({ "providerId": "openai", "modelId": "big", "settings": settings })).unwrap()
}

fn catalog() -> Catalog {
    let page: Page = serde_json::from_value(json!({ "data": [
        {
            "model": "big",
            "supportedReasoningEfforts": [{ "reasoningEffort": "low" }, { "reasoningEffort": "high" }],
            "defaultReasoningEffort": "low",
            "inputModalities": ["text", "image"],
            "serviceTiers": [{ "id": "priority", "name": "Fast" }]
        },
        { "model": "blind", "supportedReasoningEfforts": [{ "reasoningEffort": "max" }], "inputModalities": ["text"] }
    ] }))
    .unwrap();
    let mut catalog = Catalog::default();
    catalog.add(page);
    catalog
}

fn path(error: &ChatError) -> &str {
    error.details.as_ref().and_then(|details| details["path"].as_str()).unwrap_or_default()
}

fn checked(model_id: &str, settings: Value) -> Result<Settings> {
    let settings = Settings::read(&model(settings))?;
    catalog().check(model_id, &settings)?;
    Ok(settings)
}

#[test]
fn settings_are_checked_against_what_the_model_offers() {
    let effort = |value: &str| json!([{ "configId": "reasoning", "value": value }]);
    assert!(checked("big", effort("high")).is_ok());
    let refused = checked("big", effort("max")).unwrap_err();
    assert_eq!((refused.code, path(&refused)), (ErrorCode::UnsupportedExecutionInput, "model.settings[0].value"));
    assert!(refused.message.contains("low, high"), "{refused}");
    // A model that only the provider knows may have any effort that some model has.
    assert!(checked("unheard-of", effort("max")).is_ok());
    assert!(checked("unheard-of", effort("bogus")).is_err());

    let speed = |value: &str| json!([{ "configId": "speed", "value": value }]);
    assert_eq!(checked("big", speed("standard")).unwrap().speed, None);
    assert!(checked("big", speed("fast")).is_ok());
    assert_eq!(catalog().tier("big", "Fast"), "priority");
    assert_eq!(catalog().tier("unheard-of", "fast"), "priority");
    assert!(checked("blind", speed("fast")).is_err());

    assert_eq!(checked("big", json!([])).unwrap().summary, "auto");
    let summary = json!([{ "configId": "reasoning_summary", "value": "detailed" }]);
    assert_eq!(checked("big", summary).unwrap().summary, "detailed");
    for wrong in [
        json!([{ "configId": "temperature", "value": "1" }]),
        json!([{ "configId": "reasoning_summary", "value": "long" }]),
        json!([{ "configId": "speed", "type": "boolean", "value": true }]),
    ] {
        assert_eq!(checked("big", wrong).unwrap_err().code, ErrorCode::UnsupportedExecutionInput);
    }
}

#[test]
fn every_block_of_a_prompt_becomes_one_part_or_is_refused_by_its_number() {
    let prompt = json!({ "parts": [
        { "type": "text", "text": "look" },
        { "type": "image", "mimeType": "image/png", "data": "AAAA" },
        { "type": "resource", "resource": { "uri": "file:///a\"b.txt", "text": "content" } },
        { "type": "resource", "resource": { "uri": "file:///a.png", "mimeType": "image/png", "blob": "BBBB" } },
        { "type": "resource_link", "name": "notes", "uri": "file:///notes.md" },
    ] });
    let parts = input(&prompt, Images::Taken).unwrap();
    assert_eq!(parts[0]["text"], "look");
    assert_eq!(parts[1], json!({ "type": "image", "url": "data:image/png;base64,AAAA" }));
    assert_eq!(parts[2]["text"], "<resource uri=\"file:///a\\\"b.txt\">\ncontent\n</resource>");
    assert_eq!(parts[3]["url"], "data:image/png;base64,BBBB");
    assert_eq!(parts[4]["text"], "[notes](file:///notes.md)");

    let refused = |block: Value, images: Images| {
        let error = input(&json!({ "parts": [{ "type": "text", "text": "a" }, block] }), images).unwrap_err();
        assert_eq!((error.code, &error.details.unwrap()["part"]), (ErrorCode::UnsupportedPromptPart, &json!(1)));
    };
    refused(json!({ "type": "audio", "mimeType": "audio/wav", "data": "AAAA" }), Images::Taken);
    refused(json!({ "type": "image", "mimeType": "image/tiff", "data": "AAAA" }), Images::Taken);
    refused(json!({ "type": "image", "mimeType": "image/png", "data": "AAAA" }), Images::Refused);
    refused(json!({ "type": "resource", "resource": { "uri": "file:///a.zip", "blob": "AAAA" } }), Images::Taken);
}

#[test]
fn servers_that_codex_cannot_take_are_refused() {
    let servers = |list: Value| mcp::servers(&serde_json::from_value::<Vec<_>>(list).unwrap());
    let taken = servers(json!([
        { "name": "files", "command": "/bin/files", "args": ["-x"], "env": [{ "name": "A", "value": "1" }] },
        { "type": "http", "name": "web", "url": "http://127.0.0.1/", "headers": [{ "name": "X-Key", "value": "k" }] },
    ]))
    .unwrap();
    assert_eq!(taken["files"], json!({ "command": "/bin/files", "args": ["-x"], "env": { "A": "1" } }));
    assert_eq!(taken["web"], json!({ "url": "http://127.0.0.1/", "http_headers": { "X-Key": "k" } }));

    let stdio = |name: &str| json!({ "name": name, "command": "/bin/files", "args": [], "env": [] });
    let sse = json!({ "type": "sse", "name": "old", "url": "http://127.0.0.1/", "headers": [] });
    assert_eq!(path(&servers(json!([sse])).unwrap_err()), "resolved.mcpServers[0].type");
    assert_eq!(path(&servers(json!([stdio("a.b")])).unwrap_err()), "resolved.mcpServers[0].name");
    assert_eq!(path(&servers(json!([stdio("a"), stdio("a")])).unwrap_err()), "resolved.mcpServers[1].name");
}

fn request(method: &str, params: Value) -> Request {
    Request { id: json!(3), method: method.to_owned(), params }
}

fn leave(option: Option<&str>, reason: Option<&str>) -> RequestAnswer {
    RequestAnswer::Permission { option_id: option.map(str::to_owned), reason: reason.map(str::to_owned), updated_input: None }
}

#[test]
fn answers_take_the_form_of_their_request() {
    let command = request("item/commandExecution/requestApproval", json!({}));
    assert_eq!(command.result(&leave(Some("acceptForSession"), None)), json!({ "decision": "acceptForSession" }));
    assert_eq!(command.result(&leave(None, None)), json!({ "decision": "cancel" }));
    let denial = leave(Some("decline"), Some("too risky"));
    assert_eq!(command.result(&denial), json!({ "decision": "decline" }));
    assert!(command.reason_of_denial(&denial).unwrap().contains("too risky"));
    assert_eq!(command.reason_of_denial(&leave(Some("accept"), Some("fine"))), None);

    let permissions = request("item/permissions/requestApproval", json!({ "permissions": { "network": { "enabled": true } } }));
    let granted = permissions.result(&leave(Some("session"), None));
    assert_eq!(granted, json!({ "permissions": { "network": { "enabled": true } }, "scope": "session" }));
    assert_eq!(permissions.result(&leave(Some("decline"), None)), json!({ "permissions": {}, "scope": "turn" }));

    let tool = request("mcpServer/elicitation/request", json!({}));
    assert_eq!(tool.result(&leave(Some("acceptForSession"), None))["_meta"], json!({ "persist": "session" }));
    assert_eq!(tool.result(&leave(Some("decline"), None))["action"], "decline");

    let form = RequestAnswer::Question { action: QuestionAction::Accept, content: Some(json!({ "name": "Bob" })) };
    let filled = json!({ "action": "accept", "content": { "name": "Bob" }, "_meta": null });
    assert_eq!(tool.result(&form), filled);
}

#[test]
fn an_answer_in_own_words_goes_to_its_question() {
    let asked =
        request("item/tool/requestUserInput", json!({ "questions": [{ "id": "color" }, { "id": "size" }, { "id": "x" }] }));
    let content = json!({ "color": "red", "size_other": "as large as a house", "unasked": "?" });
    let answered = asked.result(&RequestAnswer::Question { action: QuestionAction::Accept, content: Some(content.clone()) });
    let expected = json!({ "answers": { "color": { "answers": ["red"] }, "size": { "answers": ["as large as a house"] } } });
    assert_eq!(answered, expected);
    let declined = asked.result(&RequestAnswer::Question { action: QuestionAction::Decline, content: Some(content) });
    assert_eq!(declined, json!({ "answers": {} }));
}

fn execution(mode: &str, provider: &str, resolved: Value) -> PreparedExecution {
    let contract = json!({
        "agent": { "adapterId": "codex", "installationId": "default", "revisionId": "1" },
        "model": { "providerId": provider, "modelId": "big", "settings": [] },
        "auth": { "mode": mode, "bindingId": "b" },
        "tools": { "revisionId": null, "toolIds": [] },
        "cwd": { "path": "/", "workspaceId": null, "materializationRevision": null },
        "permissionMode": "ask",
        "computerId": "here"
    });
    let contract = ExecutionContract::from_json(&contract.to_string()).unwrap();
    PreparedExecution { handle: ExecutionHandle { id: "e".to_owned(), revision: "r".to_owned() }, contract, resolved }
}

fn account(mode: &str, provider: &str, resolved: Value) -> Result<Account> {
    let execution = execution(mode, provider, resolved);
    let host_env = BTreeMap::from([
        ("OPENAI_API_KEY".to_owned(), "sk-of-the-host".to_owned()),
        ("HOME".to_owned(), "/home/ada".to_owned()),
    ]);
    Account::of(&OPENAI, &execution, &Resolved::read(&execution.resolved).unwrap(), &host_env)
}

#[test]
fn an_auth_mode_is_applied_as_it_is_or_refused() {
    // The host's own key is for a host that resolves nothing, and for no other mode.
    let own = account("byok", "openai", Value::Null).unwrap();
    assert_eq!(variables(&own)["CHAT_NATIVE_API_KEY"], "sk-of-the-host");
    assert_eq!(path(&account("platform", "openai", Value::Null).unwrap_err()), "auth.mode");
    let keyless = account("byok", "openai", json!({})).unwrap();
    assert_eq!(keyless.check(&OPENAI).unwrap_err().reason, "missing_key");
    assert_eq!(path(&account("byok", "elsewhere", Value::Null).unwrap_err()), "model.providerId");

    let login = account("subscription", "openai", Value::Null).unwrap();
    assert_eq!(login, Account::Login { home: Some("/home/ada/.codex".into()), base_url: None });
    assert!(variables(&login).is_empty());
    let mixed = json!({ "credential": { "apiKey": "sk-secret" } });
    assert_eq!(path(&account("subscription", "openai", mixed).unwrap_err()), "resolved.credential.apiKey");
}

#[test]
fn no_secret_stands_on_the_command_line() {
    let credential =
        json!({ "apiKey": "sk-secret", "baseUrl": "http://127.0.0.1:1/\"v1\"", "headers": { "X-Team": "team-secret" } });
    let account = account("platform", "elsewhere", json!({ "credential": credential })).unwrap();
    let line = overrides(&account).join(" ");
    assert!(!line.contains("secret"), "{line}");
    assert!(line.contains(r#"base_url="http://127.0.0.1:1/\"v1\"""#), "{line}");
    assert!(line.contains(r#"env_http_headers={"X-Team"="CHAT_NATIVE_HEADER_0"}"#), "{line}");
    let variables = variables(&account);
    assert_eq!(
        (variables["CHAT_NATIVE_API_KEY"].as_str(), variables["CHAT_NATIVE_HEADER_0"].as_str()),
        ("sk-secret", "team-secret")
    );
}
