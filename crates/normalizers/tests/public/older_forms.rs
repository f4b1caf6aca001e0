//! Each older form of Codex's messages, told as today's form is.

use chat_grammar::event::Side;
use chat_normalizers::public::JsonNormalizer;
use chat_normalizers::{describe_item, error_message};
use serde_json::{Value, json};

/// A host that keeps its state.
struct Host(JsonNormalizer);

impl Host {
    fn new() -> Self {
        Self(JsonNormalizer::per_message("codex", false).expect("codex is known"))
    }

    fn push(&mut self, message: &Value) -> Vec<Value> {
        serde_json::from_str(&self.0.push(&message.to_string(), Side::Agent, Some("thread"))).expect("events are JSON")
    }

    fn one(&mut self, message: &Value) -> Value {
        let events = self.push(message);
        let [event] = events.as_slice() else { panic!("not one event: {events:?}") };
        event.clone()
    }
}

fn notice(method: &str, params: Value) -> Value {
    json!({ "method": method, "params": params })
}

fn item(method: &str, item: Value) -> Value {
    notice(method, json!({ "threadId": "t", "turnId": "u", "item": item }))
}

#[test]
fn params_may_be_called_payload() {
    let message = json!({
        "source": "codex.app-server.notification",
        "method": "item/agentMessage/delta",
        "payload": { "itemId": "m", "delta": "Hi" },
    });
    let event = Host::new().one(&message);
    assert_eq!((&event["type"], &event["text"], &event["messageId"]), (&json!("text.delta"), &json!("Hi"), &json!("m")));
    let raw = json!({
        "source": "codex.app-server.notification",
        "method": "item/agentMessage/delta",
        "payload": { "itemId": "m", "delta": "Hi" },
    });
    assert_eq!(event["raw"], raw);
    assert_eq!(event["providerSessionId"], "thread");
    // The same where it was called params.
    let event = Host::new().one(&notice("item/agentMessage/delta", json!({ "itemId": "m", "delta": "Hi" })));
    assert_eq!(event["raw"], raw);
}

#[test]
fn deltas_have_four_names_and_ids_five() {
    for name in ["delta", "textDelta", "outputDelta", "text"] {
        let event = Host::new().one(&notice("item/agentMessage/delta", json!({ "itemId": "m", name: "Hi" })));
        assert_eq!(event["text"], "Hi", "{name}");
    }
    let on_the_message = json!({ "method": "item/agentMessage/delta", "textDelta": "Hi", "params": { "itemId": "m" } });
    assert_eq!(Host::new().one(&on_the_message)["text"], "Hi");
    for name in ["itemId", "id", "callId", "toolCallId"] {
        let event = Host::new().one(&notice("item/agentMessage/delta", json!({ name: "m", "delta": "Hi" })));
        assert_eq!(event["messageId"], "m", "{name}");
    }
    let event = Host::new().one(&notice("item/agentMessage/delta", json!({ "item": { "id": "m" }, "delta": "Hi" })));
    assert_eq!(event["messageId"], "m");
    let event = Host::new().one(&notice("item/agentMessage/delta", json!({ "delta": "Hi" })));
    assert_eq!(event["messageId"], Value::Null);
}

#[test]
fn deltas_of_outputs_and_thoughts_have_the_same_names() {
    let command = item("item/started", json!({ "id": "c", "type": "commandExecution", "command": "make" }));
    let output = |params: Value| {
        let mut host = Host::new();
        host.push(&command);
        let event = host.one(&notice("item/commandExecution/outputDelta", params));
        (event["toolCallId"].clone(), event["outputDelta"].clone())
    };
    for name in ["delta", "textDelta", "outputDelta", "text"] {
        assert_eq!(output(json!({ "itemId": "c", name: "a" })), (json!("c"), json!("a")), "{name}");
        for method in ["item/reasoning/textDelta", "item/reasoning/delta", "item/plan/delta"] {
            let event = Host::new().one(&notice(method, json!({ "itemId": "r", name: "Hm" })));
            assert_eq!((&event["type"], &event["text"]), (&json!("reasoning.delta"), &json!("Hm")), "{method} {name}");
        }
    }
    for name in ["itemId", "id", "callId", "toolCallId"] {
        assert_eq!(output(json!({ name: "c", "delta": "a" })), (json!("c"), json!("a")), "{name}");
    }
    assert_eq!(output(json!({ "item": { "id": "c" }, "delta": "a" })), (json!("c"), json!("a")));
}

#[test]
fn an_items_diff_and_message_are_shown() {
    let mut host = Host::new();
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    let change = json!({ "id": "f", "type": "fileChange", "diff": diff, "status": "completed" });
    let events = host.push(&item("item/completed", change));
    let [started, completed] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&started["toolName"], &started["kind"]), (&json!("Edit"), &json!("edit")));
    let shown = &completed["content"][0];
    assert_eq!((&shown["type"], &shown["path"]), (&json!("diff"), &json!("x")));
    assert_eq!((&shown["oldText"], &shown["newText"]), (&json!("a\n"), &json!("b\n")));
    let failed = json!({ "id": "c", "type": "commandExecution", "command": "x", "status": "failed", "message": "not found" });
    let events = host.push(&item("item/completed", failed));
    assert_eq!((&events[1]["isError"], &events[1]["error"]), (&json!(true), &json!("not found")));
}

#[test]
fn reasoning_and_plans_are_told_apart() {
    let thought = Host::new().one(&notice("item/reasoning/delta", json!({ "itemId": "r", "delta": "Hm" })));
    assert_eq!((&thought["type"], &thought["visibility"]), (&json!("reasoning.delta"), &json!("full")));
    assert_eq!(thought.get("streamKind"), None);
    let plan = Host::new().one(&notice("item/plan/delta", json!({ "itemId": "p", "text": "First" })));
    assert_eq!((&plan["visibility"], &plan["streamKind"]), (&json!("plan"), &json!("plan")));
}

#[test]
fn an_item_that_is_updated_shows_what_is_new() {
    let mut host = Host::new();
    let command = |output: &str, status: &str| json!({ "id": "c", "type": "commandExecution", "rawCommand": "make", "output": output, "status": status });
    assert_eq!(host.one(&item("item/updated", command("", "inProgress")))["type"], "tool.started");
    assert_eq!(host.one(&item("item/updated", command("a\n", "inProgress")))["outputDelta"], "a\n");
    let update = host.one(&item("item/updated", command("a\nb\n", "inProgress")));
    assert_eq!((&update["type"], &update["outputDelta"]), (&json!("tool.updated"), &json!("b\n")));
    assert_eq!(update["output"]["output"], "a\nb\n");
    assert_eq!(update["toolName"], "Bash");
    let end = host.one(&item("item/completed", command("a\nb\n", "completed")));
    assert_eq!((&end["type"], &end["result"]), (&json!("tool.completed"), &json!("a\nb\n")));
    assert!(host.push(&item("item/updated", command("a\nb\nc", "completed"))).is_empty());

    let words = |text: &str| item("item/updated", json!({ "id": "m", "type": "agentMessage", "text": text }));
    assert_eq!(host.one(&words("Hello"))["text"], "Hello");
    assert_eq!(host.one(&words("Hello, you"))["text"], ", you");
    assert!(host.push(&words("Hello, you")).is_empty());
    let whole = json!({ "id": "m", "type": "agentMessage", "finalText": "Hello, you!" });
    assert_eq!(host.one(&item("item/completed", whole))["text"], "!");
}

#[test]
fn a_turn_fails_in_two_older_ways() {
    for method in ["turn/failed", "turn/error"] {
        for params in [json!({ "error": { "message": "quota" } }), json!({ "error": "quota" }), json!({ "message": "quota" })] {
            let events = Host::new().push(&notice(method, params));
            let [error, done] = events.as_slice() else { panic!("{events:?}") };
            assert_eq!((&error["type"], &error["message"]), (&json!("error"), &json!("quota")));
            assert_eq!(error["reason"], "quota_exceeded");
            assert_eq!((&done["type"], &done["stopReason"]), (&json!("done"), &json!("failed")));
        }
    }
    let mut host = Host::new();
    let failed = json!({ "turn": { "id": "u", "error": { "message": "quota" } } });
    assert_eq!(host.push(&notice("turn/failed", failed)).len(), 2);
    let repeated = json!({ "turn": { "id": "u", "status": "failed", "error": { "message": "quota" } } });
    assert!(host.push(&notice("turn/completed", repeated)).is_empty());
}

#[test]
fn a_retry_is_no_event_and_what_it_cut_off_still_goes_on() {
    let mut host = Host::new();
    let delta =
        |id: &str, text: &str| notice("item/agentMessage/delta", json!({ "threadId": "t", "itemId": id, "delta": text }));
    host.push(&delta("a", "Hello"));
    let retry = json!({ "threadId": "t", "error": { "message": "Reconnecting... 1/5" }, "willRetry": true });
    for method in ["error", "turn/error"] {
        assert!(host.push(&notice(method, retry.clone())).is_empty());
    }
    let texts: Vec<Value> = host.push(&delta("b", "Hello, you")).iter().map(|event| event["text"].clone()).collect();
    assert!(texts.contains(&json!(", you")), "{texts:?}");
}

fn usage(event: &Value) -> Vec<Option<u64>> {
    ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"].map(|name| event["usage"][name].as_u64()).to_vec()
}

#[test]
fn token_counts_of_a_turn_count_once() {
    let report = |turn: &str, counts: Value| {
        notice("thread/tokenUsage/updated", json!({ "threadId": "t", "turnId": turn, "tokenUsage": { "lastTurn": counts } }))
    };
    let first = json!({ "inputTokens": 10, "cachedInputTokens": 4, "outputTokens": 5 });
    let mut host = Host::new();
    let event = host.one(&report("1", first.clone()));
    assert_eq!(usage(&event), [Some(6), Some(4), None, Some(5)]);
    assert_eq!(event["usage"]["raw"], json!({ "lastTurn": first }));
    assert!(host.push(&report("1", first.clone())).is_empty());
    let grown = json!({ "inputTokens": 30, "cachedInputTokens": 4, "outputTokens": 7 });
    assert_eq!(usage(&host.one(&report("1", grown))), [Some(20), Some(0), None, Some(2)]);
    assert_eq!(usage(&host.one(&report("2", first.clone()))), [Some(6), Some(4), None, Some(5)]);

    let mut host = Host::new();
    assert_eq!(host.push(&report("1", json!([first, first]))).len(), 2);
    assert_eq!(host.push(&report("1", json!([first, first, first]))).len(), 1);
}

#[test]
fn cache_writes_have_three_names() {
    for name in ["cacheWriteTokens", "cacheWriteInputTokens", "cacheCreationInputTokens"] {
        let counts = json!({ "inputTokens": 10, name: 3, "outputTokens": 1 });
        for usage_of in [json!({ "last": counts, "total": counts }), json!({ "last": counts }), json!({ "lastTurn": counts })] {
            let params = json!({ "threadId": "t", "turnId": "u", "tokenUsage": usage_of });
            let event = Host::new().one(&notice("thread/tokenUsage/updated", params));
            assert_eq!(usage(&event), [Some(7), None, Some(3), Some(1)], "{name}");
        }
    }
}

#[test]
fn tool_events_say_what_the_agent_calls_them() {
    let mut host = Host::new();
    let call = json!({
        "id": "m", "type": "mcpToolCall", "serverName": "files", "toolName": "read", "input": { "path": "a" },
        "output": "text", "status": "completed",
    });
    let events = host.push(&item("item/completed", call.clone()));
    let [started, completed] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&started["toolName"], &started["title"]), (&json!("read"), &json!("files: read")));
    assert_eq!(started["input"], json!({ "path": "a" }));
    for event in [started, completed] {
        assert_eq!(event["metadata"]["mcp"], json!({ "server": "files", "tool": "read" }));
        assert_eq!(event["metadata"]["providerItemType"], "mcpToolCall");
        assert_eq!(event["metadata"]["providerStatus"], "completed");
        assert_eq!(event["data"], json!({ "providerItemType": "mcpToolCall", "item": call }));
    }
    assert_eq!(completed["result"], "text");

    let call = json!({
        "id": "s", "type": "collabAgentToolCall", "tool": "spawnAgent", "senderThreadId": "t", "receiverThreadIds": ["child"],
        "agentsStates": { "child": { "status": "running" } }, "status": "inProgress",
    });
    let started = host.one(&item("item/started", call));
    let metadata = &started["metadata"];
    assert_eq!(metadata["subagent"], true);
    assert_eq!((&metadata["senderThreadId"], &metadata["receiverThreadIds"]), (&json!("t"), &json!(["child"])));
    assert_eq!(metadata["agentsStates"]["child"]["status"], "running");
}

#[test]
fn a_message_that_is_read_alone_tells_only_itself() {
    let mut alone = Host(JsonNormalizer::per_message("codex", true).expect("codex is known"));
    let command = json!({ "id": "c", "type": "commandExecution", "command": "make", "aggregatedOutput": "", "exitCode": 0 });
    let end = alone.one(&item("item/completed", command));
    assert_eq!((&end["type"], &end["toolName"], &end["title"]), (&json!("tool.completed"), &json!("Bash"), &json!("make")));
    let mut alone = Host(JsonNormalizer::per_message("codex", true).expect("codex is known"));
    let output = notice("item/commandExecution/outputDelta", json!({ "toolCallId": "c", "outputDelta": "a" }));
    let update = alone.one(&output);
    assert_eq!((&update["toolCallId"], &update["outputDelta"]), (&json!("c"), &json!("a")));
}

#[test]
fn an_item_is_described_as_its_events_tell_it() {
    let cases = [
        (json!({ "type": "commandExecution", "rawCommand": ["bash", "-lc", "ls -l"] }), "Bash", "ls -l", "ls -l"),
        (json!({ "type": "commandExecution", "input": { "command": "ls" } }), "Bash", "ls", "ls"),
        (json!({ "type": "fileChange", "diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" }), "Edit", "Edit x", "x"),
        (json!({ "type": "mcpToolCall", "serverName": "s", "toolName": "t", "input": {} }), "t", "s: t", ""),
        (json!({ "type": "webSearch", "input": "rust" }), "WebSearch", "Search the web for rust", "rust"),
        (json!({ "type": "imageView", "path": "/a.png" }), "Read", "Read /a.png", "/a.png"),
    ];
    for (item, name, title, detail) in cases {
        let described = describe_item(&item);
        assert!(described.tool, "{item}");
        assert_eq!((described.name.as_str(), described.title.as_str()), (name, title), "{item}");
        assert_eq!(described.detail, detail, "{item}");
        assert_eq!(described.error, None, "{item}");
    }
    let failed = json!({ "type": "commandExecution", "command": "x", "status": "failed", "message": "not found" });
    assert_eq!(describe_item(&failed).error.as_deref(), Some("not found"));
    let failed = json!({ "type": "mcpToolCall", "server": "s", "tool": "t", "status": "failed", "error": "no such file" });
    assert_eq!(describe_item(&failed).error.as_deref(), Some("no such file"));
    for item in [json!({ "type": "agentMessage", "text": "a" }), json!({ "type": "contextCompaction" }), json!(null), json!([])]
    {
        assert!(!describe_item(&item).tool, "{item}");
    }
}

#[test]
fn an_error_has_one_sentence() {
    for error in
        [json!("no"), json!({ "message": "no" }), json!({ "error": { "message": "no" } }), json!("{\"detail\":\"no\"}")]
    {
        assert_eq!(error_message(&error).as_deref(), Some("no"), "{error}");
    }
    assert_eq!(error_message(&json!(null)), None);
    assert_eq!(error_message(&json!({ "code": 5 })), None);
}
