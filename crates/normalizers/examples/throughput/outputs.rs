//! A command with a long output, in the form in which each agent sends one.

use crate::recordings::Line;
use crate::stopwatch::normalizer;
use chat_grammar::event::{ChatEvent, EventKind, Side};
use serde_json::{Value, json};

const PIECE: usize = 4096;

/// A way to send output.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub agent: &'static str,
    /// For readers of the results.
    pub manner: &'static str,
    /// Whether all of the output comes before its end.
    streams: bool,
    begin: fn() -> Value,
    /// All that was printed until now, and what is new of it.
    piece: fn(&str, &str) -> Option<Value>,
    end: fn(&str) -> Value,
}

pub(crate) const FORMS: &[Form] = &[
    Form {
        agent: "acp",
        manner: "pieces in `_meta` (codex-acp)",
        streams: true,
        begin: acp_begin,
        piece: |_, new| {
            let delta = json!({ "terminal_output_delta": { "data": new, "terminal_id": "call" } });
            Some(acp(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "call", "_meta": delta })))
        },
        end: |_| {
            let exit = json!({ "terminal_exit": { "exit_code": 0, "signal": null, "terminal_id": "call" } });
            acp(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "call", "status": "completed", "_meta": exit }))
        },
    },
    Form {
        agent: "acp",
        manner: "the last 32 KiB again and again, as content",
        streams: false,
        begin: acp_begin,
        piece: |all, _| {
            let content = json!([{ "type": "content", "content": { "type": "text", "text": tail(all, 32 * 1024) } }]);
            Some(acp(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "call", "content": content })))
        },
        end: |_| acp(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "call", "status": "completed" })),
    },
    Form {
        agent: "claude_code",
        manner: "whole",
        streams: false,
        begin: || {
            let call = json!({ "type": "tool_use", "id": "call", "name": "Bash", "input": { "command": "print" } });
            json!({ "type": "assistant", "message": { "id": "message", "role": "assistant", "content": [call] }, "session_id": "session" })
        },
        piece: |_, _| None,
        end: |all| {
            let result = json!({ "tool_use_id": "call", "type": "tool_result", "content": all, "is_error": false });
            let native = json!({ "stdout": all, "stderr": "", "interrupted": false });
            json!({ "type": "user", "message": { "role": "user", "content": [result] }, "tool_use_result": native, "session_id": "session" })
        },
    },
    Form {
        agent: "codex",
        manner: "pieces",
        streams: true,
        begin: || codex_item("item/started", "inProgress", Value::Null),
        piece: |_, new| {
            let params = json!({ "threadId": "session", "turnId": "turn", "itemId": "call", "delta": new });
            Some(json!({ "method": "item/commandExecution/outputDelta", "params": params }))
        },
        end: |all| codex_item("item/completed", "completed", all.into()),
    },
    Form {
        agent: "cursor",
        manner: "whole",
        streams: false,
        begin: acp_begin,
        piece: |_, _| None,
        end: |all| {
            let output = json!({ "exitCode": 0, "stdout": all, "stderr": "" });
            acp(
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": "call", "status": "completed", "rawOutput": output }),
            )
        },
    },
    Form {
        agent: "opencode",
        manner: "the last 30,000 characters again and again",
        streams: false,
        begin: || opencode(json!({ "status": "running", "input": { "command": "print" }, "metadata": { "output": "" } })),
        piece: |all, _| {
            let output = match all.len() > 30_000 {
                true => format!("...\n\n{}", tail(all, 30_000)),
                false => all.to_owned(),
            };
            let metadata = json!({ "output": output });
            Some(opencode(json!({ "status": "running", "input": { "command": "print" }, "metadata": metadata })))
        },
        end: |all| {
            let metadata = json!({ "output": tail(all, 30_000), "exit": 0 });
            opencode(
                json!({ "status": "completed", "input": { "command": "print" }, "output": tail(all, 50_000), "metadata": metadata }),
            )
        },
    },
    Form {
        agent: "pi",
        manner: "the last 50 KiB again and again",
        streams: true,
        begin: || json!({ "type": "tool_execution_start", "toolCallId": "call", "toolName": "bash", "args": { "command": "print" } }),
        piece: |all, _| {
            let mut message = pi_result("partialResult", all);
            message["type"] = "tool_execution_update".into();
            Some(message)
        },
        end: |all| {
            let mut message = pi_result("result", all);
            message["type"] = "tool_execution_end".into();
            message["isError"] = false.into();
            message
        },
    },
];

/// The messages of a command that prints so many bytes.
pub(crate) fn lines(form: &Form, size: usize) -> Vec<Line> {
    let output = printed(size);
    let mut lines = vec![(Side::Agent, (form.begin)().to_string())];
    let ends = (PIECE..output.len()).step_by(PIECE).chain([output.len()]);
    for end in ends {
        let start = (end - 1) / PIECE * PIECE;
        if let Some(message) = (form.piece)(&output[..end], &output[start..end]) {
            lines.push((Side::Agent, message.to_string()));
        }
    }
    lines.push((Side::Agent, (form.end)(&output).to_string()));
    lines
}

/// Whether the normalizer reads the messages as what they are meant to be: otherwise the times would be those of something else.
pub(crate) fn check(form: &Form, size: usize, lines: &[Line]) -> Result<(), String> {
    let mut normalizer = normalizer(form.agent)?;
    let mut events: Vec<ChatEvent> = Vec::new();
    lines.iter().for_each(|(side, text)| normalizer.push(text, *side, &mut events));
    let meanings = || events.iter().filter_map(|event| event.kind.meaning());
    let ended = meanings().any(|kind| matches!(kind, EventKind::ToolCompleted(end) if !end.is_error));
    let pieces = meanings().filter_map(|kind| match kind {
        EventKind::ToolUpdated(update) => update.output_delta.as_ref(),
        _ => None,
    });
    let streamed: usize = pieces.map(String::len).sum();
    match ended && (!form.streams || streamed >= size) {
        true => Ok(()),
        false => Err(format!("{} {}: ended {ended}, {streamed} of {size} bytes streamed", form.agent, form.manner)),
    }
}

/// Lines as programs print them. ASCII, so that it can be cut anywhere.
fn printed(size: usize) -> String {
    let mut output = String::with_capacity(size + 64);
    for number in 0.. {
        if output.len() >= size {
            break;
        }
        output += &format!("line {number} aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd\n");
    }
    output.truncate(size);
    output
}

fn tail(text: &str, size: usize) -> &str {
    &text[text.len().saturating_sub(size)..]
}

fn acp(update: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "session", "update": update } })
}

fn acp_begin() -> Value {
    let input = json!({ "command": "print" });
    acp(
        json!({ "sessionUpdate": "tool_call", "toolCallId": "call", "title": "print", "kind": "execute", "status": "in_progress", "rawInput": input }),
    )
}

fn codex_item(method: &str, status: &str, output: Value) -> Value {
    let exit = if output.is_null() { Value::Null } else { 0.into() };
    let item = json!({
        "type": "commandExecution", "id": "call", "command": "print", "cwd": "/workspace", "source": "agent", "status": status,
        "commandActions": [], "aggregatedOutput": output, "exitCode": exit, "durationMs": null,
    });
    json!({ "method": method, "params": { "item": item, "threadId": "session", "turnId": "turn" } })
}

fn opencode(state: Value) -> Value {
    let part = json!({
        "id": "part", "messageID": "message", "sessionID": "session", "type": "tool", "tool": "bash", "callID": "call", "state": state,
    });
    json!({ "id": "event", "type": "message.part.updated", "properties": { "sessionID": "session", "part": part } })
}

fn pi_result(member: &str, all: &str) -> Value {
    let shown = tail(all, 50 * 1024);
    let truncated = shown.len() < all.len();
    // A tail begins with a whole line, and its last newline is taken off.
    let shown = if truncated { shown.split_once('\n').map_or(shown, |(_, rest)| rest) } else { shown };
    let shown = if truncated { shown.strip_suffix('\n').unwrap_or(shown) } else { shown };
    let details = match truncated {
        true => json!({ "truncation": { "truncated": true, "totalBytes": all.len(), "outputBytes": shown.len() } }),
        false => json!({}),
    };
    let result = json!({ "content": [{ "type": "text", "text": shown }], "details": details });
    let mut message = json!({ "type": "", "toolCallId": "call", "toolName": "bash", "args": { "command": "print" } });
    message[member] = result;
    message
}
