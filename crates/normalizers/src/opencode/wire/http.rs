//! The host's requests, and the bodies of answers.

use super::{MessageInfo, Part};
use crate::rpc::Str;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A request of the host.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Request<'a> {
    #[serde(borrow)]
    pub id: &'a RawValue,
    #[serde(borrow)]
    pub method: Str<'a>,
    #[serde(borrow)]
    pub path: Str<'a>,
    #[serde(borrow, default)]
    pub body: Option<&'a RawValue>,
}

/// What is read of the bodies of requests.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct RequestBody<'a> {
    /// The new title of a session.
    #[serde(borrow)]
    pub title: Option<Str<'a>>,
    /// The answer to a permission request, in both spellings.
    #[serde(borrow, alias = "response")]
    pub reply: Option<Str<'a>>,
    /// Why leave is denied.
    #[serde(borrow)]
    pub message: Option<Str<'a>>,
    /// The answers to a question.
    #[serde(borrow)]
    pub answers: Option<Vec<Vec<Str<'a>>>>,
}

/// The body of an answer that is an error: of the server's own kind, or of a handler's.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Refusal<'a> {
    #[serde(borrow)]
    pub name: Option<Str<'a>>,
    #[serde(borrow)]
    pub data: Option<RefusalData<'a>>,
    #[serde(borrow)]
    pub message: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct RefusalData<'a> {
    #[serde(borrow)]
    pub message: Option<Str<'a>>,
}

/// A message with its parts, as it is stored.
#[derive(Debug, Deserialize)]
pub(in super::super) struct StoredMessage<'a> {
    #[serde(borrow)]
    pub info: MessageInfo<'a>,
    #[serde(borrow, default)]
    pub parts: Vec<&'a RawValue>,
}

impl StoredMessage<'_> {
    /// The parts that are of a known form.
    pub(in super::super) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.parts.iter().filter_map(|part| serde_json::from_str(part.get()).ok())
    }
}

/// What is read of a stored message that was told before.
#[derive(Debug, Deserialize)]
pub(in super::super) struct StoredId<'a> {
    #[serde(borrow)]
    pub info: StoredIdInfo<'a>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct StoredIdInfo<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
}

/// `GET /mcp`, by server.
pub(in super::super) type McpServers<'a> = BTreeMap<String, McpServer<'a>>;

#[derive(Debug, Deserialize)]
pub(in super::super) struct McpServer<'a> {
    #[serde(borrow)]
    pub status: Str<'a>,
    #[serde(borrow, default)]
    pub error: Option<Str<'a>>,
}

/// `GET /command`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Command<'a> {
    #[serde(borrow)]
    pub name: Str<'a>,
    #[serde(borrow, default)]
    pub description: Option<Str<'a>>,
}

/// `GET /config/providers`.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Providers<'a> {
    #[serde(borrow)]
    pub providers: Vec<Provider<'a>>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct Provider<'a> {
    #[serde(borrow)]
    pub id: Str<'a>,
    #[serde(default)]
    pub models: BTreeMap<String, Model>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct Model {
    #[serde(default)]
    pub limit: Option<ModelLimit>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ModelLimit {
    #[serde(default)]
    pub context: Option<u64>,
}
