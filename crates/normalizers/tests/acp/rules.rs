//! The traps of the protocol and of its agents, one by one.

use crate::session::Session;
use crate::support::{self, meanings};
use chat_grammar::event::{DecidedBy, EventKind, FailureClass, FinishReason, Side, Stop, ToolCompleted};
use serde_json::json;

fn texts(tool: &ToolCompleted) -> String {
    json!(tool.content).to_string()
}

#[test]
fn a_status_never_goes_back_nor_comes_twice() {
    let mut session = Session::new("acp");
    session.call("a", json!({ "title": "ls", "kind": "execute", "name": "Bash", "status": "in_progress" }));
    session.news("a", json!({ "status": "in_progress" }));
    session.news("a", json!({ "status": "pending" }));
    assert_eq!(session.relayed().len(), 1, "what says nothing new is not passed on");
    session.news("a", json!({ "status": "pending", "title": "ls -l" }));
    assert_eq!(session.last(), (json!({ "sessionUpdate": "tool_call_update", "toolCallId": "a", "title": "ls -l" }), true));
    session.news("a", json!({ "status": "completed" }));
    session.news("a", json!({ "status": "failed" }));
    session.call("a", json!({ "title": "again" }));
    assert_eq!((session.completed().len(), session.started().len(), session.count("late_tool_update")), (1, 1, 2));
}

#[test]
fn other_words_for_a_status_are_understood() {
    let mut session = Session::new("acp");
    for (id, word, fails) in [("a", "cancelled", true), ("b", "success", false), ("c", "error", true)] {
        session.call(id, json!({ "title": "x", "status": "strange" }));
        assert_eq!(session.last().0.get("status"), None);
        session.news(id, json!({ "status": word }));
        assert_eq!(session.last().0["status"], if fails { "failed" } else { "completed" });
    }
}

#[test]
fn a_call_that_is_announced_as_ended_starts_and_ends() {
    let mut session = Session::new("acp");
    session.call("a", json!({ "title": "ls", "kind": "execute", "status": "completed", "rawOutput": { "exitCode": 2 } }));
    assert_eq!((session.started()[0].pending, session.completed()[0].is_error), (false, true));
    assert_eq!(session.completed()[0].output, json!({ "exitCode": 2 }));
    assert_eq!(session.relayed().iter().rev().take(2).filter(|relayed| relayed.update.is_changed()).count(), 2);
}

#[test]
fn an_id_of_an_earlier_turn_is_another_call() {
    let mut session = Session::new("acp");
    for _ in 0..3 {
        session.call("call_1", json!({ "title": "ls" }));
        session.news("call_1", json!({ "status": "completed", "rawOutput": 1 }));
        session.stop(json!({}));
        session.prompt();
    }
    let ids: Vec<&str> = session.completed().iter().map(|tool| tool.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["call_1", "call_1#2", "call_1#3"]);
    assert_eq!(session.last().0["toolCallId"], "call_1#3");
}

#[test]
fn a_call_may_have_the_id_that_an_earlier_one_was_shown_with() {
    let mut session = Session::new("acp");
    for id in ["a", "a", "a#2"] {
        session.call(id, json!({ "title": "ls" }));
        session.news(id, json!({ "status": "completed" }));
        session.stop(json!({}));
        session.prompt();
    }
    let ids: Vec<&str> = session.completed().iter().map(|tool| tool.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["a", "a#2", "a#2#2"]);
}

#[test]
fn what_a_second_announcement_leaves_empty_stays() {
    let mut session = Session::new("acp");
    session.call("a", json!({ "title": "ls", "name": "Bash", "rawInput": { "command": "ls" } }));
    session.call("a", json!({ "title": "list", "rawInput": {}, "content": [], "status": "pending" }));
    assert_eq!(session.last().0, json!({ "sessionUpdate": "tool_call_update", "toolCallId": "a", "title": "list" }));
}

#[test]
fn growing_content_is_told_by_what_is_new() {
    let mut session = Session::new("acp");
    let content = |text: &str| json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    session.call("a", json!({ "title": "ls", "name": "Bash", "kind": "execute", "status": "in_progress" }));
    let mut whole = String::new();
    for piece in ["one\n", "two\n", "", "three\n"] {
        whole += piece;
        session.news("a", json!({ "content": content(&whole) }));
    }
    let pieces: Vec<Option<&str>> = session.updated().iter().map(|tool| tool.output_delta.as_deref()).collect();
    assert_eq!(pieces, [None, Some("two\n"), Some("three\n")]);
    assert_eq!(session.last().0.get("content"), None);
    session.stop(json!({}));
    assert!(texts(session.completed()[0]).contains("one\\ntwo\\nthree\\n"), "what was shown stays");
}

#[test]
fn growing_content_costs_what_it_grows() {
    let mut session = Session::new("acp");
    session.call("a", json!({ "title": "ls", "name": "Bash", "kind": "execute", "status": "in_progress" }));
    let mut whole = String::new();
    for _ in 0..200 {
        whole += &"0123456789abcdef".repeat(64);
        session.news("a", json!({ "content": [{ "type": "content", "content": { "type": "text", "text": whole } }] }));
    }
    let bytes: usize = session.relayed().iter().map(|relayed| relayed.update.json().len()).sum();
    let told: usize = session.updated().iter().filter_map(|tool| tool.output_delta.as_ref()).map(String::len).sum();
    assert!(bytes + told < 2 * whole.len(), "{bytes} and {told} of {}", whole.len());
}

#[test]
fn the_output_of_a_terminal_that_the_host_does_not_have_is_shown() {
    let mut session = Session::new("acp");
    let terminal = json!([{ "type": "terminal", "terminalId": "a" }]);
    session.call(
        "a",
        json!({ "title": "ls", "name": "exec_command", "kind": "execute", "status": "in_progress", "content": terminal }),
    );
    assert_eq!(session.last().0["name"], "Bash");
    session.news("a", json!({ "_meta": { "terminal_output_delta": { "data": "one\n" } } }));
    assert_eq!((session.last().1, session.updated()[0].output_delta.as_deref()), (false, Some("one\n")));
    session
        .news("a", json!({ "status": "completed", "_meta": { "terminal_exit": { "exit_code": null, "signal": "SIGKILL" } } }));
    let tool = session.completed()[0];
    assert_eq!((tool.is_error, &tool.output), (true, &json!({ "exitCode": null, "signal": "SIGKILL", "output": "one\n" })));
    assert!(texts(tool).contains("one\\n") && !texts(tool).contains("terminal"));
}

#[test]
fn long_output_of_a_terminal_is_not_repeated() {
    let mut session = Session::new("acp");
    session.call("a", json!({ "title": "ls", "kind": "execute", "status": "in_progress" }));
    let piece = "x".repeat(100_000);
    (0..20).for_each(|_| session.news("a", json!({ "_meta": { "terminal_output_delta": { "data": piece } } })));
    session.news("a", json!({ "status": "completed", "_meta": { "terminal_exit": { "exit_code": 0 } } }));
    let relayed = session.relayed();
    let update = &relayed.last().unwrap().update;
    assert_eq!(update.truncated, Some(2_000_000));
    assert!(update.json().len() < 600_000);
}

#[test]
fn a_request_makes_its_call_known_and_a_denial_fails_it() {
    let mut session = Session::new("acp");
    let diff = json!([{ "type": "diff", "path": "/w/a", "oldText": null, "newText": "x" }]);
    session.ask(0, json!({ "toolCallId": "a", "status": "pending", "title": "Write a", "kind": "edit", "content": diff }));
    let started = session.started()[0];
    assert_eq!((started.tool_name.as_str(), started.content.len(), started.pending), ("Write", 1, true));
    session.choose(0, "no");
    session.news("a", json!({ "status": "completed" }));
    assert!(session.completed()[0].is_error && texts(session.completed()[0]).contains("declined"));
    assert_eq!(session.last().0["status"], "failed");
}

#[test]
fn an_open_request_ends_with_its_turn() {
    let mut session = Session::new("acp");
    session.ask(0, json!({ "toolCallId": "a", "title": "rm", "kind": "execute" }));
    session.ask(0, json!({ "toolCallId": "a", "title": "rm", "kind": "execute" }));
    session.host(json!({ "method": "session/cancel", "params": { "sessionId": "s" } }));
    session.stop(json!({ "stopReason": "cancelled" }));
    session.choose(0, "yes");
    let resolved: Vec<DecidedBy> = meanings(&session.events)
        .filter_map(|kind| if let EventKind::PermissionResolved(resolved) = kind { Some(resolved.by) } else { None })
        .collect();
    assert_eq!(resolved, [DecidedBy::TurnEnd]);
    assert!(session.completed()[0].is_error);
}

#[test]
fn a_request_that_is_taken_back_or_refused_is_over() {
    let mut session = Session::new("acp");
    session.ask(0, json!({ "toolCallId": "a", "title": "rm" }));
    session.agent(json!({ "method": "$/cancel_request", "params": { "requestId": 0 } }));
    session.ask(1, json!({ "toolCallId": "a", "title": "rm" }));
    session.host(json!({ "id": 1, "error": { "code": -32603, "message": "no" } }));
    let reasons: Vec<Option<&str>> = meanings(&session.events)
        .filter_map(
            |kind| if let EventKind::PermissionResolved(resolved) = kind { Some(resolved.reason.as_deref()) } else { None },
        )
        .collect();
    assert_eq!(reasons, [Some("The agent took the request back"), Some("The request was refused")]);
}

#[test]
fn both_sides_use_the_same_ids() {
    let mut session = Session::new("acp");
    session.ask(11, json!({ "toolCallId": "a", "title": "rm" }));
    // The answer to the prompt, whose id is 11 too.
    session.stop(json!({}));
    assert!(meanings(&session.events).any(|kind| matches!(kind, EventKind::Done { stop_reason: Stop::EndTurn, .. })));
}

#[test]
fn an_elicitation_is_a_question() {
    let mut session = Session::new("acp");
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let params = json!({ "sessionId": "s", "mode": "form", "message": "Who?", "requestedSchema": schema });
    session.agent(json!({ "id": "q1", "method": "elicitation/create", "params": params }));
    session.host(json!({ "id": "q1", "result": { "action": "accept", "content": { "name": "me" } } }));
    let url =
        json!({ "sessionId": "s", "mode": "url", "message": "Log in", "url": "https://example.invalid", "elicitationId": "e" });
    session.agent(json!({ "id": 5, "method": "elicitation/create", "params": url }));
    let told: Vec<String> = session.events.iter().rev().take(3).map(crate::render::event).collect();
    assert_eq!(told[2], format!("question q1 asked: \"Who?\" for - form={schema} url="));
    assert_eq!(told[1], "question q1 answered: accept {\"name\":\"me\"}");
    assert_eq!(told[0], "question 5 asked: \"Log in\" for - form= url=https://example.invalid e");
}

#[test]
fn what_only_the_agents_word_says_is_kept() {
    let mut session = Session::new("acp");
    let update = json!({ "sessionUpdate": "tool_call", "toolCallId": "a", "title": "x", "name": "Odd", "kind": "levitate", "odd": [1.0, null], "oldText": null });
    session.update(update.clone());
    assert_eq!(session.last(), (update, false));
    session.update(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "hologram", "data": 1 } }));
    session.update(json!({ "sessionUpdate": "aurora", "sky": "green" }));
    assert_eq!(session.last(), (json!({ "sessionUpdate": "aurora", "sky": "green" }), false));
    assert_eq!((session.count("agent_message_chunk hologram"), session.count("aurora")), (1, 1));
}

#[test]
fn a_wrong_type_harms_its_message_only() {
    let mut session = Session::new("acp");
    session.call("a", json!({ "title": 5 }));
    session.update(json!({ "sessionUpdate": "tool_call", "toolCallId": 7, "title": "x" }));
    session.update(json!({ "sessionUpdate": "agent_message_chunk", "content": "text" }));
    session.update(json!({ "sessionUpdate": "plan", "entries": {} }));
    session.update(json!(null));
    assert_eq!((session.count("session/update"), session.started().len()), (5, 0));
    session.call("a", json!({ "title": "fine" }));
    assert_eq!(session.started().len(), 1);
}

#[test]
fn another_session_is_none_of_ours() {
    let mut session = Session::new("acp");
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "x" } });
    session.agent(json!({ "method": "session/update", "params": { "sessionId": "other", "update": update } }));
    assert_eq!((session.relayed().len(), session.count("foreign_session")), (0, 1));
}

#[test]
fn a_loaded_session_tells_its_state_but_not_its_past() {
    let mut session = Session::new("acp");
    session.stop(json!({}));
    session.host(json!({ "id": 2, "method": "session/load", "params": { "sessionId": "s", "cwd": "/w" } }));
    session.call("old", json!({ "title": "x", "status": "completed" }));
    session.update(json!({ "sessionUpdate": "plan", "entries": [] }));
    session.update(json!({ "sessionUpdate": "session_info_update", "title": "Old title" }));
    session.agent(json!({ "id": 2, "result": null }));
    session.update(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "old tail" } }));
    assert_eq!((session.relayed().len(), session.count("replayed_history")), (1, 3));
    session.prompt();
    session.call("old", json!({ "title": "x" }));
    assert_eq!(session.started().len(), 1, "an id of the past is free");
}

#[test]
fn a_session_that_was_not_asked_for_is_an_error() {
    let mut session = Session::new("cursor");
    session.host(json!({ "id": 2, "method": "session/load", "params": { "sessionId": "s", "cwd": "/w" } }));
    session.agent(json!({ "id": 2, "result": { "sessionId": "other" } }));
    assert!(
        meanings(&session.events).any(|kind| matches!(kind, EventKind::Error(error) if error.class == FailureClass::Runtime))
    );
}

#[test]
fn context_fullness_has_both_numbers_or_is_not_passed_on() {
    let mut session = Session::new("acp");
    session.update(json!({ "sessionUpdate": "usage_update", "used": null, "size": 200 }));
    session.update(json!({ "sessionUpdate": "usage_update", "used": 1.5, "size": 200 }));
    assert_eq!(session.relayed().len(), 0);
    session.update(json!({ "sessionUpdate": "usage_update", "used": 5, "size": 200, "_meta": { "x": 1 } }));
    assert!(!session.last().1);
    session
        .update(json!({ "sessionUpdate": "usage_update", "used": 5, "size": 200, "cost": { "amount": 1, "currency": "USD" } }));
    assert_eq!(session.last(), (json!({ "sessionUpdate": "usage_update", "used": 5, "size": 200 }), true));
    let contexts = meanings(&session.events).filter_map(|kind| match kind {
        EventKind::UsageFinal { usage } => Some((usage.id.as_str(), usage.context.used)),
        _ => None,
    });
    assert_eq!(
        contexts.collect::<Vec<_>>(),
        [("s:context:1", None), ("s:context:1", None), ("s:context:2", Some(5)), ("s:context:2", Some(5))]
    );
}

fn cost(session: &mut Session, amount: f64) {
    session.update(
        json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": { "amount": amount, "currency": "USD" } }),
    );
}

#[test]
fn the_cost_of_a_turn_is_what_the_sessions_cost_grew_by() {
    let usage = json!({ "usage": { "inputTokens": 1, "outputTokens": 1, "totalTokens": 2 } });
    let mut session = Session::new("acp");
    for amount in [Some(0.0008), Some(0.0016), None, Some(0.0032), Some(0.004)] {
        if let Some(amount) = amount {
            cost(&mut session, amount);
        }
        session.stop(usage.clone());
        session.prompt();
    }
    session.host(json!({ "id": 2, "method": "session/resume", "params": { "sessionId": "s" } }));
    session.agent(json!({ "id": 2, "result": {} }));
    session.prompt();
    cost(&mut session, 0.005);
    session.stop(usage);
    let costs: Vec<Option<f64>> = session.steps().iter().map(|step| step.native_cost_usd).collect();
    // Where a turn was not accounted for, nobody knows what the next one cost; nor where the session is older than its process.
    assert_eq!(costs, [Some(0.0008), Some(0.0008), None, None, Some(0.0008), None]);
}

#[test]
fn a_cost_is_known_in_dollars_and_where_it_grows() {
    let usage = json!({ "usage": { "inputTokens": 1, "outputTokens": 1, "totalTokens": 2 } });
    let mut session = Session::new("acp");
    let euros = json!({ "amount": 0.5, "currency": "EUR" });
    session.update(json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": euros }));
    session.stop(usage.clone());
    // A session that was picked up: its first turn's cost is not known, its second's is; and what shrinks is no cost.
    session.host(json!({ "id": 2, "method": "session/resume", "params": { "sessionId": "s" } }));
    session.agent(json!({ "id": 2, "result": {} }));
    for amount in [0.005, 0.007, 0.001] {
        session.prompt();
        cost(&mut session, amount);
        session.stop(usage.clone());
    }
    let costs: Vec<Option<f64>> = session.steps().iter().map(|step| step.native_cost_usd).collect();
    assert_eq!(costs, [None, None, Some(0.002), None]);
}

#[test]
fn zeros_after_a_tool_call_are_no_counts() {
    let mut session = Session::new("acp");
    session.call("a", json!({ "title": "ls", "kind": "execute" }));
    session.stop(json!({ "usage": { "inputTokens": 0, "outputTokens": 0, "totalTokens": 0 } }));
    // A command of the agent's own, for which no model was asked.
    session.prompt();
    session.stop(json!({ "usage": { "inputTokens": 0, "outputTokens": 0, "totalTokens": 0 } }));
    let steps: Vec<_> = session.steps().iter().map(|step| (step.tokens.input_tokens, step.exact)).collect();
    assert_eq!(steps, [(None, false), (Some(0), true)]);
}

#[test]
fn the_models_of_a_turn_may_have_counted_more_than_its_main_loop() {
    let mut session = Session::new("acp");
    let counts = |input: u64, output: u64| {
        json!({ "totalTokens": input + output, "inputTokens": input, "outputTokens": output, "cachedInputTokens": 0,
            "cachedWriteTokens": 0 })
    };
    let usage = json!({ "totalTokens": 120, "inputTokens": 100, "outputTokens": 20 });
    let one = json!({ "model": "a", "token_count": counts(150, 30) });
    let other = json!({ "model": "b", "token_count": counts(7, 3) });
    let less = json!({ "model": "a", "token_count": counts(10, 3) });
    for models in [json!([one]), json!([one, other]), json!([less]), json!([{ "model": "a" }])] {
        session.stop(json!({ "usage": usage, "_meta": { "quota": { "model_usage": models } } }));
        session.prompt();
    }
    let steps: Vec<_> = session
        .steps()
        .iter()
        .map(|step| {
            let (tokens, model) = (&step.tokens, &step.model);
            (tokens.input_tokens, tokens.output_tokens, model.model_id.as_deref(), model.is_undetermined)
        })
        .collect();
    let expected = [
        (Some(150), Some(30), Some("a"), false),
        (Some(157), Some(33), None, true),
        (Some(100), Some(20), Some("a"), false),
        (Some(100), Some(20), Some("a"), false),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn open_code_counts_the_last_call_as_if_it_were_the_turn() {
    let steps = |agent: &str| {
        let mut session = Session::new("acp");
        session.host(json!({ "id": 0, "method": "initialize", "params": {} }));
        session.agent(json!({ "id": 0, "result": { "agentInfo": { "name": agent } } }));
        session.host(json!({ "id": 1, "method": "session/new", "params": { "cwd": "/w" } }));
        session.agent(json!({ "id": 1, "result": { "sessionId": "s" } }));
        session.prompt();
        session.call("a", json!({ "title": "ls", "kind": "execute" }));
        session.news("a", json!({ "status": "completed" }));
        let usage = json!({ "usage": { "inputTokens": 10, "outputTokens": 5, "totalTokens": 15 } });
        session.stop(usage.clone());
        session.prompt();
        session.update(json!({ "sessionUpdate": "usage_update", "used": 0, "size": 200 }));
        session.stop(usage);
        let steps: Vec<_> = session.steps().iter().map(|step| (step.tokens.input_tokens, step.exact)).collect();
        let empty = meanings(&session.events)
            .any(|kind| matches!(kind, EventKind::UsageFinal { usage } if usage.context.used == Some(0)));
        (steps, empty)
    };
    assert_eq!(steps("OpenCode"), (vec![(None, false), (Some(10), true)], false));
    assert_eq!(steps("another"), (vec![(Some(10), true), (Some(10), true)], true));
}

#[test]
fn reasoning_is_part_of_the_output() {
    let mut session = Session::new("acp");
    for usage in [
        json!({ "totalTokens": 130, "inputTokens": 100, "outputTokens": 20, "thoughtTokens": 10 }),
        json!({ "totalTokens": 120, "inputTokens": 100, "outputTokens": 20, "thoughtTokens": 10 }),
        json!({ "inputTokens": 100, "outputTokens": 20, "thoughtTokens": 10, "cachedReadTokens": -5 }),
    ] {
        session.stop(json!({ "usage": usage }));
        session.prompt();
    }
    let outputs: Vec<_> = session
        .steps()
        .iter()
        .map(|step| (step.tokens.output_tokens, step.reasoning_tokens, step.tokens.cache_read_tokens))
        .collect();
    assert_eq!(outputs, [(Some(30), Some(10), None), (Some(20), Some(10), None), (Some(20), Some(10), None)]);
}

#[test]
fn an_answer_without_counts_is_no_step() {
    let mut session = Session::new("acp");
    session.stop(json!({ "usage": null, "_meta": { "quota": 5 } }));
    assert_eq!(session.steps().len(), 0);
}

#[test]
fn an_unknown_stop_reason_keeps_its_word() {
    let mut session = Session::new("acp");
    session.stop(json!({ "stopReason": "bored" }));
    let done = session.events.pop().unwrap();
    assert_eq!(done.kind, EventKind::Done { stop_reason: Stop::EndTurn, native_stop_reason: Some("bored".to_owned()) });
}

#[test]
fn a_prompt_always_ends() {
    let mut session = Session::new("acp");
    session.agent(json!({ "id": 11, "result": [] }));
    session.prompt();
    session.agent(json!({ "id": 12, "error": "what" }));
    session.prompt();
    session.agent(json!({ "id": 13, "error": { "code": -32800, "message": "Request cancelled" } }));
    let stops: Vec<Stop> = meanings(&session.events)
        .filter_map(|kind| if let EventKind::Done { stop_reason, .. } = kind { Some(*stop_reason) } else { None })
        .collect();
    assert_eq!(stops, [Stop::EndTurn, Stop::Failed, Stop::Cancelled]);
}

#[test]
fn settings_are_told_whichever_way_the_agent_tells_them() {
    let mut session = Session::new("acp");
    let options = json!([{ "id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "a", "options": [], "odd": 1.0 }]);
    session.host(json!({ "id": 2, "method": "session/set_config_option", "params": { "sessionId": "s", "configId": "model", "value": "a" } }));
    session.agent(json!({ "id": 2, "result": { "configOptions": options } }));
    assert_eq!(session.last(), (json!({ "sessionUpdate": "config_option_update", "configOptions": options }), true));
    session.host(json!({ "id": 3, "method": "session/set_config_option", "params": {} }));
    session.agent(json!({ "id": 3, "result": { "configOptions": options } }));
    assert_eq!(session.relayed().len(), 1, "what is known is not told again");
    session.host(json!({ "id": 4, "method": "session/set_mode", "params": { "sessionId": "s", "modeId": "plan" } }));
    session.update(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" }));
    session.agent(json!({ "id": 4, "result": {} }));
    let modes = meanings(&session.events).filter(|kind| matches!(kind, EventKind::Mode { .. })).count();
    assert_eq!(modes, 1);
    session.host(json!({ "id": 5, "method": "session/set_mode", "params": { "modeId": "no" } }));
    session.agent(json!({ "id": 5, "error": { "code": -32603, "message": "Internal error" } }));
    assert!(
        !meanings(&session.events).any(|kind| matches!(kind, EventKind::Done { .. })),
        "a setting that is refused ends nothing"
    );
}

#[test]
fn a_compaction_begins_and_ends_once() {
    let mut session = Session::new("acp");
    let compaction = |status: &str| json!({ "sessionUpdate": "compaction_update", "compactionId": "c", "status": status });
    session.update(compaction("in_progress"));
    session.update(compaction("in_progress"));
    session.update(
        json!({ "sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": { "type": "text", "text": "…" } }),
    );
    session.update(json!({ "sessionUpdate": "notice", "severity": "error", "title": "careful" }));
    session.stop(json!({}));
    let told: Vec<&EventKind> = meanings(&session.events)
        .filter(|kind| matches!(kind, EventKind::CompactionStarted { .. } | EventKind::CompactionFinished(_)))
        .collect();
    assert!(matches!(told.as_slice(), [EventKind::CompactionStarted { .. }, EventKind::CompactionFinished(end)] if end.failed));
    assert_eq!(session.relayed().len(), 4);
    assert!(!meanings(&session.events).any(|kind| matches!(kind, EventKind::Error(_))), "a notice ends nothing");
}

#[test]
fn mcp_tools_are_named_by_server_and_tool() {
    let mut session = Session::new("acp");
    session.call("a", json!({ "title": "tiny_text", "kind": "other" }));
    session.call("b", json!({ "title": "mcp.echo.say", "kind": "execute", "rawInput": { "server": "echo", "tool": "say" }, "_meta": { "is_mcp_tool_call": true } }));
    let output = json!({ "result": { "content": [{ "type": "text", "text": "one" }, { "type": "image", "data": "AA==", "mimeType": "image/png" }] } });
    session.news("b", json!({ "status": "completed", "rawOutput": output }));
    let names: Vec<_> = session
        .started()
        .iter()
        .map(|tool| (tool.tool_name.as_str(), tool.mcp.as_ref().map(|mcp| mcp.server.as_str())))
        .collect();
    assert_eq!(names, [("text", Some("tiny")), ("say", Some("echo"))]);
    assert_eq!(session.completed()[0].content.len(), 2, "every block survives");
}

#[test]
fn a_new_process_answers_nothing_of_the_old_one() {
    let mut session = Session::new("acp");
    session.call("a", json!({ "title": "x" }));
    session.ask(0, json!({ "toolCallId": "a", "title": "x" }));
    session.host(json!({ "id": 0, "method": "initialize", "params": {} }));
    assert!(session.completed()[0].is_error);
    session.stop(json!({}));
    assert!(!meanings(&session.events).any(|kind| matches!(kind, EventKind::Done { .. })));
}

#[test]
fn where_only_the_agent_is_shown_its_answer_ends_the_turn() {
    let mut normalizer = support::normalizer("acp");
    let mut events = Vec::new();
    normalizer.push(r#"{"id":3,"result":{"stopReason":"end_turn"}}"#, Side::Agent, &mut events);
    assert!(matches!(events[0].kind, EventKind::Done { .. }));
    normalizer.finish(FinishReason::End, &mut events);
    assert_eq!(events.len(), 1);
}
