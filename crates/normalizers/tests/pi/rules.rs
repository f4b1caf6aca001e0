//! Rules that no recording shows, or that users were hurt by, each on a script of a few messages.

use crate::common::render;
use chat_grammar::event::{ChatEvent, EventKind, FinishReason, Side};
use chat_grammar::usage::TokenCounts;
use chat_normalizers::{Normalizer, Options};
use serde_json::{Value, json};

/// A conversation whose turn runs.
pub(crate) struct Script {
    normalizer: Box<dyn Normalizer>,
    pub(crate) events: Vec<ChatEvent>,
    clock: i64,
}

impl Script {
    fn idle() -> Self {
        Self { normalizer: crate::normalizer(), events: Vec::new(), clock: 1000 }
    }

    pub(crate) fn new() -> Self {
        let mut script = Self::idle();
        script.prompt("c1");
        script
    }

    pub(crate) fn agent(&mut self, message: Value) -> &mut Self {
        self.normalizer.push(&message.to_string(), Side::Agent, &mut self.events);
        self
    }

    pub(crate) fn host(&mut self, message: Value) -> &mut Self {
        self.normalizer.push(&message.to_string(), Side::Host, &mut self.events);
        self
    }

    fn prompt(&mut self, id: &str) -> &mut Self {
        self.host(json!({ "id": id, "type": "prompt", "message": "go" }));
        self.accepted(id, "started");
        self.agent(json!({ "type": "agent_start" })).agent(json!({ "type": "turn_start" }))
    }

    fn accepted(&mut self, id: &str, disposition: &str) -> &mut Self {
        let data = json!({ "disposition": disposition });
        self.agent(json!({ "id": id, "type": "response", "command": "prompt", "success": true, "data": data }))
    }

    fn refused(&mut self, id: &str, error: &str) -> &mut Self {
        self.agent(json!({ "id": id, "type": "response", "command": "prompt", "success": false, "error": error }))
    }

    /// A message of the model begins.
    pub(crate) fn begins(&mut self) -> &mut Self {
        self.clock += 1;
        let message = json!({ "role": "assistant", "content": [], "stopReason": "pending", "timestamp": self.clock });
        self.agent(json!({ "type": "message_start", "message": message }))
    }

    pub(crate) fn update(&mut self, event: Value) -> &mut Self {
        self.agent(json!({ "type": "message_update", "assistantMessageEvent": event }))
    }

    pub(crate) fn says(&mut self, delta: &str) -> &mut Self {
        self.update(json!({ "type": "text_delta", "contentIndex": 0, "delta": delta }))
    }

    /// The message ends; `more` replaces what an answer usually has.
    pub(crate) fn ends(&mut self, content: Value, more: Value) -> &mut Self {
        let usage = json!({ "input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "cost": { "total": 0.5 } });
        let mut message = json!({ "role": "assistant", "content": content, "provider": "p", "model": "m", "usage": usage });
        message["timestamp"] = json!(self.clock);
        message["stopReason"] = json!("stop");
        for (name, value) in more.as_object().expect("fields") {
            message[name] = value.clone();
        }
        self.agent(json!({ "type": "message_end", "message": message }))
    }

    pub(crate) fn fails(&mut self, error: &str) -> &mut Self {
        let usage = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0 });
        self.ends(json!([]), json!({ "stopReason": "error", "errorMessage": error, "usage": usage }))
    }

    fn retries(&mut self, attempt: u64) -> &mut Self {
        self.agent(json!({ "type": "agent_end", "messages": [], "willRetry": true }));
        self.agent(json!({ "type": "auto_retry_start", "attempt": attempt, "maxAttempts": 3, "delayMs": 50, "errorMessage": "529 busy" }));
        self.agent(json!({ "type": "agent_start" })).agent(json!({ "type": "turn_start" }))
    }

    pub(crate) fn executes(&mut self, id: &str, tool: &str, args: Value) -> &mut Self {
        self.agent(json!({ "type": "tool_execution_start", "toolCallId": id, "toolName": tool, "args": args }))
    }

    pub(crate) fn outputs(&mut self, id: &str, text: &str) -> &mut Self {
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        self.agent(
            json!({ "type": "tool_execution_update", "toolCallId": id, "toolName": "x", "args": {}, "partialResult": result }),
        )
    }

    pub(crate) fn gives(&mut self, id: &str, result: Value, is_error: bool) -> &mut Self {
        self.agent(
            json!({ "type": "tool_execution_end", "toolCallId": id, "toolName": "x", "result": result, "isError": is_error }),
        )
    }

    pub(crate) fn settles(&mut self, aborted: bool) -> &mut Self {
        self.agent(json!({ "type": "agent_end", "messages": [], "willRetry": false }));
        self.agent(json!({ "type": "agent_settled", "aborted": aborted }))
    }

    pub(crate) fn finish(&mut self) -> &mut Self {
        self.normalizer.finish(FinishReason::End, &mut self.events);
        self
    }

    /// The events as lines, those of usage left out.
    pub(crate) fn shown(&self) -> Vec<String> {
        let events = self.events.iter().filter(|event| !matches!(event.kind, EventKind::UsageFinal { .. }));
        events.map(render::event).collect()
    }

    fn last(&self) -> String {
        self.shown().pop().unwrap_or_default()
    }

    /// The model calls: id and tokens of input and output.
    fn steps(&self) -> Vec<(String, Option<u64>, Option<u64>)> {
        let steps = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::UsageFinal { usage } if usage.billable => {
                Some((usage.id.clone(), usage.tokens.input_tokens, usage.tokens.output_tokens))
            }
            _ => None,
        });
        steps.collect()
    }
}

#[test]
fn only_the_end_of_the_whole_work_ends_the_turn() {
    let mut script = Script::new();
    script.begins().fails("529 busy").retries(1);
    script.begins().ends(json!([{ "type": "text", "text": "Done." }]), json!({}));
    script.agent(json!({ "type": "auto_retry_end", "success": true, "attempt": 1 }));
    script.agent(json!({ "type": "agent_end", "messages": [], "willRetry": false }));
    script.agent(json!({ "type": "compaction_start", "reason": "threshold" }));
    let ends = |script: &Script| script.shown().iter().filter(|line| line.starts_with("done")).count();
    assert_eq!(ends(&script), 0);
    script.agent(
        json!({ "type": "compaction_end", "reason": "threshold", "aborted": false, "willRetry": false, "errorMessage": "no" }),
    );
    script.settles(false).settles(false);
    assert_eq!(
        script.shown(),
        [
            r#"warning "529 busy" retry=1/Some(3)"#,
            r#"text message:1002:0 "Done.""#,
            "compaction compaction:1002:1 started: Some(Auto) pre=None",
            r#"warning "Compaction failed: no""#,
            "compaction compaction:1002:1 failed: Some(Auto) pre=None post=None",
            "done EndTurn stop",
        ]
    );
}

#[test]
fn a_stop_reason_becomes_one_of_acps() {
    for (more, expected) in [
        (json!({ "stopReason": "length" }), "done MaxTokens length"),
        (json!({ "stopReason": "deferred" }), "done EndTurn deferred"),
        (json!({ "stopReason": "error", "rawStopReason": "refusal" }), "done Refusal refusal"),
    ] {
        let mut script = Script::new();
        script.begins().ends(json!([]), more).settles(false);
        assert_eq!(script.last(), expected);
    }
}

#[test]
fn a_failed_turn_fails_once_and_says_why() {
    let mut script = Script::new();
    script.begins().fails(r#"429 {"error":{"type":"rate_limit_error","message":"Slow down"}}"#);
    script.agent(json!({ "type": "agent_end", "messages": [], "willRetry": false }));
    script.agent(json!({ "type": "auto_retry_end", "success": false, "attempt": 3, "finalError": "429 slow" }));
    script.settles(false);
    assert_eq!(script.shown(), [r#"error Model rate_limited retryable=true "Slow down""#, "done Failed error"]);
    assert_eq!(script.steps(), [], "an HTTP error is no model call");
}

#[test]
fn the_last_error_counts_where_its_message_is_missing() {
    let mut script = Script::new();
    script.agent(json!({ "type": "auto_retry_end", "success": false, "attempt": 3, "finalError": "529 overloaded" }));
    script.settles(false);
    assert_eq!(script.shown(), [r#"error Model overloaded retryable=true "529 overloaded""#, "done Failed error"]);
}

#[test]
fn only_the_host_cancels() {
    let mut script = Script::new();
    script.begins().says("Half").ends(json!([{ "type": "text", "text": "Half" }]), json!({ "stopReason": "aborted" }));
    script.settles(true);
    assert_eq!(script.shown()[1], r#"error Runtime aborted retryable=true "The turn was aborted, but not by the user""#);
    assert_eq!(script.last(), "done Failed aborted");

    let mut script = Script::new();
    script.begins().says("Half").host(json!({ "id": "c2", "type": "abort" }));
    script.ends(json!([{ "type": "text", "text": "Half" }]), json!({ "stopReason": "aborted" })).settles(true);
    assert_eq!(script.shown(), [r#"text message:1001:0 "Half""#, "done Cancelled aborted"]);

    // An abort that comes too late is none of the next turn.
    script.host(json!({ "id": "c3", "type": "abort" })).prompt("c4").begins();
    script.ends(json!([]), json!({ "stopReason": "aborted", "errorMessage": "fetch failed" })).settles(true);
    assert_eq!(script.shown()[2..], [r#"error Transport unreachable retryable=true "fetch failed""#, "done Failed aborted"]);
}

#[test]
fn an_abort_while_waiting_for_a_retry_cancels() {
    let mut script = Script::new();
    script.begins().fails("529 busy").host(json!({ "id": "c2", "type": "abort" }));
    script.settles(true);
    assert_eq!(script.last(), "done Cancelled aborted");

    // Not to retry any more is no cancellation: the turn failed with its error.
    let mut script = Script::new();
    script.begins().fails("529 overloaded").host(json!({ "id": "c2", "type": "abort_retry" }));
    script.agent(json!({ "type": "auto_retry_end", "success": false, "attempt": 1, "finalError": "Retry cancelled" }));
    script.settles(false);
    assert_eq!(script.shown(), [r#"error Model overloaded retryable=true "529 overloaded""#, "done Failed error"]);
}

#[test]
fn a_prompt_that_is_refused_or_handled_at_once_ends_its_turn() {
    let mut script = Script::idle();
    script
        .host(json!({ "id": "c1", "type": "prompt", "message": "x" }))
        .refused("c1", "No API key found")
        .refused("c1", "again");
    script.host(json!({ "id": "c2", "type": "prompt", "message": "/ui" })).accepted("c2", "handled").accepted("c2", "handled");
    assert_eq!(
        script.shown(),
        [r#"error Auth login_required retryable=false "No API key found""#, "done Failed -", "done EndTurn handled"]
    );
}

#[test]
fn a_prompt_while_a_turn_runs_does_not_end_it() {
    let mut script = Script::new();
    script.host(json!({ "id": "c2", "type": "prompt", "message": "x" })).refused("c2", "Agent is already processing.");
    script
        .host(json!({ "id": "c3", "type": "prompt", "message": "/ui", "streamingBehavior": "steer" }))
        .accepted("c3", "handled");
    script.host(json!({ "id": "c4", "type": "prompt", "message": "x", "streamingBehavior": "steer" })).accepted("c4", "queued");
    assert_eq!(script.shown(), [r#"warning "Agent is already processing.""#]);
}

#[test]
fn a_new_process_leaves_what_the_old_one_left_open() {
    let mut script = Script::new();
    script.executes("t", "bash", json!({ "command": "sleep 9" }));
    script.prompt("c1").begins().says("New.").ends(json!([{ "type": "text", "text": "New." }]), json!({})).settles(false);
    assert_eq!(
        script.shown()[1..],
        [
            r#"tool t failed: output={"exitCode":null,"output":""} content=["The agent's process ended"]"#,
            r#"text message:1001:0 "New.""#,
            "done EndTurn stop",
        ]
    );
}

#[test]
fn pi_0_74_has_no_other_end_than_agent_end() {
    let mut script = Script::idle();
    script.host(json!({ "id": "c1", "type": "prompt", "message": "go" }));
    script.agent(json!({ "id": "c1", "type": "response", "command": "prompt", "success": true }));
    script.agent(json!({ "type": "agent_start" })).begins();
    script.ends(json!([{ "type": "text", "text": "Hi" }]), json!({})).agent(json!({ "type": "agent_end", "messages": [] }));
    assert_eq!(script.last(), "done EndTurn stop");
}

#[test]
fn a_retry_does_not_say_again_what_was_shown() {
    let mut script = Script::new();
    let error = json!({ "stopReason": "error", "errorMessage": "terminated" });
    script.begins().says("The answer ").ends(json!([{ "type": "text", "text": "The answer " }]), error.clone()).retries(1);
    script.begins().says("The ").says("answer is").ends(json!([{ "type": "text", "text": "The answer is" }]), error).retries(2);
    script.begins().says("The answer is 4.").ends(json!([{ "type": "text", "text": "The answer is 4." }]), json!({}));
    let told: Vec<String> = script.shown().into_iter().filter(|line| !line.contains("retry=")).collect();
    assert_eq!(
        told,
        [
            r#"text message:1001:0 "The answer ""#,
            r#"warning "The connection was lost, and the agent began its answer again""#,
            r#"text message:1001:0 "is""#,
            r#"text message:1001:0 " 4.""#,
        ]
    );
}

#[test]
fn a_lost_piece_is_made_good_by_the_whole() {
    let mut script = Script::new();
    script.begins().says("one ").says("three");
    script.update(json!({ "type": "text_end", "contentIndex": 0, "content": "one two three" }));
    script.ends(json!([{ "type": "text", "text": "one two three" }]), json!({}));
    assert_eq!(
        script.shown()[2..],
        [r#"warning "The agent's whole text differs from what it streamed""#, r#"text message:1001:0#2 "one two three""#,]
    );
}

#[test]
fn a_message_that_was_cut_off_may_leave_empty_blocks_out() {
    let mut script = Script::new();
    script.begins().update(json!({ "type": "thinking_start", "contentIndex": 0 }));
    script.update(json!({ "type": "text_delta", "contentIndex": 1, "delta": "Half" }));
    script.ends(json!([{ "type": "text", "text": "Half of it" }]), json!({ "stopReason": "aborted" }));
    assert_eq!(script.shown(), [r#"text message:1001:1 "Half""#, r#"text message:1001:1 " of it""#]);
}

#[test]
fn blocks_end_in_any_order() {
    let mut script = Script::new();
    script.begins().update(json!({ "type": "thinking_delta", "contentIndex": 0, "delta": "hm" }));
    script.update(json!({ "type": "toolcall_start", "contentIndex": 1, "id": "t", "toolName": "read" }));
    script.update(json!({ "type": "thinking_end", "contentIndex": 0, "content": "hmm" }));
    assert_eq!(
        script.shown(),
        [
            r#"thought Full message:1001:0 "hm""#,
            r#"tool t started pending: Read Read "Read" input={}"#,
            r#"thought Full message:1001:0 "m""#,
        ]
    );
}

#[test]
fn encrypted_thoughts_are_one_empty_thought() {
    let mut script = Script::new();
    script.begins().update(json!({ "type": "thinking_start", "contentIndex": 0 }));
    script.update(json!({ "type": "thinking_end", "contentIndex": 0, "content": "[Reasoning redacted]" }));
    script.ends(json!([{ "type": "thinking", "thinking": "[Reasoning redacted]", "redacted": true }]), json!({}));
    assert_eq!(script.shown(), [r#"thought Redacted message:1001:0 """#]);
    let mut script = Script::new();
    script.begins().ends(json!([{ "type": "thinking", "thinking": "", "redacted": true }]), json!({}));
    assert_eq!(script.shown(), [r#"thought Redacted message:1001:0 """#]);
}

#[test]
fn thoughts_of_the_responses_api_are_summaries() {
    let mut script = Script::new();
    let message = json!({ "role": "assistant", "content": [], "api": "openai-responses", "timestamp": 1 });
    script.agent(json!({ "type": "message_start", "message": message }));
    script.update(json!({ "type": "thinking_delta", "contentIndex": 0, "delta": "About it" }));
    assert_eq!(script.shown(), [r#"thought Summary message:1:0 "About it""#]);
}

#[test]
fn line_separators_stay_in_the_text() {
    let mut script = Script::new();
    let line = "{\"type\":\"message_update\",\"assistantMessageEvent\":{\"type\":\"text_delta\",\"contentIndex\":0,\"delta\":\"a\u{2028}b\u{2029}c\u{85}d\"}}";
    script.normalizer.push(line, Side::Agent, &mut script.events);
    let EventKind::TextDelta { text, .. } = &script.events[0].kind else { panic!("no text") };
    assert_eq!(text, "a\u{2028}b\u{2029}c\u{85}d");
}

#[test]
fn what_the_host_sent_is_not_shown_again() {
    let mut script = Script::new();
    for (kind, role) in [("message_start", "user"), ("message_end", "user"), ("message_end", "compactionSummary")] {
        script.agent(json!({ "type": kind, "message": { "role": role, "content": [{ "type": "text", "text": "go" }] } }));
    }
    let history = json!({ "messages": [{ "role": "assistant", "content": [{ "type": "text", "text": "old" }] }] });
    script.agent(json!({ "id": "c2", "type": "response", "command": "get_messages", "success": true, "data": history }));
    script.agent(
        json!({ "type": "turn_end", "message": { "role": "assistant", "content": [{ "type": "text", "text": "old" }] } }),
    );
    assert_eq!(script.shown(), Vec::<String>::new());
}

#[test]
fn a_cost_of_zero_is_unknown_unless_the_gateway_stated_it() {
    let cost = |cost: Value| {
        let usage = json!({ "input": 100, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": cost });
        let mut script = Script::new();
        script.begins().ends(json!([]), json!({ "usage": usage, "responseId": "r" }));
        let costs = script.events.iter().filter_map(|event| match &event.kind {
            EventKind::UsageFinal { usage } if usage.billable => Some(usage.native_cost_usd),
            _ => None,
        });
        costs.collect::<Vec<_>>()
    };
    assert_eq!(cost(json!({ "total": 0 })), [None]);
    assert_eq!(cost(json!({ "total": 0, "totalFromProvider": true })), [Some(0.0)]);
    assert_eq!(cost(json!({ "total": 0.25, "totalFromProvider": false })), [Some(0.25)]);
}

#[test]
fn an_impossible_count_is_unknown_and_harms_nothing_else() {
    let usage = json!({ "input": -5, "output": 7, "cacheRead": 1.5, "cacheWrite": 2, "cacheWrite1h": 1, "cost": { "total": -1, "totalFromProvider": true } });
    let mut script = Script::new();
    script.begins().ends(json!([{ "type": "text", "text": "Said." }]), json!({ "usage": usage, "responseId": "r" }));
    assert!(script.shown().iter().any(|line| line.contains("Said.")));
    let told = script.events.iter().find_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } => Some((usage.tokens, usage.cache_write1h_tokens, usage.native_cost_usd)),
        _ => None,
    });
    let tokens = TokenCounts { output_tokens: Some(7), cache_write_tokens: Some(2), ..TokenCounts::default() };
    assert_eq!(told, Some((tokens, Some(1), None)));
}

#[test]
fn a_context_that_nobody_counted_is_not_empty() {
    let contexts = |used: Value| {
        let mut script = Script::new();
        script.begins().ends(json!([]), json!({}));
        let told = script.events.len();
        let data = json!({ "contextUsage": { "tokens": used, "contextWindow": 1000, "percent": null } });
        script.agent(json!({ "type": "response", "command": "get_session_stats", "success": true, "data": data }));
        let contexts = script.events[told..].iter().filter_map(|event| match &event.kind {
            EventKind::UsageFinal { usage } => Some((usage.context.used, usage.billable)),
            _ => None,
        });
        contexts.collect::<Vec<_>>()
    };
    // As right after a compaction.
    assert_eq!(contexts(Value::Null), []);
    assert_eq!(contexts(json!(30)), [(Some(30), false)]);
}

#[test]
fn zeros_are_no_count() {
    let mut script = Script::new();
    let zeros = json!({ "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": { "total": 0 } }, "responseId": "r" });
    script.begins().ends(json!([{ "type": "text", "text": "x" }]), zeros.clone());
    assert_eq!(script.steps(), [("r".to_owned(), None, None)], "the provider reports nothing");
    // The same response id again, of another call: some servers give every response the same.
    script.agent(json!({ "type": "turn_start" })).begins();
    script.ends(json!([{ "type": "text", "text": "y" }]), json!({ "responseId": "r" }));
    assert_eq!(script.steps()[1], ("r#2".to_owned(), Some(10), Some(2)));
}

#[test]
fn a_call_that_nobody_reported_is_a_step_with_what_is_known() {
    let mut script = Script::new();
    let usage = json!({ "input": 100, "output": 1, "cacheRead": 0, "cacheWrite": 0 });
    let message = json!({ "role": "assistant", "content": [], "usage": usage, "responseId": "r", "timestamp": 5 });
    script.agent(json!({ "type": "message_start", "message": message }));
    script.finish();
    assert_eq!(script.steps(), [("r".to_owned(), Some(100), None)]);
}

#[test]
fn a_compaction_that_is_told_twice_is_one() {
    let mut script = Script::new();
    let usage = json!({ "input": 5, "output": 1, "cacheRead": 0, "cacheWrite": 0 });
    let result =
        json!({ "summary": "S", "firstKeptEntryId": "e", "tokensBefore": 9, "estimatedTokensAfter": 3, "usage": usage });
    let end = json!({ "type": "compaction_end", "reason": "manual", "result": result, "aborted": false, "willRetry": false });
    script.agent(json!({ "type": "compaction_start", "reason": "manual" })).agent(end.clone()).agent(end);
    script.agent(json!({ "id": "c2", "type": "response", "command": "compact", "success": true, "data": result }));
    assert_eq!(
        script.shown(),
        [
            "compaction compaction:1 started: Some(Manual) pre=None",
            "compaction compaction:1 finished: Some(Manual) pre=Some(9) post=Some(3)",
        ]
    );
    assert_eq!(script.steps(), [("compaction:1".to_owned(), Some(5), Some(1))]);
}

#[test]
fn an_end_of_a_compaction_that_cannot_be_read_leaves_it_to_the_turns_end() {
    let mut script = Script::new();
    script.agent(json!({ "type": "compaction_start", "reason": "overflow" }));
    let result = json!({ "firstKeptEntryId": "e", "usage": "many" });
    script.agent(json!({ "type": "compaction_end", "reason": "overflow", "result": result })).settles(false);
    assert_eq!(
        script.shown()[1..],
        ["unmapped compaction_end", "compaction compaction:1 failed: Some(Auto) pre=None post=None", "done EndTurn -",]
    );
}

#[test]
fn what_no_rule_knows_is_counted() {
    let mut script = Script::new();
    script.agent(json!({ "type": "some_future" })).agent(json!({ "type": "tool_execution_start", "toolCallId": 5 }));
    script.update(json!({ "type": "image_delta", "contentIndex": 0 }));
    script.agent(json!({ "type": "message_end", "message": { "role": "custom", "content": "x" } }));
    script.agent(json!({ "type": "extension_ui_request", "id": "u", "method": "wheel" }));
    script.agent(json!([1, 2])).agent(json!({ "kind": "x" }));
    script.normalizer.push("Warning: No models available.", Side::Agent, &mut script.events);
    script.normalizer.push("{\"type\":\"message_end\",\"mess", Side::Agent, &mut script.events);
    script.begins().says("still here");
    let counted = json!({
        "some_future": 1, "tool_execution_start": 1, "message_update/image_delta": 1, "message/custom": 1,
        "extension_ui_request/wheel": 1, "invalid_message": 2, "invalid_json": 2,
    });
    assert_eq!(serde_json::to_value(script.normalizer.unmapped()).unwrap(), sorted(&counted));
    assert_eq!(script.last(), r#"text message:1001:0 "still here""#);
}

fn sorted(counts: &Value) -> Value {
    let mut counts: Vec<_> = counts.as_object().unwrap().clone().into_iter().collect();
    counts.sort_by(|left, right| left.0.cmp(&right.0));
    Value::Object(counts.into_iter().collect())
}

#[test]
fn the_working_directory_completes_paths() {
    let options = Options { cwd: Some("/w".to_owned()), ..Options::default() };
    let mut script = Script::new();
    script.normalizer = chat_normalizers::normalizer("pi", options).unwrap();
    script.executes("t", "read", json!({ "path": "./a.txt", "offset": 7 })).executes("u", "ls", json!({ "path": "/etc" }));
    assert_eq!(
        script.shown(),
        [
            r#"tool t started: Read Read "Read ./a.txt" input={"path":"./a.txt","offset":7} at=[/w/a.txt:7]"#,
            r#"tool u started: LS Search "List /etc" input={"path":"/etc"} at=[/etc]"#,
        ]
    );
}

#[test]
fn the_session_is_told_when_it_changes() {
    let mut script = Script::idle();
    let state = json!({ "model": { "id": "m", "contextWindow": 1000 }, "thinkingLevel": "high", "sessionFile": "/s.jsonl" });
    let response = |id: &str| json!({ "id": id, "type": "response", "command": "get_state", "success": true, "data": state });
    script.agent(response("c1")).agent(response("c2"));
    script.agent(json!({ "type": "session_info_changed", "name": "A title" }));
    assert_eq!(script.shown(), [r#"session /s.jsonl cwd=- model=m mcp=[]"#, r#"title "A title""#]);
    // The window is known: the next step says how full it is.
    script.prompt("c3").begins().ends(json!([]), json!({}));
    let context = script.events.iter().find_map(|event| match &event.kind {
        EventKind::UsageFinal { usage } => Some(usage.context),
        _ => None,
    });
    assert_eq!(context.map(|context| (context.used, context.size)), Some((Some(12), Some(1000))));
}

#[test]
fn what_comes_after_the_turn_is_not_lost() {
    let mut script = Script::new();
    script.begins().ends(json!([]), json!({})).settles(false);
    script.begins().says("By the way");
    assert_eq!(script.shown(), ["done EndTurn stop", r#"text message:1002:0 "By the way""#]);
}
