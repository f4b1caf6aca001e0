//! The host's answers in the form of the control protocol.

use chat_grammar::event::{QuestionAction, RequestAnswer};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A request of Claude Code that waits for an answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Request {
    /// `can_use_tool` or `elicitation`.
    pub(super) subtype: String,
    pub(super) tool_name: String,
    pub(super) input: Value,
    /// What would make later requests needless.
    pub(super) permission_suggestions: Option<Vec<Value>>,
}

const DECLINED: &str = "The user declined this.";
const CANCELLED: &str = "The user cancelled this.";

impl Request {
    /// Whether a tool waits for leave.
    pub(super) fn asks_leave(&self) -> bool {
        self.subtype == "can_use_tool"
    }

    /// What stands in the response to the request.
    pub(super) fn response(&self, answer: &RequestAnswer) -> Value {
        match answer {
            RequestAnswer::Permission { option_id, reason, updated_input } => {
                self.decision(option_id.as_deref(), reason.as_deref(), updated_input.as_ref())
            }
            RequestAnswer::Question { action, content } if self.subtype == "elicitation" => match action {
                QuestionAction::Accept => json!({ "action": action, "content": content }),
                _ => json!({ "action": action }),
            },
            RequestAnswer::Question { action: QuestionAction::Accept, content } => {
                // The input must come back whole, with the answers beside the questions.
                let mut input = self.input.clone();
                input["answers"] = answers(content.as_ref());
                json!({ "behavior": "allow", "updatedInput": input })
            }
            RequestAnswer::Question { action: QuestionAction::Decline, .. } => {
                json!({ "behavior": "deny", "message": DECLINED })
            }
            RequestAnswer::Question { action: QuestionAction::Cancel, .. } => {
                json!({ "behavior": "deny", "message": CANCELLED })
            }
        }
    }

    /// The input must come with an allowance, changed or not.
    fn decision(&self, option_id: Option<&str>, reason: Option<&str>, updated: Option<&Map<String, Value>>) -> Value {
        let input = || updated.map_or_else(|| self.input.clone(), |updated| Value::Object(updated.clone()));
        match option_id {
            Some("allow") => json!({ "behavior": "allow", "updatedInput": input() }),
            Some("allow_always") => {
                json!({ "behavior": "allow", "updatedInput": input(), "updatedPermissions": self.lasting() })
            }
            Some(_) => json!({ "behavior": "deny", "message": reason.unwrap_or(DECLINED) }),
            // Who cancels wants the turn to end: with a mere denial the model goes on.
            None => json!({ "behavior": "deny", "message": reason.unwrap_or(CANCELLED), "interrupt": true }),
        }
    }

    /// What is allowed from now on. Claude Code suggests to write it into the project; here it is for the session only.
    fn lasting(&self) -> Vec<Value> {
        if self.tool_name == "ExitPlanMode" {
            return vec![json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" })];
        }
        let mut updates = self.permission_suggestions.clone().unwrap_or_default();
        for update in updates.iter_mut().filter_map(Value::as_object_mut) {
            update.insert("destination".to_owned(), "session".into());
        }
        updates
    }
}

/// By question, several answers to one joined as Claude Code's own dialog joins them.
fn answers(content: Option<&Value>) -> Value {
    let given = content.and_then(Value::as_object).into_iter().flatten();
    let answers: Map<String, Value> = given.map(|(question, answer)| (question.clone(), text(answer).into())).collect();
    Value::Object(answers)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
