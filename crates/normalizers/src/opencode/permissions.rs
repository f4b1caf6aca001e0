//! Requests for leave.

use super::Malformed;
use super::calls::bind;
use super::normalize::OpenCode;
use super::requests::{Asks, Pending};
use super::subjects;
use super::wire::PermissionAsked;
use crate::rpc::Str;
use chat_grammar::event::{ChatEvent, EventKind, PermissionChoice, PermissionRequested};
use serde_json::{Value, json};

impl OpenCode {
    /// `permission.asked`, and `permission.updated` of older servers. It comes before or after the call's state that runs.
    pub(super) fn permission_asked(&mut self, asked: &PermissionAsked<'_>, out: &mut Vec<ChatEvent>) -> Result<(), Malformed> {
        if self.sessions.find(&asked.session_id).is_none() {
            self.foreign(out);
            return Ok(());
        }
        if self.requests.is_known(&asked.id) {
            return Ok(());
        }
        bind(&mut self.sessions, &asked.session_id, &mut self.tools, out);
        let metadata = match asked.metadata {
            Some(metadata) => serde_json::from_str(metadata.get())?,
            None => json!({}),
        };
        let Some(session) = self.sessions.find(&asked.session_id) else { return Ok(()) };
        let parent = session.call.clone();
        let (message_id, call_id) = match &asked.tool {
            Some(tool) => (Some(&*tool.message_id), Some(&*tool.call_id)),
            None => (asked.message_id.as_deref(), asked.call_id.as_deref()),
        };
        let call = call_id.and_then(|id| session.call_of(message_id, id, &self.tools));
        let known = call.map(|call| {
            call.waits = call.waits.saturating_add(1);
            (call.id.clone(), call.tool.clone(), call.title.clone(), call.input.clone())
        });

        // Some permissions are tools, others are about what a tool does.
        let permission = &*asked.permission;
        let tool = known.as_ref().map_or(permission, |(_, tool, ..)| tool.as_str());
        let subject = subjects::subject(tool, &self.info);
        let input = match &known {
            Some((_, _, _, input)) if *input != json!({}) => input.clone(),
            _ => metadata.clone(),
        };
        let made = subjects::title(tool, &subject, &input, &self.info);
        let title = match (permission, &known) {
            ("external_directory", _) => outside(&metadata, asked.patterns.as_deref()),
            ("doom_loop", _) => format!("Repeat the same call: {made}"),
            (_, Some((_, _, title, _))) if *title != subject.tool_name => title.clone(),
            _ if made != subject.tool_name => made,
            _ => subject_title(asked, &metadata, &made, &self.info),
        };
        let tool_call_id = known.as_ref().map(|(id, ..)| id.clone()).or_else(|| Some(self.tools.free_id(call_id?)));
        let pending = Pending {
            id: asked.id.to_string(),
            session_id: asked.session_id.to_string(),
            parent: parent.clone(),
            asks: Asks::Leave(tool_call_id.clone()),
        };
        self.requests.ask(pending);
        let kind = EventKind::PermissionRequested(PermissionRequested {
            request_id: asked.id.to_string(),
            tool_call_id,
            action: subject.tool_name,
            title,
            kind: subject.kind,
            input,
            options: options(asked.always.as_deref()),
        });
        out.push(ChatEvent { kind, parent_tool_call_id: parent });
        Ok(())
    }
}

/// What is asked, where neither call nor input says it.
fn subject_title(asked: &PermissionAsked<'_>, metadata: &Value, made: &str, info: &super::info::Info) -> String {
    let path = metadata.get("filepath").and_then(Value::as_str);
    let title = asked.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    match (path, title, asked.patterns.as_deref()) {
        (Some(path), _, _) => format!("{made} {}", info.short_path(path)),
        (None, Some(title), _) => title.to_owned(),
        (None, None, Some(patterns)) if patterns.iter().any(|pattern| &**pattern != "*") => {
            let patterns: Vec<&str> = patterns.iter().map(|pattern| &**pattern).collect();
            format!("{made} {}", patterns.join(", "))
        }
        _ => made.to_owned(),
    }
}

fn outside(metadata: &Value, patterns: Option<&[Str<'_>]>) -> String {
    let path = metadata.get("filepath").or_else(|| metadata.get("parentDir")).and_then(Value::as_str);
    let path = path.or_else(|| patterns?.first().map(|pattern| &**pattern)).unwrap_or("a file");
    format!("Access {path} outside of the working directory")
}

/// `always` is for as long as the server runs, and for the patterns that the request names. Where it names none, there is no such
/// choice; older servers did not name them.
fn options(always: Option<&[Str<'_>]>) -> Vec<PermissionChoice> {
    let lasting = match always {
        None => Some("Always allow".to_owned()),
        Some([]) => None,
        Some(patterns) if patterns.iter().all(|pattern| &**pattern == "*") => Some("Always allow".to_owned()),
        Some(patterns) => {
            let patterns: Vec<&str> = patterns.iter().map(|pattern| &**pattern).collect();
            Some(format!("Always allow {}", patterns.join(", ")))
        }
    };
    let choices = [
        Some(("once", "Allow once".to_owned(), "allow_once")),
        lasting.map(|name| ("always", name, "allow_always")),
        Some(("reject", "Reject".to_owned(), "reject_once")),
    ];
    let choices = choices.into_iter().flatten();
    choices
        .map(|(option_id, name, kind)| PermissionChoice { option_id: option_id.to_owned(), name, kind: kind.to_owned() })
        .collect()
}
