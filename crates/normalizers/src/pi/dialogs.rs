//! Dialogs that extensions open: questions to the user, and leave for tool calls.

use super::Malformed;
use super::calls::Call;
use super::normalize::Pi;
use super::permissions::{self, Choices};
use super::wire::{HostLine, UiRequest};
use chat_grammar::event::{
    ChatEvent, DecidedBy, EventKind, PermissionChoice, PermissionRequested, PermissionResolved, QuestionAnswered, QuestionAsked,
};
use serde_json::{Value, json};

/// Dialogs that nobody has answered.
#[derive(Debug, Default)]
pub(super) struct Dialogs {
    open: Vec<Dialog>,
}

#[derive(Debug)]
struct Dialog {
    id: String,
    asks: Asks,
}

#[derive(Debug)]
enum Asks {
    Leave {
        tool_call_id: String,
        choices: Choices,
    },
    /// Whether the answer is a yes or no.
    Question {
        confirms: bool,
    },
}

/// How a dialog ended.
enum Answer<'a> {
    Given(&'a HostLine<'a>),
    /// Nobody answered, and why.
    None(&'a str),
}

impl Dialogs {
    /// Nobody will answer what is open.
    pub(super) fn cancel(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        out.extend(self.open.drain(..).map(|dialog| dialog.end(&Answer::None(reason))));
    }

    /// A call goes on or has ended: a dialog about it closed by itself, as one with a time limit does.
    pub(super) fn call_goes_on(&mut self, tool_call_id: &str, out: &mut Vec<ChatEvent>) {
        let about = |dialog: &Dialog| matches!(&dialog.asks, Asks::Leave { tool_call_id: id, .. } if id == tool_call_id);
        let closed = self.open.extract_if(.., |dialog| about(dialog));
        out.extend(closed.map(|dialog| dialog.end(&Answer::None("The request timed out"))));
    }
}

impl Dialog {
    fn end(self, answer: &Answer<'_>) -> ChatEvent {
        let Self { id: request_id, asks } = self;
        let kind = match asks {
            Asks::Question { confirms } => {
                let content = match answer {
                    Answer::Given(given) if given.cancelled == Some(true) => None,
                    Answer::Given(given) if confirms => given.confirmed.map(|confirmed| json!({ "confirmed": confirmed })),
                    Answer::Given(given) => given.value.as_deref().map(|value| json!({ "value": value })),
                    Answer::None(_) => None,
                };
                let action = if content.is_some() { "accept" } else { "cancel" };
                EventKind::QuestionAnswered(QuestionAnswered { request_id, action: action.to_owned(), content })
            }
            Asks::Leave { tool_call_id, choices } => {
                let (chosen, by, reason) = match answer {
                    Answer::Given(given) => {
                        let (chosen, reason) = choices.chosen(given);
                        (chosen, DecidedBy::Host, reason)
                    }
                    Answer::None(reason) => (None, DecidedBy::TurnEnd, Some((*reason).to_owned())),
                };
                EventKind::PermissionResolved(PermissionResolved {
                    request_id,
                    tool_call_id: Some(tool_call_id),
                    approved: chosen.is_some_and(PermissionChoice::allows),
                    option_id: chosen.map(|choice| choice.option_id.clone()),
                    reason,
                    updated_input: None,
                    by,
                })
            }
        };
        kind.into()
    }
}

impl Pi {
    /// `extension_ui_request`. False for a method that is newer than this code.
    pub(super) fn ui_requested(&mut self, request: &UiRequest<'_>, out: &mut Vec<ChatEvent>) -> Result<bool, Malformed> {
        let confirms = match &*request.method {
            "confirm" => true,
            "select" | "input" | "editor" => false,
            "notify" => {
                let message = request.message.as_deref().ok_or(Malformed::OtherForm)?.to_owned();
                out.push(EventKind::Warning { message, detail: None, retry: None }.into());
                return Ok(true);
            }
            // The terminal's decoration.
            "setStatus" | "setWidget" | "setTitle" | "set_editor_text" => return Ok(true),
            _ => return Ok(false),
        };
        if self.dialogs.open.iter().any(|dialog| dialog.id == *request.id) {
            return Ok(true);
        }
        let asked = permissions::asked(request, &self.calls.executing());
        let (asks, kind) = match asked {
            Some((call, title, choices)) => leave(request, call, title, choices),
            None => {
                let executing = self.calls.executing();
                // A tool that asks is known where it is the only one that runs.
                let asking = match executing.as_slice() {
                    [(_, call)] => Some(call.id.clone()),
                    _ => None,
                };
                (Asks::Question { confirms }, EventKind::QuestionAsked(question(request, asking)))
            }
        };
        self.dialogs.open.push(Dialog { id: request.id.to_string(), asks });
        out.push(kind.into());
        Ok(true)
    }

    /// `extension_ui_response`, the host's answer.
    pub(super) fn ui_answered(&mut self, given: &HostLine<'_>, out: &mut Vec<ChatEvent>) {
        let Some(id) = given.id.as_deref() else { return };
        if let Some(position) = self.dialogs.open.iter().position(|dialog| dialog.id == id) {
            out.push(self.dialogs.open.remove(position).end(&Answer::Given(given)));
        }
    }
}

fn leave(request: &UiRequest<'_>, call: &Call, title: String, choices: Choices) -> (Asks, EventKind) {
    let asked = PermissionRequested {
        request_id: request.id.to_string(),
        tool_call_id: Some(call.id.clone()),
        action: call.tool.name.clone(),
        title,
        kind: call.tool.kind,
        input: call.input.clone(),
        options: choices.options.clone(),
    };
    (Asks::Leave { tool_call_id: call.id.clone(), choices }, EventKind::PermissionRequested(asked))
}

/// A dialog as an ACP form with one field, which is called as in Pi's answer.
fn question(request: &UiRequest<'_>, tool_call_id: Option<String>) -> QuestionAsked {
    let title = request.title.as_deref().unwrap_or_default();
    let message = match request.message.as_deref() {
        Some(message) if title.is_empty() => message.to_owned(),
        Some(message) => format!("{title}\n{message}"),
        None => title.to_owned(),
    };
    let (name, field) = match &*request.method {
        "confirm" => ("confirmed", json!({ "type": "boolean", "title": title })),
        "select" => {
            let options = request.options.iter().flatten();
            let options: Vec<Value> = options.map(|option| json!({ "const": &**option, "title": &**option })).collect();
            ("value", json!({ "type": "string", "title": title, "oneOf": options }))
        }
        _ => {
            let mut field = json!({ "type": "string", "title": title });
            for (name, text) in [("description", &request.placeholder), ("default", &request.prefill)] {
                if let (Some(text), Value::Object(field)) = (text.as_deref(), &mut field) {
                    field.insert(name.to_owned(), text.into());
                }
            }
            ("value", field)
        }
    };
    let form = json!({ "type": "object", "properties": { name: field }, "required": [name] });
    QuestionAsked { request_id: request.id.to_string(), tool_call_id, message, form: Some(form), url: None }
}
