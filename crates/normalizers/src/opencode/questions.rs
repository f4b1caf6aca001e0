//! Questions of the agent to the user, as ACP forms. The questions have no ids: in the form they are `q1`, `q2` and so on.

use super::calls::bind;
use super::normalize::OpenCode;
use super::requests::{Asks, Pending};
use super::wire::{self, Question};
use chat_grammar::event::{ChatEvent, EventKind, QuestionAsked};
use serde_json::{Map, Value, json};

/// What a property of a form is called that takes an answer which is none of the options.
const OTHER: &str = "_other";

impl OpenCode {
    /// `question.asked`.
    pub(super) fn question_asked(&mut self, asked: &wire::QuestionAsked<'_>, out: &mut Vec<ChatEvent>) {
        if self.sessions.find(&asked.session_id).is_none() {
            return self.foreign(out);
        }
        if self.requests.is_known(&asked.id) {
            return;
        }
        bind(&mut self.sessions, &asked.session_id, &mut self.tools, out);
        let Some(session) = self.sessions.find(&asked.session_id) else { return };
        let parent = session.call.clone();
        let tool_call_id = asked.tool.as_ref().map(|tool| {
            let call = session.call_of(Some(&tool.message_id), &tool.call_id, &self.tools);
            call.map_or_else(|| self.tools.free_id(&tool.call_id), |call| call.id.clone())
        });
        self.requests.ask(Pending {
            id: asked.id.to_string(),
            session_id: asked.session_id.to_string(),
            parent: parent.clone(),
            asks: Asks::Question(asked.questions.iter().map(Asked::new).collect()),
        });
        let message = asked.questions.iter().map(|question| &*question.question).collect::<Vec<_>>().join("\n");
        let kind = EventKind::QuestionAsked(QuestionAsked {
            request_id: asked.id.to_string(),
            tool_call_id,
            message,
            form: Some(form(&asked.questions)),
            url: None,
        });
        out.push(ChatEvent { kind, parent_tool_call_id: parent });
    }
}

fn form(questions: &[Question<'_>]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (number, question) in (1..).zip(questions) {
        let key = key(number);
        let options = question.options.as_deref().unwrap_or_default();
        let mut property = Map::new();
        if let Some(header) = question.header.as_deref() {
            property.insert("title".to_owned(), header.into());
        }
        property.insert("description".to_owned(), (&*question.question).into());
        let choices: Vec<Value> = options
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
        let multiple = question.multiple == Some(true) && !choices.is_empty();
        property.insert("type".to_owned(), if multiple { "array" } else { "string" }.into());
        let has_choices = !choices.is_empty();
        match (multiple, has_choices) {
            (true, _) => property.insert("items".to_owned(), json!({ "anyOf": choices })),
            (false, true) => property.insert("oneOf".to_owned(), choices.into()),
            (false, false) => None,
        };
        properties.insert(key.clone(), Value::Object(property));
        // Whoever answers in own words picks no option.
        if has_choices && question.custom != Some(false) {
            properties.insert(format!("{key}{OTHER}"), json!({ "type": "string", "title": "Other" }));
        } else {
            required.push(Value::from(key));
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

fn key(number: usize) -> String {
    format!("q{number}")
}

/// What must be known of a question to read its answer.
#[derive(Debug)]
pub(super) struct Asked {
    multiple: bool,
    labels: Vec<String>,
}

impl Asked {
    fn new(question: &Question<'_>) -> Self {
        let labels = question.options.iter().flatten().map(|option| option.label.to_string()).collect();
        Self { multiple: question.multiple == Some(true), labels }
    }

    /// The properties of the form that an answer fills in. Own words have a property of their own.
    fn fill(&self, number: usize, answers: &[&str], content: &mut Map<String, Value>) {
        let (labels, own): (Vec<&str>, Vec<&str>) =
            answers.iter().partition(|answer| self.labels.is_empty() || self.labels.iter().any(|label| label == *answer));
        let picked = match labels.as_slice() {
            [] => None,
            [one] if !self.multiple => Some(Value::from(*one)),
            several => Some(Value::from(several.to_vec())),
        };
        content.extend(picked.map(|picked| (key(number), picked)));
        if !own.is_empty() {
            content.insert(format!("{}{OTHER}", key(number)), own.join("\n").into());
        }
    }
}

/// The content of the form that the answers fill in; `None` where nothing was answered.
pub(super) fn content(asked: &[Asked], answers: &[Vec<&str>]) -> Option<Value> {
    let mut content = Map::new();
    for ((number, asked), answers) in (1..).zip(asked).zip(answers) {
        asked.fill(number, answers, &mut content);
    }
    (!content.is_empty()).then_some(Value::Object(content))
}
