//! AskUserQuestion as an ACP form. The question's text is the key of its answer, as the CLI wants it back.

use super::wire::{Answers, Decision, Question, Questions};
use serde_json::{Map, Value, json};

/// What is kept of a question that was asked: its text and, where several answers may be picked, their labels.
#[derive(Debug)]
pub(super) struct Asked {
    question: String,
    labels: Option<Vec<String>>,
}

/// The text for the user.
pub(super) fn message(questions: &Questions<'_>) -> String {
    questions.questions.iter().map(|question| &*question.question).collect::<Vec<_>>().join("\n")
}

pub(super) fn asked(questions: &Questions<'_>) -> Vec<Asked> {
    let asked = |question: &Question<'_>| Asked {
        question: question.question.to_string(),
        labels: (question.multi_select == Some(true))
            .then(|| question.options.iter().map(|option| option.label.to_string()).collect()),
    };
    questions.questions.iter().map(asked).collect()
}

/// The form, one property a question.
pub(super) fn form(questions: &Questions<'_>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for question in &questions.questions {
        let choices: Vec<Value> = question
            .options
            .iter()
            .map(|option| {
                let mut choice = Map::new();
                choice.insert("const".to_owned(), (&*option.label).into());
                choice.insert("title".to_owned(), (&*option.label).into());
                if let Some(text) = option.description.as_deref().filter(|text| !text.is_empty()) {
                    choice.insert("description".to_owned(), text.into());
                }
                Value::Object(choice)
            })
            .collect();
        let mut property = match (question.multi_select, choices.is_empty()) {
            (Some(true), false) => json!({ "type": "array", "items": { "anyOf": choices } }),
            (_, false) => json!({ "type": "string", "oneOf": choices }),
            (_, true) => json!({ "type": "string" }),
        };
        property["title"] = question.header.as_deref().unwrap_or(&question.question).into();
        property["description"] = (&*question.question).into();
        properties.insert(question.question.to_string(), property);
        required.push(Value::from(&*question.question));
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The host's answer: the action, and the content of the form.
pub(super) fn answered(asked: &[Asked], given: &Decision<'_>) -> (&'static str, Option<Value>) {
    if given.behavior.as_deref() != Some("allow") {
        return ("decline", None);
    }
    let input = given.updated_input.and_then(|raw| serde_json::from_str::<Answers<'_>>(raw.get()).ok());
    let answers = input.and_then(|input| serde_json::from_str::<Map<String, Value>>(input.answers?.get()).ok());
    let content = answers.into_iter().flatten().map(|(question, answer)| {
        let labels = asked.iter().find(|asked| asked.question == question).and_then(|asked| asked.labels.as_deref());
        let answer = match (labels, &answer) {
            (Some(labels), Value::String(text)) => picked(labels, text),
            _ => answer,
        };
        (question, answer)
    });
    let content: Map<String, Value> = content.collect();
    match content.is_empty() {
        true => ("decline", None),
        false => ("accept", Some(Value::Object(content))),
    }
}

/// Several labels come joined with commas, which labels may hold too.
fn picked(labels: &[String], text: &str) -> Value {
    let mut rest = text;
    let mut picked = Vec::new();
    while let Some(label) = labels.iter().filter(|label| begins_with(rest, label)).max_by_key(|label| label.len()) {
        picked.push(Value::from(label.as_str()));
        rest = rest.get(label.len()..).unwrap_or("");
        match rest.strip_prefix(", ") {
            Some(more) => rest = more,
            None => break,
        }
    }
    match rest.is_empty() {
        true => Value::Array(picked),
        false => json!([text]),
    }
}

fn begins_with(text: &str, label: &str) -> bool {
    !label.is_empty() && text.strip_prefix(label).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
}

#[cfg(test)]
mod tests {
    use super::picked;
    use serde_json::json;

    #[test]
    fn labels_are_told_apart() {
        let labels = ["A".to_owned(), "A, B".to_owned(), "C".to_owned()];
        assert_eq!(picked(&labels, "A, C"), json!(["A", "C"]));
        assert_eq!(picked(&labels, "A, B, C"), json!(["A, B", "C"]));
        assert_eq!(picked(&labels, "my own words"), json!(["my own words"]));
    }
}
