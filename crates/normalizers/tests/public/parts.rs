//! Updates out of their parts, as the facade makes them.

use chat_normalizers::public::{RecordingReader, UpdateParts};
use chat_normalizers::recording;
use serde_json::{Value, json};

/// The updates of a recording; `None` for an agent that nobody knows.
pub(crate) fn read(agent: &str, ndjson: &[u8]) -> Option<Vec<Value>> {
    let mut reader = RecordingReader::new(agent)?;
    String::from_utf8_lossy(ndjson).lines().filter_map(recording::line).for_each(|line| reader.push(&line));
    Some(assembled(&reader.finish()))
}

fn assembled(parts: &UpdateParts) -> Vec<Value> {
    let mut whole = serde_json::from_str::<Vec<Value>>(&parts.whole).expect("a JSON array").into_iter();
    let updates = parts.items.chunks(5).map(|item| match item {
        [6, ..] => completed(parts, whole.next().expect("an update for each")),
        [form, id, block, start, end] => {
            let (id, text) = (&parts.ids[*id as usize], text(parts, *block, *start, *end));
            match form {
                0 => {
                    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text }, "messageId": id })
                }
                1 => json!({
                    "sessionUpdate": "tool_call_update", "toolCallId": id, "_meta": { "amalgm": { "delta": { "output": text } } }
                }),
                form => {
                    let reasoning = ["full", "summary", "redacted", "plan"][*form as usize - 2];
                    json!({
                        "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": text }, "messageId": id,
                        "_meta": { "amalgm": { "reasoning": reasoning } }
                    })
                }
            }
        }
        other => panic!("five numbers an update: {other:?}"),
    });
    let updates = updates.collect();
    assert!(whole.next().is_none());
    updates
}

fn completed(parts: &UpdateParts, update: Value) -> Value {
    let Value::Array(mut members) = update else { return update };
    let texts = members.split_off(1);
    let mut update = members.remove(0);
    for long in texts.chunks(4) {
        let path = long[0].as_array().expect("a path").iter();
        let pointer: String =
            path.map(|member| format!("/{}", member.as_str().map_or(member.to_string(), str::to_owned))).collect();
        let number = |place: usize| u32::try_from(long[place].as_u64().expect("a number")).expect("a place");
        let place = update.pointer_mut(&pointer).expect("a member");
        assert_eq!(*place, "");
        *place = text(parts, number(1), number(2), number(3)).into();
    }
    update
}

fn text(parts: &UpdateParts, block: u32, start: u32, end: u32) -> String {
    let units: Vec<u16> = parts.blocks[block as usize].encode_utf16().collect();
    String::from_utf16(&units[start as usize..end as usize]).expect("no character is cut")
}
