//! Questions and plans, on which Cursor waits for an answer.

use super::extensions::plan_entries;
use super::wire::{Answer, Outcome, PlanParams, QuestionParams};
use crate::acp::{Acp, Leave, Malformed, plain_choice};
use chat_grammar::acp::ToolKind;
use chat_grammar::event::{ChatEvent, PermissionRequested, QuestionAsked};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// `cursor/ask_question`, as a form with one property a question.
pub(super) fn question(acp: &mut Acp, id: &RawValue, params: &RawValue, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
    let params: QuestionParams<'_> = serde_json::from_str(params.get())?;
    let mut properties = Map::new();
    for question in &params.questions {
        let choices = question.options.iter().map(|option| {
            let title = option.label.as_deref().unwrap_or(&option.id);
            json!({ "const": &*option.id, "title": title })
        });
        let choices: Vec<Value> = choices.collect();
        let mut property = match question.allow_multiple {
            Some(true) => json!({ "type": "array", "items": { "anyOf": choices } }),
            _ => json!({ "type": "string", "oneOf": choices }),
        };
        if let (Some(prompt), Value::Object(property)) = (question.prompt.as_deref(), &mut property) {
            property.insert("title".to_owned(), prompt.into());
        }
        properties.insert(question.id.to_string(), property);
    }
    let required: Vec<&str> = params.questions.iter().map(|question| &*question.id).collect();
    let form = json!({ "type": "object", "properties": properties, "required": required });
    let message = params.title.as_deref().map_or_else(
        || params.questions.iter().filter_map(|question| question.prompt.as_deref()).collect::<Vec<_>>().join("\n"),
        str::to_owned,
    );
    let question = QuestionAsked {
        request_id: String::new(),
        tool_call_id: params.tool_call_id.as_deref().and_then(|call| acp.shown_call(call)).map(str::to_owned),
        message,
        form: Some(form),
        url: None,
    };
    acp.ask_question(id, question, answered, out);
    Ok(())
}

/// `cursor/create_plan`: the plan, and leave to go on with it.
pub(super) fn plan(acp: &mut Acp, id: &RawValue, params: &RawValue, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
    let plan: PlanParams<'_> = serde_json::from_str(params.get())?;
    let mut input: Map<String, Value> = serde_json::from_str(params.get())?;
    input.remove("toolCallId");
    let entries = plan_entries(&plan.todos);
    if !entries.is_empty() {
        acp.plan_is(entries, out);
    }
    let call = plan.tool_call_id.as_deref();
    let shown = call.and_then(|call| acp.shown_call(call)).map(str::to_owned);
    let title = match plan.name.as_deref() {
        Some(name) => format!("Accept the plan: {name}"),
        None => "Accept the plan".to_owned(),
    };
    let request = PermissionRequested {
        request_id: String::new(),
        tool_call_id: shown,
        action: "CreatePlan".to_owned(),
        title,
        kind: ToolKind::SwitchMode,
        input: Value::Object(input),
        options: vec![
            plain_choice("accepted", "Accept the plan", "allow_once"),
            plain_choice("rejected", "Reject the plan", "reject_once"),
        ],
    };
    acp.ask_leave(id, call.map(str::to_owned), request, leave, out);
    Ok(())
}

/// `{outcome: {outcome, …}}`, or bare as some clients answer: `{outcome: "accepted"}`.
fn outcome(result: &str) -> Outcome<'_> {
    let Ok(answer) = serde_json::from_str::<Answer<'_>>(result) else { return Outcome::default() };
    let outcome = answer.outcome.get();
    serde_json::from_str(outcome)
        .unwrap_or_else(|_| Outcome { outcome: serde_json::from_str(outcome).ok(), ..Outcome::default() })
}

fn leave(result: &str) -> Leave {
    let Outcome { outcome, reason, .. } = outcome(result);
    let option_id = outcome.filter(|word| matches!(&**word, "accepted" | "rejected")).map(|word| word.to_string());
    Leave { option_id, reason: reason.map(|reason| reason.to_string()) }
}

/// The answers as the form's content: a list where the question takes more than one option.
fn answered(result: &str, form: Option<&Value>) -> (&'static str, Option<Value>) {
    let Outcome { outcome, answers, .. } = outcome(result);
    match outcome.as_deref() {
        Some("answered") => {
            let content: Map<String, Value> = answers
                .unwrap_or_default()
                .into_iter()
                .map(|answer| {
                    let takes_many = form.is_some_and(|form| form["properties"][&*answer.question_id]["type"] == "array");
                    let value = match answer.selected_option_ids.as_slice() {
                        [one] if !takes_many => one.as_str().into(),
                        all => all.into(),
                    };
                    (answer.question_id.to_string(), value)
                })
                .collect();
            ("accept", Some(Value::Object(content)))
        }
        Some("skipped") => ("decline", None),
        _ => ("cancel", None),
    }
}
