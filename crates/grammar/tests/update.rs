//! Events to updates to one text, and back to the parts of a message.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use chat_grammar::acp::{
    ContentBlock, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, ToolCallContent, ToolKind,
};
use chat_grammar::event::{
    ChatEvent, CompactionFinished, DecidedBy, ErrorEvent, EventKind, FailureClass, McpTool, PermissionChoice,
    PermissionRequested, PermissionResolved, Relayed, ToolCompleted, ToolStarted, ToolUpdated, Trigger, Visibility,
};
use chat_grammar::relay::{AgentUpdate, Members};
use chat_grammar::transcript::Transcript;
use chat_grammar::update::{Body, Marks, Native, Place, Update, UpdateMapper, write_update};
use chat_grammar::usage::{ContextFullness, TokenCounts, UsageModel, UsageOperation, UsageRecord};
use proptest::prelude::*;
use serde_json::{Value, json};

fn texts(events: Vec<EventKind>) -> Vec<String> {
    let mut mapper = UpdateMapper::new("conversation", "turn");
    let mut updates = Vec::new();
    events.into_iter().for_each(|event| mapper.push(event.into(), &mut updates));
    updates.iter().zip(1..).map(|(update, sequence)| text_of(update, sequence, None)).collect()
}

fn text_of(update: &Update, sequence: u64, native: Option<Native<'_>>) -> String {
    let place = Place { conversation_id: "conversation", turn_id: "turn", sequence, at: 1_796_063_040_000 + sequence as i64 };
    let mut buffer = Vec::new();
    write_update(update, place, native, &mut buffer);
    String::from_utf8(buffer).expect("updates are UTF-8")
}

fn parts(events: Vec<EventKind>) -> Value {
    let mut transcript = Transcript::new();
    texts(events).iter().for_each(|update| transcript.add(update));
    serde_json::from_str(transcript.parts_json().get()).expect("parts are JSON")
}

fn say(text: &str, message_id: &str) -> EventKind {
    EventKind::TextDelta { text: text.to_owned(), message_id: Some(message_id.to_owned()) }
}

fn started(id: &str) -> EventKind {
    EventKind::ToolStarted(ToolStarted {
        tool_call_id: id.to_owned(),
        tool_name: "Bash".to_owned(),
        title: "ls".to_owned(),
        kind: ToolKind::Execute,
        input: json!({ "command": "ls" }),
        pending: false,
        content: Vec::new(),
        locations: Vec::new(),
        mcp: None,
    })
}

fn output(id: &str, piece: &str) -> EventKind {
    EventKind::ToolUpdated(ToolUpdated {
        tool_call_id: id.to_owned(),
        output_delta: Some(piece.to_owned()),
        ..ToolUpdated::default()
    })
}

fn completed(id: &str, output: &str) -> EventKind {
    EventKind::ToolCompleted(ToolCompleted {
        tool_call_id: id.to_owned(),
        is_error: false,
        title: None,
        input: None,
        output: json!({ "exitCode": 0, "output": output }),
        content: vec![ToolCallContent::from(output)],
        locations: None,
        mcp: None,
        duration_ms: None,
    })
}

fn step(id: &str, operation: UsageOperation) -> EventKind {
    EventKind::UsageFinal {
        usage: UsageRecord {
            id: id.to_owned(),
            operation,
            model: UsageModel::default(),
            source: "test".to_owned(),
            exact: true,
            billable: operation != UsageOperation::ContextSnapshot,
            tokens: TokenCounts { input_tokens: Some(10), ..TokenCounts::default() },
            reasoning_tokens: None,
            cache_write1h_tokens: None,
            native_cost_usd: None,
            context: ContextFullness { used: Some(10), size: Some(100) },
            parent_tool_call_id: None,
            raw: json!({ "input": 10 }),
        },
    }
}

#[test]
fn an_update_is_the_official_one_with_our_meta_and_the_native_message_word_for_word() {
    let mut updates = Vec::new();
    UpdateMapper::new("conversation", "turn").push(say("Hi \"there\"\n", "m1").into(), &mut updates);
    let native = r#"{"big": 9007199254740993, "float":1.0,"text":"\u2028"}"#;
    let json = text_of(&updates[0], 7, Some(Native { source: "agent.stream", message: native }));
    assert_eq!(
        json,
        format!(
            concat!(
                r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"Hi \"there\"\n"}},"messageId":"m1","#,
                r#""_meta":{{"amalgm":{{"at":1796063040007,"conversationId":"conversation","turnId":"turn","sequence":7,"#,
                r#""native":{{"source":"agent.stream","message":{}}}}}}}}}"#
            ),
            native
        )
    );
    let place = Marks::find(&json).native.expect("the message is found again");
    assert_eq!(&json[place], native);
}

fn relayed(update: Members<'_>, meaning: Option<EventKind>) -> EventKind {
    EventKind::Relayed(Box::new(Relayed { update: AgentUpdate::from(update), meaning }))
}

#[test]
fn an_agents_own_update_is_passed_on_word_for_word_with_our_meta() {
    let sent = r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","rawOutput":{"big":9007199254740993,"one":1.0},"status":null,"odd":[],"_meta":{"theirs":1e3}}"#;
    let read = || Members::read(sent).expect("an object");
    let mut changed = read();
    changed.remove("odd");
    let mut updates = Vec::new();
    let mut mapper = UpdateMapper::new("conversation", "turn");
    let news = ToolUpdated { tool_call_id: "t".to_owned(), output_delta: Some("x".to_owned()), ..ToolUpdated::default() };
    mapper.push(relayed(read(), None).into(), &mut updates);
    mapper.push(relayed(changed, Some(EventKind::ToolUpdated(news))).into(), &mut updates);
    assert_eq!(updates.iter().map(Update::has_native).collect::<Vec<_>>(), [false, true]);
    let amalgm = r#""amalgm":{"at":1796063040001,"conversationId":"conversation","turnId":"turn","sequence":1}}}"#;
    let expected = sent.replace(r#","_meta":{"theirs":1e3}}"#, &format!(r#","_meta":{{"theirs":1e3,{amalgm}"#));
    assert_eq!(text_of(&updates[0], 1, None), expected);
    let native = text_of(&updates[1], 1, Some(Native { source: "agent.stream", message: "{}" }));
    let native: Value = serde_json::from_str(&native).expect("JSON");
    assert_eq!(native["_meta"]["amalgm"]["delta"], json!({ "output": "x" }));
    assert_eq!(native["_meta"]["amalgm"]["native"], json!({ "source": "agent.stream", "message": {} }));
    assert_eq!((native.get("odd"), &native["_meta"]["theirs"]), (None, &json!(1000.0)));
}

#[test]
fn pieces_of_an_agent_are_found_by_the_writer_as_in_the_journal() {
    let chunk = |kind: &str, rest: &str| {
        format!(r#"{{"sessionUpdate":"{kind}","content":{{"type":"text","text":"a\u2028\"b"}}{rest}}}"#)
    };
    let thought = || EventKind::ReasoningDelta { text: String::new(), message_id: None, visibility: Visibility::Full };
    let sent = [
        (chunk("agent_message_chunk", r#","messageId":"m""#), None, true),
        (chunk("agent_thought_chunk", r#","messageId":"m""#), Some(thought()), true),
        (chunk("agent_message_chunk", ""), None, false),
        (chunk("agent_message_chunk", r#","messageId":"m","_meta":{"x":1}"#), None, false),
    ];
    for (sent, meaning, is_piece) in sent {
        let mut updates = Vec::new();
        UpdateMapper::new("conversation", "turn")
            .push(relayed(Members::read(&sent).expect("an object"), meaning).into(), &mut updates);
        let mut buffer = b"before\n".to_vec();
        let place = Place { conversation_id: "conversation", turn_id: "turn", sequence: 1, at: 5 };
        let marks = write_update(&updates[0], place, None, &mut buffer);
        let text = String::from_utf8(buffer).expect("UTF-8");
        let found = Marks::find(&text[7..]);
        assert_eq!(marks.piece.is_some(), is_piece, "{sent}");
        let part = |marks: &Marks, text: &str| {
            marks
                .piece
                .as_ref()
                .map(|piece| (text[piece.text.clone()].to_owned(), text[piece.id.clone()].to_owned(), piece.form))
        };
        assert_eq!(part(&marks, &text), part(&found, &text[7..]), "{sent}");
    }
}

#[test]
fn what_an_agent_relays_comes_to_the_same_parts() {
    let read = |json| relayed(Members::read(json).expect("an object"), None);
    let parts = parts(vec![
        read(r#"{"content":{"text":"a","type":"text"},"sessionUpdate":"agent_message_chunk"}"#),
        read(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"b"}}"#),
        read(r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls","unknown":1}"#),
        read(r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","rawOutput":1}"#),
        read(r#"{"sessionUpdate":"aurora_update","sky":"green"}"#),
    ]);
    assert_eq!(parts[0], json!({ "type": "text", "text": "ab" }));
    assert_eq!(
        (&parts[1]["status"], &parts[1]["output"], parts.as_array().map(Vec::len)),
        (&json!("completed"), &json!(1), Some(2))
    );
}

#[test]
fn every_official_update_is_read_by_the_official_types() {
    let events = vec![
        say("a", "m"),
        EventKind::ReasoningDelta { text: "b".to_owned(), message_id: None, visibility: Visibility::Summary },
        EventKind::Content { block: ContentBlock::from("c"), message_id: None },
        started("t"),
        output("t", "x"),
        completed("t", "x"),
        EventKind::Plan { entries: vec![PlanEntry::new("do", PlanEntryPriority::Medium, PlanEntryStatus::Pending)] },
        EventKind::CompactionStarted { compaction_id: "c".to_owned(), trigger: Some(Trigger::Auto), pre_tokens: Some(1) },
        EventKind::CompactionFinished(CompactionFinished {
            compaction_id: "c".to_owned(),
            trigger: Some(Trigger::Auto),
            pre_tokens: Some(1),
            post_tokens: Some(1),
            duration_ms: Some(1),
            summary: Some("s".to_owned()),
            failed: false,
        }),
        EventKind::Debug { message: "sums differ".to_owned(), detail: Some("input 1 instead of 2".to_owned()) },
        EventKind::SessionInit(Default::default()),
        EventKind::Title { title: "t".to_owned() },
        EventKind::Mode { mode_id: "m".to_owned() },
        EventKind::Commands { commands: Vec::new() },
        EventKind::Config { options: Vec::new() },
        EventKind::Warning { message: "careful\nmore".to_owned(), detail: None, retry: None },
        EventKind::Error(ErrorEvent {
            message: String::new(),
            class: FailureClass::Model,
            reason: "overloaded".to_owned(),
            retryable: true,
        }),
    ];
    let texts = texts(events);
    assert_eq!(texts.len(), 17);
    for text in &texts {
        serde_json::from_str::<SessionUpdate>(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    assert!(texts[16].contains(r#""title":"The agent gave no message""#), "a notice is never without a title");
}

#[test]
fn requests_and_steps_are_our_own_variants() {
    let events = vec![
        EventKind::PermissionRequested(PermissionRequested {
            request_id: "0".to_owned(),
            tool_call_id: Some("t".to_owned()),
            action: "Bash".to_owned(),
            title: "rm".to_owned(),
            kind: ToolKind::Execute,
            input: json!({ "command": "rm" }),
            options: vec![PermissionChoice {
                option_id: "accept".to_owned(),
                name: "Allow".to_owned(),
                kind: "allow_once".to_owned(),
            }],
        }),
        EventKind::PermissionResolved(PermissionResolved {
            request_id: "0".to_owned(),
            tool_call_id: Some("t".to_owned()),
            option_id: Some("accept".to_owned()),
            approved: true,
            reason: None,
            updated_input: None,
            by: DecidedBy::Host,
        }),
        step("s1", UsageOperation::ChatStep),
        step("s1", UsageOperation::ChatStep),
        step("s2", UsageOperation::ContextSnapshot),
    ];
    let updates: Vec<Value> = texts(events).iter().map(|text| serde_json::from_str(text).expect("JSON")).collect();
    let kinds: Vec<_> = updates.iter().map(|update| update["sessionUpdate"].as_str().unwrap_or("")).collect();
    // A step that is reported again counts once; a snapshot is no step.
    assert_eq!(kinds, ["permission_request", "permission_response", "usage_step", "usage_update", "usage_update"]);
    assert_eq!(updates[0]["requestId"], updates[1]["requestId"]);
    assert_eq!(updates[0]["severity"], "high");
    assert_eq!(updates[1]["outcome"], json!({ "outcome": "selected", "optionId": "accept" }));
    assert_eq!(updates[2]["step"]["index"], 0);
    assert_eq!(updates[3]["_meta"]["amalgm"]["usage"]["id"], "s1");
}

#[test]
fn a_fullness_that_an_agent_tells_twice_has_the_one_step_both_times() {
    let sent = || Members::read(r#"{"sessionUpdate":"usage_update","used":10,"size":100}"#).expect("an object");
    let mut mapper = UpdateMapper::new("conversation", "turn");
    let mut updates = Vec::new();
    for _ in 0..2 {
        mapper.push(relayed(sent(), Some(step("s1", UsageOperation::ContextSnapshot))).into(), &mut updates);
    }
    let steps: Vec<_> = updates.iter().map(|update| update.extra.usage.as_ref()).collect();
    assert_eq!(steps, [mapper.steps().first(), mapper.steps().first()]);
    assert_eq!(mapper.steps().len(), 1);
}

#[test]
fn text_is_joined_by_message_and_split_by_what_comes_between() {
    let parts = parts(vec![say("a", "1"), say("b", "1"), started("t"), say("c", "1"), say("d", "2")]);
    let texts: Vec<_> = parts.as_array().expect("a list").iter().filter_map(|part| part["text"].as_str()).collect();
    assert_eq!(texts, ["ab", "c", "d"]);
}

#[test]
fn a_notice_does_not_cut_a_message_in_two() {
    let retry = EventKind::Warning { message: "Reconnecting".to_owned(), detail: None, retry: None };
    let parts = parts(vec![say("par", "1"), retry, say("tial", "1"), say("other", "2")]);
    let texts: Vec<_> = parts.as_array().expect("a list").iter().filter_map(|part| part["text"].as_str()).collect();
    assert_eq!(texts, ["partial", "other"]);
}

#[test]
fn a_subagents_words_are_none_of_the_message() {
    let mut mapper = UpdateMapper::new("conversation", "turn");
    let mut updates = Vec::new();
    let child = ChatEvent { kind: say("secret", "1"), parent_tool_call_id: Some("t".to_owned()) };
    mapper.push(child, &mut updates);
    let mut transcript = Transcript::new();
    updates.iter().for_each(|update| transcript.add(&text_of(update, 1, None)));
    assert!(transcript.is_empty());
    assert_eq!(transcript.last_sequence(), 1);
}

#[test]
fn a_tool_call_comes_together() {
    let mcp = Some(McpTool { server: "files".to_owned(), tool: "read".to_owned() });
    let mut end = completed("t", "done");
    if let EventKind::ToolCompleted(tool) = &mut end {
        tool.mcp = mcp;
    }
    let parts = parts(vec![started("t"), output("t", "do"), output("t", "ne"), end]);
    assert_eq!(
        parts,
        json!([{
            "type": "tool", "toolCallId": "t", "name": "Bash", "title": "ls", "kind": "execute", "status": "completed",
            "input": { "command": "ls" }, "output": { "exitCode": 0, "output": "done" },
            "content": [{ "type": "content", "content": { "type": "text", "text": "done" } }],
            "mcp": { "server": "files", "tool": "read" }, "parentToolCallId": null, "permission": null,
            "startedAt": "2026-11-30T18:24:00.001Z", "finishedAt": "2026-11-30T18:24:00.004Z", "durationMs": 3
        }])
    );
}

#[test]
fn a_call_that_never_ended_shows_what_was_streamed() {
    let mut transcript = Transcript::new();
    texts(vec![started("t"), output("t", "half")]).iter().for_each(|update| transcript.add(update));
    transcript.close_open_tools();
    let parts: Value = serde_json::from_str(transcript.parts_json().get()).expect("JSON");
    assert_eq!(parts[0]["status"], "failed");
    assert_eq!(parts[0]["content"][0]["content"]["text"], "half");
}

#[test]
fn long_streamed_output_is_not_repeated_at_the_end() {
    let piece = "0123456789abcdef".repeat(4096);
    let whole = piece.repeat(20);
    let mut events = vec![started("t")];
    events.extend((0..20).map(|_| output("t", &piece)));
    events.push(completed("t", &whole));
    let texts = texts(events);
    let last: Value = serde_json::from_str(texts.last().expect("updates")).expect("JSON");
    assert_eq!(last["_meta"]["amalgm"]["truncated"]["bytes"], whole.len());
    let shown = last["content"][0]["content"]["text"].as_str().expect("text");
    assert!(shown.len() < 200_000 && shown.starts_with("0123") && shown.ends_with("cdef"));
    let streamed: usize = texts
        .iter()
        .filter_map(|text| {
            let update: Value = serde_json::from_str(text).ok()?;
            Some(update["_meta"]["amalgm"]["delta"]["output"].as_str()?.len())
        })
        .sum();
    assert_eq!(streamed, whole.len(), "the deltas are the whole");
}

proptest! {
    #[test]
    fn adding_updates_again_changes_nothing(words in prop::collection::vec(("[a-z ]{0,8}", 0..3_u8), 1..20), again in 0..20_usize) {
        let events = words.iter().map(|(text, message)| say(text, &message.to_string())).collect();
        let updates = texts(events);
        let mut once = Transcript::new();
        updates.iter().for_each(|update| once.add(update));
        let mut twice = Transcript::new();
        updates.iter().take(again).for_each(|update| twice.add(update));
        updates.iter().for_each(|update| twice.add(update));
        let once = once.parts_json();
        let twice = twice.parts_json();
        prop_assert_eq!(once.get(), twice.get());
    }

    // What a reader finds in a text that comes from the journal is what its writer knew.
    #[test]
    fn marks_are_found_again(
        text in "\\PC{0,20}",
        id in "\\PC{1,8}",
        form in 0..6_u8,
        native in prop::option::of(prop::sample::select(vec![r#"{"a":"}}}}"}"#, "[]", r#"{"native":{"source":"x","message":1}}"#])),
    ) {
        let event = match form {
            0 => say(&text, &id),
            1 => EventKind::ReasoningDelta { text, message_id: Some(id), visibility: Visibility::Summary },
            2 => output(&id, &text),
            3 => completed(&id, &text),
            4 => EventKind::ReasoningDelta { text, message_id: None, visibility: Visibility::Full },
            _ => started(&id),
        };
        let mut updates = Vec::new();
        UpdateMapper::new("conversation", "turn").push(event.into(), &mut updates);
        let place = Place { conversation_id: "conv\"ersation", turn_id: "turn", sequence: 3, at: 1_796_063_040_000 };
        let native = native.map(|message| Native { source: "agent.stream", message });
        let mut buffer = Vec::new();
        let known = write_update(&updates[0], place, native, &mut buffer);
        let json = String::from_utf8(buffer).expect("UTF-8");
        prop_assert_eq!(Marks::find(&json), known);
    }

    // Pieces are written without the official types, and must not differ from what those write.
    #[test]
    fn pieces_are_written_as_the_official_types_are(text in "\\PC{0,20}", id in "\\PC{1,8}", form in 0..4_u8) {
        let event = match form {
            0 => say(&text, &id),
            1 => EventKind::ReasoningDelta { text, message_id: Some(id), visibility: Visibility::Plan },
            2 => output(&id, &text),
            _ => EventKind::TextDelta { text, message_id: None },
        };
        let mut updates = Vec::new();
        UpdateMapper::new("conversation", "turn").push(event.into(), &mut updates);
        let Body::Official(official) = &updates[0].body else { panic!("an official update") };
        let written = text_of(&updates[0], 1, None);
        let (acp, _) = written.rsplit_once(r#","_meta":{"amalgm":{"at""#).expect("our meta is last");
        let expected = serde_json::to_string(official).expect("JSON");
        prop_assert_eq!(format!("{acp}}}"), expected);
    }

    #[test]
    fn a_live_turn_and_its_journal_come_to_the_same_message(
        steps in prop::collection::vec((0..5_u8, 0..3_u8, "[a-z]{0,6}"), 0..40),
    ) {
        let mut mapper = UpdateMapper::new("conversation", "turn");
        let (mut live, mut journal, mut updates) = (Transcript::new(), Transcript::new(), Vec::new());
        for (kind, id, word) in steps {
            let id = id.to_string();
            let event = match kind {
                0 => say(&word, &id),
                1 => EventKind::ReasoningDelta { text: word, message_id: Some(id), visibility: Visibility::Full },
                2 => started(&id),
                3 => output(&id, &word),
                _ => completed(&id, &word),
            };
            mapper.push(event.into(), &mut updates);
        }
        for (update, sequence) in updates.iter().zip(1..) {
            let json = text_of(update, sequence, None);
            live.add_written(update, sequence, &json);
            journal.add(&json);
        }
        let (live, journal) = (live.parts_json(), journal.parts_json());
        prop_assert_eq!(live.get(), journal.get());
    }

    #[test]
    fn any_text_survives_the_way_to_the_message(text in "\\PC*") {
        let parts = parts(vec![say(&text, "m")]);
        prop_assert_eq!(parts[0]["text"].as_str(), Some(text.as_str()));
    }

    #[test]
    fn what_is_no_update_changes_nothing(text in "\\PC*") {
        let mut transcript = Transcript::new();
        transcript.add(&text);
        prop_assert!(transcript.is_empty());
    }
}

#[test]
fn what_only_debugging_needs_is_no_warning() {
    let mut updates = Vec::new();
    let event = EventKind::Debug { message: "sums differ".to_owned(), detail: Some("input 1 instead of 2".to_owned()) };
    UpdateMapper::new("conversation", "turn").push(event.into(), &mut updates);
    let [notice] = &updates[..] else { panic!("one update") };
    let told: serde_json::Value = serde_json::from_str(&text_of(notice, 1, None)).expect("JSON");
    assert_eq!((told["sessionUpdate"].as_str(), told["severity"].as_str()), (Some("notice"), Some("_debug")));
    assert_eq!(told["description"], "input 1 instead of 2");
}

#[test]
fn a_count_that_no_javascript_number_holds_is_unknown() {
    let mut record = chat_grammar::usage::normalize_usage(&serde_json::Value::Null, &serde_json::Map::new()).expect("a record");
    record.tokens.input_tokens = Some(u64::MAX);
    record.tokens.output_tokens = Some(chat_grammar::usage::MAX_COUNT);
    record.context.used = Some(u64::MAX);
    record.native_cost_usd = Some(-0.5);
    let mut mapper = UpdateMapper::new("conversation", "turn");
    mapper.push(EventKind::UsageFinal { usage: record }.into(), &mut Vec::new());
    let [step] = mapper.steps() else { panic!("one step") };
    let tokens = step.record.tokens;
    assert_eq!((tokens.input_tokens, tokens.output_tokens), (None, Some(chat_grammar::usage::MAX_COUNT)));
    assert_eq!((step.record.context.used, step.record.native_cost_usd), (None, None));
    let mut updates = Vec::new();
    let begun = EventKind::CompactionStarted { compaction_id: "c".to_owned(), trigger: None, pre_tokens: Some(u64::MAX) };
    mapper.push(begun.into(), &mut updates);
    assert_eq!(updates[0].extra.compaction.as_ref().map(|compaction| compaction.pre_tokens), Some(None));
}
