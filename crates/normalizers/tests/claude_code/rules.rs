//! Rules that no recording shows, and the traps of the protocol, each on a script of a few messages.

use crate::common::render;
use crate::script::Script;
use chat_grammar::event::{EventKind, FinishReason};
use serde_json::{Value, json};

#[test]
fn what_no_rule_knows_is_counted() {
    let mut script = Script::new();
    script.agent(json!({ "type": "some_future" })).agent(json!({ "type": "system", "subtype": "some_future" }));
    script.stream(json!({ "type": "some_event" })).agent(json!({ "type": "assistant", "message": { "content": 5 } }));
    script.agent(json!([1, 2])).agent(json!({ "type": 5 }));
    script.agent(json!({ "type": "control_request", "request_id": "r", "request": { "subtype": "some_request" } }));
    script.normalizer.push("Reading prompt from stdin...", chat_grammar::event::Side::Agent, &mut script.events);
    script.says(0, "still here");
    let counted = json!({
        "some_future": 1, "system/some_future": 1, "stream_event": 1, "assistant": 1, "invalid_message": 2, "control_request": 1,
        "invalid_json": 1,
    });
    assert_eq!(json!(script.normalizer.unmapped()), counted);
    assert_eq!(script.shown().last().map(String::as_str), Some(r#"text m "still here""#));
}

#[test]
fn a_whole_block_adds_only_what_was_missing() {
    let mut script = Script::new();
    script.says(0, "All ").whole("m", json!({ "type": "text", "text": "All good." }));
    // Another uuid does not make it another text: it is the block of this message that is open.
    script.block_stops(0).says(1, "More").whole("m", json!({ "type": "text", "text": "More" })).block_stops(1);
    assert_eq!(script.shown(), [r#"text m "All ""#, r#"text m "good.""#, r#"text m "More""#]);
}

#[test]
fn a_whole_block_that_differs_is_shown_whole() {
    let mut script = Script::new();
    script.says(0, "Hello").whole("m", json!({ "type": "text", "text": "Hallo" }));
    let warning = r#"warning "The agent's whole text differs from what it streamed""#;
    assert_eq!(script.shown(), [r#"text m "Hello""#, warning, r#"text m#2 "Hallo""#]);
}

#[test]
fn a_subagents_events_do_not_mix_with_the_main_loops() {
    let mut script = Script::new();
    script.says(0, "main ");
    let sub = |event: Value| json!({ "type": "stream_event", "event": event, "parent_tool_use_id": "task" });
    script.agent(sub(json!({ "type": "message_start", "message": { "id": "s", "model": "claude-y" } })));
    let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "sub" } });
    script.agent(sub(delta)).says(0, "text");
    assert_eq!(script.shown(), [r#"text m "main ""#, r#"text s "sub"  [in task]"#, r#"text m "text""#]);
}

#[test]
fn an_answer_that_begins_again_goes_on_where_it_was_cut() {
    let mut script = Script::new();
    script.says(0, "One two");
    script.agent(json!({ "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 2, "error_status": null }));
    // 2.1.197 says nothing of the cut: the next message is what tells of it.
    script.begins("n").says(0, "One ").says(0, "two three").stops("end_turn");
    let told = script.shown();
    assert_eq!(told[2], r#"warning "The connection was lost, and the agent began its answer again""#);
    assert_eq!((told[0].as_str(), told[3].as_str(), told.len()), (r#"text m "One two""#, r#"text m " three""#, 4));
}

#[test]
fn another_answer_after_a_cut_is_a_message_of_its_own() {
    let mut script = Script::new();
    script.says(0, "One two").begins("n").says(0, "Another").stops("end_turn");
    assert_eq!(script.shown().last().map(String::as_str), Some(r#"text n "Another""#));
}

#[test]
fn a_message_that_stopped_is_not_cut() {
    let mut script = Script::new();
    script.says(0, "Same").stops("tool_use").begins("n").says(0, "Same").stops("end_turn");
    assert_eq!(script.shown(), [r#"text m "Same""#, r#"text n "Same""#]);
}

#[test]
fn a_call_whose_input_was_cut_off_is_no_call_with_that_input() {
    let mut script = Script::new();
    script.call_begins(0, "c", "Write").input(0, r#"{"file_path":"/a","content":"li"#).interrupt();
    script.stream(json!({ "type": "message_stop" })).finish();
    let last = script.shown().pop().expect("an end");
    assert_eq!(
        last,
        r#"tool c failed: output={"partialInput":"{\"file_path\":\"/a\",\"content\":\"li"} content=["The agent ended before this call did. Its input was not complete"]"#
    );
    assert!(script.shown().contains(&r#"tool c update: title="Write /a" input={"file_path":"/a"}"#.to_owned()));
}

#[test]
fn a_result_may_come_before_the_end_of_its_message() {
    let mut script = Script::new();
    script.call("a", "Bash", json!({ "command": "a" })).call("b", "Bash", json!({ "command": "b" }));
    script.result_of("b", json!("B"), false, json!({ "stdout": "B", "stderr": "" }));
    script.stops("tool_use").result_of("a", json!("A"), false, json!({ "stdout": "A", "stderr": "" }));
    script.result_of("a", json!("late"), true, Value::Null);
    let ends: Vec<String> =
        script.shown().into_iter().filter(|line| line.contains("completed") || line.contains("failed")).collect();
    assert_eq!(
        ends,
        [
            r#"tool b completed: output={"exitCode":0,"output":"B"} content=["B"]"#,
            r#"tool a completed: output={"exitCode":0,"output":"A"} content=["A"]"#,
        ]
    );
}

fn end_of(name: &str, input: Value, content: Value, is_error: bool, structured: Value) -> String {
    let mut script = Script::new();
    script.call("c", name, input).result_of("c", content, is_error, structured);
    script.shown().pop().expect("an end")
}

#[test]
fn a_command_ends_as_its_text_says() {
    let end = |text: &str, is_error: bool, structured: Value| {
        end_of("Bash", json!({ "command": "x" }), json!(text), is_error, structured)
    };
    assert_eq!(
        end("Exit code 3\nout\nerr", true, json!("Error: Exit code 3")),
        r#"tool c failed: output={"exitCode":3,"output":"out\nerr"} content=["out\nerr", "Exit code 3"]"#
    );
    // `grep` that finds nothing is no failure for the CLI, which does not tell the code.
    assert_eq!(
        end("", false, json!({ "stdout": "", "stderr": "", "returnCodeInterpretation": "No matches found" })),
        r#"tool c completed: output={"exitCode":null,"output":""}"#
    );
    assert_eq!(
        end("half", false, json!({ "stdout": "half", "stderr": "", "interrupted": true })),
        r#"tool c failed: output={"exitCode":null,"output":"half"} content=["half", "The command was interrupted"]"#
    );
    assert_eq!(
        end("both", false, json!({ "stdout": "out", "stderr": "err" })),
        r#"tool c completed: output={"exitCode":0,"stdout":"out","stderr":"err"} content=["out", "err"]"#
    );
    assert_eq!(
        end("<tool_use_error>No such tool</tool_use_error>", true, Value::Null),
        r#"tool c failed: output={"exitCode":null,"output":"No such tool"} content=["No such tool"]"#
    );
}

#[test]
fn every_block_of_a_result_survives() {
    let png = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } });
    let pdf = json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "BBBB" } });
    let content = json!([{ "type": "text", "text": "one" }, png, { "type": "some_future", "x": 1 }, pdf, { "type": "text", "text": "two" }]);
    let end = end_of("Frobnicate", json!({}), content, false, Value::Null);
    let shown = end.split_once("content=").expect("content").1;
    assert!(shown.starts_with(r#"["one", image image/png 4 bytes, "{\"type\":\"some_future\",\"x\":1}", "#), "{shown}");
    assert!(shown.contains("BBBB") && shown.ends_with(r#""two"]"#), "{shown}");
}

#[test]
fn a_text_of_an_ordinary_tool_stays_a_text() {
    let end = end_of("Read", json!({}), json!([{ "type": "text", "text": "[Resource from x at y] z" }]), false, Value::Null);
    assert!(end.ends_with(r#"content=["[Resource from x at y] z"]"#), "{end}");
}

#[test]
fn tools_that_the_api_runs_are_calls_like_any_other() {
    let mut script = Script::new();
    script.whole("m", json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": { "query": "rust" } }));
    let hit = json!({ "type": "web_search_result", "title": "Rust", "url": "https://rust-lang.org" });
    script.whole("m", json!({ "type": "web_search_tool_result", "tool_use_id": "s", "content": [hit] }));
    script.whole("m", json!({ "type": "mcp_tool_use", "id": "t", "name": "find", "server_name": "docs", "input": {} }));
    script.whole("m", json!({ "type": "mcp_tool_result", "tool_use_id": "t", "is_error": true, "content": [{ "type": "text", "text": "no" }] }));
    let told = script.shown();
    assert_eq!(told[0], r#"tool s started pending: WebSearch Search "Search the web for" input={}"#);
    assert_eq!(told[2], "tool s update: running");
    assert!(
        told[3].starts_with("tool s completed") && told[3].ends_with("content=[link Rust https://rust-lang.org]"),
        "{}",
        told[3]
    );
    assert!(told[4].ends_with("mcp=docs/find"), "{}", told[4]);
    assert_eq!(told[6], r#"tool t failed: output={"error":"no"} content=["no"]"#);
}

#[test]
fn leave_is_asked_and_given_or_not() {
    let mut script = Script::new();
    script.call("c", "Bash", json!({ "command": "rm x" })).asks("r1", "c", "Bash", json!({ "command": "rm x" }));
    script.answers("r1", json!({ "behavior": "deny", "message": "Not here." }));
    script.result_of("c", json!("Not here."), true, json!("Error: Not here."));
    let told = script.shown();
    assert_eq!(
        told[2],
        r#"permission r1 asked: Bash "rm x" for c input={"command":"rm x"} options=allow=allow_once,reject=reject_once"#
    );
    assert_eq!(told[3], "permission r1 resolved: approved=false option=reject for c (Not here.)");
    assert_eq!(told[4], r#"tool c failed: output={"exitCode":null,"output":""} content=["Not here."]"#);
}

#[test]
fn a_changed_input_is_what_runs() {
    let mut script = Script::new();
    script.call("c", "Bash", json!({ "command": "rm x" })).asks("r", "c", "Bash", json!({ "command": "rm x" }));
    let lasting = json!([{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }]);
    script.answers("r", json!({ "behavior": "allow", "updatedInput": { "command": "ls" }, "updatedPermissions": lasting }));
    let told = script.shown();
    assert_eq!(told[3], "permission r resolved: approved=true option=allow_always for c");
    assert_eq!(told[4..], [r#"tool c update: title="ls" input={"command":"ls"}"#, "tool c update: running"]);
}

#[test]
fn a_request_that_nobody_answers_is_cancelled() {
    let mut script = Script::new();
    script.call("c", "Bash", json!({ "command": "x" })).asks("r", "c", "Bash", json!({ "command": "x" }));
    script.asks("q", "a", "AskUserQuestion", json!({ "questions": [{ "question": "Which?", "options": [{ "label": "A" }] }] }));
    script.ends();
    let told = script.shown();
    assert!(told.contains(&"permission r resolved: approved=false option=- for c (The turn ended)".to_owned()), "{told:#?}");
    assert!(told.contains(&"question q answered: cancel ".to_owned()), "{told:#?}");
}

#[test]
fn a_refused_request_is_a_denial() {
    let mut script = Script::new();
    script.call("c", "Bash", json!({ "command": "x" })).asks("r", "c", "Bash", json!({ "command": "x" }));
    script.host(
        json!({ "type": "control_response", "response": { "subtype": "error", "request_id": "r", "error": "no dialog" } }),
    );
    assert_eq!(
        script.shown().last().map(String::as_str),
        Some("permission r resolved: approved=false option=- for c (no dialog)")
    );
}

#[test]
fn several_answers_are_a_list() {
    let mut script = Script::new();
    let options = json!([{ "label": "A" }, { "label": "B" }]);
    let questions = json!([{ "question": "Which?", "header": "Pick", "multiSelect": true, "options": options }]);
    script.asks("q", "c", "AskUserQuestion", json!({ "questions": questions }));
    script.answers(
        "q",
        json!({ "behavior": "allow", "updatedInput": { "questions": questions, "answers": { "Which?": "A, B" } } }),
    );
    assert!(script.shown().contains(&r#"question q answered: accept {"Which?":["A","B"]}"#.to_owned()));
}

#[test]
fn an_mcp_server_may_ask_the_user() {
    let mut script = Script::new();
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let request = json!({ "subtype": "elicitation", "mcp_server_name": "s", "message": "Who?", "requested_schema": schema });
    script.agent(json!({ "type": "control_request", "request_id": "e", "request": request }));
    script.answers("e", json!({ "action": "accept", "content": { "name": "Ada" } }));
    let told = script.shown();
    assert!(told[0].starts_with(r#"question e asked: "Who?""#), "{}", told[0]);
    assert_eq!(told[1], r#"question e answered: accept {"name":"Ada"}"#);
}

#[test]
fn an_interrupted_call_is_no_denied_one() {
    let text = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let mut script = Script::new();
    script.call("c", "Bash", json!({ "command": "sleep 9" })).interrupt();
    script.result_of("c", json!(text), true, json!("User rejected tool use"));
    script.agent(
        json!({ "type": "result", "subtype": "error_during_execution", "is_error": true, "terminal_reason": "aborted_tools" }),
    );
    let told = script.shown();
    assert_eq!(
        told[told.len() - 2..],
        [
            r#"tool c failed: output={"exitCode":null,"output":""} content=["The call was interrupted"]"#,
            "done Cancelled aborted_tools",
        ]
    );
}

#[test]
fn an_interruption_before_a_turn_does_not_cancel_it() {
    let mut script = Script::bare();
    script.interrupt().prompt("go").begins("m").says(0, "x");
    script.agent(json!({ "type": "result", "subtype": "error_during_execution", "is_error": true }));
    assert_eq!(script.shown().last().map(String::as_str), Some("done Failed error_during_execution"));
}

#[test]
fn a_result_without_anything_ends_no_turn() {
    let empty = json!({ "type": "result", "subtype": "success", "is_error": false, "num_turns": 0, "result": "" });
    let mut script = Script::bare();
    script.prompt("go").agent(empty.clone()).begins("m").says(0, "x").ends();
    assert_eq!(script.shown(), [r#"text m "x""#, "done EndTurn end_turn"]);
    // A command of the CLI's own may say nothing.
    let mut script = Script::bare();
    script.prompt("/clear").agent(empty);
    assert_eq!(script.shown(), ["done EndTurn success"]);
}

#[test]
fn the_texts_of_user_lines_are_nobodys_words() {
    let mut script = Script::bare();
    for content in
        [json!("This session is being continued"), json!([{ "type": "text", "text": "[Request interrupted by user]" }])]
    {
        script.agent(json!({ "type": "user", "message": { "role": "user", "content": content }, "isSynthetic": true }));
    }
    script.agent(json!({ "type": "user", "message": { "role": "user", "content": "hi" }, "isReplay": true }));
    assert!(script.shown().is_empty());
}

#[test]
fn a_failed_api_call_is_no_answer() {
    let mut script = Script::bare();
    let message =
        json!({ "id": "x", "model": "<synthetic>", "content": [{ "type": "text", "text": "API Error: 529 Overloaded" }] });
    script.agent(json!({ "type": "assistant", "message": message, "error": "server_error", "api_error_status": 529 }));
    script.normalizer.finish(FinishReason::Error, &mut script.events);
    // The process died before its result: what it said is why.
    assert_eq!(script.shown(), [r#"error Model overloaded retryable=true "API Error: 529 Overloaded""#]);
}

#[test]
fn a_subagents_failure_is_not_the_turns() {
    let mut script = Script::bare();
    let message = json!({ "id": "x", "model": "<synthetic>", "content": [{ "type": "text", "text": "API Error" }] });
    script.agent(json!({ "type": "assistant", "message": message, "error": "unknown", "parent_tool_use_id": "task" }));
    script.ends();
    assert_eq!(script.shown(), [r#"warning "API Error"  [in task]"#, "done EndTurn end_turn"]);
}

#[test]
fn calls_of_a_subagent_in_the_background_outlive_the_turn() {
    let mut script = Script::new();
    script.call("a", "Agent", json!({ "description": "look", "prompt": "look" }));
    script.result_of(
        "a",
        json!([{ "type": "text", "text": "launched" }]),
        false,
        json!({ "isAsync": true, "status": "async_launched" }),
    );
    let block = json!({ "type": "tool_use", "id": "b", "name": "Bash", "input": { "command": "sleep 9" } });
    let message = json!({ "id": "s", "model": "claude-x", "content": [block] });
    script.agent(json!({ "type": "assistant", "message": message, "parent_tool_use_id": "a" }));
    script.ends();
    assert!(!script.shown().iter().any(|line| line.starts_with("tool b failed")));
    script.agent(json!({ "type": "system", "subtype": "task_notification", "tool_use_id": "a", "status": "failed", "summary": "It broke" }));
    let told = script.shown();
    assert!(told[told.len() - 2].starts_with("tool b failed"), "{told:#?}");
    assert_eq!(told.last().map(String::as_str), Some(r#"warning "It broke""#));
}

#[test]
fn plans_follow_the_calls_that_went_well() {
    let mut script = Script::new();
    let todos = json!([{ "content": "A", "status": "in_progress" }]);
    script.call("t", "TodoWrite", json!({ "todos": todos })).result_of("t", json!("no"), true, Value::Null);
    script.call("u", "TaskCreate", json!({ "subject": "B" })).result_of(
        "u",
        json!("ok"),
        false,
        json!({ "task": { "id": "1" } }),
    );
    script.call("v", "TaskUpdate", json!({ "taskId": "1", "status": "deleted" })).result_of("v", json!("ok"), false, json!({}));
    let plans: Vec<String> = script.shown().into_iter().filter(|line| line.starts_with("plan")).collect();
    assert_eq!(plans, [r#"plan Pending "B""#, "plan "]);
}

#[test]
fn a_new_process_closes_what_the_old_one_left() {
    let mut script = Script::new();
    script.call("c", "Bash", json!({ "command": "x" }));
    script.host(json!({ "type": "control_request", "request_id": "h", "request": { "subtype": "initialize" } }));
    assert!(script.shown().last().is_some_and(|line| line.contains("The agent's process ended")));
}

#[test]
fn a_call_id_that_comes_again_is_another_call() {
    let mut script = Script::new();
    script.call("c", "Read", json!({ "file_path": "/a" })).result_of("c", json!("A"), false, Value::Null);
    let block = json!({ "type": "tool_use", "id": "c", "name": "Read", "input": { "file_path": "/b" } });
    script.whole("n", block).result_of("c", json!("B"), false, Value::Null);
    let ends = script.events.iter().filter(|event| matches!(event.kind, EventKind::ToolCompleted(_))).map(render::event);
    let ends: Vec<String> = ends.collect();
    assert!(ends[0].starts_with("tool c completed") && ends[1].starts_with("tool c#2 completed"), "{ends:?}");
}
