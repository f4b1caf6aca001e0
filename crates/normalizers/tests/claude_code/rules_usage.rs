//! Rules about token counts and cost, each on a script of a few messages.

use crate::facts::records;
use crate::script::Script;
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_grammar::usage::{UsageOperation, UsageRecord};
use chat_normalizers::Options;
use serde_json::{Value, json};

fn line(id: &str, parent: Option<&str>, usage: Value, stop: Option<&str>) -> Value {
    let content = json!([{ "type": "text", "text": id }]);
    let message = json!({ "id": id, "model": "claude-x-20250101", "content": content, "usage": usage, "stop_reason": stop });
    json!({ "type": "assistant", "message": message, "parent_tool_use_id": parent })
}

fn usage(input: u64, output: u64) -> Value {
    json!({ "input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 })
}

fn counted(input: u64, output: u64) -> Value {
    json!({ "inputTokens": input, "outputTokens": output, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0, "costUSD": 0.5 })
}

fn result(since: Value) -> Value {
    json!({
        "type": "result", "subtype": "success", "is_error": false, "uuid": "r", "total_cost_usd": 1.0,
        "modelUsage": since, "model_usage_since_last_result": since,
    })
}

/// Id, input, output and whether it is billable, of all steps.
fn steps(events: &[ChatEvent]) -> Vec<(&str, Option<u64>, Option<u64>, bool)> {
    let step = |record: &&UsageRecord| matches!(record.operation, UsageOperation::ChatStep | UsageOperation::Compaction);
    let show = |record: &'_ UsageRecord| (record.tokens.input_tokens, record.tokens.output_tokens, record.billable);
    let steps = records(events).into_iter().filter(step).map(|record| {
        let (input, output, billable) = show(record);
        (record.id.as_str(), input, output, billable)
    });
    steps.collect()
}

#[test]
fn a_sum_may_name_the_model_without_its_date() {
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 1), None)).agent(result(json!({ "claude-x[1m]": counted(10, 5) })));
    assert_eq!(steps(&script.events), [("a", Some(10), Some(5), true)]);
}

#[test]
fn a_sum_of_unknown_models_is_compared_as_a_whole() {
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 5), Some("end_turn")));
    script.agent(result(json!({ "arn:some-model": counted(10, 5), "other": counted(3, 2) })));
    assert_eq!(steps(&script.events), [("a", Some(10), Some(5), true), ("r:all", Some(3), Some(2), true)]);
}

#[test]
fn what_the_sum_does_not_cover_is_unknown() {
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 1), None)).agent(result(json!({})));
    assert_eq!(steps(&script.events), [("a", Some(10), None, true)]);
}

#[test]
fn without_a_sum_a_placeholder_counts_nothing() {
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 1), None)).ends();
    assert_eq!(steps(&script.events), [("a", Some(10), None, true)]);
}

#[test]
fn a_subagents_calls_are_covered_by_the_sum() {
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 5), Some("tool_use")));
    script.agent(line("s", Some("task"), usage(7, 1), None)).agent(result(json!({ "claude-x": counted(40, 12) })));
    let told = steps(&script.events);
    assert_eq!(told, [("a", Some(10), Some(5), true), ("s", Some(7), None, false), ("r:claude-x", Some(30), Some(7), true)]);
    let remainder = records(&script.events).into_iter().find(|record| record.id == "r:claude-x").expect("a remainder");
    assert_eq!(remainder.parent_tool_call_id.as_deref(), Some("task"));
}

#[test]
fn the_sum_is_billed_only_where_no_call_was_seen() {
    let mut script = Script::bare();
    script.agent(
        json!({ "type": "result", "subtype": "success", "is_error": false, "usage": usage(9, 3), "total_cost_usd": 0.5 }),
    );
    let [turn] = records(&script.events)[..] else { panic!("one record") };
    assert_eq!((turn.operation, turn.billable, turn.native_cost_usd), (UsageOperation::ChatTurn, true, Some(0.5)));
    script.agent(line("a", None, usage(10, 5), Some("end_turn")));
    script.agent(
        json!({ "type": "result", "subtype": "success", "is_error": false, "usage": usage(10, 5), "total_cost_usd": 0.75 }),
    );
    let turn = records(&script.events)[2];
    assert_eq!((turn.operation, turn.billable, turn.native_cost_usd), (UsageOperation::ChatTurn, false, Some(0.25)));
}

#[test]
fn a_resumed_session_does_not_bill_its_past() {
    let options = Options { provider_session_id: Some("s".to_owned()), ..Options::default() };
    let mut normalizer = chat_normalizers::normalizer(super::AGENT, options).expect("Claude Code");
    let mut events = Vec::new();
    let mut push = |message: Value| normalizer.push(&message.to_string(), Side::Agent, &mut events);
    push(json!({ "type": "system", "subtype": "init", "session_id": "s" }));
    push(line("a", None, usage(10, 5), Some("end_turn")));
    // 2.1.197 tells only totals, which began with those of the old process.
    let total = |input: u64, output: u64, cost: f64| json!({ "type": "result", "is_error": false, "total_cost_usd": cost, "modelUsage": { "claude-x": counted(input, output) } });
    push(total(1010, 505, 9.0));
    push(line("b", None, usage(20, 6), Some("end_turn")));
    push(total(1030, 511, 9.5));
    assert_eq!(steps(&events), [("a", Some(10), Some(5), true), ("b", Some(20), Some(6), true)]);
    let costs: Vec<Option<f64>> = records(&events)
        .iter()
        .filter(|record| record.operation == UsageOperation::ChatTurn)
        .map(|record| record.native_cost_usd)
        .collect();
    assert_eq!(costs, [Some(0.5)]);
}

#[test]
fn counts_that_are_none_are_unknown() {
    let mut script = Script::bare();
    let odd = json!({ "input_tokens": -1, "output_tokens": 1.5, "cache_read_input_tokens": "x", "cache_creation_input_tokens": 9007199254740993_u64 });
    script.agent(line("a", None, odd, Some("end_turn")));
    script.normalizer.finish(FinishReason::End, &mut script.events);
    let [record] = records(&script.events)[..] else { panic!("one record") };
    let tokens = record.tokens;
    assert_eq!((tokens.input_tokens, tokens.output_tokens, tokens.cache_read_tokens), (None, None, None));
    assert_eq!(tokens.cache_write_tokens, None);
}

/// The details of what was told to whoever looks into the numbers.
fn differences(events: &[ChatEvent]) -> Vec<&str> {
    let details = events.iter().filter_map(|event| match &event.kind {
        EventKind::Debug { detail, .. } => detail.as_deref(),
        _ => None,
    });
    details.collect()
}

fn summed(subtype: &str, main: Value, since: Value, begun: Option<&[&str]>) -> Value {
    let failed = subtype != "success";
    let mut result = result(since);
    result["subtype"] = subtype.into();
    result["is_error"] = failed.into();
    result["usage"] = main;
    if let Some(begun) = begun {
        result["begun_message_ids"] = json!(begun);
    }
    result
}

#[test]
fn a_sum_that_is_not_that_of_its_calls_is_told_and_counts_nothing() {
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 5), Some("tool_use"))).agent(line("b", None, usage(20, 6), Some("end_turn")));
    script.agent(summed("success", usage(33, 11), json!({ "claude-x": counted(30, 11) }), None));
    assert_eq!(differences(&script.events), ["usage: input 33 instead of 30"]);
    assert_eq!(steps(&script.events), [("a", Some(10), Some(5), true), ("b", Some(20), Some(6), true)]);

    // Calls that said more than the CLI counted.
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 5), Some("end_turn")));
    script.agent(summed("success", usage(10, 5), json!({ "claude-x": counted(10, 4) }), None));
    assert_eq!(differences(&script.events), ["modelUsage: output 4 instead of 5"]);
    assert_eq!(steps(&script.events), [("a", Some(10), Some(5), true)]);
}

#[test]
fn sums_that_cover_other_calls_or_none_are_no_difference() {
    let none = || usage(0, 0);
    let counted = || json!({ "claude-x": counted(10, 5) });
    let told = |result: Value| {
        let mut script = Script::bare();
        script.agent(line("a", None, usage(10, 5), Some("end_turn"))).agent(result);
        differences(&script.events).len()
    };
    assert_eq!(told(summed("success", usage(10, 5), counted(), None)), 0);
    // 2.1.332: what was spent is in `modelUsage` alone.
    assert_eq!(told(summed("error_max_budget_usd", none(), counted(), None)), 0);
    assert_eq!(told(summed("error_during_execution", none(), json!({}), None)), 0);
    // The call was begun in a turn that is in another sum.
    assert_eq!(told(summed("success", usage(3, 1), counted(), Some(&["b"]))), 0);
    assert_eq!(told(summed("success", usage(3, 1), counted(), Some(&["a"]))), 1);

    // The sum of the main loop is without its subagents and its compactions.
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 5), Some("tool_use"))).agent(line("s", Some("task"), usage(7, 1), None));
    script.agent(summed("success", usage(10, 5), json!({ "claude-x": { "inputTokens": 40, "outputTokens": 12 } }), None));
    assert_eq!(differences(&script.events), [""; 0]);
}

/// The names under which the calls of a session are priced.
fn priced(models: Value, state: &str, calls: &[(&str, Value)]) -> Vec<String> {
    let mut script = Script::bare();
    let request = json!({ "subtype": "initialize" });
    script.host(json!({ "type": "control_request", "request_id": "h", "request": request }));
    let answer = json!({ "subtype": "success", "request_id": "h", "response": { "commands": [], "models": models } });
    script.agent(json!({ "type": "control_response", "response": answer }));
    script.agent(json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "big", "fast_mode_state": state }));
    for (index, (model, more)) in calls.iter().enumerate() {
        let mut usage = usage(10, 5);
        usage.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let mut call = line(&format!("m{index}"), None, usage, Some("end_turn"));
        call["message"]["model"] = (*model).into();
        script.agent(call);
    }
    script.ends();
    records(&script.events).into_iter().filter_map(|record| record.model.model_id.clone()).collect()
}

#[test]
fn a_fast_call_is_priced_as_such() {
    let models = || json!([{ "value": "opus", "resolvedModel": "big", "supportsFastMode": true }, { "value": "small" }]);
    let silent = || json!({});
    // The API need not repeat how fast it was asked to be.
    assert_eq!(priced(models(), "on", &[("big-20260101", silent()), ("small", silent())]), ["big-20260101-fast", "small"]);
    assert_eq!(priced(models(), "off", &[("big", silent())]), ["big"]);
    assert_eq!(priced(Value::Null, "on", &[("anything", silent())]), ["anything-fast"]);
    // Where it does, it knows best.
    let says = |speed: &str| json!({ "speed": speed });
    assert_eq!(priced(models(), "on", &[("big", says("standard"))]), ["big"]);
    assert_eq!(priced(models(), "cooldown", &[("big", says("fast"))]), ["big-fast"]);
    assert_eq!(priced(models(), "off", &[("big", json!({ "service_tier": "priority" }))]), ["big-priority"]);
}

/// The models of the steps, and whether the contract's may stand in for one that is missing.
fn models(events: &[ChatEvent]) -> Vec<(&str, Option<&str>, bool)> {
    let records = records(events).into_iter();
    records.map(|record| (&*record.id, record.model.model_id.as_deref(), record.model.is_undetermined)).collect()
}

#[test]
fn a_sum_has_a_model_where_all_tokens_are_of_one() {
    let of = |since: Value| {
        let mut script = Script::bare();
        script.agent(line("a", None, usage(10, 5), Some("end_turn"))).agent(result(since));
        models(&script.events).last().map(|(id, model, unsure)| ((*id).to_owned(), model.map(str::to_owned), *unsure))
    };
    let one = json!({ "claude-x": counted(10, 5), "idle": counted(0, 0) });
    assert_eq!(of(one), Some(("r:turn".to_owned(), Some("claude-x".to_owned()), false)));
    let two = json!({ "claude-x": counted(10, 5), "claude-y": counted(1, 1) });
    assert_eq!(of(two), Some(("r:turn".to_owned(), None, true)));
}

#[test]
fn what_several_models_may_have_counted_is_of_none() {
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 5), Some("end_turn")));
    script.agent(result(json!({ "arn:some-model": counted(10, 5), "other": counted(3, 2) })));
    assert!(models(&script.events).contains(&("r:all", None, true)));
}

#[test]
fn what_is_left_of_a_fast_turn_is_fast() {
    let mut script = Script::bare();
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "big", "fast_mode_state": "on" });
    script.agent(init).agent(result(json!({ "big[1m]": counted(3, 2) })));
    assert_eq!(models(&script.events)[0], ("r:big[1m]", Some("big-fast[1m]"), false));
}

#[test]
fn a_sum_alone_is_of_the_sessions_model_and_speed() {
    let mut script = Script::bare();
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "big", "fast_mode_state": "on" });
    let end = json!({ "type": "result", "subtype": "success", "is_error": false, "uuid": "r", "usage": usage(10, 5) });
    script.agent(init).agent(end);
    let records = records(&script.events);
    assert!(records[0].billable);
    assert_eq!(models(&script.events), [("r:turn", Some("big-fast"), false)]);
}

#[test]
fn the_account_of_a_new_process_is_not_that_of_the_one_that_died() {
    let mut script = Script::bare();
    let begin = |script: &mut Script, id: &str| {
        script.host(json!({ "type": "control_request", "request_id": id, "request": { "subtype": "initialize" } }));
        script.agent(json!({ "type": "system", "subtype": "init", "session_id": "s" }));
    };
    begin(&mut script, "h1");
    // Its process was killed before a result.
    script.agent(line("dead", None, usage(50, 5), Some("tool_use")));
    begin(&mut script, "h2");
    script.agent(line("a", None, usage(10, 5), Some("end_turn")));
    script.agent(summed("success", usage(10, 5), json!({ "claude-x": counted(40, 12) }), Some(&["a"])));
    assert_eq!(differences(&script.events), [""; 0]);
    let told = steps(&script.events);
    assert_eq!(
        told,
        [("dead", Some(50), Some(5), true), ("a", Some(10), Some(5), true), ("r:claude-x", Some(30), Some(7), true)]
    );
}

#[test]
fn cache_writes_for_an_hour_are_known_of_sums_too() {
    let mut script = Script::bare();
    let mut call = usage(10, 5);
    call["cache_creation_input_tokens"] = 300.into();
    call["cache_creation"] = json!({ "ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100 });
    script.agent(line("a", None, call, Some("end_turn")));
    let mut since = counted(40, 12);
    since["cacheCreationInputTokens"] = 1000.into();
    since["cacheCreationEphemeral1hInputTokens"] = 600.into();
    script.agent(result(json!({ "claude-x": since })));
    let records = records(&script.events).into_iter();
    let written = records.map(|record| (&*record.id, record.tokens.cache_write_tokens, record.cache_write1h_tokens));
    let written: Vec<_> = written.collect();
    assert_eq!(written, [("a", Some(300), Some(100)), ("r:claude-x", Some(700), Some(500)), ("r:turn", Some(1000), Some(600))]);
}

/// As `steps`, with whether a step is exact instead of whether it is billable.
fn exactness(events: &[ChatEvent]) -> Vec<(&str, Option<u64>, Option<u64>, bool)> {
    let billable = records(events).into_iter().filter(|record| record.billable);
    billable.map(|record| (&*record.id, record.tokens.input_tokens, record.tokens.output_tokens, record.exact)).collect()
}

fn result_of(subtype: &str, since: Value) -> Value {
    let mut result = result(since);
    result["subtype"] = subtype.into();
    result["is_error"] = (subtype != "success").into();
    result
}

#[test]
fn what_was_cut_is_an_estimate() {
    // The main loop's call.
    let mut script = Script::bare();
    script.begins("m").agent(result_of("error_during_execution", json!({ "claude-x": counted(10, 6) })));
    assert_eq!(exactness(&script.events), [("m", Some(10), Some(6), false)]);
    // One of a subagent, which shows in the sum alone.
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 5), Some("tool_use")));
    script.agent(line("b", Some("t"), usage(20, 1), None)).agent(line("c", Some("t"), usage(30, 1), None));
    script.agent(result_of("error_during_execution", json!({ "claude-x": counted(60, 25) })));
    assert_eq!(exactness(&script.events), [("a", Some(10), Some(5), true), ("r:claude-x", Some(50), Some(20), false)]);
    // The same in a turn that ended well is what was counted.
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 5), Some("end_turn")));
    script.agent(line("b", Some("t"), usage(20, 1), None)).agent(line("c", Some("t"), usage(30, 1), None));
    script.agent(result_of("success", json!({ "claude-x": counted(60, 25) })));
    assert_eq!(exactness(&script.events), [("a", Some(10), Some(5), true), ("r:claude-x", Some(50), Some(20), true)]);
}

#[test]
fn a_new_conversation_counts_from_nothing() {
    // 2.1.197 tells only totals.
    let total = |input: u64, output: u64, cost: f64| json!({ "type": "result", "subtype": "success", "is_error": false, "total_cost_usd": cost, "modelUsage": { "claude-x": counted(input, output) } });
    let init = |session: &str| json!({ "type": "system", "subtype": "init", "session_id": session });
    let reset = || json!({ "type": "conversation_reset", "new_conversation_id": "n" });
    // `/clear`, or another session: what came next is more than all before, and no growth of it.
    for anew in [reset(), init("other")] {
        let mut script = Script::bare();
        script.agent(init("s")).agent(line("a", None, usage(10, 5), Some("end_turn"))).agent(total(10, 5, 0.5));
        script.agent(anew).agent(line("b", None, usage(20, 6), Some("end_turn"))).agent(total(20, 6, 0.75));
        assert_eq!(steps(&script.events), [("a", Some(10), Some(5), true), ("b", Some(20), Some(6), true)]);
        let turns = records(&script.events).into_iter().filter(|record| record.operation == UsageOperation::ChatTurn);
        let turns: Vec<_> = turns.map(|record| (record.tokens.input_tokens, record.native_cost_usd)).collect();
        assert_eq!(turns[1], (Some(20), Some(0.75)));
        assert_eq!(differences(&script.events), [""; 0]);
    }
}

#[test]
fn what_the_cli_says_itself_is_no_call() {
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 5), Some("end_turn")));
    let mut made_up = line("synthetic", None, usage(0, 0), Some("stop_sequence"));
    made_up["message"]["model"] = "<synthetic>".into();
    script.agent(made_up);
    let mut told = counted(10, 5);
    told["contextWindow"] = 1000.into();
    script.agent(result(json!({ "claude-x-20250101": told })));
    assert_eq!(steps(&script.events), [("a", Some(10), Some(5), true)]);
    let context = records(&script.events).into_iter().rfind(|record| record.context.size.is_some());
    assert_eq!(context.map(|record| record.context.used), Some(Some(15)));
}

#[test]
fn a_context_has_a_size_where_the_host_asked_for_it() {
    let mut script = Script::bare();
    let request = json!({ "subtype": "get_context_usage" });
    script.host(json!({ "type": "control_request", "request_id": "h", "request": request }));
    let told = json!({ "totalTokens": 3, "maxTokens": 1000, "model": "claude-x-20250101" });
    let answer = json!({ "subtype": "success", "request_id": "h", "response": told });
    script.agent(json!({ "type": "control_response", "response": answer }));
    script.agent(line("a", None, usage(10, 5), Some("end_turn"))).ends();
    let [record] = records(&script.events)[..] else { panic!("one record") };
    assert_eq!((record.context.used, record.context.size), (Some(15), Some(1000)));
}

#[test]
fn an_estimate_of_thoughts_is_no_count() {
    let mut script = Script::new();
    script
        .agent(json!({ "type": "system", "subtype": "thinking_tokens", "estimated_tokens": 50, "estimated_tokens_delta": 50 }));
    script.says(0, "Hello.").stops("end_turn");
    script.agent(result(json!({ "claude-x": counted(10, 7) })));
    let record = records(&script.events)[0];
    assert_eq!((&*record.id, record.tokens.output_tokens, record.reasoning_tokens), ("m", Some(7), None));
}

#[test]
fn a_call_after_the_result_is_of_the_next_turn() {
    let mut script = Script::bare();
    script.agent(line("a", None, usage(10, 5), Some("end_turn"))).agent(result(json!({ "claude-x": counted(10, 5) })));
    // The call that suggests a prompt stands on no line, and the next result has it.
    script.agent(json!({ "type": "prompt_suggestion", "suggestion": "Go on." }));
    let told = script.events.len();
    script.agent(line("b", None, usage(20, 6), Some("end_turn")));
    let mut second = result(json!({ "claude-x": counted(25, 8) }));
    second["uuid"] = "r2".into();
    script.agent(second);
    assert_eq!(steps(&script.events[told..]), [("b", Some(20), Some(6), true), ("r2:claude-x", Some(5), Some(2), true)]);
    let remainder = records(&script.events).into_iter().find(|record| record.id == "r2:claude-x");
    assert_eq!(remainder.map(|record| record.context.used), Some(None));
}
