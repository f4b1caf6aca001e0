//! The requests of a turn that wait for an answer, for the driver that answers them and for those who ask what waits.

use crate::core::{Core, RequestKind, WaitingRequest};
use crate::recovery::each_update;
use chat_grammar::Result;
use chat_grammar::event::{EventKind, PermissionChoice};
use chat_grammar::update::{Body, ExtensionUpdate, Place, Update};
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// A request of the agent that was journaled and not answered yet.
#[derive(Debug, Clone)]
pub(crate) struct OpenRequest {
    /// Ours, unique in the conversation.
    pub(crate) id: String,
    /// The agent's own.
    pub(crate) native_id: String,
    /// Of the update that tells of it.
    pub(crate) sequence: u64,
    /// The subagent's tool call that it belongs to.
    pub(crate) parent: Option<String>,
    pub(crate) asks: Asks,
    /// As `WaitingRequest` has it.
    json: String,
    /// Whether the driver has looked at it.
    seen: bool,
    /// When it is cancelled.
    deadline: Option<Instant>,
}

/// What a request asks for, and what may be answered.
#[derive(Debug, Clone)]
pub(crate) enum Asks {
    Leave { tool_call_id: Option<String>, choices: Vec<PermissionChoice> },
    Question { schema: Option<Value> },
}

/// A request before it has a place in the turn.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) native_id: String,
    asks: Asks,
}

impl Asked {
    /// What an event asks; `None` for one that asks nothing.
    pub(crate) fn of(event: &EventKind) -> Option<Self> {
        match event {
            EventKind::PermissionRequested(request) => {
                let asks = Asks::Leave { tool_call_id: request.tool_call_id.clone(), choices: request.options.clone() };
                Some(Self { native_id: request.request_id.clone(), asks })
            }
            EventKind::QuestionAsked(question) => {
                let schema = question.form.clone().filter(|_| question.url.is_none());
                Some(Self { native_id: question.request_id.clone(), asks: Asks::Question { schema } })
            }
            _ => None,
        }
    }

    /// The request with the place of its update; `None` where the update tells of no request.
    pub(crate) fn placed(self, update: &Update, place: &Place<'_>) -> Option<OpenRequest> {
        let Body::Extension(extension) = &update.body else { return None };
        let (conversation_id, turn_id) = (place.conversation_id, place.turn_id);
        let (id, json) = match extension.as_ref() {
            ExtensionUpdate::PermissionRequest { request_id, tool_call, options, .. } => {
                let ids = json!({ "conversationId": conversation_id, "turnId": turn_id, "requestId": request_id });
                (request_id, joined(ids, json!({ "toolCall": tool_call, "options": options })))
            }
            ExtensionUpdate::ElicitationRequest { request_id, request, .. } => {
                let ids = json!({ "conversationId": conversation_id, "turnId": turn_id, "requestId": request_id });
                (request_id, joined(ids, json!({ "request": request })))
            }
            _ => return None,
        };
        Some(OpenRequest {
            id: id.clone(),
            native_id: self.native_id,
            sequence: place.sequence,
            parent: update.extra.parent_tool_call_id.clone(),
            asks: self.asks,
            json: json.to_string(),
            seen: false,
            deadline: None,
        })
    }
}

fn joined(mut first: Value, mut second: Value) -> Value {
    if let (Some(members), Some(more)) = (first.as_object_mut(), second.as_object_mut()) {
        members.append(more);
    }
    first
}

impl OpenRequest {
    pub(crate) fn kind(&self) -> RequestKind {
        match self.asks {
            Asks::Leave { .. } => RequestKind::Permission,
            Asks::Question { .. } => RequestKind::Elicitation,
        }
    }

    /// As the host's callback is asked.
    pub(crate) fn to_waiting(&self) -> WaitingRequest {
        WaitingRequest { kind: self.kind(), json: self.json.clone() }
    }
}

/// The open requests of a turn that runs here, in the order in which they were asked.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests(Mutex<Vec<OpenRequest>>);

impl OpenRequests {
    pub(crate) fn add(&self, request: OpenRequest) {
        self.lock().push(request);
    }

    /// Ends a request by the agent's id; false where it is not open.
    pub(crate) fn close(&self, native_id: &str) -> bool {
        let mut open = self.lock();
        let position = open.iter().position(|request| request.native_id == native_id);
        position.map(|position| open.remove(position)).is_some()
    }

    /// Whether a request with the agent's id is open.
    pub(crate) fn holds(&self, native_id: &str) -> bool {
        self.lock().iter().any(|request| request.native_id == native_id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// A request by our id.
    pub(crate) fn find(&self, id: &str) -> Option<OpenRequest> {
        self.lock().iter().find(|request| request.id == id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<OpenRequest> {
        self.lock().clone()
    }

    /// Those that were not taken this way before.
    pub(crate) fn take_new(&self) -> Vec<OpenRequest> {
        let mut open = self.lock();
        let new = open.iter().filter(|request| !request.seen).cloned().collect();
        open.iter_mut().for_each(|request| request.seen = true);
        new
    }

    /// Sets when a request is cancelled.
    pub(crate) fn limit(&self, native_id: &str, deadline: Instant) {
        if let Some(request) = self.lock().iter_mut().find(|request| request.native_id == native_id) {
            request.deadline = Some(deadline);
        }
    }

    /// When the next request is to be cancelled.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.lock().iter().filter_map(|request| request.deadline).min()
    }

    /// Those whose time is over.
    pub(crate) fn overdue(&self, now: Instant) -> Vec<OpenRequest> {
        let open = self.lock();
        open.iter().filter(|request| request.deadline.is_some_and(|deadline| deadline <= now)).cloned().collect()
    }

    /// Those up to a committed sequence, as `inspect` lists them.
    pub(crate) fn listed(&self, turn_id: &str, committed: u64) -> Vec<Value> {
        let open = self.lock();
        let committed = open.iter().filter(|request| request.sequence <= committed);
        committed.map(|request| listed(&request.id, request.kind(), turn_id, request.sequence)).collect()
    }

    // A panic elsewhere leaves the list as whole as it was: each change is made under one lock.
    fn lock(&self) -> MutexGuard<'_, Vec<OpenRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Deserialize)]
struct WireUpdate<'a> {
    #[serde(borrow, rename = "sessionUpdate")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, rename = "requestId")]
    request_id: Option<Cow<'a, str>>,
}

/// The requests of a turn that another process runs, from its journal, as `inspect` lists them.
///
/// # Errors
/// `SESSION_NOT_FOUND`, `TURN_NOT_FOUND`, `STORE_ERROR`.
pub(crate) async fn listed_in_journal(core: &Core, conversation_id: &str, turn_id: &str) -> Result<Vec<Value>> {
    let mut open: Vec<(String, Value)> = Vec::new();
    each_update(core, conversation_id, turn_id, |sequence, json| {
        let Ok(WireUpdate { kind, request_id: Some(id) }) = serde_json::from_str(json) else { return };
        let kind = match kind.as_ref() {
            "permission_request" => RequestKind::Permission,
            "elicitation_request" => RequestKind::Elicitation,
            "permission_response" | "elicitation_response" => return open.retain(|(known, _)| *known != id),
            _ => return,
        };
        open.push((id.to_string(), listed(&id, kind, turn_id, sequence)));
    })
    .await?;
    Ok(open.into_iter().map(|(_, request)| request).collect())
}

fn listed(id: &str, kind: RequestKind, turn_id: &str, sequence: u64) -> Value {
    let kind = match kind {
        RequestKind::Permission => "permission",
        RequestKind::Elicitation => "elicitation",
    };
    json!({ "requestId": id, "kind": kind, "turnId": turn_id, "sequence": sequence })
}
