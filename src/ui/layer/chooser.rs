//! A list that narrows while one types: palette, help, projects, colours, places for a task.

use crate::base::fuzzy::{Fuzzy, Names};
use crate::base::{ProjectId, TaskId, TurnId};
use crate::engine::review::Range;
use crate::model::task::Colour;
use crate::ui::action::Action;
use crate::ui::field::Field;
use crate::ui::list::Cursor;

/// How many items are offered for what was typed.
const MOST: usize = 200;

/// What stands beside what is offered only because it was typed.
const AS_TYPED: &str = "as typed";

/// What choosing an item means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    Act(Action),
    Colour(TaskId, Option<Colour>),
    MoveBelow {
        task: TaskId,
        parent: TaskId,
    },
    Project(ProjectId),
    Theme(String),
    /// The model of the project.
    Model(String),
    /// A file of the diff.
    File(usize),
    /// What the diff is to show.
    Compare(Range),
    /// The first of two turns between which the diff is to be.
    CompareFrom(TurnId),
    /// Who does the work of the task that is being made below this list.
    Profile(Option<String>),
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub label: String,
    /// Other words under which it is looked for. They are not shown.
    pub also: String,
    /// What stands at the right: keys, a path.
    pub note: String,
    /// A heading that opens a group; shown above the first of it while nothing is typed.
    pub group: Option<&'static str>,
    pub pick: Pick,
}

impl Item {
    /// Returns the words under which it is found.
    fn words(&self) -> String {
        if self.also.is_empty() { self.label.clone() } else { format!("{} {}", self.label, self.also) }
    }
}

/// The list.
#[derive(Clone, Debug)]
pub struct Chooser {
    pub title: &'static str,
    pub placeholder: &'static str,
    pub query: Field,
    items: Vec<Item>,
    /// How many of them are its own: what is typed is behind them, where it can be chosen too.
    own: usize,
    /// What it means to choose what is typed.
    typed: Option<fn(String) -> Pick>,
    /// What fits what was typed, best first: place in `items`, and the bytes of the label that fit.
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

    /// Lets also what is typed be chosen: lists are not always complete.
    pub fn or_typed(mut self, typed: fn(String) -> Pick) -> Self {
        self.typed = Some(typed);
        self
    }

    /// Takes other items for the same choice. What is typed stays, and what is chosen if it is still there.
    pub fn offer(&mut self, items: Vec<Item>) {
        let chosen = self.chosen().map(|item| item.pick.clone());
        self.own = items.len();
        self.items = items;
        self.refine();
        let place = self.found().position(|(item, _)| Some(&item.pick) == chosen.as_ref());
        self.cursor.chosen = place.unwrap_or(0);
    }

    /// Finds again what fits what was typed.
    pub fn refine(&mut self) {
        let query = self.query.content();
        self.cursor = Cursor::default();
        self.items.truncate(self.own);
        if query.trim().is_empty() {
            self.found = (0..self.items.len()).map(|place| (place, Vec::new())).collect();
            return;
        }
        let words: Vec<_> = self.items.iter().map(Item::words).collect();
        // An action is called by its name in the settings as well, and that has no spaces.
        let spoken = query.replace('_', " ");
        let hits = Fuzzy::new(Names::Words).rank(&spoken, words.iter().map(String::as_str), MOST);
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

    /// Returns what is shown, with the bytes of each label that fit.
    pub fn found(&self) -> impl Iterator<Item = (&Item, &[std::ops::Range<usize>])> {
        self.found.iter().map(|(place, ranges)| (&self.items[*place], ranges.as_slice()))
    }

    /// Tells whether groups are shown: only while the list is in its own order.
    pub fn grouped(&self) -> bool {
        self.query.is_blank()
    }
}

#[cfg(test)]
#[path = "chooser_tests.rs"]
mod tests;
