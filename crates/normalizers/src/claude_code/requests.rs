//! The control protocol: requests of both sides. Each side makes its own ids, so that an id alone says nothing.

use super::normalize::{ClaudeCode, Read};
use super::questions::{self, Asked};
use super::subject;
use super::wire::{
    Answered, CanUseTool, Decision, Elicitation, Initialized, Questions, RequestLine, RequestTag, Response, ResponseLine,
};
use super::{Malformed, value};
use crate::rpc::Str;
use chat_grammar::event::{
    ChatEvent, DecidedBy, ElicitationUrl, EventKind, PermissionChoice, PermissionRequested, PermissionResolved,
    QuestionAnswered, QuestionAsked,
};
use serde_json::Value;
use std::collections::HashMap;

/// What waits for an answer.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// The host's, by their id.
    pub host: HashMap<String, HostRequest>,
    /// The agent's, in the order in which they were asked.
    agent: Vec<Pending>,
}

/// A request of the host whose answer says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostRequest {
    Initialize,
    SetModel,
    SetMode,
    ContextUsage,
    Other,
}

impl HostRequest {
    pub(super) fn of(subtype: &str) -> Self {
        match subtype {
            "initialize" => Self::Initialize,
            "set_model" => Self::SetModel,
            "set_permission_mode" => Self::SetMode,
            "get_context_usage" => Self::ContextUsage,
            _ => Self::Other,
        }
    }
}

/// A request of the agent that was not answered yet.
#[derive(Debug)]
struct Pending {
    request_id: String,
    parent: Option<String>,
    asks: Asks,
}

#[derive(Debug)]
enum Asks {
    /// With the agent's and the readers' id of the call.
    Leave {
        call_id: Option<String>,
        shown: Option<String>,
    },
    Question(Vec<Asked>),
    Form,
}

const ALLOW: (&str, &str, &str) = ("allow", "Allow once", "allow_once");
const ALLOW_ALWAYS: (&str, &str, &str) = ("allow_always", "Always allow", "allow_always");
const REJECT: (&str, &str, &str) = ("reject", "Reject", "reject_once");
const PLAN_OPTIONS: [(&str, &str, &str); 3] = [
    ("allow_always", "Approve, and accept edits", "allow_always"),
    ("allow", "Approve, and ask before edits", "allow_once"),
    ("reject", "Keep planning", "reject_once"),
];

impl ClaudeCode {
    /// `control_request` of the CLI.
    pub(super) fn agent_request(&mut self, line: &RequestLine<'_>, out: &mut Vec<ChatEvent>) -> Result<Read, Malformed> {
        let tag: RequestTag<'_> = serde_json::from_str(line.request.get())?;
        // Asked already, and not answered yet.
        if self.requests.agent.iter().any(|pending| pending.request_id == *line.request_id) {
            return Ok(Read::Known);
        }
        match &*tag.subtype {
            "can_use_tool" => {
                let request: CanUseTool<'_> = serde_json::from_str(line.request.get())?;
                self.asked_for_leave(&line.request_id, &request, out)?;
            }
            "elicitation" => {
                let request: Elicitation<'_> = serde_json::from_str(line.request.get())?;
                self.elicited(&line.request_id, &request, out)?;
            }
            // Answered by the host without asking anybody; what it does shows elsewhere.
            "hook_callback" | "mcp_message" => {}
            _ => return Ok(Read::Unknown),
        }
        Ok(Read::Known)
    }

    fn asked_for_leave(
        &mut self,
        request_id: &str,
        request: &CanUseTool<'_>,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Malformed> {
        let input = value(Some(request.input))?;
        let call_id = request.tool_use_id.as_deref();
        let agent = request.agent_id.as_deref().and_then(|agent| self.tasks.iter().find(|(task, _)| task == agent));
        let parent = agent.map(|(_, call)| call.clone());
        if let Some(call_id) = call_id {
            let new = super::calls::NewCall {
                id: call_id,
                name: &request.tool_name,
                mcp: None,
                parent: parent.as_deref(),
                message_id: None,
            };
            let known = self.calls.get(call_id).is_some();
            self.call_began(&new, out);
            if !known {
                self.input_whole(call_id, input.clone(), out);
            }
        }
        let call = call_id.and_then(|id| self.calls.get(id));
        let (shown, parent, known) = match call {
            Some(call) => (Some(call.id.clone()), call.parent.clone().or(parent), Some((call.name.clone(), call.mcp.clone()))),
            None => (None, parent, None),
        };
        let request_id = request_id.to_owned();
        if &*request.tool_name == "AskUserQuestion"
            && let Ok(asked) = serde_json::from_str::<Questions<'_>>(request.input.get())
        {
            let event = EventKind::QuestionAsked(QuestionAsked {
                request_id: request_id.clone(),
                tool_call_id: shown,
                message: questions::message(&asked),
                form: Some(questions::form(&asked)),
                url: None,
            });
            let asks = Asks::Question(questions::asked(&asked));
            self.requests.agent.push(Pending { request_id, parent: parent.clone(), asks });
            out.push(ChatEvent { kind: event, parent_tool_call_id: parent });
            return Ok(());
        }
        let (name, mcp) = known.unwrap_or_else(|| {
            let mcp = subject::mcp(&request.tool_name, None, &self.session.mcp_servers);
            (mcp.as_ref().map_or_else(|| subject::canonical(&request.tool_name).to_owned(), |mcp| mcp.tool.clone()), mcp)
        });
        let subject = subject::subject(&name, mcp.as_ref(), &input, self.session.cwd());
        let suggested = request.permission_suggestions.as_ref().is_some_and(|suggestions| !suggestions.is_empty());
        let options: Vec<(&str, &str, &str)> = match (name.as_str(), suggested) {
            ("ExitPlanMode", _) => PLAN_OPTIONS.to_vec(),
            (_, true) => vec![ALLOW, ALLOW_ALWAYS, REJECT],
            (_, false) => vec![ALLOW, REJECT],
        };
        let choice = |(option_id, name, kind): (&str, &str, &str)| PermissionChoice {
            option_id: option_id.to_owned(),
            name: name.to_owned(),
            kind: kind.to_owned(),
        };
        let event = EventKind::PermissionRequested(PermissionRequested {
            request_id: request_id.clone(),
            tool_call_id: shown.clone(),
            action: name,
            title: subject.title,
            kind: subject.kind,
            input,
            options: options.into_iter().map(choice).collect(),
        });
        let asks = Asks::Leave { call_id: call_id.map(str::to_owned), shown };
        self.requests.agent.push(Pending { request_id, parent: parent.clone(), asks });
        out.push(ChatEvent { kind: event, parent_tool_call_id: parent });
        Ok(())
    }

    fn elicited(&mut self, request_id: &str, request: &Elicitation<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let request_id = request_id.to_owned();
        let url = request.url.as_deref().map(|url| ElicitationUrl {
            url: url.to_owned(),
            elicitation_id: request.elicitation_id.as_deref().unwrap_or(&request_id).to_owned(),
        });
        let form = match (&url, request.requested_schema) {
            (None, Some(schema)) => Some(value(Some(schema))?),
            _ => None,
        };
        let message = request.message.as_deref().unwrap_or_default().to_owned();
        let asked = QuestionAsked { request_id: request_id.clone(), tool_call_id: None, message, form, url };
        self.requests.agent.push(Pending { request_id, parent: None, asks: Asks::Form });
        out.push(EventKind::QuestionAsked(asked).into());
        Ok(())
    }

    /// `control_response` of the host.
    pub(super) fn host_answered(&mut self, line: &ResponseLine<'_>, out: &mut Vec<ChatEvent>) {
        let Response { subtype, request_id, response, error } = &line.response;
        let given = response.map(|raw| serde_json::from_str::<Decision<'_>>(raw.get()).unwrap_or_default());
        match (&**subtype, given) {
            ("success", given) => self.end_request(request_id, &Answer::Given(&given.unwrap_or_default()), out),
            // A refused request counts as a denial.
            _ => {
                let reason = error.as_deref().unwrap_or("The request was refused");
                self.end_request(request_id, &Answer::None(reason, DecidedBy::Host), out);
            }
        }
    }

    /// `control_cancel_request`: the CLI takes a request back.
    pub(super) fn request_cancelled(&mut self, request_id: &str, out: &mut Vec<ChatEvent>) {
        self.end_request(request_id, &Answer::None("The agent took the request back", DecidedBy::TurnEnd), out);
    }

    /// Cancels every request that is open.
    pub(super) fn cancel_requests(&mut self, reason: &str, out: &mut Vec<ChatEvent>) {
        while let Some(pending) = self.requests.agent.first() {
            let request_id = pending.request_id.clone();
            self.end_request(&request_id, &Answer::None(reason, DecidedBy::TurnEnd), out);
        }
    }

    fn end_request(&mut self, request_id: &str, answer: &Answer<'_>, out: &mut Vec<ChatEvent>) {
        let Some(position) = self.requests.agent.iter().position(|pending| pending.request_id == request_id) else { return };
        let Pending { request_id, parent, asks } = self.requests.agent.remove(position);
        let kind = match asks {
            Asks::Leave { call_id, shown } => return self.end_leave(request_id, parent, call_id, shown, answer, out),
            Asks::Question(asked) => {
                let (action, content) = match answer {
                    Answer::Given(given) => questions::answered(&asked, given),
                    Answer::None(..) => ("cancel", None),
                };
                QuestionAnswered { request_id, action: action.to_owned(), content }
            }
            Asks::Form => {
                let (action, content) = match answer {
                    Answer::Given(given) => (given.action.as_deref().unwrap_or("cancel"), value(given.content).ok()),
                    Answer::None(..) => ("cancel", None),
                };
                let content = content.filter(|content| action == "accept" && !content.is_null());
                QuestionAnswered { request_id, action: action.to_owned(), content }
            }
        };
        out.push(ChatEvent { kind: EventKind::QuestionAnswered(kind), parent_tool_call_id: parent });
    }

    fn end_leave(
        &mut self,
        request_id: String,
        parent: Option<String>,
        call_id: Option<String>,
        shown: Option<String>,
        answer: &Answer<'_>,
        out: &mut Vec<ChatEvent>,
    ) {
        let (option_id, approved, reason, by) = match answer {
            Answer::None(reason, by) => (None, false, Some((*reason).to_owned()), *by),
            Answer::Given(given) => {
                let approved = given.behavior.as_deref() == Some("allow");
                let lasting = given.updated_permissions.as_ref().is_some_and(|updates| !updates.is_empty());
                let option = match (approved, lasting) {
                    (true, true) => ALLOW_ALWAYS.0,
                    (true, false) => ALLOW.0,
                    (false, _) => REJECT.0,
                };
                let reason = given.message.as_deref().filter(|reason| !reason.is_empty()).map(str::to_owned);
                (Some(option.to_owned()), approved, reason, DecidedBy::Host)
            }
        };
        let resolved = PermissionResolved {
            request_id,
            tool_call_id: shown,
            option_id,
            approved,
            reason: reason.filter(|_| !approved),
            updated_input: None,
            by,
        };
        out.push(ChatEvent { kind: EventKind::PermissionResolved(resolved), parent_tool_call_id: parent });
        let Some(call_id) = call_id else { return };
        if let Some(call) = self.calls.get_mut(&call_id) {
            call.denied |= !approved && by == DecidedBy::Host;
        }
        if approved {
            // The host may have changed the input; the model's own is all that the CLI tells.
            if let Answer::Given(Decision { updated_input: Some(input), .. }) = answer
                && let Ok(input @ Value::Object(_)) = serde_json::from_str(input.get())
            {
                self.input_whole(&call_id, input, out);
            }
            self.call_runs(&call_id, out);
        }
    }

    /// `control_response` of the CLI.
    pub(super) fn agent_answered(&mut self, line: &ResponseLine<'_>, out: &mut Vec<ChatEvent>) -> Result<Read, Malformed> {
        let Some(request) = self.requests.host.remove(&*line.response.request_id) else { return Ok(Read::Unknown) };
        if &*line.response.subtype != "success" {
            return Ok(Read::Known);
        }
        let Some(answer) = line.response.response else { return Ok(Read::Known) };
        match request {
            HostRequest::Initialize => {
                let answer: Initialized<'_> = serde_json::from_str(answer.get())?;
                self.initialize_answered(&answer, out);
            }
            HostRequest::SetModel | HostRequest::ContextUsage => {
                let answer: Answered<'_> = serde_json::from_str(answer.get())?;
                match (request, answer.model.as_deref()) {
                    (HostRequest::SetModel, Some(model)) => self.model_is(model, out),
                    (_, Some(model)) => self.meter.window(model, answer.max_tokens),
                    (_, None) => {}
                }
            }
            HostRequest::SetMode => {
                let answer: ModeAnswer<'_> = serde_json::from_str(answer.get())?;
                if let Some(mode) = answer.mode.as_deref() {
                    self.mode_is(mode, out);
                }
            }
            HostRequest::Other => {}
        }
        Ok(Read::Known)
    }
}

/// The answer to `set_permission_mode`.
#[derive(Debug, serde::Deserialize)]
struct ModeAnswer<'a> {
    #[serde(borrow, default)]
    mode: Option<Str<'a>>,
}

/// How a request of the agent ended.
enum Answer<'a> {
    Given(&'a Decision<'a>),
    /// It was not answered: why, and by whose doing.
    None(&'a str, DecidedBy),
}
