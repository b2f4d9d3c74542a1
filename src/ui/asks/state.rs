//! What the pane of Asks remembers.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::{AskId, TaskId};
use crate::ui::field::Field;
use crate::ui::world::World;

/// The pane of Asks.
#[derive(Clone, Debug, Default)]
pub struct State {
    items: Vec<(TaskId, AskId)>,
    made: Option<u64>,
    chosen: Option<AskId>,
    /// Whether the chosen one is open.
    open: bool,
    /// Whether an answer is being written.
    writing: bool,
    drafts: BTreeMap<AskId, Field>,
    later: BTreeSet<AskId>,
    /// Answers on their way: they are not offered again meanwhile.
    sent: BTreeSet<AskId>,
    pub top: usize,
}

impl State {
    /// Takes over what waits now. The choice stays on its question while that is there.
    pub fn settle(&mut self, world: &World) {
        if self.made == Some(world.asks_revision()) {
            return;
        }
        self.made = Some(world.asks_revision());
        let place = self.place();
        let pending = world.pending_asks();
        let known: BTreeSet<_> = pending.iter().map(|(_, ask)| ask.id).collect();
        self.drafts.retain(|id, _| known.contains(id));
        self.later.retain(|id| known.contains(id));
        self.sent.retain(|id| known.contains(id));
        self.items = pending.into_iter().map(|(task, ask)| (task, ask.id)).collect();
        // What was put aside stays in the list, after what was not.
        self.items.sort_by_key(|(_, id)| self.later.contains(id));
        if self.place().is_none() {
            // What was open is answered: the next one is chosen, but not opened, or a key meant for this would hit that.
            self.open = false;
            self.writing = false;
            let next = place.unwrap_or(0).min(self.items.len().saturating_sub(1));
            self.chosen = self.items.get(next).map(|(_, id)| *id);
        }
    }

    fn place(&self) -> Option<usize> {
        self.items.iter().position(|(_, id)| Some(*id) == self.chosen)
    }

    pub fn items(&self) -> &[(TaskId, AskId)] {
        &self.items
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn chosen(&self) -> Option<(TaskId, AskId)> {
        self.place().and_then(|place| self.items.get(place)).copied()
    }

    pub fn is_open(&self) -> bool {
        self.open && self.chosen.is_some()
    }

    pub fn is_writing(&self) -> bool {
        self.writing && self.is_open()
    }

    pub fn is_later(&self, id: AskId) -> bool {
        self.later.contains(&id)
    }

    pub fn is_sent(&self, id: AskId) -> bool {
        self.sent.contains(&id)
    }

    pub fn draft(&self, id: AskId) -> Option<&Field> {
        self.drafts.get(&id)
    }

    /// Returns the answer that is being written, to be written to.
    pub fn field(&mut self) -> Option<&mut Field> {
        self.chosen.filter(|_| self.writing).map(|id| self.drafts.entry(id).or_default())
    }

    pub fn step(&mut self, by: isize) {
        let place = self.place().unwrap_or(0).saturating_add_signed(by).min(self.items.len().saturating_sub(1));
        self.choose(self.items.get(place).map(|(_, id)| *id));
    }

    fn choose(&mut self, id: Option<AskId>) {
        if self.chosen != id {
            self.chosen = id;
            self.writing = false;
            self.open = false;
        }
    }

    /// Opens a question.
    pub fn open(&mut self, id: AskId) {
        self.choose(Some(id));
        self.open = true;
    }

    pub fn open_chosen(&mut self) {
        self.open = self.chosen.is_some();
    }

    pub fn close(&mut self) {
        self.open = false;
        self.writing = false;
    }

    /// Returns the next question that has been neither put aside nor answered: what [`Self::open_next`] opens.
    pub fn next(&self) -> Option<(TaskId, AskId)> {
        let from = match self.place() {
            // The chosen one is next if it has not been looked at.
            Some(place) if self.open => place + 1,
            Some(place) => place,
            None => 0,
        };
        let fresh = |(_, id): &&(TaskId, AskId)| !self.later.contains(id) && !self.sent.contains(id);
        let after = self.items.iter().skip(from).find(fresh);
        after.or_else(|| self.items.iter().find(fresh)).or(self.items.first()).copied()
    }

    /// Goes on to the next question, and opens it.
    pub fn open_next(&mut self) -> bool {
        let Some((_, id)) = self.next() else { return false };
        self.open(id);
        true
    }

    pub fn write(&mut self) {
        self.open = self.chosen.is_some();
        self.writing = self.open;
    }

    pub fn stop_writing(&mut self) {
        self.writing = false;
    }

    pub fn set_draft(&mut self, id: AskId, text: String) {
        self.drafts.insert(id, Field::with(text));
    }

    /// Puts the chosen question aside and goes to the next one.
    pub fn put_aside(&mut self) {
        let Some((_, id)) = self.chosen() else { return };
        let place = self.place().unwrap_or(0);
        self.later.insert(id);
        self.made = None;
        self.close();
        let next = self.items.get(place + 1).or_else(|| self.items.first());
        self.chosen = next.map(|(_, id)| *id);
    }

    /// Remembers that an answer is on its way.
    pub fn answered(&mut self, id: AskId) {
        self.sent.insert(id);
        self.close();
    }

    /// The answer did not arrive: the question is open again, with what was written.
    pub fn refused(&mut self, id: AskId) {
        self.sent.remove(&id);
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
