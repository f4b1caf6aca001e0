//! What a recording holds, read from its raw messages.

use chat_normalizers::Channel;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A recording's messages, and which sessions they are about.
pub(crate) struct Facts {
    pub(crate) messages: Vec<(Channel, Value)>,
    /// Sessions that the host made.
    pub(crate) own: BTreeSet<String>,
    /// A sub-agent's session and the call that started it.
    pub(crate) children: BTreeMap<String, String>,
    /// The roles of messages; `summary` for that of a compaction.
    pub(crate) roles: BTreeMap<String, String>,
    /// Parts by id, as the last event about them says, in the order in which they began.
    pub(crate) parts: Vec<Value>,
    /// The pieces of a part, joined.
    pub(crate) deltas: BTreeMap<String, String>,
}

impl Facts {
    pub(crate) fn read(messages: Vec<(Channel, Value)>) -> Self {
        let mut facts = Self {
            messages,
            own: BTreeSet::new(),
            children: BTreeMap::new(),
            roles: BTreeMap::new(),
            parts: Vec::new(),
            deltas: BTreeMap::new(),
        };
        let mut asked: BTreeMap<u64, Value> = BTreeMap::new();
        let messages = std::mem::take(&mut facts.messages);
        for (channel, message) in &messages {
            let properties = &message["properties"];
            match (channel, message["type"].as_str()) {
                (Channel::Host, _) => {
                    asked.insert(message["id"].as_u64().expect("an id"), message.clone());
                }
                (_, Some("session.created")) if properties["info"]["parentID"].is_string() => {
                    facts.children.insert(text(&properties["info"]["id"]), String::new());
                }
                (_, Some("message.updated")) => facts.message(&properties["info"]),
                (_, Some("message.part.updated")) => facts.part(&properties["part"]),
                (_, Some("message.part.delta")) => {
                    *facts.deltas.entry(text(&properties["partID"])).or_default() += properties["delta"].as_str().unwrap();
                }
                (_, None) if message["status"].is_u64() => {
                    let request = asked.remove(&message["id"].as_u64().unwrap()).expect("an answer has a request");
                    facts.answer(&request, &message["body"]);
                }
                _ => {}
            }
        }
        facts.messages = messages;
        facts
    }

    fn answer(&mut self, request: &Value, body: &Value) {
        let path = request["path"].as_str().unwrap().split('?').next().unwrap().to_owned();
        if request["method"] == "POST" && path == "/session" {
            self.own.insert(text(&body["id"]));
        }
        // A stream of another directory says nothing of the turn that waited for its answer.
        let session = text(&body["info"]["sessionID"]);
        if path.ends_with("/message") && request["method"] == "POST" && !session.is_empty() {
            let told = self.parts.iter().any(|part| part["sessionID"] == session);
            if !told {
                self.message(&body["info"]);
                body["parts"].as_array().into_iter().flatten().for_each(|part| self.part(part));
            }
        }
    }

    fn message(&mut self, info: &Value) {
        let role = if info["summary"] == true { "summary".to_owned() } else { text(&info["role"]) };
        self.roles.insert(text(&info["id"]), role);
    }

    fn part(&mut self, part: &Value) {
        if let Some(child) = part["state"]["metadata"]["sessionId"].as_str() {
            self.children.insert(child.to_owned(), text(&part["callID"]));
        }
        match self.parts.iter_mut().find(|known| known["id"] == part["id"]) {
            Some(known) => *known = part.clone(),
            None => self.parts.push(part.clone()),
        }
    }

    /// The parts of a kind in messages of a role, of one session or of all that are ours.
    pub(crate) fn told<'a>(
        &'a self,
        role: &'a str,
        kind: &'a str,
        session: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Value> {
        self.parts.iter().filter(move |part| {
            let id = part["sessionID"].as_str().unwrap();
            let ours = session.map_or(self.own.contains(id) || self.children.contains_key(id), |session| session == id);
            let said = self.roles.get(part["messageID"].as_str().unwrap()).map(String::as_str);
            ours && part["type"] == kind && said == Some(role)
        })
    }

    pub(crate) fn events<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.messages.iter().filter(move |(_, message)| message["type"] == kind).map(|(_, message)| &message["properties"])
    }

    /// Texts of one kind as the parts tell them: whole where they are, else what was streamed of them.
    pub(crate) fn texts(&self, kind: &str, sessions: &[&str]) -> Vec<String> {
        let parts = sessions.iter().flat_map(|session| self.told("assistant", kind, Some(session)));
        let whole = |part: &Value| match part["text"].as_str().unwrap() {
            "" => self.deltas.get(part["id"].as_str().unwrap()).cloned().unwrap_or_default(),
            text => text.to_owned(),
        };
        parts.map(whole).filter(|text| !text.is_empty()).collect()
    }

    pub(crate) fn own(&self) -> Vec<&str> {
        self.own.iter().map(String::as_str).collect()
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}
