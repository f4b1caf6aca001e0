//! What can be decided without a running Claude Code.

use super::answers::Request;
use super::auth::{ANTHROPIC, variables};
use super::catalog::Catalog;
use super::launch::permission_mode;
use super::mcp;
use super::prompt::content;
use super::settings::Settings;
use crate::account::Account;
use crate::adapter::PreparedExecution;
use crate::resolved::Resolved;
use chat_grammar::contract::{ExecutionContract, Model, PermissionMode};
use chat_grammar::event::{QuestionAction, RequestAnswer};
use chat_grammar::records::ExecutionHandle;
use chat_grammar::{ChatError, ErrorCode, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn catalog() -> Catalog {
    Catalog::read(&json!({ "models": [
        {
            "value": "opus",
            "resolvedModel": "claude-opus-5-5",
            "supportedEffortLevels": ["low", "high", "max"],
            "supportsFastMode": true,
            "supportsThinkingOff": false
        },
        { "value": "haiku", "resolvedModel": "claude-haiku-5-5", "supportedEffortLevels": ["low"] },
        "not a model"
    ] }))
}

fn path(error: &ChatError) -> &str {
    error.details.as_ref().and_then(|details| details["path"].as_str()).unwrap_or_default()
}

fn checked(model_id: &str, config_id: &str, value: &str) -> Result<Settings> {
    let settings = json!([{ "configId": config_id, "value": value }]);
    let model: Model =
        serde_json::from_value(json!({ "providerId": "anthropic", "modelId": model_id, "settings": settings })).unwrap();
    let settings = Settings::read(&model)?;
    catalog().check(model_id, &settings)?;
    Ok(settings)
}

#[test]
fn settings_are_checked_against_what_the_model_offers() {
    assert_eq!(checked("opus", "reasoning", "high").unwrap().arguments(), ["--effort=high"]);
    let refused = checked("claude-haiku-5-5", "reasoning", "high").unwrap_err();
    assert_eq!((refused.code, path(&refused)), (ErrorCode::UnsupportedExecutionInput, "model.settings[0].value"));
    // A model that only the provider knows may have any effort that some model has.
    assert!(checked("unheard-of", "reasoning", "max").is_ok());
    assert!(checked("unheard-of", "reasoning", "bogus").is_err());

    assert_eq!(checked("haiku", "speed", "standard").unwrap().arguments(), [""; 0]);
    assert_eq!(checked("opus", "speed", "fast").unwrap().arguments(), [r#"--settings={"fastMode":true}"#]);
    assert!(checked("haiku", "speed", "fast").is_err());
    assert!(checked("opus", "speed", "ludicrous").is_err());

    assert_eq!(checked("haiku", "thinking", "4000").unwrap().arguments(), ["--max-thinking-tokens=4000"]);
    assert!(checked("haiku", "thinking", "disabled").is_ok());
    assert!(checked("opus", "thinking", "disabled").is_err());
    assert!(checked("opus", "thinking", "0").is_err());
    assert_eq!(path(&checked("opus", "temperature", "1").unwrap_err()), "model.settings[0].configId");
}

#[test]
fn every_block_of_a_prompt_becomes_one_block_or_is_refused_by_its_number() {
    let prompt = json!({ "parts": [
        { "type": "text", "text": "look" },
        { "type": "image", "mimeType": "image/png", "data": "AAAA" },
        { "type": "resource", "resource": { "uri": "file:///a\"b.txt", "text": "content" } },
        { "type": "resource", "resource": { "uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "BBBB" } },
        { "type": "resource_link", "name": "notes", "uri": "file:///notes.md" },
    ] });
    let blocks = content(&prompt).unwrap();
    assert_eq!(blocks[0], json!({ "type": "text", "text": "look" }));
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "AAAA" });
    assert_eq!(blocks[1], json!({ "type": "image", "source": source }));
    assert_eq!(blocks[2]["text"], "<resource uri=\"file:///a\\\"b.txt\">\ncontent\n</resource>");
    assert_eq!((&blocks[3]["type"], &blocks[3]["source"]["data"]), (&json!("document"), &json!("BBBB")));
    assert_eq!(blocks[4]["text"], "[notes](file:///notes.md)");

    for block in [
        json!({ "type": "audio", "mimeType": "audio/wav", "data": "AAAA" }),
        json!({ "type": "image", "mimeType": "image/tiff", "data": "AAAA" }),
        json!({ "type": "resource", "resource": { "uri": "file:///a.zip", "blob": "AAAA" } }),
    ] {
        let error = content(&json!({ "parts": [{ "type": "text", "text": "a" }, block] })).unwrap_err();
        assert_eq!((error.code, &error.details.unwrap()["part"]), (ErrorCode::UnsupportedPromptPart, &json!(1)));
    }
}

#[test]
fn servers_of_every_transport_are_taken() {
    let servers = |list: Value| mcp::servers(&serde_json::from_value::<Vec<_>>(list).unwrap());
    let header = json!([{ "name": "X-Key", "value": "k" }]);
    let taken = servers(json!([
        { "name": "files", "command": "/bin/files", "args": ["-x"], "env": [{ "name": "A", "value": "1" }] },
        { "type": "http", "name": "web", "url": "http://127.0.0.1/", "headers": header },
        { "type": "sse", "name": "old", "url": "http://127.0.0.1/", "headers": header },
    ]))
    .unwrap();
    assert_eq!(taken["files"], json!({ "type": "stdio", "command": "/bin/files", "args": ["-x"], "env": { "A": "1" } }));
    assert_eq!(taken["web"], json!({ "type": "http", "url": "http://127.0.0.1/", "headers": { "X-Key": "k" } }));
    assert_eq!(taken["old"]["type"], "sse");

    let stdio = |name: &str| json!({ "name": name, "command": "/bin/files", "args": [], "env": [] });
    assert_eq!(path(&servers(json!([stdio("a.b")])).unwrap_err()), "resolved.mcpServers[0].name");
    assert_eq!(path(&servers(json!([stdio("a"), stdio("a")])).unwrap_err()), "resolved.mcpServers[1].name");
}

fn leave(option: Option<&str>, reason: Option<&str>) -> RequestAnswer {
    RequestAnswer::Permission { option_id: option.map(str::to_owned), reason: reason.map(str::to_owned), updated_input: None }
}

#[test]
fn answers_take_the_form_of_their_request() {
    let rule =
        json!({ "type": "addRules", "rules": [{ "toolName": "Bash" }], "behavior": "allow", "destination": "localSettings" });
    let command: Request = serde_json::from_value(json!({
        "subtype": "can_use_tool", "tool_name": "Bash", "input": { "command": "ls" }, "permission_suggestions": [rule]
    }))
    .unwrap();
    let allowed = json!({ "behavior": "allow", "updatedInput": { "command": "ls" } });
    assert_eq!(command.response(&leave(Some("allow"), None)), allowed);
    // Never into a file of the project.
    let always = command.response(&leave(Some("allow_always"), None));
    assert_eq!(always["updatedPermissions"][0]["destination"], "session");
    assert_eq!(always["updatedPermissions"][0]["rules"], json!([{ "toolName": "Bash" }]));
    let denied = command.response(&leave(Some("reject"), Some("too risky")));
    assert_eq!(denied, json!({ "behavior": "deny", "message": "too risky" }));
    assert_eq!(command.response(&leave(None, None))["interrupt"], true);

    let plan: Request = serde_json::from_value(json!({ "subtype": "can_use_tool", "tool_name": "ExitPlanMode" })).unwrap();
    let mode = json!([{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }]);
    assert_eq!(plan.response(&leave(Some("allow_always"), None))["updatedPermissions"], mode);
    assert!(plan.response(&leave(Some("allow"), None)).get("updatedPermissions").is_none());
}

#[test]
fn an_allowance_holds_the_whole_input_changed_or_not() {
    let input = json!({ "command": "rm -r /", "timeout": 3 });
    let asked: Request =
        serde_json::from_value(json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": input })).unwrap();
    let changed = json!({ "command": "ls" });
    for (updated, expected) in [(None, &input), (changed.as_object().cloned(), &changed)] {
        for option in ["allow", "allow_always"] {
            let answer =
                RequestAnswer::Permission { option_id: Some(option.to_owned()), reason: None, updated_input: updated.clone() };
            assert_eq!(asked.response(&answer)["updatedInput"], *expected);
        }
    }
}

#[test]
fn answers_to_questions_stand_beside_them() {
    let input = json!({ "questions": [{ "question": "Which?" }, { "question": "How many?" }] });
    let asked: Request =
        serde_json::from_value(json!({ "subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": input })).unwrap();
    let content = json!({ "Which?": ["A", "B"], "How many?": "a few" });
    let answered = asked.response(&RequestAnswer::Question { action: QuestionAction::Accept, content: Some(content) });
    assert_eq!(answered["updatedInput"]["answers"], json!({ "Which?": "A, B", "How many?": "a few" }));
    assert_eq!(answered["updatedInput"]["questions"], input["questions"]);
    let declined = asked.response(&RequestAnswer::Question { action: QuestionAction::Decline, content: None });
    assert_eq!(declined["behavior"], "deny");

    let form: Request = serde_json::from_value(json!({ "subtype": "elicitation" })).unwrap();
    let filled = RequestAnswer::Question { action: QuestionAction::Accept, content: Some(json!({ "name": "Bob" })) };
    assert_eq!(form.response(&filled), json!({ "action": "accept", "content": { "name": "Bob" } }));
}

#[test]
fn root_has_full_access_without_the_mode_that_is_refused_to_it() {
    assert_eq!(permission_mode(PermissionMode::FullAccess, false), "bypassPermissions");
    assert_eq!(permission_mode(PermissionMode::FullAccess, true), "default");
    assert_eq!(permission_mode(PermissionMode::Ask, false), "default");
}

fn account(mode: &str, provider: &str, resolved: Value) -> Result<Account> {
    let contract = json!({
        "agent": { "adapterId": "claude_code", "installationId": "default", "revisionId": "1" },
        "model": { "providerId": provider, "modelId": "opus", "settings": [] },
        "auth": { "mode": mode, "bindingId": "b" },
        "tools": { "revisionId": null, "toolIds": [] },
        "cwd": { "path": "/", "workspaceId": null, "materializationRevision": null },
        "permissionMode": "ask",
        "computerId": "here"
    });
    let contract = ExecutionContract::from_json(&contract.to_string()).unwrap();
    let handle = ExecutionHandle { id: "e".to_owned(), revision: "r".to_owned() };
    let execution = PreparedExecution { handle, contract, resolved };
    let host_env = BTreeMap::from([
        ("ANTHROPIC_API_KEY".to_owned(), "sk-of-the-host".to_owned()),
        ("HOME".to_owned(), "/home/ada".to_owned()),
    ]);
    Account::of(&ANTHROPIC, &execution, &Resolved::read(&execution.resolved).unwrap(), &host_env)
}

#[test]
fn an_auth_mode_is_applied_as_it_is_or_refused() {
    // The host's own key is for a host that resolves nothing, and for no other mode.
    let own = account("byok", "anthropic", Value::Null).unwrap();
    assert_eq!(variables(&own), BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "sk-of-the-host".to_owned())]));
    assert_eq!(path(&account("platform", "anthropic", Value::Null).unwrap_err()), "auth.mode");
    assert_eq!(account("byok", "anthropic", json!({})).unwrap().check(&ANTHROPIC).unwrap_err().reason, "missing_key");
    assert_eq!(path(&account("byok", "elsewhere", Value::Null).unwrap_err()), "model.providerId");

    let login = account("subscription", "anthropic", Value::Null).unwrap();
    assert_eq!(login, Account::Login { home: Some("/home/ada/.claude".into()), base_url: None });
    assert!(variables(&login).is_empty());
    let mixed = json!({ "credential": { "apiKey": "sk-secret" } });
    assert_eq!(path(&account("subscription", "anthropic", mixed).unwrap_err()), "resolved.credential.apiKey");
}

#[test]
fn headers_cannot_smuggle_in_others() {
    let credential = |value: &str| json!({ "credential": { "apiKey": "sk-secret", "headers": { "X-Team": value } } });
    let account_of = |value: &str| account("platform", "anthropic", credential(value));
    assert_eq!(variables(&account_of("blue").unwrap())["ANTHROPIC_CUSTOM_HEADERS"], "X-Team: blue");
    let refused = account_of("blue\nx-api-key: other").unwrap_err();
    assert_eq!(path(&refused), "resolved.credential.headers");
}
