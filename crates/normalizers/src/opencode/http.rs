//! The host's requests to the server, and their answers.

use super::Malformed;
use super::errors;
use super::normalize::OpenCode;
use super::wire::{
    MessageInfo, PermissionAsked, QuestionAsked, Refusal, Request, RequestBody, SessionInfo, Status, StoredId, StoredMessage,
};
use crate::rpc::Str;
use chat_grammar::event::{ChatEvent, EventKind};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap};

/// Requests that were not answered yet, by the text of their id.
#[derive(Debug, Default)]
pub(super) struct Http {
    open: HashMap<String, Purpose>,
}

/// What an answer says something about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    CreateSession,
    ReadSession,
    /// A prompt, a command, or a compaction; `begins` where no turn ran.
    StartTurn {
        session_id: String,
        begins: bool,
    },
    /// All messages of a session.
    History {
        session_id: String,
    },
    Permissions,
    Questions,
    Statuses,
    McpServers,
    Commands,
    Providers,
    /// Anything else: its answer changes nothing here.
    Other,
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route<'a> {
    Ask(Purpose),
    Abort(&'a str),
    /// A session's title or rules.
    Change(&'a str),
    Permission(&'a str),
    Answer(&'a str),
    Dismiss(&'a str),
}

/// Reads where a request goes.
pub(super) fn route<'a>(method: &str, path: &'a str) -> Route<'a> {
    let path = path.split('?').next().unwrap_or(path);
    let mut parts = path.trim_matches('/').split('/');
    let mut next = || parts.next().unwrap_or_default();
    let steps = (next(), next(), next(), next(), next());
    let session = |id: &str| id.to_owned();
    Route::Ask(match (method, steps) {
        ("POST", ("session", "", ..)) => Purpose::CreateSession,
        ("GET", ("session", "status", "", ..)) => Purpose::Statuses,
        ("GET", ("session", id, "", ..)) if !id.is_empty() => Purpose::ReadSession,
        ("PATCH", ("session", id, "", ..)) => return Route::Change(id),
        ("POST", ("session", id, "prompt_async" | "message" | "command" | "shell" | "summarize" | "init", "", "")) => {
            Purpose::StartTurn { session_id: session(id), begins: false }
        }
        ("POST", ("session", id, "abort", "", "")) => return Route::Abort(id),
        ("GET", ("session", id, "message", "", "")) => Purpose::History { session_id: session(id) },
        ("POST", ("session", _, "permissions", id, "")) | ("POST", ("permission", id, "reply", "", "")) => {
            return Route::Permission(id);
        }
        ("POST", ("question", id, "reply", "", "")) => return Route::Answer(id),
        ("POST", ("question", id, "reject", "", "")) => return Route::Dismiss(id),
        ("GET", ("permission", "", ..)) => Purpose::Permissions,
        ("GET", ("question", "", ..)) => Purpose::Questions,
        ("GET", ("mcp", "", ..)) => Purpose::McpServers,
        ("GET", ("command", "", ..)) => Purpose::Commands,
        ("GET", ("config", "providers", "", ..)) => Purpose::Providers,
        _ => Purpose::Other,
    })
}

impl Http {
    /// True while the answer to a request for a new session is still to come.
    pub(super) fn creates_session(&self) -> bool {
        self.open.values().any(|purpose| *purpose == Purpose::CreateSession)
    }

    /// A new server: nothing of the old one is answered.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }
}

impl OpenCode {
    pub(super) fn host_request(&mut self, request: &Request<'_>, out: &mut Vec<ChatEvent>) {
        let body: RequestBody<'_> = request.body.and_then(|body| serde_json::from_str(body.get()).ok()).unwrap_or_default();
        let mut purpose = Purpose::Other;
        match route(&request.method, &request.path) {
            Route::Ask(Purpose::StartTurn { session_id, .. }) => {
                let begins = self.turn_asked(&session_id);
                purpose = Purpose::StartTurn { session_id, begins };
            }
            Route::Ask(asked) => purpose = asked,
            Route::Abort(id) => {
                if let Some(turn) = self.sessions.find(id).and_then(|session| session.turn.as_mut()) {
                    turn.abort_asked = true;
                }
            }
            Route::Change(id) => {
                if let Some(title) = body.title.as_deref().filter(|_| self.sessions.is_current(id)) {
                    self.info.titled(title);
                }
            }
            Route::Permission(id) => {
                if let Some(reply) = body.reply.as_deref() {
                    self.permission_answered(id, reply, body.message.as_deref(), out);
                }
            }
            Route::Answer(id) => self.answers(id, body.answers.as_deref(), out),
            Route::Dismiss(id) => self.answers(id, None, out),
        }
        self.http.open.insert(request.id.get().to_owned(), purpose);
    }

    /// The answer to a question, from either side.
    pub(super) fn answers(&mut self, id: &str, answers: Option<&[Vec<Str<'_>>]>, out: &mut Vec<ChatEvent>) {
        let answers: Option<Vec<Vec<&str>>> =
            answers.map(|answers| answers.iter().map(|labels| labels.iter().map(|label| &**label).collect()).collect());
        self.question_answered(id, answers.as_deref(), out);
    }

    /// The answer to a request. False where no request is known.
    pub(super) fn answered(
        &mut self,
        id: &RawValue,
        status: u16,
        body: Option<&RawValue>,
        out: &mut Vec<ChatEvent>,
    ) -> Result<bool, Malformed> {
        let Some(purpose) = self.http.open.remove(id.get()) else { return Ok(false) };
        let body = body.map_or("null", |body| body.get());
        if status >= 400 {
            if let Purpose::StartTurn { session_id, begins } = &purpose {
                self.turn_refused(session_id, *begins, status, body, out);
            }
            return Ok(true);
        }
        match purpose {
            Purpose::CreateSession => self.session_opened(&serde_json::from_str::<SessionInfo<'_>>(body)?, true, out),
            Purpose::ReadSession => {
                let info: SessionInfo<'_> = serde_json::from_str(body)?;
                // Asked about before a prompt, a session is being resumed; children are only looked at.
                if self.sessions.current().is_none_or(|current| current == &*info.id) {
                    self.session_opened(&info, false, out);
                }
            }
            Purpose::StartTurn { session_id, .. } => self.turn_answered(&session_id, body, out),
            Purpose::History { session_id } => self.history(&session_id, body, out)?,
            Purpose::Permissions if self.sessions.is_running() => {
                let asked: Vec<PermissionAsked<'_>> = serde_json::from_str(body)?;
                for asked in asked.iter().filter(|asked| self.sessions.get(&asked.session_id).is_some()).collect::<Vec<_>>() {
                    self.permission_asked(asked, out)?;
                }
            }
            Purpose::Questions if self.sessions.is_running() => {
                let asked: Vec<QuestionAsked<'_>> = serde_json::from_str(body)?;
                for asked in asked.iter().filter(|asked| self.sessions.get(&asked.session_id).is_some()).collect::<Vec<_>>() {
                    self.question_asked(asked, out);
                }
            }
            Purpose::Statuses => {
                let statuses: BTreeMap<String, Status<'_>> = serde_json::from_str(body)?;
                self.nothing_busy(|id| statuses.get(id).is_some_and(|status| &*status.kind != "idle"), out);
            }
            Purpose::McpServers => self.mcp_servers(body, out)?,
            Purpose::Commands => self.commands(body, out)?,
            Purpose::Providers => self.providers(body)?,
            Purpose::Permissions | Purpose::Questions | Purpose::Other => {}
        }
        Ok(true)
    }

    /// A request that was to begin a turn was refused: that is its end, unless the server had already taken it up; then the stream says
    /// how it ends.
    fn turn_refused(&mut self, session_id: &str, begins: bool, status: u16, body: &str, out: &mut Vec<ChatEvent>) {
        let failure = errors::refusal(status, &serde_json::from_str::<Refusal<'_>>(body).unwrap_or_default());
        match begins {
            true => self.refused(session_id, failure, out),
            false => out.push(EventKind::Warning { message: failure.message, detail: None, retry: None }.into()),
        }
    }

    /// The answer to a prompt that waits for the turn's end holds its last message. Where the stream tells the turn, it says nothing new;
    /// where the stream is that of another directory, it is all there is.
    fn turn_answered(&mut self, session_id: &str, body: &str, out: &mut Vec<ChatEvent>) {
        let unseen = |turn: &super::turns::Turn| !turn.begun;
        let session = self.sessions.get(session_id);
        if !session.and_then(|session| session.turn.as_ref()).is_some_and(unseen) {
            return;
        }
        let Ok(message) = serde_json::from_str::<StoredMessage<'_>>(body) else { return };
        self.stored_message(&message, out);
        self.idle(session_id, out);
    }

    /// What the server stored of a session. In a turn it says what a stream that was cut off did not; before one it is the past.
    fn history(&mut self, session_id: &str, body: &str, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        let ids: Vec<StoredId<'_>> = serde_json::from_str(body)?;
        let Some(session) = self.sessions.find(session_id) else { return Ok(()) };
        let Some(turn) = &session.turn else {
            let unknown = ids.iter().filter(|message| session.messages.get(&message.info.id).is_none());
            for StoredId { info } in unknown.collect::<Vec<_>>() {
                session.messages.entry(&info.id).closed = true;
            }
            return Ok(());
        };
        if !session.messages.torn {
            return Ok(());
        }
        let is_old = |id: &str| session.messages.get(id).is_some_and(|message| message.closed);
        let first = match turn.user.as_deref() {
            Some(user) => ids.iter().position(|message| *message.info.id == *user),
            None => match ids.iter().rposition(|message| is_old(&message.info.id)) {
                Some(old) => Some(old + 1),
                None => session.fresh.then_some(0),
            },
        };
        let Some(first) = first else { return Ok(()) };
        let stored: Vec<&RawValue> = serde_json::from_str(body)?;
        for message in stored.into_iter().skip(first) {
            if let Ok(message) = serde_json::from_str::<StoredMessage<'_>>(message.get()) {
                self.stored_message(&message, out);
            }
        }
        Ok(())
    }

    fn stored_message(&mut self, message: &StoredMessage<'_>, out: &mut Vec<ChatEvent>) {
        let info: &MessageInfo<'_> = &message.info;
        if self.message_updated(info, out).is_err() {
            return;
        }
        for part in message.parts() {
            if self.part_updated(&part, out).is_err() {
                self.unmapped_event("message.part.updated", out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Purpose, Route, route};

    #[test]
    fn requests_are_told_apart() {
        assert_eq!(route("POST", "/session?directory=%2Fw"), Route::Ask(Purpose::CreateSession));
        assert_eq!(route("GET", "/session"), Route::Ask(Purpose::Other));
        assert_eq!(route("GET", "/session/status?directory=%2Fw"), Route::Ask(Purpose::Statuses));
        assert_eq!(route("GET", "/session/ses_1"), Route::Ask(Purpose::ReadSession));
        let starts = Route::Ask(Purpose::StartTurn { session_id: "ses_1".to_owned(), begins: false });
        assert_eq!(route("POST", "/session/ses_1/prompt_async"), starts);
        assert_eq!(route("POST", "/session/ses_1/fork"), Route::Ask(Purpose::Other));
        assert_eq!(route("POST", "/session/ses_1/permissions/per_1"), Route::Permission("per_1"));
        assert_eq!(route("POST", "/permission/per_1/reply?x"), Route::Permission("per_1"));
        assert_eq!(route("POST", "/question/que_1/reject"), Route::Dismiss("que_1"));
        assert_eq!(route("DELETE", "/session/ses_1/message/msg_1"), Route::Ask(Purpose::Other));
    }
}
