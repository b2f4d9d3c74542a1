//! What the composer remembers of every task.

use std::collections::BTreeMap;

use crate::base::TaskId;
use crate::engine::command::Outgoing;
use crate::model::Image;
use crate::model::message::Delivery;
use crate::ui::composer::complete::{self, Popup, Trigger};
use crate::ui::field::Field;

/// How many things said before are kept for a task.
const HISTORY: usize = 200;

/// What is being written to a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    pub field: Field,
    pub images: Vec<(String, Image)>,
    /// Where in what was said before one is, counted from the newest, and what was being written before that.
    recalled: Option<(usize, String)>,
}

/// The composer.
#[derive(Clone, Debug, Default)]
pub struct State {
    drafts: BTreeMap<TaskId, Draft>,
    history: BTreeMap<TaskId, Vec<String>>,
    pub mode: Delivery,
    pub popup: Option<Popup>,
    /// Set when drafts differ from what was last kept.
    unsaved: bool,
}

impl State {
    pub fn new(drafts: impl IntoIterator<Item = (TaskId, String)>) -> Self {
        let drafts =
            drafts.into_iter().map(|(task, text)| (task, Draft { field: Field::with(text), ..Draft::default() }));
        Self { drafts: drafts.collect(), ..Self::default() }
    }

    pub fn draft(&self, task: TaskId) -> Option<&Draft> {
        self.drafts.get(&task)
    }

    pub fn field(&mut self, task: TaskId) -> &mut Field {
        &mut self.drafts.entry(task).or_default().field
    }

    pub fn has_text(&self, task: TaskId) -> bool {
        self.drafts.get(&task).is_some_and(|draft| !draft.field.is_empty())
    }

    /// Must be told when a draft was written to. Tells what is to be completed, if something is.
    pub fn written(&mut self, task: TaskId) -> Option<(Trigger, usize, String)> {
        self.unsaved = true;
        let draft = self.drafts.entry(task).or_default();
        draft.recalled = None;
        let found = complete::trigger(draft.field.shown(), draft.field.cursor());
        let found = found.map(|(trigger, start, query)| (trigger, start, query.to_owned()));
        if found.is_none() {
            self.popup = None;
        }
        found
    }

    /// Returns every draft with something in it, if one has changed since the last time.
    pub fn take_unsaved(&mut self) -> Option<Vec<(TaskId, String)>> {
        if !std::mem::take(&mut self.unsaved) {
            return None;
        }
        let written = self.drafts.iter().filter(|(_, draft)| !draft.field.is_blank());
        Some(written.map(|(task, draft)| (*task, draft.field.content())).collect())
    }

    /// Takes out what is to be sent, if there is anything.
    pub fn take(&mut self, task: TaskId) -> Option<Outgoing> {
        let draft = self.drafts.get_mut(&task)?;
        if draft.field.is_blank() && draft.images.is_empty() {
            return None;
        }
        let text = draft.field.take().trim_end().to_owned();
        let images = std::mem::take(&mut draft.images).into_iter().map(|(_, image)| image).collect();
        draft.recalled = None;
        self.popup = None;
        self.unsaved = true;
        self.remember(task, &text);
        Some(Outgoing { text, images })
    }

    /// What could not be sent is back where it was written, before what has been written since.
    pub fn give_back(&mut self, task: TaskId, text: &str) {
        let field = self.field(task);
        let since = field.content();
        field.set(if since.is_empty() { text.to_owned() } else { format!("{text}\n{since}") });
        self.unsaved = true;
    }

    pub fn attach(&mut self, task: TaskId, path: String, image: Image) {
        self.drafts.entry(task).or_default().images.push((path, image));
    }

    /// Writes the path of what could not be attached where it was pasted, unless it stands there anyway.
    pub fn keep_path(&mut self, task: TaskId, path: &str) {
        let field = self.field(task);
        if !field.content().contains(path) {
            field.insert(path);
            self.unsaved = true;
        }
    }

    /// Takes the picture that was attached last away where nothing is written. Tells whether there was one.
    pub fn detach(&mut self, task: TaskId) -> bool {
        let draft = self.drafts.get_mut(&task).filter(|draft| draft.field.is_empty());
        draft.is_some_and(|draft| draft.images.pop().is_some())
    }

    /// Remembers something that was said.
    pub fn remember(&mut self, task: TaskId, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let history = self.history.entry(task).or_default();
        history.retain(|said| said != text);
        history.push(text.to_owned());
        if history.len() > HISTORY {
            history.remove(0);
        }
    }

    /// Puts something said before (`-1`: older, `1`: newer) in the place of the draft.
    pub fn recall(&mut self, task: TaskId, by: isize) -> bool {
        let Some(history) = self.history.get(&task) else { return false };
        let draft = self.drafts.entry(task).or_default();
        let (place, mine) = match &draft.recalled {
            Some((place, mine)) => (Some(*place), mine.clone()),
            None => (None, draft.field.content()),
        };
        let next = match (place, by < 0) {
            (None, true) => Some(0),
            (None, false) => return false,
            (Some(place), true) => Some((place + 1).min(history.len().saturating_sub(1))),
            (Some(0), false) => None,
            (Some(place), false) => Some(place - 1),
        };
        match next {
            Some(next) => {
                let Some(said) = history.iter().rev().nth(next) else { return false };
                draft.field.set(said.clone());
                draft.recalled = Some((next, mine));
            }
            None => {
                draft.field.set(mine);
                draft.recalled = None;
            }
        }
        true
    }

    pub fn cycle_mode(&mut self) {
        self.mode = match self.mode {
            Delivery::Steer => Delivery::Next,
            Delivery::Next => Delivery::Interrupt,
            Delivery::Interrupt => Delivery::Steer,
        };
    }

    /// Empties a draft; what was in it can be recalled.
    pub fn clear(&mut self, task: TaskId) {
        let text = self.field(task).take();
        self.remember(task, &text);
        self.drafts.entry(task).or_default().images.clear();
        self.popup = None;
        self.unsaved = true;
    }

    /// Forgets tasks that are gone.
    pub fn retain(&mut self, exists: impl Fn(TaskId) -> bool) {
        self.drafts.retain(|task, _| exists(*task));
        self.history.retain(|task, _| exists(*task));
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
