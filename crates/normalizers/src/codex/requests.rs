//! Requests in both directions. Each side counts its own ids, so that an id alone says nothing.

use super::Malformed;
use super::calls::Subject;
use super::commands;
use super::mcp::value;
use super::normalize::Codex;
use super::questions;
use super::wire::{AgentRequest, ElicitationMeta, HostAnswer};
use crate::rpc;
use chat_grammar::acp::ToolKind;
use chat_grammar::event::{
    ChatEvent, DecidedBy, EventKind, PermissionChoice, PermissionRequested, PermissionResolved, QuestionAnswered,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// What waits for an answer.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// The host's, by the text of their id.
    pub host: HashMap<String, HostRequest>,
    /// The agent's, in the order in which they were asked.
    agent: Vec<Pending>,
}

/// A request of the host whose answer says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostRequest {
    pub purpose: Purpose,
    pub thread_id: Option<String>,
}

/// What a request of the host is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// `thread/start`, `thread/resume` and `thread/fork`.
    OpenThread,
    /// `turn/start`, `thread/compact/start`, `review/start` and `thread/shellCommand`.
    StartTurn,
    /// Anything else: its answer changes nothing here.
    Other,
}

impl Purpose {
    pub(super) fn of(method: &str) -> Self {
        match method {
            "thread/start" | "thread/resume" | "thread/fork" => Self::OpenThread,
            "turn/start" | "thread/compact/start" | "review/start" | "thread/shellCommand" => Self::StartTurn,
            _ => Self::Other,
        }
    }
}

/// A request of the agent that was not answered yet.
#[derive(Debug)]
struct Pending {
    /// The text of the id, quotes included.
    key: String,
    request_id: String,
    thread_id: String,
    parent: Option<String>,
    asks: Asks,
}

#[derive(Debug)]
enum Asks {
    Leave { tool_call_id: Option<String>, form: LeaveForm },
    Question,
}

/// How an answer about leave is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaveForm {
    /// `{decision}`
    Decision,
    /// `{permissions, scope}`
    Permissions,
    /// `{action, _meta}`
    Elicitation,
}

const ALLOW_ONCE: (&str, &str, &str) = ("accept", "Allow once", "allow_once");
const ALLOW_SESSION: (&str, &str, &str) = ("acceptForSession", "Allow for this session", "allow_always");
const ALLOW_TURN: (&str, &str, &str) = ("turn", "Allow for this turn", "allow_once");
const ALLOW_SCOPE: (&str, &str, &str) = ("session", "Allow for this session", "allow_always");
const REJECT: (&str, &str, &str) = ("decline", "Reject", "reject_once");

impl Codex {
    /// A request of the agent. False where no rule knows its method.
    pub(super) fn agent_request(
        &mut self,
        method: &str,
        id: &RawValue,
        params: &RawValue,
        out: &mut Vec<ChatEvent>,
    ) -> Result<bool, Malformed> {
        let form = match method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => LeaveForm::Decision,
            "item/permissions/requestApproval" => LeaveForm::Permissions,
            "mcpServer/elicitation/request" | "item/tool/requestUserInput" => LeaveForm::Elicitation,
            // Answered by the host without asking anybody; what it does shows elsewhere.
            "item/tool/call" | "account/chatgptAuthTokens/refresh" | "attestation/generate" => return Ok(true),
            _ => return Ok(false),
        };
        let request: AgentRequest<'_> = serde_json::from_str(params.get())?;
        if !self.ours(request.thread_id.as_deref(), out) {
            return Ok(true);
        }
        let Some(thread) = self.threads.find(request.thread_id.as_deref()) else { return Ok(true) };
        let (parent, thread_id) = (thread.parent.clone(), thread.id.clone());
        let key = id.get().to_owned();
        let request_id = rpc::id_text(id);
        // Asked already, and not answered yet.
        if self.requests.agent.iter().any(|pending| pending.key == key) {
            return Ok(true);
        }

        let leave = request.meta.as_ref().filter(|meta| meta.codex_approval_kind.is_some());
        let asks_leave = form != LeaveForm::Elicitation || leave.is_some();
        let (asks, kind) = if asks_leave {
            let (tool_call_id, subject) = match (form, leave) {
                (LeaveForm::Elicitation, Some(meta)) => self.mcp_subject(&request, meta)?,
                (LeaveForm::Permissions, _) => self.permissions_subject(&request)?,
                _ => self.item_subject(&request),
            };
            let options = options(&request, form)?;
            let asked = PermissionRequested {
                request_id: request_id.clone(),
                tool_call_id: tool_call_id.clone(),
                action: subject.tool_name,
                title: subject.title,
                kind: subject.kind,
                input: subject.input,
                options,
            };
            (Asks::Leave { tool_call_id, form }, EventKind::PermissionRequested(asked))
        } else {
            let tool_call_id = self.known_call(&request);
            (Asks::Question, EventKind::QuestionAsked(questions::asked(&request, request_id.clone(), tool_call_id)?))
        };
        self.requests.agent.push(Pending { key, request_id, thread_id, parent: parent.clone(), asks });
        out.push(ChatEvent { kind, parent_tool_call_id: parent });
        Ok(true)
    }

    /// The host's answer to a request of the agent.
    pub(super) fn host_answer(
        &mut self,
        id: &RawValue,
        result: Option<&RawValue>,
        error: Option<&str>,
        out: &mut Vec<ChatEvent>,
    ) {
        let answered: Option<HostAnswer<'_>> = result.and_then(|result| serde_json::from_str(result.get()).ok());
        let approved = match (&answered, error) {
            (Some(given), None) => answer(&mut self.requests, id.get(), Answer::Given(given), out),
            (_, error) => answer(&mut self.requests, id.get(), Answer::None(error.unwrap_or("The request was refused")), out),
        };
        if let Some(tool_call_id) = approved {
            self.tools.run(&tool_call_id, out);
        }
    }

    /// `serverRequest/resolved`: whatever nobody answered is cancelled.
    pub(super) fn request_resolved(&mut self, id: &RawValue, out: &mut Vec<ChatEvent>) {
        answer(&mut self.requests, id.get(), Answer::None("The agent took the request back"), out);
    }

    /// The call that a request is about: it names the call's item or, from an MCP server, only the server.
    fn known_call(&mut self, request: &AgentRequest<'_>) -> Option<String> {
        let thread = self.threads.find(request.thread_id.as_deref())?;
        let id = match request.item_id.as_deref() {
            Some(item_id) => thread.calls.find(item_id, request.turn_id.as_deref()),
            None => thread.calls.only_mcp(request.server_name.as_deref()?),
        };
        id.map(str::to_owned)
    }

    /// What an item that waits for leave wants to do: as it was announced, else as the request says.
    fn item_subject(&mut self, request: &AgentRequest<'_>) -> (Option<String>, Subject) {
        let thread = self.threads.find(request.thread_id.as_deref());
        let item_id = request.item_id.as_deref().unwrap_or_default();
        let known = thread.as_ref().and_then(|thread| thread.calls.subject(item_id, request.turn_id.as_deref()));
        let (id, mut subject) = match known {
            Some((id, subject)) => (Some(id.to_owned()), subject.clone()),
            None => match request.command.as_deref() {
                Some(command) => (None, commands::subject(command, request.cwd.as_deref(), &[])),
                None => (None, edit_subject()),
            },
        };
        if let (Some(reason), Value::Object(input)) = (request.reason.as_deref(), &mut subject.input) {
            input.insert("reason".to_owned(), reason.into());
        }
        (id, subject)
    }

    fn permissions_subject(&mut self, request: &AgentRequest<'_>) -> Result<(Option<String>, Subject), Malformed> {
        let mut input = Map::new();
        input.insert("permissions".to_owned(), value(request.permissions)?);
        for (name, text) in [("cwd", &request.cwd), ("reason", &request.reason)] {
            if let Some(text) = text.as_deref() {
                input.insert(name.to_owned(), text.into());
            }
        }
        let title = match request.reason.as_deref() {
            Some(reason) => format!("Grant permissions: {reason}"),
            None => "Grant permissions".to_owned(),
        };
        Ok((self.known_call(request), Subject::other("Permissions", title, Value::Object(input))))
    }

    /// A request about an MCP tool names no item: it is the newest open call with the same tool and arguments.
    fn mcp_subject(
        &mut self,
        request: &AgentRequest<'_>,
        meta: &ElicitationMeta<'_>,
    ) -> Result<(Option<String>, Subject), Malformed> {
        let server = request.server_name.as_deref().unwrap_or_default();
        let tool = meta.tool_name.as_deref().unwrap_or_default();
        let arguments = meta.tool_params.map(|params| value(Some(params))).transpose()?;
        let thread = self.threads.find(request.thread_id.as_deref());
        let known = thread.as_ref().and_then(|thread| thread.calls.open_mcp(server, tool, arguments.as_ref()));
        let title = request.message.as_deref().map(str::to_owned).unwrap_or_else(|| format!("{server}: {tool}"));
        Ok(match known {
            Some((id, subject)) => (Some(id.to_owned()), Subject { title, ..subject.clone() }),
            None => {
                let input = arguments.unwrap_or_else(|| json!({}));
                (None, Subject::other(tool, title, input))
            }
        })
    }
}

fn edit_subject() -> Subject {
    Subject { kind: ToolKind::Edit, ..Subject::other("Edit", "Edit files", json!({})) }
}

/// The choices. Codex takes leave for the session also where it offers only a lasting rule of its own, which would be written
/// to a file; where it offers neither, there is no such choice.
fn options(request: &AgentRequest<'_>, form: LeaveForm) -> Result<Vec<PermissionChoice>, Malformed> {
    let choices = match form {
        LeaveForm::Permissions => vec![ALLOW_TURN, ALLOW_SCOPE, REJECT],
        LeaveForm::Elicitation => {
            let persist = value(request.meta.as_ref().and_then(|meta| meta.persist))?;
            match persists(&persist) {
                true => vec![ALLOW_ONCE, ALLOW_SESSION, REJECT],
                false => vec![ALLOW_ONCE, REJECT],
            }
        }
        LeaveForm::Decision => {
            let offered = request.available_decisions.as_ref().map(|offered| offered.iter().map(|offer| word(offer)).collect());
            let has =
                |decision: &str| offered.as_ref().is_none_or(|words: &Vec<String>| words.iter().any(|word| word == decision));
            let session = has("acceptForSession") || has("acceptWithExecpolicyAmendment");
            let allows = [(has("accept"), ALLOW_ONCE), (session, ALLOW_SESSION), (true, REJECT)];
            allows.into_iter().filter(|(offered, _)| *offered).map(|(_, choice)| choice).collect()
        }
    };
    Ok(choices.into_iter().map(choice).collect())
}

fn persists(persist: &Value) -> bool {
    match persist {
        Value::Array(scopes) => scopes.iter().any(|scope| scope == "session"),
        scope => scope == "session",
    }
}

fn choice((option_id, name, kind): (&str, &str, &str)) -> PermissionChoice {
    PermissionChoice { option_id: option_id.to_owned(), name: name.to_owned(), kind: kind.to_owned() }
}

/// How a request of the agent ended.
enum Answer<'a> {
    Given(&'a HostAnswer<'a>),
    /// It was not answered, and why.
    None(&'a str),
}

/// Cancels the requests of a thread, or all.
pub(super) fn cancel(requests: &mut Requests, thread_id: Option<&str>, reason: &str, out: &mut Vec<ChatEvent>) {
    let concerned = |pending: &&Pending| thread_id.is_none_or(|id| pending.thread_id == id);
    let keys: Vec<String> = requests.agent.iter().filter(concerned).map(|pending| pending.key.clone()).collect();
    for key in keys {
        answer(requests, &key, Answer::None(reason), out);
    }
}

/// Ends a pending request. Returns the call that it gave leave to.
fn answer(requests: &mut Requests, key: &str, answer: Answer<'_>, out: &mut Vec<ChatEvent>) -> Option<String> {
    let position = requests.agent.iter().position(|pending| pending.key == key)?;
    let Pending { request_id, parent, asks, .. } = requests.agent.remove(position);
    let (kind, approved) = match asks {
        Asks::Question => {
            let (action, content) = match answer {
                Answer::Given(given) => questions::answered(given),
                Answer::None(_) => ("cancel", None),
            };
            (EventKind::QuestionAnswered(QuestionAnswered { request_id, action: action.to_owned(), content }), None)
        }
        Asks::Leave { tool_call_id, form } => {
            let by = match answer {
                Answer::Given(_) => DecidedBy::Host,
                Answer::None(_) => DecidedBy::TurnEnd,
            };
            let (option_id, approved, reason) = match answer {
                Answer::Given(given) => match form {
                    LeaveForm::Decision => decision(given),
                    LeaveForm::Permissions => granted(given),
                    LeaveForm::Elicitation => elicited(given),
                },
                Answer::None(reason) => (None, false, Some(reason.to_owned())),
            };
            let run = tool_call_id.clone().filter(|_| approved);
            let resolved =
                PermissionResolved { request_id, tool_call_id, option_id, approved, reason, updated_input: None, by };
            (EventKind::PermissionResolved(resolved), run)
        }
    };
    out.push(ChatEvent { kind, parent_tool_call_id: parent });
    approved
}

type Resolution = (Option<String>, bool, Option<String>);

/// A decision is a word, or an object whose only key is the word.
fn word(decision: &RawValue) -> String {
    match serde_json::from_str(decision.get()) {
        Ok(Value::String(word)) => word,
        Ok(Value::Object(object)) => object.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

fn decision(given: &HostAnswer<'_>) -> Resolution {
    match given.decision.map(word).as_deref() {
        None | Some("" | "cancel") => (None, false, None),
        Some(word) => (Some(word.to_owned()), word.starts_with("accept"), None),
    }
}

fn granted(given: &HostAnswer<'_>) -> Resolution {
    let permissions = value(given.permissions).unwrap_or(Value::Null);
    let granted = permissions.as_object().is_some_and(|permissions| permissions.values().any(|value| !value.is_null()));
    let option = match granted {
        true => given.scope.as_deref().unwrap_or(ALLOW_TURN.0),
        false => REJECT.0,
    };
    (Some(option.to_owned()), granted, None)
}

fn elicited(given: &HostAnswer<'_>) -> Resolution {
    let meta = value(given.meta).unwrap_or(Value::Null);
    match given.action.as_deref() {
        Some("accept") if meta.get("persist").is_some_and(|persist| !persist.is_null()) => {
            (Some(ALLOW_SESSION.0.to_owned()), true, None)
        }
        Some("accept") => (Some(ALLOW_ONCE.0.to_owned()), true, None),
        Some("decline") => (Some(REJECT.0.to_owned()), false, None),
        _ => (None, false, None),
    }
}
