//! Sub-agents: the calls that make and steer them, and which thread belongs to which call.

use super::Malformed;
use super::calls::{Background, ItemPlace, Subject};
use super::items::{Item, Moment, ended, failure_of};
use super::mcp::value;
use super::normalize::Codex;
use super::wire::{CollabItem, SubAgentItem, TurnNotice};
use crate::tools::text_content;
use chat_grammar::event::{ChatEvent, ToolCompleted};
use serde_json::{Map, Value, json};

const TOOL_NAME: &str = "Agent";

/// A call of the first generation: it spawns, waits, sends input or closes.
pub(super) fn collab_item(
    codex: &mut Codex,
    thread_id: Option<&str>,
    item: &Item<'_>,
    moment: Moment,
    out: &mut Vec<ChatEvent>,
) -> Result<(), Malformed> {
    let call: CollabItem<'_> = item.read()?;
    let subject = collab_subject(&call);
    let start = |id: String, subject: &Subject| subject.started(id);
    codex.start(thread_id, item, Background::Impossible, || Ok(subject.clone()), start, out)?;
    for child in call.receiver_thread_ids.iter().flatten() {
        codex.adopt(thread_id, item, child, call.model.as_deref());
    }
    if moment == Moment::Start {
        return Ok(());
    }
    let failure = failure_of(call.status.as_deref());
    codex.end(thread_id, item, out, |id, _| {
        let states = value(call.agents_states)?;
        let messages = states.as_object().into_iter().flatten().filter_map(|(_, state)| state.get("message")?.as_str());
        let content = messages.map(text_content).chain(failure.map(text_content)).collect();
        let threads: Vec<&str> = call.receiver_thread_ids.iter().flatten().map(|id| &**id).collect();
        let output = json!({ "receiverThreadIds": threads, "agentsStates": states });
        Ok(ToolCompleted { input: Some(subject.input), content, ..ended(id, failure.is_some(), output) })
    })
}

fn collab_subject(call: &CollabItem<'_>) -> Subject {
    let title = match &*call.tool {
        "spawnAgent" => "Start a sub-agent",
        "wait" => "Wait for sub-agents",
        "sendInput" => "Tell a sub-agent",
        "closeAgent" => "Close a sub-agent",
        "resumeAgent" => "Resume a sub-agent",
        other => other,
    };
    let mut input = Map::new();
    input.insert("tool".to_owned(), (&*call.tool).into());
    let receivers: Vec<&str> = call.receiver_thread_ids.iter().flatten().map(|id| &**id).collect();
    if &*call.tool != "spawnAgent" && !receivers.is_empty() {
        input.insert("receiverThreadIds".to_owned(), receivers.into());
    }
    for (name, text) in [("prompt", &call.prompt), ("model", &call.model)] {
        if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
            input.insert(name.to_owned(), text.into());
        }
    }
    Subject::other(TOOL_NAME, title, Value::Object(input))
}

/// News of a sub-agent of the second generation. Each piece of news is an item, and so a call, of its own.
pub(super) fn activity_item(
    codex: &mut Codex,
    thread_id: Option<&str>,
    item: &Item<'_>,
    moment: Moment,
    out: &mut Vec<ChatEvent>,
) -> Result<(), Malformed> {
    let activity: SubAgentItem<'_> = item.read()?;
    let name = activity.agent_path.as_deref().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let whole = json!({
        "kind": &*activity.kind,
        "agentPath": activity.agent_path.as_deref(),
        "agentThreadId": activity.agent_thread_id.as_deref(),
        "model": activity.model.as_deref(),
    });
    let subject = || Ok(Subject::other(TOOL_NAME, format!("Sub-agent {name}: {}", &*activity.kind), whole.clone()));
    codex.start(thread_id, item, Background::Impossible, subject, |id, subject| subject.started(id), out)?;
    if let Some(child) = activity.agent_thread_id.as_deref() {
        codex.adopt(thread_id, item, child, activity.model.as_deref());
    }
    if moment == Moment::Start {
        return Ok(());
    }
    codex.end(thread_id, item, out, |id, _| Ok(ended(id, false, whole)))
}

impl Codex {
    /// A thread that an item of another thread names is the sub-agent of that item's call.
    fn adopt(&mut self, thread_id: Option<&str>, item: &Item<'_>, child: &str, model: Option<&str>) {
        let Some(thread) = self.threads.find(thread_id) else { return };
        let (provider, tier) = (thread.provider.clone(), thread.tier.clone());
        let model = model.filter(|model| !model.is_empty()).map(str::to_owned).or_else(|| thread.model.clone());
        let Some(call) = thread.calls.find(item.id, item.place.turn_id).map(str::to_owned) else { return };
        if let Some(child) = self.threads.adopt(child, &call) {
            child.provider = provider;
            child.tier = tier;
            child.model = model;
        }
    }

    /// A turn of a thread that no item named, but whose root is a turn of ours: its call is made up, since none is known.
    pub(super) fn adopt_by_root_turn(&mut self, notice: &TurnNotice<'_>, out: &mut Vec<ChatEvent>) {
        let (Some(child), Some(root)) = (notice.thread_id.as_deref(), notice.turn.root_turn_id.as_deref()) else { return };
        if root == &*notice.turn.id || !self.threads.is_foreign(child) {
            return;
        }
        let Some(parent) = self.threads.running_turn(root).map(|thread| thread.id.clone()) else { return };
        let subject = || Ok(Subject::other(TOOL_NAME, "Sub-agent", json!({ "agentThreadId": child })));
        let place = ItemPlace { item_id: child, turn_id: Some(root), started_at_ms: None };
        let item = Item { id: child, json: "", place };
        // Making up a call cannot fail.
        let _ = self.start(Some(&parent), &item, Background::Possible, subject, |id, subject| subject.started(id), out);
        self.adopt(Some(&parent), &item, child, None);
    }

    /// A call that was made up ends with its sub-agent's turn.
    pub(super) fn made_up_call_ended(&mut self, call: Option<String>, failure: Option<&str>, out: &mut Vec<ChatEvent>) {
        if let Some(id) = call {
            let content = failure.map(text_content).into_iter().collect();
            self.tools.complete(ToolCompleted { content, ..ended(id, failure.is_some(), Value::Null) }, out);
        }
    }
}
