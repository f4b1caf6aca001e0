//! Answers of the host to requests of the agent: what may be answered, and what the journal says of it.

use crate::open_requests::{Asks, OpenRequest};
use crate::requests::{invalid, members, optional_text};
use chat_grammar::Result;
use chat_grammar::event::{
    ChatEvent, DecidedBy, EventKind, PermissionChoice, PermissionResolved, QuestionAction, QuestionAnswered, RequestAnswer,
};
use serde_json::{Map, Value};

/// What was decided about a request.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) request: OpenRequest,
    pub(crate) answer: RequestAnswer,
    pub(crate) by: DecidedBy,
}

impl Decision {
    /// Nobody answered, and why.
    pub(crate) fn cancelled(request: OpenRequest, by: DecidedBy, reason: &str) -> Self {
        let answer = match request.asks {
            Asks::Leave { .. } => {
                RequestAnswer::Permission { option_id: None, reason: Some(reason.to_owned()), updated_input: None }
            }
            Asks::Question { .. } => RequestAnswer::Question { action: QuestionAction::Cancel, content: None },
        };
        Self { request, answer, by }
    }

    /// The host's answer, as `Chat::respond` takes it.
    ///
    /// # Errors
    /// `INVALID_OPTIONS` at the path of what is wrong with it.
    pub(crate) fn read(request: OpenRequest, json: &str) -> Result<Self> {
        let members = members(json)?;
        let answer = match &request.asks {
            Asks::Leave { choices, .. } => permission(&members, &request.id, choices)?,
            Asks::Question { schema } => elicitation(&members, &request.id, schema.as_ref())?,
        };
        Ok(Self { request, answer, by: DecidedBy::Host })
    }

    /// The agent's account of the answer with exactly one response to the request in it, which says what was decided.
    pub(crate) fn told(self, mut events: Vec<ChatEvent>) -> Vec<ChatEvent> {
        let native_id = self.request.native_id.clone();
        let is_response = |event: &ChatEvent| resolved_request(&event.kind) == Some(native_id.as_str());
        let parent = self.request.parent.clone();
        let response = self.response();
        match events.iter_mut().find(|event| is_response(event)) {
            Some(event) => event.kind = response,
            None => events.insert(0, ChatEvent { kind: response, parent_tool_call_id: parent }),
        }
        events
    }

    fn response(self) -> EventKind {
        let request_id = self.request.native_id;
        match self.answer {
            RequestAnswer::Permission { option_id, reason, updated_input } => {
                let (tool_call_id, choices) = match self.request.asks {
                    Asks::Leave { tool_call_id, choices } => (tool_call_id, choices),
                    Asks::Question { .. } => (None, Vec::new()),
                };
                let chosen = choices.iter().find(|choice| Some(&choice.option_id) == option_id.as_ref());
                let approved = chosen.is_some_and(PermissionChoice::allows);
                let by = self.by;
                let resolved = PermissionResolved { request_id, tool_call_id, option_id, approved, reason, updated_input, by };
                EventKind::PermissionResolved(resolved)
            }
            RequestAnswer::Question { action, content } => {
                let action = match action {
                    QuestionAction::Accept => "accept",
                    QuestionAction::Decline => "decline",
                    QuestionAction::Cancel => "cancel",
                };
                EventKind::QuestionAnswered(QuestionAnswered { request_id, action: action.to_owned(), content })
            }
        }
    }
}

/// The agent's id of the request that an event ends.
pub(crate) fn resolved_request(event: &EventKind) -> Option<&str> {
    match event {
        EventKind::PermissionResolved(response) => Some(&response.request_id),
        EventKind::QuestionAnswered(answer) => Some(&answer.request_id),
        _ => None,
    }
}

/// Where a host's answer holds the whole input that a tool is to run with: ACP has no field for it.
pub(crate) const UPDATED_INPUT: &str = "outcome._meta.amalgm.updatedInput";

/// `{outcome, reason?}`.
fn permission(answer: &Map<String, Value>, id: &str, choices: &[PermissionChoice]) -> Result<RequestAnswer> {
    let offered = || choices.iter().map(|choice| choice.option_id.as_str()).collect::<Vec<_>>().join(", ");
    only(answer, &["outcome", "reason"], || format!("request {id:?} asks for leave: it takes an outcome and a reason"))?;
    let outcome = &answer.get("outcome").unwrap_or(&Value::Null);
    let option_id = match (outcome["outcome"].as_str(), outcome["optionId"].as_str()) {
        (Some("cancelled"), _) => None,
        (Some("selected"), Some(chosen)) if choices.iter().any(|choice| choice.option_id == chosen) => Some(chosen.to_owned()),
        (Some("selected"), Some(other)) => {
            return Err(invalid("outcome.optionId", format!("{other:?} was not offered; there is: {}", offered())));
        }
        (Some("selected"), None) => {
            return Err(invalid("outcome.optionId", format!("must be one of: {}", offered())));
        }
        _ => {
            let problem = format!("must be \"selected\" with one of: {}; or \"cancelled\"", offered());
            return Err(invalid("outcome.outcome", problem));
        }
    };
    let chosen = choices.iter().find(|choice| Some(&choice.option_id) == option_id.as_ref());
    let updated_input = match outcome["_meta"]["amalgm"].get("updatedInput") {
        None | Some(Value::Null) => None,
        Some(_) if !chosen.is_some_and(PermissionChoice::allows) => {
            return Err(invalid(UPDATED_INPUT, "is for a choice that allows"));
        }
        Some(Value::Object(input)) => Some(input.clone()),
        Some(_) => return Err(invalid(UPDATED_INPUT, "must be an object: the tool's whole input")),
    };
    Ok(RequestAnswer::Permission { option_id, reason: optional_text(answer, "reason")?, updated_input })
}

/// `{response}`.
fn elicitation(answer: &Map<String, Value>, id: &str, schema: Option<&Value>) -> Result<RequestAnswer> {
    only(answer, &["response"], || format!("request {id:?} is a question: it takes a response"))?;
    let response = answer.get("response").unwrap_or(&Value::Null);
    let action = match response["action"].as_str() {
        Some("accept") => QuestionAction::Accept,
        Some("decline") => QuestionAction::Decline,
        Some("cancel") => QuestionAction::Cancel,
        _ => return Err(invalid("response.action", "must be \"accept\", \"decline\" or \"cancel\"")),
    };
    if action != QuestionAction::Accept {
        return Ok(RequestAnswer::Question { action, content: None });
    }
    let content = match response.get("content") {
        None | Some(Value::Null) => None,
        Some(content @ Value::Object(_)) => Some(content.clone()),
        Some(_) => return Err(invalid("response.content", "must be an object")),
    };
    if let Some(schema) = schema {
        check_form(schema, content.as_ref().unwrap_or(&Value::Object(Map::new())))?;
    }
    Ok(RequestAnswer::Question { action, content })
}

/// A schema that is none is the agent's fault: it is not enforced, the agent will say what it wants.
fn check_form(schema: &Value, content: &Value) -> Result<()> {
    let Ok(validator) = jsonschema::validator_for(schema) else { return Ok(()) };
    match validator.validate(content) {
        Ok(()) => Ok(()),
        Err(error) => {
            let place = error.instance_path().to_string().replace('/', ".");
            // A form may hold secrets: what was filled in is not repeated.
            Err(invalid(&format!("response.content{place}"), error.masked()))
        }
    }
}

fn only(answer: &Map<String, Value>, known: &[&str], problem: impl Fn() -> String) -> Result<()> {
    match answer.keys().find(|key| !known.contains(&key.as_str())) {
        Some(unknown) => Err(invalid(unknown, problem())),
        None => Ok(()),
    }
}
