//! The turns of a conversation and the states of the files between them: a fold over the chain of a session.

use std::collections::BTreeMap;

use super::{edits, no_turn};
use crate::base::{EventId, Fault, MessageId, TaskId, TurnId, text};
use crate::engine::review::{EditView, TurnView};
use crate::git::snapshot::Snapshot;
use crate::model::event::{Body, Event};
use crate::model::message::{Message, Source};
use crate::model::work::Work;
use crate::store::{Sessions, StoreError};
use crate::tools::{names, replay};

/// How long a line is that stands for what was said.
const LINE: usize = 120;

/// A point in a conversation to which it can go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The last event that stays. Nothing: the very beginning.
    pub event: Option<EventId>,
    /// The last turn that stays.
    pub turn: Option<TurnId>,
}

/// The turns of a conversation.
#[derive(Debug, Default)]
pub struct History {
    pub turns: Vec<TurnView>,
    /// The state of the files before the first turn, if one was kept.
    pub first: Option<String>,
    /// The state that the files were last known to be in.
    pub last: Option<String>,
    /// The snapshots that the states are from, by the turns that they were after. Nothing: before the first.
    snapshots: BTreeMap<Option<TurnId>, TurnId>,
    last_snapshot: Option<TurnId>,
    /// What was consumed, and the last event before that.
    consumed: BTreeMap<MessageId, Consumed>,
    messages: BTreeMap<MessageId, Message>,
    said: String,
    calls: Vec<String>,
    edits: Vec<EditView>,
    /// Which of the last turn's edits a call is.
    numbers: BTreeMap<String, usize>,
    open: Vec<String>,
    prompt: (String, Option<MessageId>),
    before: Option<EventId>,
}

/// When a message was read.
#[derive(Clone, Debug)]
struct Consumed {
    moment: Moment,
    together: Vec<MessageId>,
}

impl History {
    pub(super) fn read(sessions: &Sessions, task: TaskId) -> Result<Self, StoreError> {
        let mut history = Self::default();
        sessions.stream_chain(task, |event| history.apply(&event))?;
        Ok(history)
    }

    pub(super) fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Message(message) => {
                self.messages.insert(message.id, message.clone());
            }
            Body::MessagesConsumed(consumed) => self.consume(&consumed.ids),
            Body::AssistantText(said) if self.said.is_empty() => self.said = text::headline(&said.text, LINE),
            Body::ToolCall(call) => {
                self.calls.push(names::shown(&call.name).into_owned());
                self.open.push(call.call.clone());
                if replay::may_write(&call.name) {
                    if self.edits.is_empty() {
                        self.numbers.clear();
                    }
                    self.numbers.insert(call.call.clone(), self.edits.len() + 1);
                    self.edits.push(edits::view(self.edits.len() + 1, call));
                }
            }
            Body::TurnEnded(end) => {
                let (prompt, message) = std::mem::take(&mut self.prompt);
                self.snapshots.extend(self.last_snapshot.map(|snapshot| (Some(end.turn), snapshot)));
                self.turns.push(TurnView {
                    turn: end.turn,
                    number: self.turns.len() + 1,
                    at: event.ts,
                    prompt,
                    message,
                    said: std::mem::take(&mut self.said),
                    calls: std::mem::take(&mut self.calls),
                    edits: std::mem::take(&mut self.edits),
                    changed: false,
                    state: self.last.clone(),
                    event: event.id,
                });
            }
            Body::ToolResult(result) => {
                let open = self.open.len();
                self.open.retain(|call| *call != result.call);
                if let Some(turn) = self.turns.last_mut().filter(|_| self.open.len() < open) {
                    turn.event = event.id;
                    // A file tool that fails changes nothing.
                    let number = self.numbers.get(&result.call).copied();
                    if result.is_error && replay::is_file_tool(&result.name) {
                        turn.edits.retain(|edit| Some(edit.number) != number);
                    }
                }
            }
            Body::Snapshot(kept) => self.kept(kept.turn, &kept.tree),
            Body::Work(Work::Rewound { rewound }) if rewound.extent.has_files() => {
                if let Ok(state) = self.state_after(rewound.to) {
                    self.last = Some(state);
                    self.last_snapshot = self.snapshots.get(&rewound.to).copied();
                }
            }
            _ => {}
        }
        self.before = Some(event.id);
    }

    fn consume(&mut self, ids: &[MessageId]) {
        let moment = Moment { event: self.before, turn: self.turns.last().map(|turn| turn.turn) };
        for id in ids {
            self.consumed.insert(*id, Consumed { moment, together: ids.to_vec() });
            let Some(message) = self.messages.get(id) else { continue };
            if !message.from.is_visible() || matches!(message.from, Source::WorkContext | Source::CompactedResume) {
                continue;
            }
            let own = message.from.is_of_user().then_some(*id);
            self.prompt = (text::headline(&message.body, LINE), own);
        }
    }

    /// Takes in a state. It is kept while the next turn is under way, and may come in after that has ended.
    fn kept(&mut self, turn: TurnId, state: &str) {
        let changed = self.last.as_deref() != Some(state);
        (self.last, self.last_snapshot) = (Some(state.to_owned()), Some(turn));
        let at = self.turns.iter().rposition(|view| view.turn == turn);
        // Without a turn of its own it is something that happened to the files since the last one; or since the one
        // before, if the tools of the last one wait for it.
        let behind = if self.open.is_empty() { 1 } else { 2 };
        let from = at.or(self.turns.len().checked_sub(behind));
        if from.is_none() || (at.is_none() && self.first.is_none()) {
            self.first = Some(state.to_owned());
            self.snapshots.insert(None, turn);
        }
        for view in &mut self.turns[from.unwrap_or(0)..] {
            view.state = Some(state.to_owned());
            self.snapshots.insert(Some(view.turn), turn);
        }
        if let Some(at) = at {
            self.turns[at].changed |= changed;
        }
    }

    pub(super) fn number(&self, turn: TurnId) -> Result<usize, Fault> {
        self.turns.iter().find(|view| view.turn == turn).map(|view| view.number).ok_or_else(|| no_turn(turn))
    }

    /// Returns the state of the files after a turn. Nothing: before the first one.
    pub fn state_after(&self, turn: Option<TurnId>) -> Result<String, Fault> {
        let state = match turn {
            Some(turn) => self.turns.iter().find(|view| view.turn == turn).ok_or_else(|| no_turn(turn))?.state.clone(),
            None => self.first.clone(),
        };
        state.ok_or_else(|| {
            Fault::user("the files were not kept at that time")
                .hint("states of files are kept from the first run of this version on")
        })
    }

    /// Returns which of `all`, the snapshots of the task, is the one after a turn. Several may have the same files and stand on
    /// different commits. Nothing: before the first turn.
    pub fn snapshot_after(&self, turn: Option<TurnId>, all: Vec<Snapshot>) -> Result<Option<Snapshot>, Fault> {
        let (state, wanted) = (self.state_after(turn)?, self.snapshots.get(&turn).copied());
        let mut same: Vec<Snapshot> = all.into_iter().filter(|snapshot| snapshot.tree == state).collect();
        let exact = same.iter().position(|snapshot| Some(snapshot.turn) == wanted);
        Ok(exact.map(|at| same.swap_remove(at)).or_else(|| same.pop()))
    }

    /// Returns the states of the files before and after a turn.
    pub(super) fn around(&self, turn: TurnId) -> Result<(String, String), Fault> {
        let at = self.turns.iter().position(|view| view.turn == turn).ok_or_else(|| no_turn(turn))?;
        let before = self.state_after(at.checked_sub(1).map(|before| self.turns[before].turn))?;
        Ok((before, self.state_after(Some(turn))?))
    }

    /// Returns the point right after a turn. Nothing: the very beginning.
    pub fn after(&self, turn: Option<TurnId>) -> Result<Moment, Fault> {
        let Some(turn) = turn else { return Ok(Moment { event: None, turn: None }) };
        let view = self.turns.iter().find(|view| view.turn == turn).ok_or_else(|| no_turn(turn))?;
        Ok(Moment { event: Some(view.event), turn: Some(turn) })
    }

    /// Returns the point right before a message was read, and what else was read with it.
    pub fn before(&self, message: MessageId) -> Option<(Moment, Vec<Message>)> {
        let consumed = self.consumed.get(&message)?;
        let others = consumed.together.iter().filter(|id| **id != message);
        Some((consumed.moment, others.filter_map(|id| self.messages.get(id)).cloned().collect()))
    }

    pub fn message(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(&id)
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
