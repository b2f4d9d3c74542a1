//! A list filtered by typing: palette, help, projects, colours, parent tasks.

use crate::base::fuzzy::{Fuzzy, Names};
use crate::base::{AskId, ProjectId, TaskId, TurnId};
use crate::engine::review::DiffRange;
use crate::model::task::Colour;
use crate::permit::Mode;
use crate::theme::Role;
use crate::ui::action::Action;
use crate::ui::field::Field;
use crate::ui::list::Cursor;

/// The maximum number of matches.
const MAX_MATCHES: usize = 200;

/// The note of the item made from the typed text.
const AS_TYPED: &str = "as typed";

/// The action of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChooserAction {
    Act(Action),
    Colour(TaskId, Option<Colour>),
    /// The permission mode of a task. `None` for that of the project.
    Mode(TaskId, Option<Mode>),
    MoveBelow {
        task: TaskId,
        parent: TaskId,
    },
    Project(ProjectId),
    /// A project of another machine.
    HostProject {
        host: String,
        path: String,
    },
    /// Says something, and does nothing.
    Nothing,
    Theme(String),
    /// A sign of the legend, drawn in its role.
    Sign(Role),
    /// Sets the model of the project.
    Model(String),
    /// Goes to a file of the diff.
    File(usize),
    /// Shows another diff.
    Compare(DiffRange),
    /// Sets the first of two turns to compare.
    CompareFrom(TurnId),
    /// Answers a question with the text of the composer.
    AnswerWith(TaskId, AskId),
    /// Sends the text of the composer as a message.
    SendMessage,
    /// An attached client.
    Client,
    /// Goes to the task that a notice is about.
    Notice(Option<TaskId>),
    /// Selects who does new tasks: a profile, `ask` or `inherit`.
    Select(String),
    /// Shows the problem of a profile that cannot be used.
    BrokenProfile(String),
    /// Gives a task to a profile.
    HandOver {
        task: TaskId,
        to: String,
    },
    /// Sets the profile of the new task in the prompt below this list.
    Profile(Option<String>),
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub label: String,
    /// Hidden search terms.
    pub also: String,
    /// Shown on the right: keys, a path.
    pub note: String,
    /// The heading of the group; shown above its first item while the query is empty.
    pub group: Option<&'static str>,
    pub pick: ChooserAction,
}

impl Item {
    /// Returns the text that the query is matched against.
    fn words(&self) -> String {
        if self.also.is_empty() { self.label.clone() } else { format!("{} {}", self.label, self.also) }
    }
}

#[derive(Clone, Debug)]
pub struct Chooser {
    pub title: &'static str,
    pub placeholder: &'static str,
    pub query: Field,
    items: Vec<Item>,
    /// How many items are its own. The typed text may follow them as an extra item.
    own: usize,
    /// Makes the action for the typed text, if it can be selected.
    typed: Option<fn(String) -> ChooserAction>,
    /// The matches, best first: index in `items`, and the matching bytes of the label.
    found: Vec<(usize, Vec<std::ops::Range<usize>>)>,
    pub cursor: Cursor,
}

impl Chooser {
    pub fn new(title: &'static str, placeholder: &'static str, items: Vec<Item>) -> Self {
        let mut chooser = Self {
            title,
            placeholder,
            query: Field::default(),
            own: items.len(),
            items,
            typed: None,
            found: Vec::new(),
            cursor: Cursor::default(),
        };
        chooser.refine();
        chooser
    }

    /// Lets the typed text be selected too: lists may be incomplete.
    pub fn or_typed(mut self, typed: fn(String) -> ChooserAction) -> Self {
        self.typed = Some(typed);
        self
    }

    /// Replaces the items. The query stays, and so does the selection if it still exists.
    pub fn offer(&mut self, items: Vec<Item>) {
        let chosen = self.chosen().map(|item| item.pick.clone());
        self.own = items.len();
        self.items = items;
        self.refine();
        let place = self.found().position(|(item, _)| Some(&item.pick) == chosen.as_ref());
        self.cursor.chosen = place.unwrap_or(0);
    }

    /// Recomputes the matches.
    pub fn refine(&mut self) {
        let query = self.query.content();
        self.cursor = Cursor::default();
        self.items.truncate(self.own);
        if query.trim().is_empty() {
            self.found = (0..self.items.len()).map(|place| (place, Vec::new())).collect();
            return;
        }
        let words: Vec<_> = self.items.iter().map(Item::words).collect();
        // Action names in the settings have underscores instead of spaces.
        let spoken = query.replace('_', " ");
        let hits = Fuzzy::new(Names::Words).rank(&spoken, words.iter().map(String::as_str), MAX_MATCHES);
        let shown = |place: usize, letters: Vec<std::ops::Range<usize>>| {
            let end = self.items[place].label.len();
            letters.into_iter().filter(|range| range.end <= end).collect()
        };
        self.found = hits.into_iter().map(|hit| (hit.index, shown(hit.index, hit.letters))).collect();
        self.offer_typed(query.trim());
    }

    fn offer_typed(&mut self, typed: &str) {
        let Some(pick) = self.typed.filter(|_| !self.items.iter().any(|item| item.label == typed)) else { return };
        let (label, note) = (typed.to_owned(), AS_TYPED.to_owned());
        self.found.push((self.items.len(), Vec::new()));
        self.items.push(Item { label, also: String::new(), note, group: None, pick: pick(typed.to_owned()) });
    }

    pub fn step(&mut self, by: isize) {
        self.cursor.step(by, self.found.len());
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub fn chosen(&self) -> Option<&Item> {
        self.found.get(self.cursor.chosen).map(|(place, _)| &self.items[*place])
    }

    /// Returns the matches with the matching bytes of each label.
    pub fn found(&self) -> impl Iterator<Item = (&Item, &[std::ops::Range<usize>])> {
        self.found.iter().map(|(place, ranges)| (&self.items[*place], ranges.as_slice()))
    }

    /// Returns true if groups are shown: only while the list is in its original order.
    pub fn grouped(&self) -> bool {
        self.query.is_blank()
    }
}

#[cfg(test)]
#[path = "chooser_tests.rs"]
mod tests;
