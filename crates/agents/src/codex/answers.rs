//! The host's answers in Codex's form.

use chat_grammar::event::{QuestionAction, RequestAnswer};
use serde_json::{Map, Value, json};

/// A request of Codex that waits for an answer.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// As Codex wrote it: a number or a string.
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
}

/// The name that the form of a question gives to an answer in the user's own words.
const OTHER: &str = "_other";

impl Request {
    pub(super) fn result(&self, answer: &RequestAnswer) -> Value {
        match (self.method.as_str(), answer) {
            ("item/permissions/requestApproval", RequestAnswer::Permission { option_id, .. }) => match option_id.as_deref() {
                Some(scope @ ("turn" | "session")) => json!({ "permissions": self.params["permissions"], "scope": scope }),
                _ => json!({ "permissions": {}, "scope": "turn" }),
            },
            ("mcpServer/elicitation/request", RequestAnswer::Permission { option_id, .. }) => match option_id.as_deref() {
                Some("accept") => json!({ "action": "accept", "content": {}, "_meta": null }),
                Some("acceptForSession") => json!({ "action": "accept", "content": {}, "_meta": { "persist": "session" } }),
                Some(_) => json!({ "action": "decline", "content": null, "_meta": null }),
                None => json!({ "action": "cancel", "content": null, "_meta": null }),
            },
            (_, RequestAnswer::Permission { option_id, .. }) => {
                json!({ "decision": option_id.as_deref().unwrap_or("cancel") })
            }
            ("item/tool/requestUserInput", RequestAnswer::Question { action, content }) => {
                let content = content.as_ref().filter(|_| *action == QuestionAction::Accept);
                json!({ "answers": self.user_input(content) })
            }
            (_, RequestAnswer::Question { action, content }) => json!({ "action": action, "content": content, "_meta": null }),
        }
    }

    /// The answers by question. Whoever answers in own words gives no option, or adds to it.
    fn user_input(&self, content: Option<&Value>) -> Map<String, Value> {
        let Some(content) = content else { return Map::new() };
        let questions = self.params["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let answered = questions.iter().filter_map(|question| {
            let id = question["id"].as_str()?;
            let mut answers = texts(&content[id]);
            answers.extend(texts(&content[format!("{id}{OTHER}")]));
            (!answers.is_empty()).then(|| (id.to_owned(), json!({ "answers": answers })))
        });
        answered.collect()
    }

    /// What Codex is told beside a denial, whose own form has no place for a reason: a word of the user's to the running turn.
    pub(super) fn reason_of_denial(&self, answer: &RequestAnswer) -> Option<String> {
        match answer {
            RequestAnswer::Permission { option_id: Some(option), reason: Some(reason), .. } if option == "decline" => {
                Some(format!("I declined that: {reason}"))
            }
            _ => None,
        }
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        other => vec![other.to_string()],
    }
}
