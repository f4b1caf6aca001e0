//! Requests of the agent and the host's answers. Each side counts its own ids, so that an id alone says nothing.

use super::calls::{Standing, value};
use super::dialect::Announced;
use super::naming::{self, Hints};
use super::normalize::Acp;
use super::wire::{
    self, ElicitationAnswer, ElicitationParams, Malformed, PermissionAnswer, PermissionParams, ToolContent, read, text,
};
use crate::rpc;
use chat_grammar::event::{
    ChatEvent, DecidedBy, ElicitationUrl, EventKind, PermissionChoice, PermissionRequested, PermissionResolved,
    QuestionAnswered, QuestionAsked, ToolUpdated,
};
use chat_grammar::relay::Members;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What an answer to a request for leave says: the option, and why. No option means that it was cancelled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Leave {
    pub option_id: Option<String>,
    pub reason: Option<String>,
}

/// Reads the host's answer to a question, of which it gets the result and the form that was shown: the action and the filled form.
pub(crate) type ReadForm = fn(&str, Option<&Value>) -> (&'static str, Option<Value>);

/// The agent's requests that wait for an answer, in the order in which they were asked.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pending: Vec<Pending>,
}

#[derive(Debug)]
struct Pending {
    /// The text of the id, quotes included.
    key: String,
    request_id: String,
    asks: Asks,
}

#[derive(Debug)]
enum Asks {
    Leave {
        /// The call that waits, by the agent's own id.
        call: Option<String>,
        shown: Option<String>,
        options: Vec<PermissionChoice>,
        read: fn(&str) -> Leave,
    },
    Question {
        form: Option<Value>,
        read: ReadForm,
    },
}

impl Acp {
    /// `session/request_permission`.
    pub(super) fn permission(&mut self, id: &RawValue, params: &RawValue, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let params: PermissionParams<'_> = serde_json::from_str(params.get())?;
        if !self.ours(params.session_id.as_deref(), out) {
            return Ok(());
        }
        let tool = Members::read(params.tool_call.get()).ok_or(Malformed)?;
        let named = text(&tool, "toolCallId")?;
        let (own_title, own_name) = (text(&tool, "title")?, text(&tool, "name")?);
        let own_kind = text(&tool, "kind")?.map(|kind| wire::tool_kind(Some(&kind)));
        let own_input = value(read::<&RawValue>(&tool, "rawInput")?)?;
        let said = texts(&tool);
        let options: Vec<PermissionChoice> = params.options.iter().map(|option| choice(option)).collect();

        if let Some(named) = named.as_deref()
            && self.dialect.permission_announces
            && self.calls.standing(named) == Standing::Unknown
        {
            self.announce_asked(named, &tool, out)?;
        }
        let known = named.as_deref().filter(|named| self.calls.standing(named) == Standing::Open).map(str::to_owned);
        // Some builds of Cursor ask under another id than the call has.
        let alike = || self.calls.only_of_kind(own_kind?).map(str::to_owned);
        let call_id = known.or_else(|| if self.dialect.permission_announces { None } else { alike() });
        let asked = own_title.as_deref().and_then(|title| (self.dialect.asked)(title, &said));
        let call = call_id.as_deref().and_then(|call_id| self.calls.open(call_id));

        let title = own_title.as_deref().map(str::to_owned).or_else(|| Some(call.as_ref()?.title.clone()));
        let kind = own_kind.or_else(|| Some(call.as_ref()?.kind)).unwrap_or_default();
        let known_input = call.as_ref().and_then(|call| value(call.input.as_deref()).ok());
        let is_told = !own_input.is_null() || asked.is_some();
        let mut input = match (own_input, asked.as_ref().and_then(|asked| asked.input.clone())) {
            (Value::Null, Some(input)) => input,
            (Value::Null, None) => known_input.filter(|input| !input.is_null()).unwrap_or_else(|| json!({})),
            (input, _) => input,
        };
        if let (false, false, Value::Object(members)) = (is_told, said.is_empty(), &mut input) {
            members.entry("reason").or_insert_with(|| said.as_str().into());
        }
        let shown = call.as_ref().map(|call| call.shown.clone());
        let called = call.as_ref().and_then(|call| call.name.clone());
        let title = title.unwrap_or_else(|| "Permission".to_owned());
        if let (Some(asked), Some(call_id)) = (&asked, call_id.as_deref()) {
            let (input, mcp) = (asked.input.clone(), asked.mcp.clone());
            let tool_name = mcp.as_ref().map(|mcp| mcp.tool.clone());
            let title = Some(title.clone());
            self.tool_news(call_id, ToolUpdated { tool_name, title, input, mcp, ..ToolUpdated::default() }, out);
        }
        let action = asked.and_then(|asked| asked.mcp).map(|mcp| mcp.tool).or(called).or_else(|| {
            let announced = Announced { title: &title, kind, input: tool.get("rawInput") };
            let servers = self.session.servers();
            let id = named.as_deref().unwrap_or_default();
            let hints = Hints { name: own_name.as_deref(), id, announced, is_mcp: false, creates: false, servers };
            naming::name(&hints, self.dialect).name
        });
        let request = PermissionRequested {
            request_id: String::new(),
            tool_call_id: shown,
            action: action.unwrap_or_else(|| title.clone()),
            title,
            kind,
            input,
            options,
        };
        self.ask_leave(id, call_id, request, permission_answer, out);
        Ok(())
    }

    /// Puts a request for leave before the user. `read` reads the host's answer, of which it gets the result.
    pub(crate) fn ask_leave(
        &mut self,
        id: &RawValue,
        call: Option<String>,
        request: PermissionRequested,
        read: fn(&str) -> Leave,
        out: &mut Vec<ChatEvent>,
    ) {
        let Some(pending) = self.requests.new_id(id) else { return };
        let request = PermissionRequested { request_id: pending.clone(), ..request };
        let asks = Asks::Leave { call, shown: request.tool_call_id.clone(), options: request.options.clone(), read };
        self.requests.pending.push(Pending { key: id.get().to_owned(), request_id: pending, asks });
        out.push(EventKind::PermissionRequested(request).into());
    }

    /// Puts a question before the user.
    pub(crate) fn ask_question(&mut self, id: &RawValue, question: QuestionAsked, read: ReadForm, out: &mut Vec<ChatEvent>) {
        let Some(request_id) = self.requests.new_id(id) else { return };
        let question = QuestionAsked { request_id: request_id.clone(), ..question };
        let asks = Asks::Question { form: question.form.clone(), read };
        self.requests.pending.push(Pending { key: id.get().to_owned(), request_id, asks });
        out.push(EventKind::QuestionAsked(question).into());
    }

    /// `elicitation/create`.
    pub(super) fn elicitation(&mut self, id: &RawValue, params: &RawValue, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let params: ElicitationParams<'_> = serde_json::from_str(params.get())?;
        if !self.ours(params.session_id.as_deref(), out) {
            return Ok(());
        }
        let url = params.url.as_deref().filter(|_| params.mode.as_deref() != Some("form")).map(|url| ElicitationUrl {
            url: url.to_owned(),
            elicitation_id: params.elicitation_id.as_deref().map_or_else(|| rpc::id_text(id), str::to_owned),
        });
        let form = match url {
            Some(_) => None,
            None => params.requested_schema.map(|schema| value(Some(schema))).transpose()?,
        };
        let question = QuestionAsked {
            request_id: String::new(),
            tool_call_id: params.tool_call_id.as_deref().and_then(|call| self.calls.shown(call)).map(str::to_owned),
            message: params.message.as_deref().unwrap_or_default().to_owned(),
            form,
            url,
        };
        self.ask_question(id, question, elicitation_answer, out);
        Ok(())
    }

    /// The host's answer to a request of the agent.
    pub(super) fn host_answer(&mut self, id: &RawValue, result: Option<&RawValue>, out: &mut Vec<ChatEvent>) {
        match result {
            Some(result) => self.settle(id.get(), Settled::Answered(result.get()), out),
            None => self.settle(id.get(), Settled::Refused, out),
        }
    }

    /// `$/cancel_request`: the agent does not want to know any more.
    pub(super) fn withdrawn(&mut self, id: &RawValue, out: &mut Vec<ChatEvent>) {
        self.settle(id.get(), Settled::Ended("The agent took the request back"), out);
    }

    /// Whatever nobody answered is cancelled.
    pub(super) fn cancel_requests(&mut self, reason: &'static str, out: &mut Vec<ChatEvent>) {
        let keys: Vec<String> = self.requests.pending.iter().map(|pending| pending.key.clone()).collect();
        for key in keys {
            self.settle(&key, Settled::Ended(reason), out);
        }
    }

    fn settle(&mut self, key: &str, settled: Settled<'_>, out: &mut Vec<ChatEvent>) {
        let Some(position) = self.requests.pending.iter().position(|pending| pending.key == key) else { return };
        let Pending { request_id, asks, .. } = self.requests.pending.remove(position);
        let (call, shown, options, read) = match asks {
            Asks::Question { form, read } => {
                let (action, content) = match settled {
                    Settled::Answered(result) => read(result, form.as_ref()),
                    Settled::Refused | Settled::Ended(_) => ("cancel", None),
                };
                let answered = QuestionAnswered { request_id, action: action.to_owned(), content };
                out.push(EventKind::QuestionAnswered(answered).into());
                return;
            }
            Asks::Leave { call, shown, options, read } => (call, shown, options, read),
        };
        let (leave, by) = match settled {
            Settled::Answered(result) => (read(result), DecidedBy::Host),
            Settled::Refused => {
                (Leave { option_id: None, reason: Some("The request was refused".to_owned()) }, DecidedBy::Host)
            }
            Settled::Ended(reason) => (Leave { option_id: None, reason: Some(reason.to_owned()) }, DecidedBy::TurnEnd),
        };
        let chosen = options.iter().find(|option| Some(&option.option_id) == leave.option_id.as_ref());
        let approved = chosen.is_some_and(|option| option.kind.starts_with("allow"));
        // The agent may call a call completed that did not run.
        if let Some(open) = call.as_deref().and_then(|call| self.calls.open(call)) {
            let told = leave.reason.clone().filter(|_| by == DecidedBy::Host);
            let why = match leave.option_id {
                Some(_) => "The user declined this call",
                None => "The request for permission was cancelled",
            };
            open.declined = (!approved).then(|| told.unwrap_or_else(|| why.to_owned()));
        }
        let Leave { option_id, reason } = leave;
        let resolved =
            PermissionResolved { request_id, tool_call_id: shown, option_id, approved, reason, updated_input: None, by };
        out.push(EventKind::PermissionResolved(resolved).into());
    }
}

/// How a request of the agent ended.
enum Settled<'a> {
    /// The result.
    Answered(&'a str),
    /// With an error.
    Refused,
    /// Nobody answered, and why.
    Ended(&'static str),
}

impl Requests {
    /// The id of a request for readers; `None` where it waits already.
    fn new_id(&self, id: &RawValue) -> Option<String> {
        let waits = self.pending.iter().any(|pending| pending.key == id.get());
        (!waits).then(|| rpc::id_text(id))
    }
}

/// A choice of the protocol's own kinds.
pub(crate) fn plain_choice(option_id: &str, name: &str, kind: &str) -> PermissionChoice {
    PermissionChoice { option_id: option_id.to_owned(), name: name.to_owned(), kind: kind.to_owned() }
}

fn choice(option: &wire::WireOption<'_>) -> PermissionChoice {
    let id = &*option.option_id;
    plain_choice(id, option.name.as_deref().unwrap_or(id), option.kind.as_deref().unwrap_or("reject_once"))
}

fn permission_answer(result: &str) -> Leave {
    let answer: Option<PermissionAnswer<'_>> = serde_json::from_str(result).ok();
    let option_id = answer.and_then(|answer| answer.outcome.option_id).map(|id| id.to_string());
    Leave { option_id, reason: None }
}

fn elicitation_answer(result: &str, _form: Option<&Value>) -> (&'static str, Option<Value>) {
    let answer: Option<ElicitationAnswer<'_>> = serde_json::from_str(result).ok();
    let Some(answer) = answer else { return ("cancel", None) };
    match answer.action.as_deref() {
        Some("accept") => ("accept", value(answer.content).ok().filter(|content| !content.is_null())),
        Some("decline") => ("decline", None),
        _ => ("cancel", None),
    }
}

/// The texts of a call's content, one after the other.
fn texts(tool: &Members<'_>) -> String {
    let items: Vec<ToolContent<'_>> = read(tool, "content").ok().flatten().unwrap_or_default();
    items.iter().filter_map(ToolContent::text).collect::<Vec<_>>().join("\n")
}
