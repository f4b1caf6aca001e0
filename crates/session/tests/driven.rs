//! What the core owes an agent, and an agent the core, beyond what recordings show.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use chat_grammar::ErrorCode;
use chat_grammar::event::{
    ChatEvent, DecidedBy, EventKind, PermissionResolved, QuestionAnswered, RequestAnswer, Retry, Stop, ToolUpdated,
};
use chat_grammar::records::{TurnOrigin, TurnStatus};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, OnceLock};
use support::scripted::{Heard, Script, asks, contract, done, text};
use support::{Setup, of_kind, parsed, prompt, said};

fn choose(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

fn chosen(option: Option<&str>, reason: Option<&str>) -> RequestAnswer {
    RequestAnswer::Permission { option_id: option.map(str::to_owned), reason: reason.map(str::to_owned), updated_input: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_response_is_in_the_journal_before_the_agent_hears_of_it() {
    type Seen = Arc<Mutex<Vec<Vec<String>>>>;
    type Place = Arc<OnceLock<(Arc<dyn chat_journal::ConversationStore>, String, String)>>;
    let (seen, place): (Seen, Place) = (Arc::default(), Arc::default());
    let (seen_at, place_at) = (Arc::clone(&seen), Arc::clone(&place));
    let tell = |id: &str, _: &RequestAnswer| {
        let resolved = PermissionResolved {
            request_id: id.to_owned(),
            tool_call_id: None,
            option_id: Some("its own word".to_owned()),
            approved: true,
            reason: Some("its own reason".to_owned()),
            updated_input: None,
            by: DecidedBy::TurnEnd,
        };
        let tool = ToolUpdated { tool_call_id: "call-a".to_owned(), in_progress: true, ..ToolUpdated::default() };
        vec![ChatEvent::from(EventKind::PermissionResolved(resolved)), EventKind::ToolUpdated(tool).into()]
    };
    let on_delivery = Arc::new(move || {
        let (seen, place) = (Arc::clone(&seen_at), Arc::clone(&place_at));
        let look: futures::future::BoxFuture<'static, ()> = Box::pin(async move {
            let (store, id, turn) = place.get().expect("known");
            let chunks = store.read_updates("ada", id, turn, 0, usize::MAX, usize::MAX).await.expect("stored");
            let entries = chunks.iter().flat_map(chat_journal::Chunk::entries).map(|entry| entry.json).collect();
            seen.lock().expect("not poisoned").push(entries);
        });
        look
    });
    let (setup, mut script) = Script::new(tell, on_delivery);
    let fixture = setup.start();
    let session = fixture.session_with(&contract()).await;
    let turn = session.send("Go.").await.expect("sent");
    place.set((Arc::clone(&fixture.store), session.id.clone(), turn.clone())).ok().expect("once");
    script.says(vec![asks("a")]);
    let request = session.see(&turn, "permission_request").await;
    let answer = json!({ "outcome": choose("no")["outcome"], "reason": "too bold" });
    session.respond(&request, answer).await.expect("answered");

    let stored = parsed(&seen.lock().expect("not poisoned")[0]);
    let responses = of_kind(&stored, "permission_response");
    let [response] = responses.as_slice() else { panic!("{} responses", responses.len()) };
    assert_eq!(
        (&response["outcome"]["optionId"], &response["approved"], &response["reason"], &response["by"]),
        (&json!("no"), &json!(false), &json!("too bold"), &json!("host")),
        "the host's answer counts, whatever the agent made of it"
    );
    assert_eq!(of_kind(&stored, "tool_call_update").len(), 1, "what the answer means is journaled with it");
    for heard in
        [Heard::Opened, Heard::Prompt, Heard::Answer("a".to_owned(), chosen(Some("no"), Some("too bold"))), Heard::Delivery]
    {
        assert_eq!(script.hears().await, heard);
    }
    // The agent's echo is no second response.
    let echo = PermissionResolved {
        request_id: "a".to_owned(),
        tool_call_id: None,
        option_id: Some("no".to_owned()),
        approved: false,
        reason: None,
        updated_input: None,
        by: DecidedBy::Host,
    };
    let stranger = QuestionAnswered { request_id: "b".to_owned(), action: "cancel".to_owned(), content: None };
    script.says(vec![EventKind::PermissionResolved(echo), EventKind::QuestionAnswered(stranger), done(Stop::EndTurn)]);
    let updates = parsed(&session.updates(&turn, 0).await);
    assert_eq!(of_kind(&updates, "permission_response").len(), 1);
    assert_eq!(of_kind(&updates, "elicitation_response").len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_input_reaches_an_agent_that_takes_one_and_stands_in_the_response() {
    let (setup, mut script) = Script::plain();
    let fixture = setup.start();
    let session = fixture.session_with(&contract()).await;
    let turn = session.send("Go.").await.expect("sent");
    script.says(vec![asks("fixed"), asks("changeable")]);
    let changed = |option: &str, input: Value| {
        let meta = json!({ "amalgm": { "updatedInput": input } });
        json!({ "outcome": { "outcome": "selected", "optionId": option, "_meta": meta } })
    };
    let input = json!({ "command": "another", "limit": 3 });
    let fixed = &session.see_that(&turn, "permission_request", |request| request["args"]["command"] == "fixed").await;
    let changeable = &session.see_that(&turn, "permission_request", |request| request["args"]["command"] == "changeable").await;
    for (request, answer, word) in [
        (fixed, changed("yes", input.clone()), "its own input"),
        (changeable, changed("no", input.clone()), "a choice that allows"),
        (changeable, changed("yes", json!("another")), "an object"),
        (changeable, changed("yes", json!([])), "an object"),
    ] {
        let error = session.respond(request, answer).await.expect_err("refused");
        let path = &error.details.as_ref().expect("a path")["path"];
        assert_eq!((error.code, path), (ErrorCode::InvalidOptions, &json!("outcome._meta.amalgm.updatedInput")));
        assert!(error.message.contains(word), "{error} does not say {word}");
    }
    assert_eq!(session.pending().await.as_array().map(Vec::len), Some(2), "both wait still");

    session.respond(changeable, changed("yes", input.clone())).await.expect("answered");
    session.respond(fixed, choose("yes")).await.expect("answered");
    let answer = |id: &str, updated_input: Option<&Value>| {
        let updated_input = updated_input.and_then(Value::as_object).cloned();
        Heard::Answer(
            id.to_owned(),
            RequestAnswer::Permission { option_id: Some("yes".to_owned()), reason: None, updated_input },
        )
    };
    let changed_answer = answer("changeable", Some(&input));
    for heard in [Heard::Opened, Heard::Prompt, changed_answer, Heard::Delivery, answer("fixed", None), Heard::Delivery] {
        assert_eq!(script.hears().await, heard);
    }
    script.says(vec![done(Stop::EndTurn)]);
    let updates = parsed(&session.updates(&turn, 0).await);
    let outcomes: Vec<_> =
        of_kind(&updates, "permission_response").iter().map(|response| response["outcome"].clone()).collect();
    assert_eq!(outcomes, [changed("yes", input)["outcome"].clone(), choose("yes")["outcome"].clone()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_may_take_its_request_back() {
    let (setup, script) = Script::plain();
    let fixture = setup.start();
    let session = fixture.session_with(&contract()).await;
    let turn = session.send("Go.").await.expect("sent");
    script.says(vec![asks("a")]);
    let request = session.see(&turn, "permission_request").await;
    let resolved = PermissionResolved {
        request_id: "a".to_owned(),
        tool_call_id: None,
        option_id: None,
        approved: false,
        reason: Some("taken back".to_owned()),
        updated_input: None,
        by: DecidedBy::TurnEnd,
    };
    script.says(vec![EventKind::PermissionResolved(resolved)]);
    assert_eq!(session.see(&turn, "permission_response").await["reason"], "taken back");
    assert_eq!(session.pending().await, json!([]));
    let error = session.respond(&request, choose("yes")).await.expect_err("taken back");
    assert_eq!(error.code, ErrorCode::RequestNotPending);
    script.says(vec![done(Stop::EndTurn)]);
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_requests_are_cancelled_before_the_agent_is_interrupted() {
    let (setup, mut script) = Script::plain();
    let fixture = setup.start();
    let session = fixture.session_with(&contract()).await;
    let turn = session.send("Go.").await.expect("sent");
    script.says(vec![asks("a"), asks("b")]);
    session.see(&turn, "permission_request").await;
    let interrupted = fixture.chat.interrupt(&session.id);
    let cancelled = |id: &str| Heard::Answer(id.to_owned(), chosen(None, Some("The turn was interrupted")));
    for heard in [Heard::Opened, Heard::Prompt, cancelled("a"), cancelled("b"), Heard::Delivery, Heard::Interrupt] {
        assert_eq!(script.hears().await, heard);
    }
    // What it asks while it ends is cancelled at once.
    script.says(vec![asks("c")]);
    assert!(matches!(script.hears().await, Heard::Answer(id, _) if id == "c"));
    assert_eq!(script.hears().await, Heard::Delivery);
    script.says(vec![done(Stop::Cancelled)]);
    interrupted.await.expect("interrupted");
    let updates = parsed(&session.updates(&turn, 0).await);
    let by: Vec<_> = of_kind(&updates, "permission_response").iter().map(|update| update["by"].clone()).collect();
    assert_eq!(by, ["turn_end", "turn_end", "turn_end"]);
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_outlives_its_turn() {
    for dies in [true, false] {
        let (setup, mut script) = Script::plain();
        let fixture = setup.start();
        let session = fixture.session_with(&contract()).await;
        let turn = session.send("Go.").await.expect("sent");
        script.says(vec![asks("a")]);
        session.see(&turn, "permission_request").await;
        match dies {
            true => script.dies(),
            false => script.says(vec![done(Stop::EndTurn)]),
        }
        let sealed = session.completion(&turn).await;
        assert_eq!(sealed.status, if dies { TurnStatus::Failed } else { TurnStatus::Completed });
        let updates = parsed(&session.updates(&turn, 0).await);
        let responses = of_kind(&updates, "permission_response");
        assert_eq!(responses.len(), 1);
        assert_eq!((&responses[0]["by"], &responses[0]["outcome"]["outcome"]), (&json!("turn_end"), &json!("cancelled")));
        assert_eq!((script.hears().await, script.hears().await), (Heard::Opened, Heard::Prompt));
        if !dies {
            assert_eq!(script.hears().await, Heard::Answer("a".to_owned(), chosen(None, Some("The turn ended"))));
            assert_eq!(script.hears().await, Heard::Delivery, "an agent that lives gets its answer");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_access_cancels_what_offers_no_leave() {
    let (setup, script) = Script::plain();
    let fixture = setup.start();
    let mut contract = contract();
    contract["permissionMode"] = json!("full_access");
    let session = fixture.session_with(&contract).await;
    let turn = session.send("Go.").await.expect("sent");
    let EventKind::PermissionRequested(mut request) = asks("a") else { panic!("a request") };
    request.options.retain(|choice| choice.option_id == "no");
    script.says(vec![EventKind::PermissionRequested(request), asks("b")]);
    script.says(vec![done(Stop::EndTurn)]);
    let updates = parsed(&session.updates(&turn, 0).await);
    let responses: Vec<_> = of_kind(&updates, "permission_response")
        .into_iter()
        .map(|update| (update["outcome"].clone(), update["by"].clone(), update["reason"].is_string()))
        .collect();
    let expected = [
        (json!({ "outcome": "cancelled" }), json!("full_access"), true),
        (choose("yes")["outcome"].clone(), json!("full_access"), false),
    ];
    assert_eq!(responses, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_words_get_a_turn_of_their_own_after_the_running_one() {
    let (sender, mut announced) = tokio::sync::mpsc::unbounded_channel();
    let (setup, script) = Script::plain();
    let setup = Setup { on_turn: Some(Arc::new(move |turn| drop(sender.send(turn.clone())))), ..setup };
    let fixture = setup.start();
    let session = fixture.session_with(&contract()).await;
    // All is there when the agent starts: what follows its end is found when the turn is drained.
    script.says(vec![text("One.")]);
    script.says_late(vec![text("Old.")]);
    script.says(vec![text("Two."), done(Stop::EndTurn)]);
    script.says_late(vec![text("Older.")]);
    let turn = session.send("Go.").await.expect("sent");
    let own = loop {
        let turn = announced.recv().await.expect("turns are announced");
        if turn.origin == TurnOrigin::Agent && turn.status != TurnStatus::Running {
            break turn;
        }
    };
    assert_eq!((own.status, own.ordinal), (TurnStatus::Completed, 2));
    assert_eq!(said(&parsed(&session.updates(&turn, 0).await)), "One.Two.");
    let late = parsed(&session.updates(&own.id, 0).await);
    assert_eq!(said(&late), "Old.Older.");
    assert_eq!(late[0]["_meta"]["amalgm"]["native"], json!({ "source": "scripted", "message": { "late": true } }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_words_are_kept_when_the_agent_dies_or_the_chat_closes() {
    for closes in [true, false] {
        let (setup, mut script) = Script::plain();
        let fixture = setup.start();
        let session = fixture.session_with(&contract()).await;
        let turn = session.send("Go.").await.expect("sent");
        script.says_late(vec![text("Old.")]);
        script.says(vec![text("New.")]);
        session.see(&turn, "agent_message_chunk").await;
        match closes {
            true => {
                let ends = async {
                    while script.hears().await != Heard::Interrupt {}
                    script.says(vec![done(Stop::Cancelled)]);
                };
                tokio::join!(fixture.chat.close(), ends);
            }
            false => {
                script.dies();
                session.completion(&turn).await;
                fixture.chat.close_session(&session.id).await.expect("closed");
            }
        }
        let latest = fixture.store.latest_turn("ada", &session.id).await.expect("stored").expect("a turn");
        assert_eq!((latest.origin, latest.status, latest.ordinal), (TurnOrigin::Agent, TurnStatus::Completed, 2));
        assert_eq!(latest.last_sequence, 1);
    }
}

fn retry(attempt: u64) -> EventKind {
    let retry = Some(Retry { attempt, limit: None, delay_ms: None });
    EventKind::Warning { message: format!("attempt {attempt}"), detail: None, retry }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_only_retries_fails_the_turn() {
    let (setup, mut script) = Script::plain();
    let setup = Setup { options: json!({ "ownerUserId": "ada", "retryLimitMs": 1 }), ..setup };
    let fixture = setup.start();
    let session = fixture.session_with(&contract()).await;
    let turn = session.send("Go.").await.expect("sent");
    script.says(vec![retry(1), retry(2)]);
    for heard in [Heard::Opened, Heard::Prompt, Heard::Interrupt] {
        assert_eq!(script.hears().await, heard);
    }
    script.says(vec![done(Stop::Cancelled)]);
    let sealed = session.completion(&turn).await;
    let failure = sealed.error.as_ref().expect("a reason");
    assert_eq!((failure.code.as_str(), failure.reason.as_str(), failure.retryable), ("TRANSPORT_ERROR", "retry_limit", true));
    assert!(failure.message.contains("attempt 2"), "{}", failure.message);
    let updates = parsed(&session.updates(&turn, 0).await);
    assert_eq!(updates.last().expect("a notice")["_meta"]["amalgm"]["error"]["reason"], "retry_limit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_gets_on_may_retry() {
    let (setup, mut script) = Script::plain();
    let setup = Setup { options: json!({ "ownerUserId": "ada", "retryLimitMs": 1, "requestLimitMs": 40 }), ..setup };
    let fixture = setup.start();
    let session = fixture.session_with(&contract()).await;
    let turn = session.send("Go.").await.expect("sent");
    // The request waits forty times as long as retries may.
    script.says(vec![retry(1), text("There."), asks("a"), retry(2)]);
    for heard in [
        Heard::Opened,
        Heard::Prompt,
        Heard::Answer("a".to_owned(), chosen(None, Some("Nobody answered within 40 ms"))),
        Heard::Delivery,
    ] {
        assert_eq!(script.hears().await, heard);
    }
    script.says(vec![text("Here."), done(Stop::EndTurn)]);
    assert_eq!(session.completion(&turn).await.status, TurnStatus::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_kept_only_for_what_it_was_started_with() {
    let (setup, mut script) = Script::plain();
    let fixture = setup.start();
    let session = fixture.session_with(&contract()).await;
    let mut again = async |id: &str, resolved: Value| {
        let resolved = resolved.to_string();
        let contract = contract().to_string();
        let execution = fixture.chat.prepare_execution(id, &contract, Some(&resolved)).await.expect("prepared");
        let options = json!({ "execution": execution, "prompt": prompt("Go.") }).to_string();
        let turn = fixture.chat.send(&session.id, options).await.expect("sent");
        script.says(vec![done(Stop::EndTurn)]);
        session.completion(&turn).await;
        let mut heard = Vec::new();
        while heard.last() != Some(&Heard::Prompt) {
            heard.push(script.hears().await);
        }
        heard
    };
    assert_eq!(again("one", json!({ "env": { "A": "1" } })).await, [Heard::Opened, Heard::Prompt]);
    assert_eq!(again("same", json!({ "env": { "A": "1" } })).await, [Heard::Prompt]);
    assert_eq!(again("other", json!({ "env": { "A": "2" } })).await, [Heard::Close, Heard::Opened, Heard::Prompt]);
}
