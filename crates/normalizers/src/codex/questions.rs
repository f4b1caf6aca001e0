//! Questions of the agent to the user, as ACP forms.

use super::Malformed;
use super::mcp::value;
use super::wire::{AgentRequest, HostAnswer, Question};
use chat_grammar::event::{ElicitationUrl, QuestionAsked};
use serde_json::{Map, Value, json};

/// What a property of a form is called that takes an answer which is none of the options.
const OTHER: &str = "_other";

/// The question of a request.
pub(super) fn asked(
    request: &AgentRequest<'_>,
    request_id: String,
    tool_call_id: Option<String>,
) -> Result<QuestionAsked, Malformed> {
    let questions = request.questions.as_deref().unwrap_or_default();
    let message = match request.message.as_deref() {
        Some(message) => message.to_owned(),
        None => questions.iter().filter_map(|question| question.question.as_deref()).collect::<Vec<_>>().join("\n"),
    };
    let url = match (request.url.as_deref(), request.mode.as_deref()) {
        (Some(url), Some("url")) => Some(ElicitationUrl {
            url: url.to_owned(),
            elicitation_id: request.elicitation_id.as_deref().unwrap_or(&request_id).to_owned(),
        }),
        _ => None,
    };
    let form = match (&url, request.requested_schema) {
        (Some(_), _) => None,
        (None, Some(schema)) => Some(value(Some(schema))?),
        (None, None) => Some(form(questions)),
    };
    Ok(QuestionAsked { request_id, tool_call_id, message, form, url })
}

fn form(questions: &[Question<'_>]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for question in questions {
        let options = question.options.as_deref().unwrap_or_default();
        let mut property = Map::new();
        property.insert("type".to_owned(), "string".into());
        for (name, text) in [("title", &question.header), ("description", &question.question)] {
            if let Some(text) = text.as_deref() {
                property.insert(name.to_owned(), text.into());
            }
        }
        if question.is_secret == Some(true) {
            property.insert("_meta".to_owned(), json!({ "amalgm": { "secret": true } }));
        }
        if !options.is_empty() {
            let choices = options.iter().map(|option| {
                let mut choice = Map::new();
                choice.insert("const".to_owned(), (&*option.label).into());
                choice.insert("title".to_owned(), (&*option.label).into());
                if let Some(text) = option.description.as_deref().filter(|text| !text.is_empty()) {
                    choice.insert("description".to_owned(), text.into());
                }
                Value::Object(choice)
            });
            property.insert("oneOf".to_owned(), choices.collect());
        }
        properties.insert(question.id.to_string(), Value::Object(property));
        // Whoever answers in own words picks no option.
        if question.is_other == Some(true) && !options.is_empty() {
            let other = json!({ "type": "string", "title": "Other" });
            properties.insert(format!("{}{OTHER}", &*question.id), other);
        } else {
            required.push(Value::from(&*question.id));
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The host's answer: the action, and the content of the form.
pub(super) fn answered(given: &HostAnswer<'_>) -> (&'static str, Option<Value>) {
    if let Some(answers) = given.answers {
        let answers = value(Some(answers)).unwrap_or(Value::Null);
        let content: Map<String, Value> = answers
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(id, answer)| Some((id.clone(), one_or_all(answer.get("answers")?))))
            .collect();
        return match content.is_empty() {
            true => ("decline", None),
            false => ("accept", Some(Value::Object(content))),
        };
    }
    match given.action.as_deref() {
        Some("accept") => ("accept", value(given.content).ok().filter(|content| !content.is_null())),
        Some("decline") => ("decline", None),
        _ => ("cancel", None),
    }
}

fn one_or_all(answers: &Value) -> Value {
    match answers.as_array().map(Vec::as_slice) {
        Some([one]) => one.clone(),
        _ => answers.clone(),
    }
}
