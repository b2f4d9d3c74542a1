//! Folds a session into the turns of its conversation and the states of the files between them.

use std::collections::BTreeMap;

use super::{edits, no_turn};
use crate::base::{EventId, Fault, MessageId, TaskId, TurnId, text};
use crate::engine::review::{EditView, TurnView};
use crate::git::snapshot::Snapshot;
use crate::model::event::{Body, Event};
use crate::model::message::{Message, MessageSource};
use crate::model::work::Work;
use crate::store::{Sessions, StoreError};
use crate::tools::{names, replay};

/// The maximum length of a one-line summary.
const SUMMARY_CHARS: usize = 120;

/// A point of a conversation that it can be rewound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewindPoint {
    /// The last event that remains. `None` for an empty conversation.
    pub event: Option<EventId>,
    /// The last turn that remains.
    pub turn: Option<TurnId>,
}

#[derive(Debug, Default)]
pub struct History {
    pub turns: Vec<TurnView>,
    /// The tree before the first turn, if a snapshot exists.
    pub first: Option<String>,
    /// The last known tree.
    pub last: Option<String>,
    /// The snapshot turns of the states, by the turn that they follow. `None` is before the first turn.
    snapshots: BTreeMap<Option<TurnId>, TurnId>,
    last_snapshot: Option<TurnId>,
    consumed: BTreeMap<MessageId, ConsumedMessage>,
    messages: BTreeMap<MessageId, Message>,
    text: String,
    calls: Vec<String>,
    edits: Vec<EditView>,
    /// The edit numbers of the last turn, by call.
    numbers: BTreeMap<String, usize>,
    open: Vec<String>,
    prompt: (String, Option<MessageId>),
    before: Option<EventId>,
}

/// When a message was consumed, and with which others.
#[derive(Clone, Debug)]
struct ConsumedMessage {
    point: RewindPoint,
    consumed_with: Vec<MessageId>,
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
            Body::AssistantText(body) if self.text.is_empty() => self.text = text::headline(&body.text, SUMMARY_CHARS),
            Body::ToolCall(call) => {
                self.calls.push(names::display_name(&call.name).into_owned());
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
                    text: std::mem::take(&mut self.text),
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
            Body::Snapshot(snapshot) => self.apply_snapshot(snapshot.turn, &snapshot.tree),
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
        let point = RewindPoint { event: self.before, turn: self.turns.last().map(|turn| turn.turn) };
        for id in ids {
            self.consumed.insert(*id, ConsumedMessage { point, consumed_with: ids.to_vec() });
            let Some(message) = self.messages.get(id) else { continue };
            if !message.from.is_visible()
                || matches!(message.from, MessageSource::WorkContext | MessageSource::CompactedResume)
            {
                continue;
            }
            let own = message.from.is_from_user().then_some(*id);
            self.prompt = (text::headline(&message.body, SUMMARY_CHARS), own);
        }
    }

    /// Applies a snapshot. It is taken while the next turn runs, so it may be recorded after that turn has ended.
    fn apply_snapshot(&mut self, turn: TurnId, state: &str) {
        let changed = self.last.as_deref() != Some(state);
        (self.last, self.last_snapshot) = (Some(state.to_owned()), Some(turn));
        let at = self.turns.iter().rposition(|view| view.turn == turn);
        // A snapshot without a turn is a change to the files since the last turn, or since the one before if calls of
        // the last turn are still open.
        let back = if self.open.is_empty() { 1 } else { 2 };
        let from = at.or(self.turns.len().checked_sub(back));
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

    /// Returns the tree after a turn. `None` is before the first turn.
    pub fn state_after(&self, turn: Option<TurnId>) -> Result<String, Fault> {
        let state = match turn {
            Some(turn) => self.turns.iter().find(|view| view.turn == turn).ok_or_else(|| no_turn(turn))?.state.clone(),
            None => self.first.clone(),
        };
        state.ok_or_else(|| {
            Fault::user("there is no snapshot of the files at that time")
                .hint("snapshots start with the first run of this version")
        })
    }

    /// Returns the snapshot after a turn, from `all` snapshots of the task. Several may have the same tree but
    /// different commits. `None` is before the first turn.
    pub fn snapshot_after(&self, turn: Option<TurnId>, all: Vec<Snapshot>) -> Result<Option<Snapshot>, Fault> {
        let (state, wanted) = (self.state_after(turn)?, self.snapshots.get(&turn).copied());
        let mut same: Vec<Snapshot> = all.into_iter().filter(|snapshot| snapshot.tree == state).collect();
        let exact = same.iter().position(|snapshot| Some(snapshot.turn) == wanted);
        Ok(exact.map(|at| same.swap_remove(at)).or_else(|| same.pop()))
    }

    /// Returns the trees before and after a turn.
    pub(super) fn states_around(&self, turn: TurnId) -> Result<(String, String), Fault> {
        let at = self.turns.iter().position(|view| view.turn == turn).ok_or_else(|| no_turn(turn))?;
        let before = self.state_after(at.checked_sub(1).map(|before| self.turns[before].turn))?;
        Ok((before, self.state_after(Some(turn))?))
    }

    /// Returns the recorded states, oldest first: from before the first turn, then after each turn.
    pub(super) fn states(&self) -> impl Iterator<Item = String> {
        let after = self.turns.iter().filter_map(|view| view.state.clone());
        self.first.clone().into_iter().chain(after)
    }

    /// Returns the point right after a turn. `None` is the start of the conversation.
    pub fn after(&self, turn: Option<TurnId>) -> Result<RewindPoint, Fault> {
        let Some(turn) = turn else { return Ok(RewindPoint { event: None, turn: None }) };
        let view = self.turns.iter().find(|view| view.turn == turn).ok_or_else(|| no_turn(turn))?;
        Ok(RewindPoint { event: Some(view.event), turn: Some(turn) })
    }

    /// Returns the point right before a message was consumed, and the messages consumed with it.
    pub fn before(&self, message: MessageId) -> Option<(RewindPoint, Vec<Message>)> {
        let consumed = self.consumed.get(&message)?;
        let others = consumed.consumed_with.iter().filter(|id| **id != message);
        Some((consumed.point, others.filter_map(|id| self.messages.get(id)).cloned().collect()))
    }

    pub fn message(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(&id)
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
