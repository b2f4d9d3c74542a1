//! What the pane of tasks remembers, and how keys move in it.

use std::collections::{BTreeSet, HashMap};

use crate::base::TaskId;
use crate::ui::field::Field;
use crate::ui::list::Cursor;
use crate::ui::tree::rows::{self, Row};
use crate::ui::world::World;

/// Which tasks are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FilterMode {
    #[default]
    All,
    /// Those that have not been put away.
    Open,
    /// Those that wait for the person, failed, or cannot go on.
    NeedsMe,
    /// Those with an agent at work or about to be.
    Active,
}

impl FilterMode {
    pub fn next(self) -> Self {
        match self {
            Self::All => Self::Open,
            Self::Open => Self::NeedsMe,
            Self::NeedsMe => Self::Active,
            Self::Active => Self::All,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Open => "open",
            Self::NeedsMe => "needs me",
            Self::Active => "active",
        }
    }
}

impl State {
    /// Returns what is special about what is shown, in a few words.
    pub fn note(&self) -> String {
        let mode = Some(self.mode()).filter(|mode| *mode != FilterMode::All).map(FilterMode::word);
        let sort = (self.sort() == Sort::Attention).then_some("by attention");
        mode.into_iter().chain(sort).collect::<Vec<_>>().join(", ")
    }
}

/// In what order they are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sort {
    #[default]
    Tree,
    /// What needs the person most first.
    Attention,
}

/// What the list of rows was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Made {
    revision: u64,
    own: u64,
}

/// The pane of tasks.
#[derive(Clone, Debug)]
pub struct State {
    selected: TaskId,
    /// A task to select as soon as it is in the tree. The reply to a command can arrive before the update it caused.
    awaited: Option<TaskId>,
    folded: BTreeSet<TaskId>,
    pub filter: Field,
    /// Whether the filter is being written.
    pub filtering: bool,
    mode: FilterMode,
    sort: Sort,
    pub cost: bool,
    rows: Vec<Row>,
    places: HashMap<TaskId, usize>,
    made: Option<Made>,
    /// Counts changes of folding, filter and order.
    own: u64,
    cursor: Cursor,
}

impl State {
    pub fn new(world: &World) -> Self {
        let mut state = Self {
            selected: world.root(),
            awaited: None,
            folded: BTreeSet::new(),
            filter: Field::default(),
            filtering: false,
            mode: FilterMode::default(),
            sort: Sort::default(),
            cost: false,
            rows: Vec::new(),
            places: HashMap::new(),
            made: None,
            own: 0,
            cursor: Cursor::default(),
        };
        state.settle(world, 0);
        state
    }

    pub fn selected(&self) -> TaskId {
        self.selected
    }

    pub fn mode(&self) -> FilterMode {
        self.mode
    }

    pub fn sort(&self) -> Sort {
        self.sort
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn top(&self) -> usize {
        self.cursor.top
    }

    pub fn place(&self, id: TaskId) -> Option<usize> {
        self.places.get(&id).copied()
    }

    pub fn is_folded(&self, id: TaskId) -> bool {
        self.folded.contains(&id)
    }

    /// Makes the rows anew if they are out of date, and the selection visible in `height` rows.
    pub fn settle(&mut self, world: &World, height: usize) {
        if let Some(awaited) = self.awaited.take_if(|id| world.is_in_tree(*id)) {
            self.select(world, awaited);
        }
        // Without a filter only places matter; with one, or sorted by attention, states and titles do too.
        let plain = self.mode == FilterMode::All && self.sort == Sort::Tree && self.filter.is_empty();
        let revision = if plain { world.shape() } else { world.revision() };
        let made = Made { revision, own: self.own };
        if self.made.as_ref() != Some(&made) {
            self.made = Some(made);
            self.rows = rows::flatten(world, self);
            self.places = self.rows.iter().enumerate().map(|(place, row)| (row.id, place)).collect();
        }
        match self.place(self.selected) {
            Some(place) => self.cursor.chosen = place,
            None => self.select_near(world),
        }
        self.cursor.settle(self.rows.len(), height);
    }

    /// The selected task is gone or hidden: the one above it, or the row that took its place, is selected.
    fn select_near(&mut self, world: &World) {
        let above = world.above(self.selected).find(|id| self.places.contains_key(id));
        let same = self.cursor.chosen.min(self.rows.len().saturating_sub(1));
        let place = above.and_then(|id| self.place(id)).unwrap_or(same);
        self.cursor.chosen = place;
        match self.rows.get(place) {
            Some(row) => self.selected = row.id,
            None if world.task(self.selected).is_none() => self.selected = world.root(),
            None => {}
        }
    }

    pub fn step(&mut self, by: isize) {
        self.awaited = None;
        self.cursor.step(by, self.rows.len());
        if let Some(row) = self.rows.get(self.cursor.chosen) {
            self.selected = row.id;
        }
    }

    /// Selects a task, unfolding and unfiltering whatever hides it. A task that is not in the tree yet is selected when
    /// it arrives, unless the selection moves before.
    pub fn select(&mut self, world: &World, id: TaskId) {
        self.awaited = (!world.is_in_tree(id)).then_some(id);
        if self.awaited.is_some() {
            return;
        }
        self.selected = id;
        if self.place(id).is_some() {
            return;
        }
        let above: Vec<_> = world.above(id).collect();
        above.iter().for_each(|id| {
            self.folded.remove(id);
        });
        self.own += 1;
        self.settle(world, 0);
        self.selected = id;
        let hidden = self.rows.iter().all(|row| row.id != id);
        if hidden {
            self.filter = Field::default();
            self.mode = FilterMode::All;
            self.own += 1;
        }
        self.settle(world, 0);
    }

    pub fn select_row(&mut self, row: usize) -> bool {
        let Some(row) = self.rows.get(row) else { return false };
        self.awaited = None;
        self.selected = row.id;
        true
    }

    /// Hides what is below the selected task, or goes to the one above it.
    pub fn fold(&mut self, world: &World) {
        let has_children = world.node(self.selected).is_some_and(|node| !node.children.is_empty());
        if has_children && self.folded.insert(self.selected) {
            self.own += 1;
        } else if let Some(parent) = world.node(self.selected).and_then(|node| node.parent) {
            self.selected = parent;
        }
    }

    /// Shows what is below the selected task, or goes into it.
    pub fn unfold(&mut self, world: &World) {
        if self.folded.remove(&self.selected) {
            self.own += 1;
        } else if let Some(child) = world.node(self.selected).and_then(|node| node.children.first()) {
            self.selected = *child;
        }
    }

    pub fn fold_toggle(&mut self, world: &World) {
        if !self.folded.remove(&self.selected)
            && world.node(self.selected).is_some_and(|node| !node.children.is_empty())
        {
            self.folded.insert(self.selected);
        }
        self.own += 1;
    }

    pub fn fold_all(&mut self, world: &World) {
        self.folded = world.tasks().filter(|task| !task.node.children.is_empty()).map(|task| task.node.id).collect();
        // The first level stays in sight: a single row says nothing.
        self.folded.remove(&world.root());
        self.own += 1;
    }

    pub fn unfold_all(&mut self) {
        self.folded.clear();
        self.own += 1;
    }

    pub fn cycle_mode(&mut self) {
        self.mode = self.mode.next();
        self.own += 1;
    }

    pub fn cycle_sort(&mut self) {
        self.sort = match self.sort {
            Sort::Tree => Sort::Attention,
            Sort::Attention => Sort::Tree,
        };
        self.own += 1;
    }

    /// Must be told whenever the filter was written to.
    pub fn filter_changed(&mut self) {
        self.own += 1;
    }

    pub fn clear_filter(&mut self) -> bool {
        self.filtering = false;
        let had = !self.filter.is_empty() || self.mode != FilterMode::All;
        self.filter = Field::default();
        self.mode = FilterMode::All;
        self.own += 1;
        had
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
