//! Rules that no recording shows, each on a script of a few messages: texts, calls and usage.

use crate::script::Script;
use chat_grammar::catalog::ModelCatalog;
use chat_grammar::event::EventKind;
use chat_grammar::usage::{CostSource, UsageStep, finalize_turn_usage};
use serde_json::json;

#[test]
fn a_whole_text_adds_only_what_is_missing() {
    let mut script = Script::new();
    script.text("t", "").delta("t", "Hel").delta("t", "lo").whole("t", "Hello, world").whole("t", "Hello, world");
    assert_eq!(script.shown(), [r#"text t "Hel""#, r#"text t "lo""#, r#"text t ", world""#]);
}

#[test]
fn a_whole_text_that_differs_is_a_message_of_its_own() {
    let mut script = Script::new();
    script.text("t", "").delta("t", "Hel").delta("t", "world").whole("t", "Hello world");
    assert_eq!(
        script.shown()[2..],
        [r#"warning "The agent's whole text differs from what it streamed""#, r##"text t#2 "Hello world""##]
    );
}

#[test]
fn a_call_that_starts_before_the_text_is_whole_does_not_cut_it() {
    let mut script = Script::new();
    script.text("t", "").delta("t", "I look.").pending("c", "bash").whole("t", "I look.").idle();
    assert_eq!(
        script.shown(),
        [
            r#"text t "I look.""#,
            r#"tool c started pending: Bash Execute "Bash" input={}"#,
            r#"tool c failed: output={"exitCode":null,"output":""} content=["The turn ended without the end of this call"]"#,
            "done EndTurn -",
        ]
    );
}

#[test]
fn an_answer_that_is_tried_again_is_told_once() {
    let retry = json!({ "status": { "type": "retry", "attempt": 1, "message": "reset", "next": 5 } });
    let mut script = Script::new();
    script.part(json!({ "id": "s1", "type": "step-start" })).text("t1", "").delta("t1", "The ans");
    script.event("session.status", retry);
    script.part(json!({ "id": "s2", "type": "step-start" })).text("t2", "").delta("t2", "The").delta("t2", " answer");
    script.whole("t2", "The answer is 4");
    assert_eq!(
        script.shown(),
        [
            r#"text t1 "The ans""#,
            r#"warning "reset" retry=1/None"#,
            r#"warning "The connection to the model was lost, and it began its answer again""#,
            r#"text t1 "wer""#,
            r#"text t1 " is 4""#,
        ]
    );
    assert_eq!(script.steps(), [("s1".to_owned(), None)]);
}

#[test]
fn pieces_of_an_unknown_part_wait_for_its_kind() {
    let mut script = Script::new();
    script.delta("r", "Let me ").delta("r", "think").part(json!({ "id": "r", "type": "reasoning", "text": "" }));
    script.delta("r", ".");
    assert_eq!(script.shown(), [r#"thought Full r "Let me think""#, r#"thought Full r ".""#]);
}

#[test]
fn a_text_waits_for_the_role_of_its_message() {
    let mut script = Script::new();
    let part = |message: &str, id: &str, text: &str| json!({ "id": id, "messageID": message, "type": "text", "text": text });
    script.part(part("u2", "x", "do it")).part(part("m2", "y", "Done.")).user("u2").assistant("m2");
    assert_eq!(script.shown(), [r#"text y "Done.""#]);
}

#[test]
fn what_the_user_said_is_no_answer() {
    let mut script = Script::new();
    script.part(json!({ "id": "x", "messageID": "u", "type": "text", "text": "echo" }));
    script
        .part(json!({ "id": "y", "messageID": "u", "type": "file", "mime": "image/png", "url": "data:image/png;base64,AA==" }));
    assert!(script.shown().is_empty());
}

#[test]
fn after_a_reconnect_only_whole_texts_are_trusted() {
    let mut script = Script::new();
    script.text("t", "").delta("t", "one ");
    script.event("server.connected", json!({})).delta("t", "three").whole("t", "one two three");
    assert_eq!(script.shown(), [r#"text t "one ""#, r#"text t "two three""#]);
}

#[test]
fn what_a_cut_stream_missed_is_read_from_the_server() {
    let mut script = Script::new();
    script.text("t", "").delta("t", "one ").pending("c", "bash").event("server.connected", json!({}));
    let user = json!({ "info": { "id": "u", "sessionID": "ses", "role": "user" }, "parts": [] });
    let old = json!({
        "info": { "id": "before", "sessionID": "ses", "role": "assistant" },
        "parts": [{ "id": "p", "messageID": "before", "sessionID": "ses", "type": "text", "text": "old", "time": { "start": 1, "end": 2 } }],
    });
    let state = json!({ "status": "completed", "input": { "command": "ls" }, "output": "a\n", "metadata": { "exit": 0 } });
    let new = json!({
        "info": { "id": "m", "sessionID": "ses", "role": "assistant", "finish": "stop", "time": { "created": 1, "completed": 2 } },
        "parts": [
            { "id": "t", "messageID": "m", "sessionID": "ses", "type": "text", "text": "one two", "time": { "start": 1, "end": 2 } },
            { "id": "c", "messageID": "m", "sessionID": "ses", "type": "tool", "tool": "bash", "callID": "c", "state": state },
        ],
    });
    script.request("GET", "/session/ses/message", json!(null)).answer(200, json!([old, user, new]));
    script.request("GET", "/session/status", json!(null)).answer(200, json!({}));
    assert_eq!(
        script.shown()[2..],
        [
            r#"text t "two""#,
            r#"tool c completed: output={"exitCode":0,"output":"a\n"} title="ls" input={"command":"ls"} content=["a\n"]"#,
            "done EndTurn stop",
        ]
    );
}

#[test]
fn the_past_of_a_resumed_session_is_not_told_again() {
    let mut script = Script::empty();
    let past = json!([{ "info": { "id": "m", "sessionID": "ses", "role": "assistant" }, "parts": [] }]);
    script.request("GET", "/session/ses", json!(null)).answer(200, json!({ "id": "ses", "directory": "/w" }));
    script.request("GET", "/session/ses/message", json!(null)).answer(200, past);
    script.prompt("ses").user("u").busy().whole("t", "old").assistant("n");
    script.part(json!({ "id": "x", "messageID": "n", "type": "text", "text": "new" })).idle();
    assert_eq!(script.shown(), ["session ses cwd=/w model=- mcp=[]", r#"text x "new""#, "done EndTurn -"]);
}

fn counted(script: &Script) -> Vec<(&str, Option<u64>, bool)> {
    let steps = script.events.iter().filter_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } if usage.billable => Some((usage.id.as_str(), usage.tokens.input_tokens, usage.exact)),
        _ => None,
    });
    steps.collect()
}

fn step(message: &str, start: &str, end: &str, input: u64) -> serde_json::Value {
    let tokens = json!({ "input": input, "output": 2, "reasoning": 0, "cache": { "read": 0, "write": 0 }, "total": input + 2 });
    json!([
        { "id": start, "messageID": message, "sessionID": "ses", "type": "step-start" },
        { "id": end, "messageID": message, "sessionID": "ses", "type": "step-finish", "tokens": tokens, "cost": 0.5 },
    ])
}

#[test]
fn the_calls_of_the_past_are_not_counted_again() {
    let mut script = Script::empty();
    let info = json!({ "id": "m", "sessionID": "ses", "role": "assistant", "time": { "created": 1, "completed": 2 } });
    let past = json!([{ "info": info, "parts": step("m", "s1", "f1", 10) }]);
    script.request("GET", "/session/ses", json!(null)).answer(200, json!({ "id": "ses", "directory": "/w" }));
    script.request("GET", "/session/ses/message", json!(null)).answer(200, past);
    script.prompt("ses").user("u").busy();
    // The server tells the past message once more.
    script.message(info).part(step("m", "s1", "f1", 10)[1].clone()).assistant("n");
    let new = step("n", "s2", "f2", 20);
    script.part(new[0].clone()).part(new[1].clone()).idle();
    assert_eq!(counted(&script), [("f2", Some(20), true)]);
}

#[test]
fn a_call_whose_end_a_cut_stream_missed_counts_once() {
    let mut script = Script::new();
    let parts = step("m", "s1", "f1", 10);
    script.part(parts[0].clone()).event("server.connected", json!({}));
    let user = json!({ "info": { "id": "u", "sessionID": "ses", "role": "user" }, "parts": [] });
    let info = json!({ "id": "m", "sessionID": "ses", "role": "assistant", "finish": "stop", "time": { "created": 1, "completed": 2 } });
    script.request("GET", "/session/ses/message", json!(null)).answer(200, json!([user, { "info": info, "parts": parts }]));
    script.request("GET", "/session/status", json!(null)).answer(200, json!({}));
    script.part(parts[1].clone()).idle();
    assert_eq!(counted(&script), [("f1", Some(10), true)]);
}

#[test]
fn the_servers_own_cost_is_taken_and_the_markets_stands_beside_it() {
    let mut script = Script::empty();
    script.session("ses").prompt("ses").user("u");
    script.message(json!({ "id": "m", "role": "assistant", "providerID": "anthropic", "modelID": "claude-haiku-4-5" }));
    let tokens =
        json!({ "input": 1_000_000, "output": 0, "reasoning": 0, "cache": { "read": 0, "write": 0 }, "total": 1_000_000 });
    script.part(json!({ "id": "f", "messageID": "m", "type": "step-finish", "tokens": tokens, "cost": 0.4 }));
    let record = script.events.iter().find_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } => Some(usage.clone()),
        _ => None,
    });
    let step = UsageStep { turn_id: "t".to_owned(), index: 0, record: record.expect("a step") };
    let usage = finalize_turn_usage(&[step], ModelCatalog::published()).expect("a sum");
    assert_eq!((usage.cost_usd, usage.cost_source, usage.market_cost_usd), (Some(0.4), Some(CostSource::Native), Some(1.0)));
}

#[test]
fn a_provider_that_repeats_ids_makes_other_calls() {
    let mut script = Script::new();
    for (part, message) in [("p1", "m"), ("p2", "m"), ("p3", "m2")] {
        script.assistant(message);
        let state = json!({ "status": "completed", "input": {}, "output": part });
        script
            .part(json!({ "id": part, "messageID": message, "type": "tool", "tool": "x", "callID": "call_0", "state": state }));
    }
    let asked = json!({ "id": "per", "permission": "x", "patterns": ["*"], "tool": { "messageID": "m2", "callID": "call_0" } });
    script.event("permission.asked", asked);
    let ids: Vec<&str> = script
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolCompleted(tool) => Some(tool.tool_call_id.as_str()),
            EventKind::PermissionRequested(asked) => asked.tool_call_id.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_0", "call_0#2", "call_0#3", "call_0#3"]);
}

/// Ids of calls as readers see them, in the order in which they ended, and of the calls that requests are about.
fn ended_and_asked(script: &Script) -> (Vec<&str>, Vec<&str>) {
    let (mut ended, mut asked) = (Vec::new(), Vec::new());
    for event in &script.events {
        match &event.kind {
            EventKind::ToolCompleted(tool) => ended.push(tool.tool_call_id.as_str()),
            EventKind::PermissionRequested(request) => asked.extend(request.tool_call_id.as_deref()),
            EventKind::QuestionAsked(request) => asked.extend(request.tool_call_id.as_deref()),
            _ => {}
        }
    }
    (ended, asked)
}

#[test]
fn a_call_may_have_the_id_that_another_was_shown_with() {
    for (ids, shown) in [(["a", "a", "a#2"], ["a", "a#2", "a#2#2"]), (["a#2", "a", "a"], ["a#2", "a", "a#3"])] {
        let mut script = Script::new();
        let part = |number: usize, state: serde_json::Value| {
            let (part, message) = (format!("p{number}"), format!("m{number}"));
            json!({ "id": part, "messageID": message, "type": "tool", "tool": "x", "callID": ids[number], "state": state })
        };
        for number in 0..3 {
            script.assistant(&format!("m{number}"));
            script.part(part(number, json!({ "status": "running", "input": {} })));
        }
        for (number, id) in ids.iter().enumerate() {
            let tool = json!({ "messageID": format!("m{number}"), "callID": id });
            let asked = json!({ "id": format!("per{number}"), "permission": "x", "patterns": ["*"], "tool": tool });
            script.event("permission.asked", asked);
        }
        for number in 0..3 {
            script.part(part(number, json!({ "status": "completed", "input": {}, "output": "" })));
        }
        assert_eq!(ended_and_asked(&script), (shown.to_vec(), shown.to_vec()));
    }
}

#[test]
fn a_request_is_not_about_a_call_of_the_past_with_the_same_id() {
    let mut script = Script::new();
    let done = json!({ "status": "completed", "input": {}, "output": "" });
    script.tool("a", "x", done).idle().prompt("ses").user("u2").busy().assistant("n");
    let tool = json!({ "messageID": "n", "callID": "a" });
    let questions = json!([{ "question": "Which?", "header": "Which", "options": [] }]);
    script.event("question.asked", json!({ "id": "que", "questions": questions, "tool": tool.clone() }));
    script.event("permission.asked", json!({ "id": "per", "permission": "x", "patterns": ["*"], "tool": tool }));
    let state = json!({ "status": "completed", "input": {}, "output": "" });
    script.part(json!({ "id": "p", "messageID": "n", "type": "tool", "tool": "x", "callID": "a", "state": state }));
    assert_eq!(ended_and_asked(&script), (vec!["a", "a#2"], vec!["a#2", "a#2"]));
}

#[test]
fn a_request_without_a_message_is_about_the_call_that_is_open() {
    let mut script = Script::new();
    for (part, status) in [("p1", "completed"), ("p2", "running"), ("p3", "completed")] {
        let state = json!({ "status": status, "input": {}, "output": "" });
        script.part(json!({ "id": part, "type": "tool", "tool": "x", "callID": "a", "state": state }));
    }
    script.event("permission.updated", json!({ "id": "per", "type": "x", "callID": "a", "title": "x", "metadata": {} }));
    assert_eq!(ended_and_asked(&script).1, ["a#2"]);
}

#[test]
fn a_state_that_repeats_is_no_news() {
    let mut script = Script::new();
    let running = json!({ "status": "running", "input": { "command": "ls" }, "metadata": { "output": "a\n" } });
    let done = json!({ "status": "completed", "input": { "command": "ls" }, "output": "a\nb\n", "metadata": { "exit": 0 } });
    script.pending("c", "bash").pending("c", "bash").tool("c", "bash", running.clone()).tool("c", "bash", running.clone());
    script.tool("c", "bash", done.clone()).tool("c", "bash", running).tool("c", "bash", done).pending("c", "bash");
    assert_eq!(
        script.shown(),
        [
            r#"tool c started pending: Bash Execute "Bash" input={}"#,
            r#"tool c update: running title="ls" output+="a\n" input={"command":"ls"}"#,
            r#"tool c completed: output={"exitCode":0,"output":"a\nb\n"} content=["a\nb\n"]"#,
        ]
    );
}

#[test]
fn a_tail_of_the_output_replaces_what_is_shown() {
    let running = |output: &str| json!({ "status": "running", "input": { "command": "x" }, "metadata": { "output": output } });
    let tail = |letter: &str| format!("...\n\n{}", letter.repeat(30_000));
    let mut script = Script::new();
    script.tool("c", "bash", running("start\n")).tool("c", "bash", running(&tail("a"))).tool("c", "bash", running(&tail("b")));
    let contents: Vec<usize> = script
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolUpdated(tool) => Some(tool.content.as_ref().map_or(0, Vec::len)),
            _ => None,
        })
        .collect();
    assert_eq!(contents, [0, 1, 1], "a piece, then two tails");
}

#[test]
fn a_long_output_costs_events_in_line_with_it() {
    let mut script = Script::new();
    let mut output = String::new();
    for _ in 0..200 {
        output.push_str(&"x".repeat(100));
        script.tool("c", "bash", json!({ "status": "running", "input": { "command": "x" }, "metadata": { "output": output } }));
    }
    let told: usize = script
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolUpdated(tool) => tool.output_delta.as_ref().map(String::len),
            _ => None,
        })
        .sum();
    assert_eq!(told, output.len());
}

#[test]
fn a_call_runs_only_with_leave() {
    let asked = json!({ "id": "per", "permission": "bash", "patterns": ["ls"], "metadata": { "command": "ls" },
        "always": ["ls *"], "tool": { "messageID": "m", "callID": "c" } });
    let running = json!({ "status": "running", "input": { "command": "ls" } });
    let mut script = Script::new();
    script.pending("c", "bash").event("permission.asked", asked.clone()).event("permission.asked", asked);
    script.tool("c", "bash", running.clone());
    script.event("permission.replied", json!({ "requestID": "per", "reply": "once" })).tool("c", "bash", running);
    assert_eq!(
        script.shown(),
        [
            r#"tool c started pending: Bash Execute "Bash" input={}"#,
            r#"permission per asked: Bash "ls" for c input={"command":"ls"} options=once=allow_once,always=allow_always,reject=reject_once"#,
            r#"tool c update: title="ls" input={"command":"ls"}"#,
            "permission per resolved: approved=true option=once for c",
            "tool c update: running",
        ]
    );
}

#[test]
fn files_of_a_tool_are_blocks() {
    let attachments = json!([
        { "type": "file", "mime": "audio/wav", "url": "data:audio/wav;base64,AA==" },
        { "type": "file", "mime": "application/pdf", "url": "data:application/pdf;base64,AA==", "filename": "a.pdf" },
        { "type": "file", "mime": "text/html", "url": "https://a.example/b", "filename": "b" },
    ]);
    let mut script = Script::new();
    let state = json!({ "status": "completed", "input": {}, "output": "three", "attachments": attachments });
    script.tool("c", "srv_get", state);
    let EventKind::ToolCompleted(tool) = &script.events[1].kind else { panic!("no end") };
    let kinds: Vec<String> =
        tool.content.iter().map(|block| serde_json::to_value(block).unwrap()["content"]["type"].to_string()).collect();
    assert_eq!(kinds, [r#""text""#, r#""audio""#, r#""resource""#, r#""resource_link""#]);
}

#[test]
fn a_server_with_underscores_is_found_among_the_known() {
    let mut script = Script::empty();
    let servers = json!({ "my.tools": { "status": "connected" }, "my": { "status": "connected" } });
    script.request("GET", "/mcp", json!(null)).answer(200, servers);
    script.session("ses").prompt("ses").user("u").assistant("m");
    script.events.clear();
    script.pending("a", "my_tools_read_file").pending("b", "my_other").pending("c", "custom_tool");
    let mcp: Vec<String> =
        script.shown().into_iter().map(|line| line.split("input={}").nth(1).unwrap_or("").to_owned()).collect();
    assert_eq!(mcp, [" mcp=my.tools/read_file", " mcp=my/other", ""]);
}

#[test]
fn steps_count_what_they_say() {
    let finish = |id: &str, tokens: serde_json::Value, cost: f64| json!({ "id": id, "type": "step-finish", "reason": "stop", "tokens": tokens, "cost": cost });
    let mut script = Script::new();
    let counts = json!({ "input": 800, "output": 30, "reasoning": 20, "cache": { "read": 200, "write": 0 }, "total": 1050 });
    script.part(finish("a", counts.clone(), 0.5)).part(finish("a", counts, 0.5));
    script.part(finish("b", json!({ "input": 0, "output": 0, "reasoning": 0, "cache": { "read": 0, "write": 0 } }), 0.0));
    script.part(finish("c", json!({ "input": -1, "output": 1.5, "cache": "none", "total": 3 }), 0.0));
    // A model without prices costs 0, which says nothing.
    let free = json!({ "input": 5, "output": 1, "reasoning": 0, "cache": { "read": 0, "write": 0 }, "total": 6 });
    script.part(finish("d", free, 0.0));
    let told: Vec<_> = script
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::UsageFinal { usage } => {
                let counts = [usage.tokens.input_tokens, usage.tokens.output_tokens, usage.tokens.cache_read_tokens];
                Some((usage.id.as_str(), counts, usage.native_cost_usd, usage.context.used))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            ("a", [Some(800), Some(50), Some(200)], Some(0.5), Some(1050)),
            ("b", [None, None, None], None, None),
            ("c", [None, None, None], None, Some(3)),
            ("d", [Some(5), Some(1), Some(0)], None, Some(6)),
        ]
    );
}

#[test]
fn the_context_has_a_size_where_the_server_told_its_models() {
    let mut script = Script::empty();
    let models = json!({ "providers": [{ "id": "p", "options": { "apiKey": "secret" }, "models": { "big": { "limit": { "context": 1000 } } } }] });
    script.request("GET", "/config/providers", json!(null)).answer(200, models);
    assert!(script.events.is_empty(), "an answer with keys is not told");
    script.session("ses").prompt("ses").user("u").assistant("m");
    let tokens = json!({ "input": 1, "output": 2, "reasoning": 0, "cache": { "read": 0, "write": 0 }, "total": 3 });
    script.part(json!({ "id": "f", "type": "step-finish", "tokens": tokens, "cost": 0 }));
    let Some(EventKind::UsageFinal { usage }) = script.events.last().map(|event| &event.kind) else { panic!("no usage") };
    assert_eq!((usage.context.used, usage.context.size), (Some(3), Some(1000)));
}

#[test]
fn a_file_that_the_model_makes_is_content() {
    let mut script = Script::new();
    let part = json!({ "id": "f", "type": "file", "mime": "image/png", "url": "data:image/png;base64,AA==" });
    script.part(part.clone()).part(part);
    assert_eq!(script.shown(), ["content f image image/png 4 bytes"]);
}

#[test]
fn a_wrong_field_harms_one_message_only() {
    let mut script = Script::new();
    script
        .part(json!({ "id": "t", "type": "text", "text": 7 }))
        .part(json!({ "id": "q", "type": "hologram" }))
        .whole("t", "fine");
    assert_eq!(script.shown(), ["unmapped message.part.updated", "unmapped message.part.updated hologram", r#"text t "fine""#]);
}
