//! The state of the questions: the list, the card, and a draft answer for each.
//!
//! The card is the one question that can be answered now. It takes the place of the composer. It is either a question that
//! the user opened, of any task, or the first question of the selected task.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::{AskId, TaskId, Timestamp};
use crate::model::Ask;
use crate::model::ask::Subject;
use crate::ui::field::Field;
use crate::ui::project_state::ProjectState;

/// How long a card that appeared by itself takes a digit for text: the digit may have been typed for what was there before.
const SETTLE_MS: i64 = 400;

#[derive(Clone, Debug, Default)]
pub struct State {
    items: Vec<(TaskId, AskId)>,
    synced_revision: Option<u64>,
    /// The selected question of the list.
    chosen: Option<AskId>,
    /// The question that the user opened.
    opened: Option<AskId>,
    /// The question of the card that appeared by itself, and since when.
    appeared: Option<(AskId, Timestamp)>,
    drafts: BTreeMap<AskId, Field>,
    later: BTreeSet<AskId>,
    /// Questions whose answer is on its way to the engine.
    sent: BTreeSet<AskId>,
    /// The Asks of other tasks about the same call, by the one that stands for them in the list.
    equal: BTreeMap<AskId, Vec<(TaskId, AskId)>>,
    /// The question whose draft is what it proposes, to be changed: rules to save, or a plan.
    proposal: Option<AskId>,
    /// Set when drafts differ from the saved ones.
    unsaved: bool,
    pub top: usize,
}

impl State {
    pub fn new(answers: impl IntoIterator<Item = (AskId, String)>) -> Self {
        let drafts = answers.into_iter().map(|(id, text)| (id, Field::with(text)));
        Self { drafts: drafts.collect(), ..Self::default() }
    }

    /// Returns true once after a draft has changed.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.unsaved)
    }

    /// Returns all drafts that are not blank.
    pub fn written(&self) -> Vec<(AskId, String)> {
        let written = self.drafts.iter().filter(|(_, draft)| !draft.is_blank());
        written.map(|(id, draft)| (*id, draft.content())).collect()
    }

    /// Takes over the open Asks. The selection stays on its question while it exists.
    pub fn sync(&mut self, project: &ProjectState) {
        if self.synced_revision == Some(project.asks_revision()) {
            return;
        }
        self.synced_revision = Some(project.asks_revision());
        let place = self.place();
        let pending = project.pending_asks();
        let known: BTreeSet<_> = pending.iter().map(|(_, ask)| ask.id).collect();
        let drafts = self.drafts.len();
        self.drafts.retain(|id, _| known.contains(id));
        self.unsaved |= self.drafts.len() != drafts;
        self.later.retain(|id| known.contains(id));
        self.sent.retain(|id| known.contains(id));
        self.equal.clear();
        self.items.clear();
        let mut shown: Vec<&Ask> = Vec::new();
        for (task, ask) in pending {
            match shown.iter().find(|known| is_same_call(known, ask)) {
                Some(known) => self.equal.entry(known.id).or_default().push((task, ask.id)),
                None => {
                    shown.push(ask);
                    self.items.push((task, ask.id));
                }
            }
        }
        self.proposal = self.proposal.filter(|id| known.contains(id));
        // An answered question no longer stands for the others.
        let folded = |id: AskId| self.equal.iter().find(|(_, others)| others.iter().any(|(_, other)| *other == id));
        let stands = |id: AskId| folded(id).map_or(id, |(stands, _)| *stands);
        self.chosen = self.chosen.map(stands);
        self.opened = self.opened.map(stands);
        // Deferred questions stay in the list, after the others.
        self.items.sort_by_key(|(_, id)| self.later.contains(id));
        self.opened = self.opened.filter(|id| known.contains(id));
        if self.place().is_none() {
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

    /// Returns the Asks of other tasks about the same call. One answer is for all of them.
    pub fn equal_to(&self, id: AskId) -> &[(TaskId, AskId)] {
        self.equal.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Returns true if the draft of a question is what it proposes.
    pub fn edits_proposal(&self, id: AskId) -> bool {
        self.proposal == Some(id)
    }

    /// Takes what a question proposes into its draft.
    pub fn edit_proposal(&mut self, id: AskId, proposal: String) {
        self.set_draft(id, proposal);
        self.proposal = Some(id);
    }

    /// Leaves the proposal as it was. Returns false if it is not being edited.
    pub fn discard_proposal(&mut self, id: AskId) -> bool {
        let edits = self.proposal.take_if(|edited| *edited == id).is_some();
        if edits {
            self.set_draft(id, String::new());
        }
        edits
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

    /// Returns the question to answer while `selected` is shown: the opened one, or the first of that task.
    pub fn card(&self, selected: TaskId) -> Option<(TaskId, AskId)> {
        let opened = self.opened.and_then(|opened| self.items.iter().find(|(_, id)| *id == opened));
        let asks_for =
            |task: TaskId, id: AskId| task == selected || self.equal_to(id).iter().any(|(task, _)| *task == selected);
        let own = || self.items.iter().find(|(task, id)| asks_for(*task, *id) && self.is_fresh(*id));
        opened.or_else(own).copied()
    }

    /// Returns true if the question is neither deferred nor answered.
    pub fn is_fresh(&self, id: AskId) -> bool {
        !self.later.contains(&id) && !self.sent.contains(&id)
    }

    pub fn is_opened(&self) -> bool {
        self.opened.is_some()
    }

    /// Notes which card is on the screen, to know since when.
    pub fn note_card(&mut self, card: Option<AskId>, now: Timestamp) {
        if self.appeared.map(|(id, _)| id) != card {
            self.appeared = card.map(|id| (id, now));
        }
    }

    /// Returns true if a digit typed now is meant for this card.
    pub fn takes_digits(&self, id: AskId, now: Timestamp) -> bool {
        let settled =
            self.appeared.is_some_and(|(shown, since)| shown == id && now.as_millis() - since.as_millis() >= SETTLE_MS);
        (self.opened == Some(id) || settled) && self.drafts.get(&id).is_none_or(Field::is_empty)
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

    /// Returns the draft of an answer, to edit it.
    pub fn field(&mut self, id: AskId) -> &mut Field {
        self.unsaved = true;
        self.drafts.entry(id).or_default()
    }

    pub fn step(&mut self, by: isize) {
        let place = self.place().unwrap_or(0).saturating_add_signed(by).min(self.items.len().saturating_sub(1));
        self.chosen = self.items.get(place).map(|(_, id)| *id);
    }

    pub fn open(&mut self, id: AskId) {
        self.chosen = Some(id);
        self.opened = Some(id);
    }

    pub fn close(&mut self) {
        self.opened = None;
    }

    /// Returns the next question that is neither deferred nor answered: the one that the key opens.
    pub fn next(&self) -> Option<(TaskId, AskId)> {
        let from = match self.place() {
            // The selected one is next if it was not opened yet.
            Some(place) if self.opened.is_some() => place + 1,
            Some(place) => place,
            None => 0,
        };
        let fresh = |(_, id): &&(TaskId, AskId)| self.is_fresh(*id);
        let after = self.items.iter().skip(from).find(fresh);
        after.or_else(|| self.items.iter().find(fresh)).or(self.items.first()).copied()
    }

    pub fn set_draft(&mut self, id: AskId, text: String) {
        self.drafts.insert(id, Field::with(text));
        self.unsaved = true;
    }

    /// Defers a question. It stays in the list, after the others.
    pub fn defer(&mut self, id: AskId) {
        let place = self.place().unwrap_or(0);
        self.later.insert(id);
        self.synced_revision = None;
        self.close();
        let next = self.items.get(place + 1).or_else(|| self.items.first());
        self.chosen = next.map(|(_, id)| *id);
    }

    /// Marks the answer as sent.
    pub fn mark_sent(&mut self, id: AskId) {
        self.sent.insert(id);
        self.close();
    }

    /// Reopens a question whose answer was refused, with the draft.
    pub fn on_answer_refused(&mut self, id: AskId) {
        self.sent.remove(&id);
    }
}

/// Returns true if both ask about the same call.
fn is_same_call(a: &Ask, b: &Ask) -> bool {
    match (&a.subject, &b.subject) {
        (Subject::Permission(a), Subject::Permission(b)) => a.is_same_call(b),
        _ => false,
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
