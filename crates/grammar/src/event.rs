//! The grammar between an agent's own messages and ACP: what every normalizer emits.

use crate::relay::AgentUpdate;
use crate::usage::UsageRecord;
use agent_client_protocol::v1::schema::{
    AvailableCommand, ContentBlock, PlanEntry, SessionConfigOption, ToolCallContent, ToolCallLocation, ToolKind,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One thing that an agent did, with whom it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatEvent {
    pub kind: EventKind,
    /// The subagent's tool call that this event belongs to, where a subagent caused it.
    pub parent_tool_call_id: Option<String>,
}

impl From<EventKind> for ChatEvent {
    fn from(kind: EventKind) -> Self {
        Self { kind, parent_tool_call_id: None }
    }
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    TextDelta {
        text: String,
        message_id: Option<String>,
    },
    ReasoningDelta {
        text: String,
        message_id: Option<String>,
        visibility: Visibility,
    },
    Content {
        block: ContentBlock,
        message_id: Option<String>,
    },
    ToolStarted(ToolStarted),
    ToolUpdated(ToolUpdated),
    ToolCompleted(ToolCompleted),
    Plan {
        entries: Vec<PlanEntry>,
    },
    PermissionRequested(PermissionRequested),
    PermissionResolved(PermissionResolved),
    QuestionAsked(QuestionAsked),
    QuestionAnswered(QuestionAnswered),
    UsageFinal {
        usage: UsageRecord,
    },
    CompactionStarted {
        compaction_id: String,
        trigger: Option<Trigger>,
        pre_tokens: Option<u64>,
    },
    CompactionFinished(CompactionFinished),
    SessionInit(SessionInit),
    Title {
        title: String,
    },
    Mode {
        mode_id: String,
    },
    Commands {
        commands: Vec<AvailableCommand>,
    },
    Config {
        options: Vec<SessionConfigOption>,
    },
    Error(ErrorEvent),
    Warning {
        message: String,
        detail: Option<String>,
        retry: Option<Retry>,
    },
    /// Something that only who looks into the numbers wants to know: two accounts of the agent that disagree.
    Debug {
        message: String,
        detail: Option<String>,
    },
    Done {
        stop_reason: Stop,
        native_stop_reason: Option<String>,
    },
    /// The agent's own ACP update, passed on in place of one that would be made from what it means.
    Relayed(Box<Relayed>),
    /// A message that no rule knows. It is counted and recorded, never thrown away in silence and never fatal.
    Unmapped {
        kind: String,
    },
}

impl EventKind {
    /// What the event says, also where the agent's own update says it. `None` for such an update that no other kind has a word for.
    pub fn meaning(&self) -> Option<&Self> {
        match self {
            Self::Relayed(relayed) => relayed.meaning.as_ref(),
            kind => Some(kind),
        }
    }

    /// The same, to complete what the agent leaves open.
    pub fn meaning_mut(&mut self) -> Option<&mut Self> {
        match self {
            Self::Relayed(relayed) => relayed.meaning.as_mut(),
            kind => Some(kind),
        }
    }
}

/// An update that an ACP agent sent itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Relayed {
    pub update: AgentUpdate,
    /// The same as one of the other kinds. What the official types do not know is only in the update.
    pub meaning: Option<EventKind>,
}

/// What the agent exposed of its reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    Full,
    Summary,
    Redacted,
    Plan,
}

/// Who asked for a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    Auto,
    Manual,
}

/// A tool call before its end. A call is made known by `ToolStarted` once; what is `None` in later events is unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStarted {
    pub tool_call_id: String,
    /// Canonical, such as `Bash` or `Edit`; an MCP tool's own name otherwise.
    pub tool_name: String,
    pub title: String,
    pub kind: ToolKind,
    pub input: Value,
    /// True where the agent is still writing the input or waits for leave; the call is `pending` then.
    pub pending: bool,
    pub content: Vec<ToolCallContent>,
    pub locations: Vec<ToolCallLocation>,
    pub mcp: Option<McpTool>,
}

/// The server and tool behind an MCP tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpTool {
    pub server: String,
    pub tool: String,
}

/// News of a running tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolUpdated {
    pub tool_call_id: String,
    /// The call left `pending`.
    pub in_progress: bool,
    /// The canonical name, where it is known only now.
    pub tool_name: Option<String>,
    pub title: Option<String>,
    /// The best whole input so far.
    pub input: Option<Value>,
    /// The new piece of the input.
    pub input_delta: Option<Value>,
    /// The new piece of the output.
    pub output_delta: Option<String>,
    pub content: Option<Vec<ToolCallContent>>,
    pub locations: Option<Vec<ToolCallLocation>>,
    pub mcp: Option<McpTool>,
}

/// The end of a tool call, once a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCompleted {
    pub tool_call_id: String,
    pub is_error: bool,
    pub title: Option<String>,
    /// The whole input, where it changed since the start.
    pub input: Option<Value>,
    /// ACP `rawOutput`; of a shell command always `{exitCode, signal?, stdout?, stderr?, output?}`.
    pub output: Value,
    /// The whole content, every block in order.
    pub content: Vec<ToolCallContent>,
    pub locations: Option<Vec<ToolCallLocation>>,
    pub mcp: Option<McpTool>,
    pub duration_ms: Option<u64>,
}

/// A choice that a permission request offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionChoice {
    pub option_id: String,
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}

impl PermissionChoice {
    /// Whether this choice lets the agent act.
    pub fn allows(&self) -> bool {
        self.kind.starts_with("allow")
    }
}

/// The agent asks for leave.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequested {
    /// The agent's own id of the request as text; the session makes it unique in the conversation.
    pub request_id: String,
    pub tool_call_id: Option<String>,
    /// The canonical tool name of what it wants to do.
    pub action: String,
    pub title: String,
    pub kind: ToolKind,
    pub input: Value,
    pub options: Vec<PermissionChoice>,
}

/// The answer to a permission request, seen on the host's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionResolved {
    pub request_id: String,
    pub tool_call_id: Option<String>,
    /// The chosen option; `None`: cancelled.
    pub option_id: Option<String>,
    pub approved: bool,
    pub reason: Option<String>,
    /// The whole input that the host put in the place of the model's; `None`: unchanged.
    pub updated_input: Option<Map<String, Value>>,
    pub by: DecidedBy,
}

/// Who decided about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A person, or code of the host.
    Host,
    /// The permission mode `full_access`.
    FullAccess,
    /// Nobody: the turn ended before.
    TurnEnd,
}

/// An answer of the host to a request of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestAnswer {
    /// To `PermissionRequested`.
    Permission {
        /// One of the choices; `None`: cancelled.
        option_id: Option<String>,
        /// Why; a denial carries it to the agent.
        reason: Option<String>,
        /// The whole input with which the tool runs, in the place of the model's; only where allowed.
        updated_input: Option<Map<String, Value>>,
    },
    /// To `QuestionAsked`.
    Question {
        action: QuestionAction,
        /// The filled form, an object; only where accepted.
        content: Option<Value>,
    },
}

/// What a person did with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionAction {
    Accept,
    Decline,
    Cancel,
}

/// The agent asks the user a question.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionAsked {
    pub request_id: String,
    pub tool_call_id: Option<String>,
    pub message: String,
    /// The JSON schema of an ACP form; `url` instead where the user is to open a page.
    pub form: Option<Value>,
    pub url: Option<ElicitationUrl>,
}

/// A page that the user is asked to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElicitationUrl {
    pub url: String,
    pub elicitation_id: String,
}

/// The answer to a question, seen on the host's side.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionAnswered {
    pub request_id: String,
    /// `accept`, `decline` or `cancel`.
    pub action: String,
    pub content: Option<Value>,
}

/// The end of a compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionFinished {
    pub compaction_id: String,
    pub trigger: Option<Trigger>,
    /// Context size before, in tokens.
    pub pre_tokens: Option<u64>,
    /// Context size after, in tokens.
    pub post_tokens: Option<u64>,
    pub duration_ms: Option<u64>,
    pub summary: Option<String>,
    pub failed: bool,
}

/// A native session began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionInit {
    pub provider_session_id: Option<String>,
    pub cwd: Option<String>,
    pub model: Option<String>,
    pub tools: Vec<String>,
    /// Name and status of each MCP server.
    pub mcp_servers: Vec<(String, String)>,
}

/// What a user should do about a failure: log in again; wait or choose another model; look at the connection; look at the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    Auth,
    Model,
    Transport,
    Runtime,
}

/// A failure that the agent reports. The turn fails with the last one when `Done` says so.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorEvent {
    pub message: String,
    pub class: FailureClass,
    /// Such as `rate_limited` or `context_overflow`.
    pub reason: String,
    pub retryable: bool,
}

/// A retry that the agent makes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    pub attempt: u64,
    pub limit: Option<u64>,
    pub delay_ms: Option<u64>,
}

/// How the agent's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    /// The turn failed; an `Error` event said why.
    Failed,
}

impl Stop {
    /// The ACP stop reason; a failed turn has none.
    pub fn as_acp(self) -> Option<&'static str> {
        match self {
            Self::EndTurn => Some("end_turn"),
            Self::MaxTokens => Some("max_tokens"),
            Self::MaxTurnRequests => Some("max_turn_requests"),
            Self::Refusal => Some("refusal"),
            Self::Cancelled => Some("cancelled"),
            Self::Failed => None,
        }
    }
}

/// Why a native stream ended, as a normalizer's `finish` is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    End,
    Cancelled,
    Error,
}

/// Who sent a native message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Agent,
    Host,
}
