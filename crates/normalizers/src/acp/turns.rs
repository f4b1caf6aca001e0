//! Cuts a recording into turns: one `send` of a replay plays one of them.

use super::session::HostRequest;
use super::wire::HostParams;
use crate::rpc;
use crate::{Channel, RecordedLine, Segment};
use std::collections::HashMap;

/// A turn from the request of the host that began it to the agent's answer.
#[derive(Debug)]
struct Turn {
    start: usize,
    end: usize,
}

/// Every turn with what belongs to it. A turn is a prompt, or a request that failed without which there is none. What comes
/// between two turns belongs to the one before, up to the requests of the host that prepare the next.
pub(crate) fn segment(lines: &[RecordedLine<'_>]) -> Vec<Segment> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut requests: Vec<usize> = Vec::new();
    let mut open: HashMap<String, (usize, HostRequest)> = HashMap::new();
    for (index, line) in lines.iter().enumerate() {
        // Most lines are notifications, which neither ask nor answer.
        let Ok(envelope) = rpc::envelope(&line.text) else { continue };
        let Some(id) = envelope.id else { continue };
        match (line.channel, envelope.method.as_deref()) {
            (Channel::Host, Some(method)) => {
                // A new process: nothing of the old one is answered.
                if method == "initialize" {
                    open.clear();
                }
                let params: Option<HostParams<'_>> = envelope.params.and_then(|params| serde_json::from_str(params.get()).ok());
                let request = HostRequest::of(method, &params.unwrap_or_default());
                requests.push(index);
                if request == HostRequest::Prompt {
                    turns.push(Turn { start: index, end: lines.len() });
                }
                open.insert(id.get().to_owned(), (index, request));
            }
            (Channel::Agent, None) => {
                let Some((start, request)) = open.remove(id.get()) else { continue };
                if request == HostRequest::Prompt {
                    turns.iter_mut().filter(|turn| turn.start == start).for_each(|turn| turn.end = index);
                } else if request.is_vital() && envelope.error.is_some() {
                    turns.push(Turn { start, end: index });
                }
            }
            _ => {}
        }
    }
    turns.sort_by_key(|turn| turn.start);
    let mut bounds = Vec::with_capacity(turns.len());
    let mut after = 0;
    for turn in &turns {
        let first = requests.get(requests.partition_point(|request| *request < after));
        bounds.push(first.map_or(turn.start, |first| turn.start.min(*first)));
        after = turn.end.max(turn.start).saturating_add(1);
    }
    if let Some(first) = bounds.first_mut() {
        *first = 0;
    }
    let ends = bounds.iter().skip(1).copied().chain([lines.len()]);
    bounds.iter().zip(ends).map(|(start, end)| Segment { lines: (*start..end).collect() }).collect()
}
