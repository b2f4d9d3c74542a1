//! The state of the composer for every task.

use std::collections::BTreeMap;

use crate::base::TaskId;
use crate::engine::command::Outgoing;
use crate::model::Image;
use crate::model::message::Delivery;
use crate::ui::composer::complete::{self, Popup, Trigger};
use crate::ui::field::Field;

/// The number of messages kept in the history of a task.
const HISTORY: usize = 200;

/// The message being written to a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    pub field: Field,
    pub images: Vec<(String, Image)>,
    /// The position in the history, counted from the newest, and the draft before recalling.
    recalled: Option<(usize, String)>,
}

#[derive(Clone, Debug, Default)]
pub struct State {
    drafts: BTreeMap<TaskId, Draft>,
    history: BTreeMap<TaskId, Vec<String>>,
    pub mode: Delivery,
    pub popup: Option<Popup>,
    /// Set when drafts differ from the saved ones.
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

    /// Called after a draft has changed. Returns the completion to offer, if any.
    pub fn on_text_changed(&mut self, task: TaskId) -> Option<(Trigger, usize, String)> {
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

    /// Returns true once after a draft has changed.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.unsaved)
    }

    /// Returns all drafts that are not blank.
    pub fn written(&self) -> Vec<(TaskId, String)> {
        let written = self.drafts.iter().filter(|(_, draft)| !draft.field.is_blank());
        written.map(|(task, draft)| (*task, draft.field.content())).collect()
    }

    /// Takes the message to send, if there is one.
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
        Some(Outgoing { text, images, ..Outgoing::default() })
    }

    /// Puts a message that could not be sent back into the draft, before any newer text.
    pub fn restore(&mut self, task: TaskId, text: &str) {
        let field = self.field(task);
        let since = field.content();
        field.set(if since.is_empty() { text.to_owned() } else { format!("{text}\n{since}") });
        self.unsaved = true;
    }

    pub fn attach(&mut self, task: TaskId, path: String, image: Image) {
        self.drafts.entry(task).or_default().images.push((path, image));
    }

    /// Inserts the path of a failed attachment as text, unless the draft contains it already.
    pub fn insert_path(&mut self, task: TaskId, path: &str) {
        let field = self.field(task);
        if !field.content().contains(path) {
            field.insert(path);
            self.unsaved = true;
        }
    }

    /// Removes the last attached image if the text is empty. Returns true if there was one.
    pub fn detach(&mut self, task: TaskId) -> bool {
        let draft = self.drafts.get_mut(&task).filter(|draft| draft.field.is_empty());
        draft.is_some_and(|draft| draft.images.pop().is_some())
    }

    /// Adds a message to the history.
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

    /// Replaces the draft with an older (`-1`) or newer (`1`) message of the history.
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

    /// Clears a draft; it can be recalled from the history.
    pub fn clear(&mut self, task: TaskId) {
        let text = self.field(task).take();
        self.remember(task, &text);
        self.drafts.entry(task).or_default().images.clear();
        self.popup = None;
        self.unsaved = true;
    }

    /// Drops tasks that no longer exist.
    pub fn retain(&mut self, exists: impl Fn(TaskId) -> bool) {
        self.drafts.retain(|task, _| exists(*task));
        self.history.retain(|task, _| exists(*task));
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
