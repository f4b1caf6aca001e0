//! Cuts a recording into turns: one `send` of a replay plays one of them.

use super::requests::Purpose;
use super::wire::{CollabItem, HostParams, ItemNotice, ItemTag, SubAgentItem, ThreadAnswer, TurnAnswer, TurnNotice};
use crate::rpc;
use crate::{Channel, RecordedLine, Segment};
use std::collections::HashMap;

/// A turn of one thread, from the line that began it to the line that ended it.
#[derive(Debug)]
struct Turn {
    thread: Option<String>,
    id: Option<String>,
    start: usize,
    end: Option<usize>,
}

/// What a line says about turns.
#[derive(Debug, Default)]
struct Line {
    /// The root thread that it is about.
    thread: Option<String>,
    kind: Kind,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A request of the host that is not about commands left running: it prepares what comes after it.
    Preparation,
    /// News of an item.
    Item,
    #[default]
    Other,
}

/// Every turn with what belongs to it. What comes between two turns belongs to the one before, up to the requests of the host
/// that prepare the next. Turns of two threads that run at the same time get the lines of their own thread.
pub(crate) fn segment(lines: &[RecordedLine<'_>]) -> Vec<Segment> {
    let mut scan = Scan::default();
    scan.read_answers(lines);
    for (index, line) in lines.iter().enumerate() {
        let line = scan.line(index, line);
        scan.lines.push(line);
    }
    scan.end_all(lines.len());
    let Scan { mut turns, lines: about, failed, .. } = scan;
    turns.sort_by_key(|turn| turn.start);
    if turns.is_empty() {
        let whole = Segment { lines: (0..lines.len()).collect() };
        return if failed { vec![whole] } else { Vec::new() };
    }
    let mut segments = vec![Segment::default(); turns.len()];
    let all = Group::new(&turns, (0..turns.len()).collect(), &about);
    if !overlap(&turns) {
        (0..about.len()).for_each(|index| all.push(&mut segments, index));
        return segments;
    }
    let mut groups: HashMap<&str, Group> = HashMap::new();
    for turn in &turns {
        if let Some(thread) = turn.thread.as_deref() {
            let own = turns.iter().enumerate().filter(|(_, turn)| turn.thread.as_deref() == Some(thread));
            groups.entry(thread).or_insert_with(|| Group::new(&turns, own.map(|(index, _)| index).collect(), &about));
        }
    }
    for (index, line) in about.iter().enumerate() {
        line.thread.as_deref().and_then(|thread| groups.get(thread)).unwrap_or(&all).push(&mut segments, index);
    }
    segments
}

/// Turns that follow each other, with the first line of each.
struct Group {
    turns: Vec<usize>,
    bounds: Vec<usize>,
}

impl Group {
    fn new(turns: &[Turn], chosen: Vec<usize>, about: &[Line]) -> Self {
        Self { bounds: bounds(turns, &chosen, about), turns: chosen }
    }

    fn push(&self, segments: &mut [Segment], index: usize) {
        let position = self.bounds.iter().rposition(|bound| *bound <= index).unwrap_or(0);
        if let Some(segment) = self.turns.get(position).and_then(|turn| segments.get_mut(*turn)) {
            segment.lines.push(index);
        }
    }
}

fn overlap(turns: &[Turn]) -> bool {
    turns.windows(2).any(|pair| match pair {
        [before, after] => before.thread != after.thread && before.end.is_some_and(|end| end > after.start),
        _ => false,
    })
}

/// The first line of each of the turns.
fn bounds(turns: &[Turn], chosen: &[usize], about: &[Line]) -> Vec<usize> {
    let mut after = 0;
    let mut bounds = Vec::with_capacity(chosen.len());
    for turn in chosen.iter().filter_map(|turn| turns.get(*turn)) {
        let gap = after..turn.start;
        let between = || gap.clone().filter_map(|index| Some((index, about.get(index)?)));
        let ours = |line: &Line| line.thread.is_none() || line.thread == turn.thread;
        let last_item = between().rfind(|(_, line)| line.kind == Kind::Item && ours(line)).map(|(index, _)| index);
        let prepares = |index: usize| last_item.is_none_or(|item| item < index);
        let first = between().find(|(index, line)| line.kind == Kind::Preparation && ours(line) && prepares(*index));
        bounds.push(first.map_or(turn.start, |(index, _)| index));
        after = turn.end.map_or(turn.start, |end| end.max(turn.start)).saturating_add(1);
    }
    if let Some(first) = bounds.first_mut() {
        *first = 0;
    }
    bounds
}

#[derive(Debug, Default)]
struct Scan {
    turns: Vec<Turn>,
    lines: Vec<Line>,
    /// By the line of the host's request: what came back.
    answers: HashMap<usize, Answer>,
    /// By the text of their id: the threads of the agent's requests.
    asked: HashMap<String, Option<String>>,
    /// A sub-agent's thread and the thread that it works for.
    children: HashMap<String, String>,
    /// Threads that the host opened.
    roots: Vec<String>,
    failed: bool,
}

#[derive(Debug, Clone)]
struct Answer {
    line: usize,
    failed: bool,
    thread: Option<String>,
    turn: Option<String>,
}

impl Scan {
    /// Finds the answer to each request of the host beforehand: it says whether the request began a turn.
    fn read_answers(&mut self, lines: &[RecordedLine<'_>]) {
        let mut open: HashMap<String, usize> = HashMap::new();
        for (index, line) in lines.iter().enumerate() {
            // Most lines are notifications, and no notification is an answer.
            if line.channel == Channel::Agent && rpc::leading_method(&line.text).is_some() {
                continue;
            }
            let Ok(envelope) = rpc::envelope(&line.text) else { continue };
            match (line.channel, envelope.id, envelope.method) {
                (Channel::Host, Some(id), Some(method)) => {
                    // A new process: nothing of the old one is answered.
                    if &*method == "initialize" {
                        open.clear();
                    }
                    open.insert(id.get().to_owned(), index);
                }
                (Channel::Agent, Some(id), None) => {
                    let Some(request) = open.remove(id.get()) else { continue };
                    let result = envelope.result.map(|result| result.get());
                    let thread = result.and_then(|result| serde_json::from_str::<ThreadAnswer<'_>>(result).ok());
                    let turn = result.and_then(|result| serde_json::from_str::<TurnAnswer<'_>>(result).ok());
                    let answer = Answer {
                        line: index,
                        failed: envelope.error.is_some(),
                        thread: thread.map(|answer| answer.thread.id.to_string()),
                        turn: turn.map(|answer| answer.turn.id.to_string()),
                    };
                    self.failed |= answer.failed;
                    self.answers.insert(request, answer);
                }
                _ => {}
            }
        }
    }

    fn line(&mut self, index: usize, line: &RecordedLine<'_>) -> Line {
        if let Some(line) = self.plain_news(line) {
            return line;
        }
        let Ok(envelope) = rpc::envelope(&line.text) else { return Line::default() };
        let params = envelope.params.map_or("{}", |params| params.get());
        let host: HostParams<'_> = serde_json::from_str(params).unwrap_or_default();
        let named = host.thread_id.map(|id| id.to_string());
        match (line.channel, envelope.method.as_deref(), envelope.id) {
            (Channel::Host, Some(method), Some(_)) => self.host_request(index, method, named),
            (Channel::Host, None, Some(id)) => Line { thread: self.asked.get(id.get()).cloned().flatten(), kind: Kind::Other },
            (Channel::Agent, Some(method), Some(id)) => {
                let thread = self.root(named);
                self.asked.insert(id.get().to_owned(), thread.clone());
                Line { thread, kind: if method.starts_with("item/") { Kind::Item } else { Kind::Other } }
            }
            (Channel::Agent, Some(method), None) => self.notification(index, method, params, named),
            (Channel::Agent, None, Some(_)) => {
                let request = self.answers.iter().find(|(_, answer)| answer.line == index).map(|(request, _)| *request);
                let thread = request.and_then(|request| self.lines.get(request)?.thread.clone());
                Line { thread, kind: Kind::Other }
            }
            _ => Line::default(),
        }
    }

    /// A notification that says nothing about turns or sub-agents, which nearly all are: read in one pass.
    fn plain_news(&self, line: &RecordedLine<'_>) -> Option<Line> {
        let method = rpc::leading_method(&line.text).filter(|_| line.channel == Channel::Agent)?;
        // Looked for in the whole line: a tool's output that holds the words is only read the long way for nothing.
        let names_subagents = || ["subAgentActivity", "collabAgentToolCall"].iter().any(|kind| line.text.contains(kind));
        let tells_more = match method {
            "turn/started" | "turn/completed" => true,
            "item/started" | "item/completed" => names_subagents(),
            _ => false,
        };
        if tells_more {
            return None;
        }
        let params: HostParams<'_> = rpc::params(&line.text)?;
        let thread = self.root(params.thread_id.map(|id| id.to_string()));
        Some(Line { thread, kind: if method.starts_with("item/") { Kind::Item } else { Kind::Other } })
    }

    fn host_request(&mut self, index: usize, method: &str, named: Option<String>) -> Line {
        if method == "initialize" {
            self.end_all(index);
        }
        let answer = self.answers.get(&index).cloned();
        let purpose = Purpose::of(method);
        let thread = match purpose {
            Purpose::OpenThread => answer.as_ref().and_then(|answer| answer.thread.clone()).or(named),
            _ => named,
        };
        let failed = answer.as_ref().is_some_and(|answer| answer.failed);
        if purpose != Purpose::Other
            && !failed
            && let Some(thread) = &thread
            && !self.roots.contains(thread)
        {
            self.roots.push(thread.clone());
        }
        let turn_id = answer.as_ref().and_then(|answer| answer.turn.clone());
        let begins = match purpose {
            Purpose::Other => false,
            Purpose::OpenThread => failed,
            // A request while a turn runs joins it, unless the answer names another turn.
            Purpose::StartTurn => self.running(thread.as_deref()).is_none_or(|turn| match (&turn.id, &turn_id) {
                (Some(runs), Some(answered)) => runs != answered,
                _ => failed,
            }),
        };
        if begins {
            let end = answer.filter(|answer| answer.failed).map(|answer| answer.line);
            self.turns.push(Turn { thread: thread.clone(), id: turn_id, start: index, end });
        }
        let kind = match method.starts_with("thread/backgroundTerminals/") {
            true => Kind::Other,
            false => Kind::Preparation,
        };
        Line { thread, kind }
    }

    fn notification(&mut self, index: usize, method: &str, params: &str, named: Option<String>) -> Line {
        match method {
            "turn/started" => {
                let notice = serde_json::from_str::<TurnNotice<'_>>(params).ok();
                if let (Some(notice), Some(thread)) = (notice, &named) {
                    self.turn_started(index, thread, &notice);
                }
            }
            "turn/completed" => {
                let end = self.turns.iter_mut().rev().find(|turn| turn.thread == named && turn.end.is_none());
                if let Some(turn) = end {
                    turn.end = Some(index);
                }
            }
            "item/started" | "item/completed" => self.item(params, named.as_deref()),
            _ => {}
        }
        Line { thread: self.root(named), kind: if method.starts_with("item/") { Kind::Item } else { Kind::Other } }
    }

    fn turn_started(&mut self, index: usize, thread: &str, notice: &TurnNotice<'_>) {
        let root_turn = notice.turn.root_turn_id.as_deref().filter(|root| **root != *notice.turn.id);
        let owner = self.turns.iter().find(|turn| root_turn.is_some() && turn.id.as_deref() == root_turn);
        if let Some(owner) = owner.and_then(|turn| turn.thread.clone()).filter(|owner| owner != thread) {
            self.children.entry(thread.to_owned()).or_insert(owner);
        }
        if self.children.contains_key(thread) || !(self.roots.is_empty() || self.roots.iter().any(|root| root == thread)) {
            return;
        }
        match self.turns.iter_mut().rev().find(|turn| turn.thread.as_deref() == Some(thread) && turn.end.is_none()) {
            Some(turn) => {
                turn.id.get_or_insert_with(|| notice.turn.id.to_string());
            }
            // The agent begins by itself.
            None => {
                let id = Some(notice.turn.id.to_string());
                self.turns.push(Turn { thread: Some(thread.to_owned()), id, start: index, end: None });
            }
        }
    }

    /// Learns which threads are sub-agents.
    fn item(&mut self, params: &str, thread: Option<&str>) {
        let (Some(thread), Ok(notice)) = (thread, serde_json::from_str::<ItemNotice<'_>>(params)) else { return };
        let json = notice.item.get();
        let kind = serde_json::from_str::<ItemTag<'_>>(json).map(|tag| tag.kind.to_string()).unwrap_or_default();
        let children: Vec<String> = match kind.as_str() {
            "subAgentActivity" => {
                let item = serde_json::from_str::<SubAgentItem<'_>>(json).ok();
                item.and_then(|item| item.agent_thread_id).map(|id| id.to_string()).into_iter().collect()
            }
            "collabAgentToolCall" => {
                let item = serde_json::from_str::<CollabItem<'_>>(json).ok();
                item.and_then(|item| item.receiver_thread_ids).into_iter().flatten().map(|id| id.to_string()).collect()
            }
            _ => return,
        };
        for child in children.into_iter().filter(|child| !self.roots.contains(child)) {
            self.children.entry(child).or_insert_with(|| thread.to_owned());
        }
    }

    /// The thread that a thread works for in the end.
    fn root(&self, thread: Option<String>) -> Option<String> {
        let mut thread = thread?;
        // A chain of sub-agents is no longer than there are sub-agents.
        for _ in 0..self.children.len() {
            match self.children.get(&thread) {
                Some(owner) => thread.clone_from(owner),
                None => break,
            }
        }
        Some(thread)
    }

    fn running(&self, thread: Option<&str>) -> Option<&Turn> {
        self.turns.iter().rev().find(|turn| turn.thread.as_deref() == thread && turn.end.is_none())
    }

    /// The process is gone, and with it every turn that runs.
    fn end_all(&mut self, index: usize) {
        for turn in self.turns.iter_mut().filter(|turn| turn.end.is_none()) {
            turn.end = Some(index.saturating_sub(1));
        }
    }
}
