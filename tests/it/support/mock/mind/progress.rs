//! How far one conversation has come: its queue, its last request, its segments.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::support::mock::fault::Fault;
use crate::support::mock::reply::{Reply, Spoken};
use crate::support::mock::rules::prefix::{Relation, Snapshot};
use crate::support::mock::script::{Conversation, Exhausted, Script};
use crate::support::mock::seen::{Entry, Seen};
use crate::support::mock::turn::{Stop, Turn, answer};

/// Summaries are counted apart from turns, so that asking for one changes no id of a later answer.
const FIRST_SUMMARY: usize = 9000;

#[derive(Debug, Default)]
pub struct Progress {
    name: String,
    pub fork_of: Option<String>,
    pub queue: VecDeque<Turn>,
    summaries: VecDeque<Turn>,
    pub faults: BTreeMap<usize, Fault>,
    exhausted: Exhausted,
    pub requests: usize,
    /// How many turns have been taken from the queue, or made up after its end.
    turns_taken: usize,
    summaries_given: usize,
    current: Option<Current>,
    current_summary: Option<Current>,
    /// The last request for a summary.
    summary_asked: Option<Snapshot>,
    /// Every request that was not for a summary, with its number.
    pub history: Vec<(usize, Snapshot)>,
    pub epoch: usize,
    pub epoch_declared: bool,
    /// A line of the last summary. The first user turn that has it opens a new segment.
    summary_line: Option<String>,
    /// The last answer paused: its text may come back as the last message.
    pub paused: bool,
}

/// The turn that the last request met.
#[derive(Debug)]
struct Current {
    turn: Turn,
    index: usize,
    faults_used: usize,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Faulted,
    Delivered,
    /// Not decided yet, or dropped by the client.
    Open,
}

/// A turn for a request, and what this attempt at it meets.
pub struct Taken {
    pub turn: Turn,
    pub index: usize,
    pub fault: Option<Fault>,
}

/// Returns the progress of the conversation called `name`, from the beginning if it has none.
pub fn of<'a>(all: &'a mut HashMap<String, Progress>, script: &Script, name: &str) -> &'a mut Progress {
    all.entry(name.to_owned()).or_insert_with(|| match script.conversations.iter().find(|c| c.name == name) {
        Some(conversation) => Progress::declared(conversation, script.exhausted),
        None => Progress {
            name: name.to_owned(),
            queue: script.turns.clone().into(),
            exhausted: script.exhausted,
            ..Progress::default()
        },
    })
}

impl Progress {
    fn declared(conversation: &Conversation, exhausted: Exhausted) -> Self {
        Self {
            name: conversation.name.clone(),
            fork_of: conversation.fork_of.clone(),
            queue: conversation.turns.clone().into(),
            summaries: conversation.summaries.clone().into(),
            faults: conversation.faults.clone(),
            exhausted: conversation.exhausted.unwrap_or(exhausted),
            ..Self::default()
        }
    }

    pub fn last(&self) -> Option<&Snapshot> {
        self.history.last().map(|(_, snapshot)| snapshot)
    }

    pub fn sent(&mut self, number: usize, snapshot: Snapshot) {
        self.history.push((number, snapshot));
    }

    /// Tells whether `seen` may depart from what came before, and forgets that it may.
    pub fn starts_new_epoch(&mut self, seen: &Seen) -> bool {
        let declared = std::mem::take(&mut self.epoch_declared);
        let summarised = self.summary_line.as_ref().is_some_and(|line| {
            seen.first_turn().iter().flat_map(Entry::texts).any(|text| text.contains(line.as_str()))
        });
        if summarised {
            self.summary_line = None;
            // Whatever was done to it on its way: it got there.
            if let Some(current) = &mut self.current_summary {
                current.state = State::Delivered;
            }
        }
        declared || summarised
    }

    /// Returns the turn for this request: the same again for a retry, else the next.
    pub fn take(&mut self, relation: Relation) -> Option<Taken> {
        let again = self.current.as_ref().is_some_and(|current| match current.state {
            State::Faulted => true,
            State::Delivered => relation == Relation::Same && !current.turn.once,
            State::Open => relation == Relation::Same,
        });
        if !again {
            let turn = match (self.queue.pop_front(), self.exhausted) {
                (Some(turn), _) => turn,
                (None, Exhausted::Acknowledge) => answer().text("Acknowledged."),
                (None, Exhausted::Fail) => return None,
            };
            self.turns_taken += 1;
            self.current = Some(Current { turn, index: self.turns_taken, faults_used: 0, state: State::Open });
        }
        self.current.as_mut().map(Current::attempt)
    }

    /// Returns the turn for a request for a summary: the same again for a retry, else the next.
    pub fn take_summary(&mut self, script: &Script, asked: Snapshot) -> Taken {
        let same = self.summary_asked.as_ref().is_some_and(|last| asked.relation_to(last) == Relation::Same);
        self.summary_asked = Some(asked);
        let again = self.current_summary.take().filter(|current| match current.state {
            State::Faulted => true,
            State::Delivered | State::Open => same && !current.turn.once,
        });
        let mut current = again.unwrap_or_else(|| {
            self.summaries_given += 1;
            let index = self.summaries_given;
            let turn = self.summaries.pop_front().unwrap_or_else(|| {
                let text = script.summary.as_ref().map_or("", |summary| summary.text.as_str());
                let name = &self.name;
                answer().text(&format!("<summary>\n[summary {index} of {name}]\n{text}\n</summary>"))
            });
            Current { turn, index: FIRST_SUMMARY + index, faults_used: 0, state: State::Open }
        });
        let taken = current.attempt();
        self.current_summary = Some(current);
        taken
    }

    /// Notes what the answer will mean for the next request, which may come before this one's end is noticed.
    pub fn planned(&mut self, reply: &Reply, summary: bool, faulted: bool) {
        let current = if summary { &mut self.current_summary } else { &mut self.current };
        if let Some(current) = current {
            current.state = if faulted { State::Faulted } else { State::Delivered };
        }
        if !summary {
            self.paused = if faulted { self.paused } else { reply.stop == Stop::Pause };
            return;
        }
        // Whatever happens to it on the way, it may arrive whole: slowly, or cut behind its end. A request that begins
        // with its line shows that it did.
        let words: String = reply.pieces.iter().map(spoken_words).collect();
        let inner = words.split_once("<summary>").and_then(|(_, rest)| rest.split_once("</summary>"));
        let line = inner.and_then(|(inner, _)| inner.lines().map(str::trim).find(|line| !line.is_empty()));
        self.summary_line = line.map(str::to_owned);
    }

    /// Notes that the client did not wait for the answer to request `number`.
    pub fn dropped(&mut self, number: usize) {
        let is_last = self.history.last().is_some_and(|(last, _)| *last == number);
        if let Some(current) = self.current.as_mut().filter(|_| is_last) {
            current.state = State::Open;
        }
    }
}

impl Current {
    fn attempt(&mut self) -> Taken {
        let fault = self.turn.faults.get(self.faults_used).cloned().filter(|_| self.state != State::Delivered);
        self.faults_used += usize::from(fault.is_some());
        Taken { turn: self.turn.clone(), index: self.index, fault }
    }
}

fn spoken_words(piece: &Spoken) -> String {
    match piece {
        Spoken::Text(chunks) => Spoken::words(chunks),
        Spoken::Thinking(_) | Spoken::Redacted(_) | Spoken::Tool { .. } | Spoken::Gate(_) | Spoken::DelayMs(_) => {
            String::new()
        }
    }
}
