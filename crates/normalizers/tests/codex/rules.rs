//! Rules that no recording shows, each on a script of a few messages.

use crate::common::{self, render};
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_normalizers::{Normalizer, Options};
use serde_json::{Value, json};

/// A conversation on the thread `main` whose turn `t1` runs.
struct Script {
    normalizer: Box<dyn Normalizer>,
    events: Vec<ChatEvent>,
}

impl Script {
    fn new() -> Self {
        let mut script = Self { normalizer: common::normalizer(), events: Vec::new() };
        script.turn("main", "t1");
        script
    }

    fn agent(&mut self, message: Value) -> &mut Self {
        self.normalizer.push(&message.to_string(), Side::Agent, &mut self.events);
        self
    }

    fn host(&mut self, message: Value) -> &mut Self {
        self.normalizer.push(&message.to_string(), Side::Host, &mut self.events);
        self
    }

    fn notice(&mut self, method: &str, params: Value) -> &mut Self {
        let mut whole = json!({ "threadId": "main", "turnId": "t1" });
        for (name, value) in params.as_object().expect("params") {
            whole[name] = value.clone();
        }
        self.agent(json!({ "method": method, "params": whole }))
    }

    fn turn(&mut self, thread: &str, turn: &str) -> &mut Self {
        let turn = json!({ "id": turn, "rootTurnId": turn, "status": "inProgress" });
        self.agent(json!({ "method": "turn/started", "params": { "threadId": thread, "turn": turn } }))
    }

    fn end(&mut self, thread: &str, turn: &str, status: &str) -> &mut Self {
        let turn = json!({ "id": turn, "status": status, "error": null });
        self.agent(json!({ "method": "turn/completed", "params": { "threadId": thread, "turn": turn } }))
    }

    fn started(&mut self, item: Value) -> &mut Self {
        self.notice("item/started", json!({ "item": item }))
    }

    fn completed(&mut self, item: Value) -> &mut Self {
        self.notice("item/completed", json!({ "item": item }))
    }

    fn command(&mut self, id: &str) -> &mut Self {
        self.started(json!({ "type": "commandExecution", "id": id, "command": "sleep 9", "cwd": "/w", "status": "inProgress" }))
    }

    fn says(&mut self, id: &str, delta: &str) -> &mut Self {
        self.notice("item/agentMessage/delta", json!({ "itemId": id, "delta": delta }))
    }

    fn message(&mut self, id: &str) -> &mut Self {
        self.started(json!({ "type": "agentMessage", "id": id, "text": "" }))
    }

    fn whole(&mut self, id: &str, text: &str) -> &mut Self {
        self.completed(json!({ "type": "agentMessage", "id": id, "text": text }))
    }

    fn retry(&mut self) -> &mut Self {
        self.notice("error", json!({ "error": { "message": "Reconnecting... 1/2" }, "willRetry": true }))
    }

    fn usage(&mut self, total: u64, last: u64) -> &mut Self {
        let counts = |tokens: u64| json!({ "totalTokens": tokens, "inputTokens": tokens, "outputTokens": 0 });
        let usage = json!({ "total": counts(total), "last": counts(last), "modelContextWindow": 1000 });
        self.notice("thread/tokenUsage/updated", json!({ "tokenUsage": usage }))
    }

    fn finish(&mut self) -> &mut Self {
        self.normalizer.finish(FinishReason::End, &mut self.events);
        self
    }

    /// The events as lines, those of usage left out.
    fn shown(&self) -> Vec<String> {
        let events = self.events.iter().filter(|event| !matches!(event.kind, EventKind::UsageFinal { .. }));
        events.map(render::event).collect()
    }

    /// The model calls: id, operation, and tokens of input.
    fn steps(&self) -> Vec<(String, Option<u64>)> {
        let steps = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::UsageFinal { usage } if usage.billable => Some((usage.id.clone(), usage.tokens.input_tokens)),
            _ => None,
        });
        steps.collect()
    }
}

#[test]
fn an_unknown_item_is_a_call_of_another_kind() {
    let mut script = Script::new();
    script.started(json!({ "type": "teleport", "id": "x", "to": "there" }));
    script.completed(json!({ "type": "teleport", "id": "x", "to": "there", "status": "failed" }));
    assert_eq!(
        script.shown(),
        [
            r#"tool x started: teleport Other "teleport" input={"type":"teleport","id":"x","to":"there"}"#,
            r#"tool x failed: output={"type":"teleport","id":"x","to":"there","status":"failed"} content=["The call failed"]"#,
        ]
    );
}

#[test]
fn what_no_rule_knows_is_counted() {
    let mut script = Script::new();
    script.notice("some/future", json!({}));
    script.started(json!({ "type": "commandExecution", "id": "x", "command": 5 }));
    script.agent(json!({ "id": 3, "method": "some/request", "params": {} }));
    script.agent(json!([1, 2])).agent(json!({ "jsonrpc": "2.0" }));
    script.normalizer.push("Reading prompt from stdin...", Side::Agent, &mut script.events);
    script.message("m").says("m", "still here");
    let counted = json!({
        "some/future": 1, "item/started": 1, "some/request": 1, "invalid_message": 2, "invalid_json": 1,
    });
    assert_eq!(json!(script.normalizer.unmapped()), counted);
    assert_eq!(script.shown().last().map(String::as_str), Some(r#"text m "still here""#));
}

#[test]
fn a_thread_of_somebody_else_is_left_out() {
    let mut script = Script::new();
    script.turn("other", "o1");
    script
        .notice("item/agentMessage/delta", json!({ "threadId": "other", "turnId": "o1", "itemId": "m", "delta": "not ours" }));
    script.end("other", "o1", "completed");
    assert_eq!(script.shown(), ["unmapped foreign_thread"; 3]);
    assert_eq!(script.normalizer.unmapped()["foreign_thread"], 3);
}

#[test]
fn a_session_that_is_resumed_knows_its_thread() {
    let options = Options { provider_session_id: Some("main".to_owned()), ..Options::default() };
    let mut normalizer = chat_normalizers::normalizer("codex", options).expect("codex");
    let mut events = Vec::new();
    let delta = |thread: &str| {
        let params = json!({ "threadId": thread, "turnId": "t", "itemId": "m", "delta": "hi" });
        json!({ "method": "item/agentMessage/delta", "params": params }).to_string()
    };
    normalizer.push(&delta("other"), Side::Agent, &mut events);
    normalizer.push(&delta("main"), Side::Agent, &mut events);
    let shown: Vec<String> = events.iter().map(render::event).collect();
    assert_eq!(shown, ["unmapped foreign_thread", r#"text m "hi""#]);
}

#[test]
fn an_answer_begun_again_that_differs_is_shown_whole() {
    let mut script = Script::new();
    script.message("m1").says("m1", "The answer is 4").retry();
    script.message("m2").says("m2", "The ans").says("m2", "wer was").says("m2", " 5").whole("m2", "The answer was 5");
    assert_eq!(
        script.shown(),
        [
            r#"text m1 "The answer is 4""#,
            r#"warning "Reconnecting... 1/2" retry=1/Some(2)"#,
            r#"warning "The connection was lost, and the agent began its answer again""#,
            r#"text m2 "The answer was""#,
            r#"text m2 " 5""#,
        ]
    );
}

#[test]
fn an_answer_begun_again_that_is_shorter_is_shown_whole() {
    let mut script = Script::new();
    script.message("m1").says("m1", "Yes, but").retry();
    script.message("m2").says("m2", "Yes").whole("m2", "Yes");
    assert_eq!(script.shown().last().map(String::as_str), Some(r#"text m2 "Yes""#));
}

#[test]
fn answers_begun_again_keep_their_order() {
    let mut script = Script::new();
    script.message("m1").whole("m1", "First.").message("m2").says("m2", "Sec").retry();
    script.message("m3").says("m3", "Second.").whole("m3", "Second.").message("m4").whole("m4", "Third.");
    assert_eq!(
        script.shown(),
        [
            r#"text m1 "First.""#,
            r#"text m2 "Sec""#,
            r#"warning "Reconnecting... 1/2" retry=1/Some(2)"#,
            r#"warning "The connection was lost, and the agent began its answer again""#,
            r#"text m2 "ond.""#,
            r#"text m4 "Third.""#,
        ]
    );
}

#[test]
fn a_thought_begun_again_is_not_said_twice() {
    let thinks = |script: &mut Script, id: &str, index: u64, delta: &str| {
        let params = json!({ "itemId": id, "delta": delta, "summaryIndex": index });
        script.notice("item/reasoning/summaryTextDelta", params);
    };
    let mut script = Script::new();
    thinks(&mut script, "r1", 0, "one");
    thinks(&mut script, "r1", 1, "tw");
    script.retry();
    thinks(&mut script, "r2", 0, "one");
    thinks(&mut script, "r2", 1, "two");
    script.completed(json!({ "type": "reasoning", "id": "r2", "summary": ["one", "two", "three"], "content": [] }));
    let thoughts: Vec<String> = script.shown().into_iter().filter(|line| line.starts_with("thought")).collect();
    assert_eq!(
        thoughts,
        [
            r#"thought Summary r1 "one""#,
            r#"thought Summary r1 "\n\ntw""#,
            r#"thought Summary r1 "o""#,
            r#"thought Summary r1 "\n\nthree""#,
        ]
    );
}

#[test]
fn a_whole_that_differs_is_a_message_of_its_own() {
    let mut script = Script::new();
    script.message("m").says("m", "Hel").says("m", "world").whole("m", "Hello world");
    assert_eq!(
        script.shown()[2..],
        [r#"warning "The agent's whole text differs from what it streamed""#, r#"text m#2 "Hello world""#]
    );
}

#[test]
fn an_id_that_repeats_is_another_call() {
    let mut script = Script::new();
    let start = |script: &mut Script, turn: &str, at: u64| {
        let item = json!({ "type": "commandExecution", "id": "call_0", "command": "ls", "status": "inProgress" });
        script.notice("item/started", json!({ "turnId": turn, "startedAtMs": at, "item": item }));
    };
    let end = |script: &mut Script, turn: &str| {
        let item = json!({ "type": "commandExecution", "id": "call_0", "command": "ls", "status": "completed", "exitCode": 0 });
        script.notice("item/completed", json!({ "turnId": turn, "item": item }));
    };
    start(&mut script, "t1", 1);
    start(&mut script, "t1", 1);
    end(&mut script, "t1");
    start(&mut script, "t1", 2);
    end(&mut script, "t1");
    script.end("main", "t1", "completed").turn("main", "t2");
    start(&mut script, "t2", 3);
    end(&mut script, "t2");
    let ids: Vec<&str> = script
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolCompleted(tool) => Some(tool.tool_call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_0", "call_0#2", "call_0#3"]);
}

#[test]
fn a_command_may_outlive_a_turn_that_ends_well() {
    let mut script = Script::new();
    script.command("c").started(json!({ "type": "mcpToolCall", "id": "m", "server": "s", "tool": "t" }));
    script.end("main", "t1", "completed");
    script.notice("item/commandExecution/outputDelta", json!({ "itemId": "c", "delta": "late\n" }));
    script.turn("main", "t2").end("main", "t2", "interrupted").finish();
    assert_eq!(
        script.shown()[2..],
        [
            r#"tool m failed: output=null content=["The turn ended without the end of this call"]"#,
            "done EndTurn completed",
            r#"tool c update: output+="late\n""#,
            "done Cancelled interrupted",
            r#"tool c failed: output={"exitCode":null,"output":"late\n"} content=["late\n", "The agent ended before this call did"]"#,
        ]
    );
}

#[test]
fn with_a_broken_off_turn_its_sub_agents_end() {
    let mut script = Script::new();
    script.started(json!({ "type": "subAgentActivity", "id": "s", "kind": "started", "agentThreadId": "child" }));
    let child = json!({ "id": "c1", "rootTurnId": "t1", "status": "inProgress" });
    script.agent(json!({ "method": "turn/started", "params": { "threadId": "child", "turn": child } }));
    let item = json!({ "type": "commandExecution", "id": "x", "command": "ls", "source": "agent", "status": "inProgress" });
    script.notice("item/started", json!({ "threadId": "child", "turnId": "c1", "item": item }));
    let params = json!({ "threadId": "child", "turnId": "c1", "itemId": "x" });
    script.agent(json!({ "id": 0, "method": "item/commandExecution/requestApproval", "params": params }));
    script.end("main", "t1", "interrupted");
    let broken: Vec<String> = script.shown().split_off(3);
    assert_eq!(
        broken,
        [
            "permission 0 resolved: approved=false option=- for x (The turn ended)  [in s]",
            r#"tool s failed: output=null content=["The turn was interrupted"]"#,
            r#"tool x failed: output={"exitCode":null,"output":""} content=["The turn was interrupted"]  [in s]"#,
            "done Cancelled interrupted",
        ]
    );
}

#[test]
fn a_sub_agent_that_no_item_names_gets_a_call() {
    let mut script = Script::new();
    let child = json!({ "id": "c1", "rootTurnId": "t1", "status": "inProgress" });
    script.agent(json!({ "method": "turn/started", "params": { "threadId": "child", "turn": child } }));
    script.notice("item/agentMessage/delta", json!({ "threadId": "child", "turnId": "c1", "itemId": "m", "delta": "hi" }));
    script.notice("error", json!({ "threadId": "child", "error": { "message": "no luck" }, "willRetry": false }));
    script.end("child", "c1", "failed").end("main", "t1", "completed");
    assert_eq!(
        script.shown(),
        [
            r#"tool child started: Agent Other "Sub-agent" input={"agentThreadId":"child"}"#,
            r#"text m "hi"  [in child]"#,
            r#"warning "no luck"  [in child]"#,
            r#"tool child failed: output=null content=["The turn failed"]"#,
            "done EndTurn completed",
        ]
    );
}

#[test]
fn the_calls_of_a_sub_agent_that_no_item_names_are_its_own() {
    let mut script = Script::new();
    let child = json!({ "id": "c1", "rootTurnId": "t1", "status": "inProgress" });
    script.agent(json!({ "method": "turn/started", "params": { "threadId": "child", "turn": child } }));
    let counts = json!({ "totalTokens": 7, "inputTokens": 7, "outputTokens": 0 });
    let usage = json!({ "total": counts, "last": counts, "modelContextWindow": 1000 });
    script.notice("thread/tokenUsage/updated", json!({ "threadId": "child", "turnId": "c1", "tokenUsage": usage }));
    script.usage(10, 10);
    let steps = script.events.iter().filter_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } if usage.billable => {
            Some((usage.parent_tool_call_id.as_deref(), usage.tokens.input_tokens))
        }
        _ => None,
    });
    assert_eq!(steps.collect::<Vec<_>>(), [(Some("child"), Some(7)), (None, Some(10))]);
}

#[test]
fn a_failed_turn_has_one_error() {
    let failure = json!({ "message": "{\"error\":{\"message\":\"No.\"}}", "codexErrorInfo": "other" });
    let ended = json!({ "threadId": "main", "turn": { "id": "t1", "status": "failed", "error": failure } });
    for notices in [0, 1, 2] {
        let mut script = Script::new();
        for _ in 0..notices {
            script.notice("error", json!({ "error": failure, "willRetry": false }));
        }
        script.agent(json!({ "method": "turn/completed", "params": ended }));
        assert_eq!(script.shown(), [r#"error Runtime agent_error retryable=false "No.""#, "done Failed failed"]);
    }
}

#[test]
fn ids_of_the_two_sides_are_told_apart() {
    let mut script = Script::new();
    script.host(json!({ "id": 0, "method": "turn/steer", "params": { "threadId": "main" } }));
    let question = json!({ "threadId": "main", "serverName": "s", "mode": "form", "message": "Name?", "requestedSchema": {} });
    script.agent(json!({ "id": 0, "method": "mcpServer/elicitation/request", "params": question }));
    script.agent(json!({ "id": "0", "method": "mcpServer/elicitation/request", "params": question }));
    script.agent(json!({ "id": 0, "result": {} }));
    script.host(json!({ "id": "0", "result": { "action": "decline" } }));
    script.notice("serverRequest/resolved", json!({ "requestId": "0" }));
    script.notice("serverRequest/resolved", json!({ "requestId": 0 }));
    assert_eq!(
        script.shown()[2..],
        ["question 0 answered: decline ", "question 0 answered: cancel "],
        "the second was answered, the first was not"
    );
}

#[test]
fn an_answer_that_is_an_error_gives_no_leave() {
    let mut script = Script::new();
    script
        .started(json!({ "type": "commandExecution", "id": "c", "command": "ls", "source": "agent", "status": "inProgress" }));
    script.agent(json!({ "id": 7, "method": "item/commandExecution/requestApproval", "params": { "threadId": "main", "turnId": "t1", "itemId": "c" } }));
    script.host(json!({ "id": 7, "error": { "code": -32000, "message": "not today" } }));
    assert_eq!(
        script.shown()[1..],
        [
            r#"permission 7 asked: Bash "ls" for c input={"command":"ls"} options=accept=allow_once,acceptForSession=allow_always,decline=reject_once"#,
            "permission 7 resolved: approved=false option=- for c (not today)",
        ]
    );
}

#[test]
fn a_question_is_a_form() {
    let mut script = Script::new();
    let questions = json!([
        { "id": "a", "header": "Env", "question": "Which?", "options": [{ "label": "dev", "description": "" }, { "label": "prod", "description": "live" }] },
        { "id": "b", "question": "Key?", "isSecret": true, "isOther": true, "options": null },
        { "id": "c", "question": "Colour?", "isOther": true, "options": [{ "label": "red" }] },
    ]);
    script.agent(json!({ "id": 1, "method": "item/tool/requestUserInput", "params": { "threadId": "main", "itemId": "q", "questions": questions } }));
    script.host(
        json!({ "id": 1, "result": { "answers": { "a": { "answers": ["dev"] }, "c": { "answers": ["red", "blue"] } } } }),
    );
    let EventKind::QuestionAsked(asked) = &script.events[0].kind else { panic!("no question") };
    let form = json!({
        "type": "object",
        "properties": {
            "a": {
                "type": "string", "title": "Env", "description": "Which?",
                "oneOf": [{ "const": "dev", "title": "dev" }, { "const": "prod", "title": "prod", "description": "live" }],
            },
            "b": { "type": "string", "description": "Key?", "_meta": { "amalgm": { "secret": true } } },
            "c": { "type": "string", "description": "Colour?", "oneOf": [{ "const": "red", "title": "red" }] },
            "c_other": { "type": "string", "title": "Other" },
        },
        "required": ["a", "b"],
    });
    assert_eq!(asked.form.as_ref(), Some(&form));
    assert_eq!(asked.message, "Which?\nKey?\nColour?");
    let EventKind::QuestionAnswered(answered) = &script.events[1].kind else { panic!("no answer") };
    assert_eq!((answered.action.as_str(), &answered.content), ("accept", &Some(json!({ "a": "dev", "c": ["red", "blue"] }))));
}

#[test]
fn a_call_counts_once_though_it_is_reported_twice() {
    let response = |script: &mut Script, id: &str, tokens: u64| {
        let usage = json!({ "totalTokens": tokens, "inputTokens": tokens, "outputTokens": 0 });
        script.notice("rawResponse/completed", json!({ "responseId": id, "usage": usage }));
    };
    let mut script = Script::new();
    response(&mut script, "r1", 10);
    script.usage(10, 10);
    // A report of the response was lost, then a report of the total.
    script.usage(30, 20);
    response(&mut script, "r3", 40);
    response(&mut script, "r4", 50);
    script.usage(120, 50);
    script.notice("rawResponse/completed", json!({ "responseId": "r5", "usage": null }));
    script.usage(120, 50);
    let step = |id: &str, tokens: Option<u64>| (id.to_owned(), tokens);
    assert_eq!(
        script.steps(),
        [step("r1", Some(10)), step("main:t1:3", Some(20)), step("r3", Some(40)), step("r4", Some(50)), step("r5", None),]
    );
}

#[test]
fn an_interrupted_call_counts_unknown_tokens() {
    let mut script = Script::new();
    script.message("m").says("m", "Once").end("main", "t1", "interrupted");
    assert_eq!(script.steps(), [("main:t1:1".to_owned(), None)]);
    // A call that was reported is known.
    let mut script = Script::new();
    script.message("m").whole("m", "Once").usage(5, 5).end("main", "t1", "interrupted");
    assert_eq!(script.steps(), [("main:t1:1".to_owned(), Some(5))]);
}

#[test]
fn a_new_model_is_told_once() {
    let mut script = Script::new();
    let settings = json!({ "threadSettings": { "model": "big", "modelProvider": "p", "cwd": "/w" } });
    script.notice("thread/settings/updated", settings.clone()).notice("thread/settings/updated", settings);
    script.notice("model/rerouted", json!({ "fromModel": "big", "toModel": "small" })).usage(5, 5);
    assert_eq!(script.shown(), ["session main cwd=/w model=big mcp=[]", "session main cwd=/w model=small mcp=[]"]);
    let EventKind::UsageFinal { usage } = &script.events[2].kind else { panic!("no usage") };
    assert_eq!(usage.model.model_id.as_deref(), Some("small"));
}

#[test]
fn a_refused_start_ends_the_turn_only_where_none_runs() {
    let refuse = |script: &mut Script, id: u64| {
        script.host(json!({ "id": id, "method": "turn/start", "params": { "threadId": "main" } }));
        script.agent(json!({ "id": id, "error": { "code": -32600, "message": "not logged in" } }));
    };
    let mut script = Script::new();
    refuse(&mut script, 1);
    script.end("main", "t1", "completed");
    refuse(&mut script, 2);
    assert_eq!(
        script.shown(),
        [
            r#"warning "not logged in""#,
            "done EndTurn completed",
            r#"error Auth login_required retryable=false "not logged in""#,
            "done Failed -",
        ]
    );
}

#[test]
fn a_compaction_that_the_turn_abandons_has_failed() {
    let mut script = Script::new();
    script.started(json!({ "type": "contextCompaction", "id": "c" })).end("main", "t1", "failed");
    assert_eq!(
        script.shown()[..2],
        ["compaction c started: Some(Auto) pre=None", "compaction c failed: Some(Auto) pre=None post=None"]
    );
}

/// The model of each call, whose turns begin as the host asks.
fn models_in(opening: Value, turns: &[Value]) -> Vec<(Option<String>, bool)> {
    let mut script = Script { normalizer: common::normalizer(), events: Vec::new() };
    script.host(json!({ "id": 1, "method": "thread/start", "params": {} }));
    let mut answer = opening;
    answer["thread"] = json!({ "id": "main" });
    script.agent(json!({ "id": 1, "result": answer }));
    for (number, params) in turns.iter().enumerate() {
        let (mut params, turn) = (params.clone(), format!("t{number}"));
        if let Some(changed) = params.as_object_mut().and_then(|params| params.remove("changed")) {
            let notice = json!({ "threadId": "main", "threadSettings": changed });
            script.agent(json!({ "method": "thread/settings/updated", "params": notice }));
        }
        params["threadId"] = "main".into();
        script.host(json!({ "id": number + 2, "method": "turn/start", "params": params }));
        script.turn("main", &turn);
        let usage = json!({ "inputTokens": 10, "outputTokens": 5, "totalTokens": 15 });
        let response = json!({ "threadId": "main", "turnId": turn, "responseId": format!("r{number}"), "usage": usage });
        script.agent(json!({ "method": "rawResponse/completed", "params": response }));
        script.end("main", &turn, "completed");
    }
    let usage = script.events.iter().filter_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } if usage.billable => Some((usage.model.model_id.clone(), usage.model.is_undetermined)),
        _ => None,
    });
    usage.collect()
}

#[test]
fn a_service_tier_is_part_of_the_models_name() {
    let named = |opening: Value, turns: &[Value]| -> Vec<String> {
        models_in(opening, turns).into_iter().filter_map(|(model, _)| model).collect()
    };
    let plain = || json!({});
    let fast = || json!({ "model": "m", "serviceTier": "priority" });
    assert_eq!(named(json!({ "model": "m", "serviceTier": null }), &[plain()]), ["m"]);
    assert_eq!(named(json!({ "model": "m", "serviceTier": "flex" }), &[plain()]), ["m-flex"]);
    // One turn may be another than the others.
    let for_turn = |tier: &str| json!({ "serviceTierForTurn": tier });
    assert_eq!(named(fast(), &[plain(), for_turn("default"), plain()]), ["m-fast", "m", "m-fast"]);
    assert_eq!(named(json!({ "model": "m" }), &[for_turn("priority"), plain()]), ["m-fast", "m"]);
    // A change of something else leaves the tier; a null takes it back.
    let changed = |settings: Value| json!({ "changed": settings });
    let turns = [changed(json!({ "model": "n" })), changed(json!({ "serviceTier": null }))];
    assert_eq!(named(fast(), &turns), ["n-fast", "n"]);
}

#[test]
fn a_call_of_an_unknown_model_in_a_tier_has_no_price_of_another() {
    assert_eq!(models_in(json!({ "serviceTier": "priority" }), &[json!({})]), [(None, true)]);
    assert_eq!(models_in(json!({}), &[json!({})]), [(None, false)]);
}

#[test]
fn the_model_of_the_past_compacts_it() {
    let compacted = |before: &[Value], asked: bool| {
        let mut script = Script { normalizer: common::normalizer(), events: Vec::new() };
        script.host(json!({ "id": 1, "method": "thread/resume", "params": { "threadId": "main" } }));
        script.agent(json!({ "id": 1, "result": { "thread": { "id": "main" }, "model": "new" } }));
        for message in before {
            script.agent(message.clone());
        }
        if asked {
            script.host(json!({ "id": 2, "method": "thread/compact/start", "params": { "threadId": "main" } }));
        }
        script.turn("main", "t1");
        for (number, compacts) in [true, false].into_iter().enumerate() {
            let item = json!({ "type": "contextCompaction", "id": "c" });
            if compacts {
                script.started(item.clone());
            }
            let usage = json!({ "inputTokens": 10, "outputTokens": 5, "totalTokens": 15 });
            script.notice("rawResponse/completed", json!({ "responseId": format!("r{number}"), "usage": usage }));
            if compacts {
                script.completed(item);
            }
        }
        let models = script.events.iter().filter_map(|event| match &event.kind {
            EventKind::UsageFinal { usage } if usage.billable => usage.model.model_id.clone(),
            _ => None,
        });
        models.collect::<Vec<_>>()
    };
    let warning = |message: &str| json!({ "method": "warning", "params": { "threadId": "main", "message": message } });
    let other =
        warning("This session was recorded with model `old` but is resuming with `new`. Consider switching back to `old`.");
    assert_eq!(compacted(std::slice::from_ref(&other), false), ["old", "new"]);
    assert_eq!(compacted(&[], false), ["new", "new"]);
    assert_eq!(compacted(&[warning("Something else with `old`.")], false), ["new", "new"]);
    // A compaction that the host asks for is done by the thread's model.
    assert_eq!(compacted(&[other], true), ["new", "new"]);
}

/// Ids and input tokens of all steps.
fn steps_of(script: &Script) -> Vec<(String, Option<u64>)> {
    let steps = script.events.iter().filter_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } if usage.billable => Some((usage.id.clone(), usage.tokens.input_tokens)),
        _ => None,
    });
    steps.collect()
}

#[test]
fn a_response_without_counts_makes_the_sum_unknown() {
    let inputs = |script: &Script| steps_of(script).into_iter().map(|(_, input)| input).collect::<Vec<_>>();
    // The total is told again as it was.
    let mut script = Script::new();
    script.usage(10, 10).command("c1");
    script.usage(10, 10).command("c2");
    script.usage(30, 20).end("main", "t1", "completed");
    assert_eq!(inputs(&script), [Some(10), None, Some(20)]);
    // Of the first call of all.
    let mut script = Script::new();
    script.command("c1").usage(0, 0).command("c2").usage(10, 10).end("main", "t1", "completed");
    assert_eq!(inputs(&script), [None, Some(10)]);
    // Nothing is told at all: the turn ends well, or the process dies while a tool runs.
    let mut script = Script::new();
    script.usage(10, 10).started(json!({ "type": "agentMessage", "id": "m", "text": "" })).end("main", "t1", "completed");
    assert_eq!(inputs(&script), [Some(10), None]);
    let mut script = Script::new();
    script.usage(10, 10).command("c1").finish();
    assert_eq!(inputs(&script), [Some(10), None]);
    // A start that is told twice is one call's.
    let mut script = Script::new();
    script.command("c1").usage(10, 10).command("c1").usage(30, 20).command("c1").end("main", "t1", "completed");
    assert_eq!(inputs(&script), [Some(10), Some(20)]);
    // No model asks for what the user runs in a shell of his own.
    let mut script = Script::new();
    script.usage(10, 10).started(
        json!({ "type": "commandExecution", "id": "u", "command": "ls", "cwd": "/w", "status": "inProgress", "source": "userShell" }),
    );
    script.usage(10, 10).end("main", "t1", "completed");
    assert_eq!(inputs(&script), [Some(10)]);
    // A call whose counts came before its tools, and whose total came no more.
    let mut script = Script::new();
    let usage = json!({ "totalTokens": 10, "inputTokens": 10, "outputTokens": 0 });
    script.notice("rawResponse/completed", json!({ "responseId": "r1", "usage": usage })).command("c1").finish();
    assert_eq!(steps_of(&script), [("r1".to_owned(), Some(10))]);
}

#[test]
fn a_call_is_what_the_total_grew_by() {
    let mut script = Script::new();
    // The report of a call between was lost: what the two took together is known.
    script.usage(10, 10).usage(60, 20);
    // The total was set anew.
    script.usage(5, 5);
    assert_eq!(steps_of(&script).into_iter().map(|(_, input)| input).collect::<Vec<_>>(), [Some(10), Some(50), Some(5)]);
}
